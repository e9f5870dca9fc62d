"""Values as differences to control: what the start's decision gave beside, or just before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftopt.answers.beside import Beside
from driftopt.answers.step import Step, Told, choose, if_sound

ENOUGH = 10  # iterations before advice is given


class Compared(NamedTuple):
    """Mean squares of differences within iterations, and of changes of their means, with and without."""

    count: Any  # iterations
    mean: Any  # of control
    plain: Any  # of the values as told
    relative: Any  # of the values less control
    last: Any  # (2,) the last iteration's mean value, as told and less control
    changes: Any  # (2,) the mean squares of its changes


@dataclass(frozen=True)
class RelativeToControl(Step):
    """Takes control out of every value; where control is not known, its mean so far."""

    reads: ClassVar[str] = "control"  # pyright: ignore[reportIncompatibleVariableOverride]

    def row(self, beside: Beside) -> Sequence[float]:
        return [np.nan if beside.control is None else beside.control]

    def begin(self) -> Compared:
        zero = np.zeros(())
        return Compared(zero, zero, zero, zero, np.zeros(2), np.zeros(2))

    def take(self, memory: Compared, told: Told) -> tuple[Compared, Told]:
        given, xp = told.beside.get(self.reads), told.xp
        if given is None:
            return memory, told
        with np.errstate(all="ignore"):
            known = told.known(given)[..., 0]
            control = xp.where(known, given[..., 0], 0)
            some = known.any()
            here = choose(xp, some, control.sum() / xp.maximum(known.sum(), 1), memory.mean)
            usual = choose(xp, memory.count == 0, here, memory.mean)
            after = told._replace(values=told.values - xp.where(known, control, usual))
            compared = _compared(memory, told.mean(), after.mean(), here, xp)
            begun = some | (memory.count > 0)
            memory, values = if_sound(xp, begun, (compared, after.values), (memory, told.values))
        return memory, told._replace(values=values)


def _compared(memory: Compared, plain: Any, relative: Any, control: Any, xp: Any) -> Compared:
    count = memory.count + 1
    means = xp.stack([plain.mean(), relative.mean()])
    changes = choose(xp, memory.count > 0, (means - memory.last) ** 2, memory.changes)
    return Compared(
        count,
        memory.mean + (control - memory.mean) / count,
        memory.plain + (plain.var() - memory.plain) / count,
        memory.relative + (relative.var() - memory.relative) / count,
        means,
        memory.changes + (changes - memory.changes) / xp.maximum(memory.count, 1),
    )


@dataclass(frozen=True)
class ControlReport:
    """What taking control out has done to the noise."""

    iterations: int
    removed: float  # the share of the variance of differences that is gone; negative: noise came in
    removed_of_changes: float  # the same for changes from iteration to iteration: drift, seasons
    advice: str


def report(memory: Compared) -> ControlReport | None:
    """What was found; None before there is anything to compare."""
    count = int(memory.count)
    if count < 2 or not (memory.plain > 0 and memory.changes[0] > 0):
        return None
    removed = 1 - float(memory.relative / memory.plain)
    changes = 1 - float(memory.changes[1] / memory.changes[0])
    if count < ENOUGH:
        advice = "too early to say whether control pays"
    elif removed > 0.1:
        advice = "control pays: keep it"
    elif removed < -0.1:
        advice = "control brings in more noise than it takes out: begin the next study without it"
    else:
        advice = "control does little for the differences that the method sees: it is not worth a deployment"
    return ControlReport(count, removed, changes, advice)
