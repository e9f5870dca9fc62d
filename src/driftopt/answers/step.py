"""The contract of a step on the way in: from what was told towards what a method is told."""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftopt import averages
from driftopt.answers.beside import Beside


class Peers(NamedTuple):
    """What an answer is compared with, each oldest first, as the answers now stand."""

    alike: np.ndarray  # those to deployments of the same kind
    others: tuple[np.ndarray, ...] = ()  # of other kinds, whose level may be that of this one
    held: np.ndarray | None = None  # which of those alike are held; None: none of them
    controls: "Peers | None" = None  # what was told as control beside those of the same kind


@dataclass(frozen=True)
class Answer:
    """What was told about one deployment."""

    value: float  # what was measured
    sem: float | None = None  # its standard error, where that was told
    asked: np.ndarray | None = None  # the decision that was to be deployed
    deployed: np.ndarray | None = None  # where it differs from what was asked
    peers: Peers | None = None  # the answers before it, where steps look at them
    control: float | None = None  # what was told beside the value as control


class Verdict(NamedTuple):
    """Why an answer does not count as it is."""

    state: str  # what becomes of the trial: failed or held
    reason: str  # in words


class Told(NamedTuple):
    """One iteration's answers: fresh samples at each of p points.

    They are NumPy's arrays where a function or a log holds the oracle, and JAX's in a compiled loop, where a
    lane may have room for more samples than it takes. A step's `take` is one code for both.
    """

    values: Any  # (samples, p)
    beside: Mapping[str, Any] = {}  # what else came with them, by name
    taken: Any = None  # (samples, p) which of them there are, the first always; None: all
    xp: Any = np  # whose arrays they are: numpy, or jax.numpy

    def mean(self) -> Any:
        """(p,) the mean of each point's samples, added up in their order."""
        if self.taken is None:
            return self.values[0] if len(self.values) == 1 else averages.mean(self.values)
        total = self.xp.sum(self.xp.where(self.taken, self.values, 0), axis=0)
        return total / self.xp.sum(self.taken, axis=0).astype(total.dtype)

    def known(self, given: Any) -> Any:
        """(samples, p, numbers) which of the numbers that came with the samples are there, and finite."""
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

    A step has a memory of its own, a value that `take` returns anew: with the method's state, it is the
    replay of the log.
    """

    reads: ClassVar[str | None] = None  # what else it needs of each answer: its name in `Told.beside`

    def row(self, beside: Beside) -> Sequence[float]:
        """Of what came with one answer, the numbers that this step reads; NaN for one that is not known."""
        return ()

    def judge(self, answer: Answer) -> Verdict | None:
        """What is to be said against an answer; None: nothing."""
        return None

    def review(self, told: np.ndarray, controls: np.ndarray) -> Sequence[Verdict | None]:
        """What is to be said now against each of the answers so far, (n,), which once counted.

        Args:
            told: (n,) the values.
            controls: (n,) what was told beside them as control, NaN where nothing was.
        """
        return [None] * len(told)

    def begin(self) -> Any:
        """The memory before the first iteration."""
        return ()

    def take(self, memory: Any, told: Told) -> tuple[Any, Told]:
        """The memory after an iteration, and its answers one step nearer to the method."""
        return memory, told
