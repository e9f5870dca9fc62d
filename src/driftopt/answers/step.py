"""The contract of a step on the way in: from what was told towards what a method is told."""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftopt.answers.beside import Beside


@dataclass(frozen=True)
class Answer:
    """What was told about one deployment."""

    value: float
    sem: float | None = None
    asked: np.ndarray | None = None
    deployed: np.ndarray | None = None  # where it differs from what was asked
    recent: np.ndarray | None = None  # the answers before it, where steps look at them


class Verdict(NamedTuple):
    """Why an answer does not count as it is."""

    state: str  # what becomes of the trial: failed or held
    reason: str


class Told(NamedTuple):
    """One iteration's answers: fresh samples at each of p points, all of which count."""

    values: np.ndarray  # (samples, p)
    beside: Mapping[str, Any] = {}  # what else came with them, by name


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

    def review(self, told: np.ndarray) -> Sequence[Verdict | None]:
        """What is to be said now against each of the answers so far, (n,), which once counted."""
        return [None] * len(told)

    def begin(self) -> Any:
        """The memory before the first iteration."""
        return ()

    def take(self, memory: Any, told: Told) -> tuple[Any, Told]:
        """The memory after an iteration, and its answers one step nearer to the method."""
        return memory, told
