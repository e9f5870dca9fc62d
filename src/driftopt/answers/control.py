"""Values as differences to control: the value of the start's decision at the same time, or just before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftopt.answers.beside import Beside
from driftopt.answers.step import Step, Told, choose, if_sound

ENOUGH = 10  # iterations before advice is given
MEANS = 5  # running means of which the median counts: one slip is in one of them, and in two of the changes


class Compared(NamedTuple):
    """Mean squares of differences within iterations, and of changes of their means, with and without.

    Each is the median of five running means that are fed in turn, so that one unnoticed outlier, of a value
    or of control, does not change the advice on control.
    """

    count: Any  # iterations
    mean: Any  # of control
    plain: Any  # (5,) of the values as reported
    relative: Any  # (5,) of the values less control
    last: Any  # (2,) the last iteration's mean value, as reported and less control
    changes: Any  # (2, 5) the mean squares of its changes


@dataclass(frozen=True)
class RelativeToControl(Step):
    """Subtracts control from every value; its mean so far if control is not known."""

    reads: ClassVar[str] = "control"  # pyright: ignore[reportIncompatibleVariableOverride]

    def row(self, beside: Beside) -> Sequence[float]:
        return [np.nan if beside.control is None else beside.control]

    def begin(self) -> Compared:
        zero = np.zeros(())
        return Compared(zero, zero, np.zeros(MEANS), np.zeros(MEANS), np.zeros(2), np.zeros((2, MEANS)))

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
            plain, relative, count = told.mean(), after.mean(), memory.count + 1
            means = xp.stack([plain.mean(), relative.mean()])
            changes = _fed(memory.changes, memory.count - 1, ((means - memory.last) ** 2)[:, None], xp)
            compared = Compared(
                count,
                memory.mean + (here - memory.mean) / count,
                _fed(memory.plain, memory.count, plain.var(), xp),
                _fed(memory.relative, memory.count, relative.var(), xp),
                means,
                choose(xp, memory.count > 0, changes, memory.changes),
            )
            begun = some | (memory.count > 0)
            memory, values = if_sound(xp, begun, (compared, after.values), (memory, told.values))
        return memory, told._replace(values=values)


def _fed(means: Any, before: Any, square: Any, xp: Any) -> Any:
    """Running means after one more square, which the next of them takes; `before` counts earlier squares."""
    turn = xp.arange(MEANS) == before % MEANS
    return xp.where(turn, means + (square - means) / (before // MEANS + 1), means)


def _median(means: Any, fed: int) -> float:
    return float(np.median(np.asarray(means)[:fed]))


@dataclass(frozen=True)
class ControlReport:
    """The effect of control on the noise."""

    iterations: int
    removed: float  # the share of the variance of differences that is gone; negative: noise came in
    removed_of_changes: float  # the same for changes from iteration to iteration: drift, seasons
    advice: str


def report(memory: Compared) -> ControlReport | None:
    """The effect of control so far; None before there is anything to compare."""
    count = int(memory.count)
    if count < 2:
        return None
    plain, relative = (_median(means, count) for means in (memory.plain, memory.relative))
    before, after = (_median(means, count - 1) for means in memory.changes)
    if not (plain > 0 and before > 0):
        return None
    removed, changes = 1 - relative / plain, 1 - after / before
    if count < ENOUGH:
        advice = "too early to say whether control pays"
    elif removed > 0.1:
        advice = "control pays: keep it"
    elif removed < -0.1:
        advice = "control brings in more noise than it takes out: begin the next study without it"
    else:
        advice = "control does little for the differences that the method sees: it is not worth a deployment"
    return ControlReport(count, removed, changes, advice)
