"""Values as differences to control: the value of the baseline's decision at the same time, or just before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftopt.answers.beside import Beside
from driftopt.answers.step import Step, Told, choose, if_sound


class Usual(NamedTuple):
    count: Any  # iterations
    mean: Any  # of control


@dataclass(frozen=True)
class RelativeToControl(Step):
    """Subtracts control from every value; its mean so far if control is not known."""

    reads: ClassVar[str] = "control"  # pyright: ignore[reportIncompatibleVariableOverride]

    def row(self, beside: Beside) -> Sequence[float]:
        return [np.nan if beside.control is None else beside.control]

    def begin(self) -> Usual:
        return Usual(np.zeros(()), np.zeros(()))

    def take(self, memory: Usual, told: Told) -> tuple[Usual, Told]:
        given, xp = told.beside.get(self.reads), told.xp
        if given is None:
            return memory, told
        with np.errstate(all="ignore"):
            known = told.known(given)[..., 0]
            control = xp.where(known, given[..., 0], 0)
            some = known.any()
            here = choose(xp, some, control.sum() / xp.maximum(known.sum(), 1), memory.mean)
            usual = choose(xp, memory.count == 0, here, memory.mean)
            values = told.values - xp.where(known, control, usual)
            count = memory.count + 1
            after = Usual(count, memory.mean + (here - memory.mean) / count)
            begun = some | (memory.count > 0)
            memory, values = if_sound(xp, begun, (after, values), (memory, told.values))
        return memory, told._replace(values=values)
