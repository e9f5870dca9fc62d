"""The contract of a step from reported answers towards the values that a method learns from."""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftopt import averages
from driftopt.answers.beside import Beside


@dataclass(frozen=True)
class Answer:
    """The reported answer of one deployment."""

    value: float  # the measured value
    sem: float | None = None  # its standard error, if reported
    asked: np.ndarray | None = None  # the decision to deploy
    deployed: np.ndarray | None = None  # the deployed decision, if it differs


class Verdict(NamedTuple):
    """The reason why an answer does not count."""

    state: str  # the trial's next state
    reason: str  # in words


class Told(NamedTuple):
    """One iteration's answers: fresh samples at each of p points.

    They are NumPy's arrays where a function or a log holds the oracle, and JAX's in a compiled loop, where a
    lane may have room for more samples than it takes. A step's `take` is one code for both.
    """

    values: Any  # (samples, p)
    beside: Mapping[str, Any] = {}  # side information, by the names that steps read
    taken: Any = None  # (samples, p), true for real samples, the first always; None: all
    xp: Any = np  # the module of the arrays: numpy, or jax.numpy

    def mean(self) -> Any:
        """(p,) the mean of each point's samples, added up in their order."""
        if self.taken is None:
            return self.values[0] if len(self.values) == 1 else averages.mean(self.values)
        total = self.xp.sum(self.xp.where(self.taken, self.values, 0), axis=0)
        return total / self.xp.sum(self.taken, axis=0).astype(total.dtype)

    def known(self, given: Any) -> Any:
        """(samples, p, numbers), true for side information of real samples that is finite."""
        finite = self.xp.isfinite(given)
        return finite if self.taken is None else finite & self.taken[..., None]


def choose(xp: Any, condition: Any, one: Any, other: Any) -> Any:
    """`one` where the single condition holds, else `other`: on the host a branch, which takes no time."""
    return (one if condition else other) if xp is np else xp.where(condition, one, other)


def if_sound(xp: Any, holds: Any, new: tuple[Any, Any], old: tuple[Any, Any]) -> tuple[Any, Any]:
    """The new (memory, values) where `holds`, and every number in them is finite; else the old."""
    if xp is np:
        sound = holds and all(np.isfinite(leaf).all() for leaf in (*new[0], new[1]))
        return new if sound else old
    for leaf in (*new[0], new[1]):
        holds = holds & xp.all(xp.isfinite(leaf))
    memory = (xp.where(holds, after, before) for after, before in zip(new[0], old[0], strict=True))
    return type(old[0])(*memory), xp.where(holds, new[1], old[1])


class Step(ABC):  # noqa: B024  each step has one part or the other
    """Judges answers as they come in, or changes an iteration's answers before the method sees them, or both.

    A step has a memory of its own, a new value after each `take`; with the method's state, it follows from
    the log.
    """

    reads: ClassVar[str | None] = None  # the name in `Told.beside` of the side information it needs

    def row(self, beside: Beside) -> Sequence[float]:
        """The numbers that this step reads of one answer's side information; NaN for an unknown one."""
        return ()

    def judge(self, answer: Answer) -> Verdict | None:
        """The verdict on an answer; None if it counts."""
        return None

    def begin(self) -> Any:
        """The memory before the first iteration."""
        return ()

    def take(self, memory: Any, told: Told) -> tuple[Any, Told]:
        """The memory after an iteration, and its answers one step nearer to the method."""
        return memory, told
