"""What a sweep hands out: one part's work, and what all runs have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from driftopt.sweep.kept_parts import Arrays


@dataclass(frozen=True)
class RunSettings:
    """What all runs of a sweep have in common."""

    budget: int
    x0: tuple[float, ...] | None = None
    evaluate_every: int | None = None
    metrics: bool = False  # the problem's own `metrics` at every reported decision
    settle: int = 1  # deployments that stand behind one answer
    version: str | None = None  # names what no fingerprint sees: a file that is read, a service that is asked


class Task(ABC):
    """One part's work: `run` gives arrays over (instances, seeds, configurations)."""

    @abstractmethod
    def run(self) -> Arrays: ...

    @property
    @abstractmethod
    def key(self) -> str:
        """The hash of all that the result depends on: data, numbers, seeds and code."""

    @property
    @abstractmethod
    def unseen(self) -> tuple[str, ...]:
        """What the result may depend on and the key cannot know; with any, no kept result is used."""

    @property
    def libraries(self) -> dict[str, str]:
        """The versions of further libraries that it runs: a worker must have the same."""
        return {}

    @property
    def program(self) -> Any:
        """Tasks of one value share a compiled program."""
        return None

    @property
    def effort(self) -> int:
        """A number that is larger the longer its program takes to be made."""
        return 0
