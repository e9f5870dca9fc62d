"""The elements of a sweep: settings of runs, tasks for workers, parts of the table, problem sources."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt.methods.grids import Grid
from driftopt.sweep.tiles import Tile

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class RunSettings:
    """The settings that all runs of a sweep have in common."""

    budget: int
    x0: tuple[float, ...] | None = None
    evaluate_every: int | None = None
    metrics: bool = False  # whether to compute the problem's own `metrics` at every reported decision
    settle: int = 1  # deployments for one value
    version: str | None = None  # names what no fingerprint sees: a file that is read, a service that is asked


class Task(ABC):
    """The work of one part: `run` gives arrays over (instances, seeds, configurations)."""

    @abstractmethod
    def run(self) -> Arrays: ...

    @property
    @abstractmethod
    def key(self) -> str:
        """The hash of everything that the result depends on: data, numbers, seeds and code."""

    @property
    @abstractmethod
    def unseen(self) -> tuple[str, ...]:
        """Names of what the result may depend on but the key cannot know; if any, results are not reused."""

    @property
    def libraries(self) -> dict[str, str]:
        """The versions of further libraries that the task runs; a worker must have the same."""
        return {}

    @property
    def program(self) -> Any:
        """A value that is equal for tasks with the same compiled program."""
        return None

    @property
    def effort(self) -> int:
        """A number that grows with the time that compiling the program takes."""
        return 0


@dataclass(frozen=True)
class Part:
    """The runs that a task does, as rows of the final table."""

    label: str
    configurations: tuple[tuple[int, ...], ...]  # several for each instance
    instances: tuple[int, ...]
    seeds: tuple[int, ...]
    queries: int  # the expected number
    limit: int  # the largest number that the budget allows
    task: Task

    @property
    def lanes(self) -> tuple[int, int, int]:
        """The numbers of instances, seeds and configurations."""
        return len(self.instances), len(self.seeds), len(self.configurations[0])

    def check(self, arrays: Arrays) -> None:
        """Refuse arrays that cannot be the result of this part.

        Raises:
            ValueError: an array is missing, has another shape or type, or counts too many queries.
        """
        for name, kind in (("x", "f"), ("objective", "f"), ("queries", "i")):
            if name not in arrays:
                raise ValueError(f"it has no {name}")
            if arrays[name].shape[:3] != self.lanes or arrays[name].dtype.kind != kind:
                got = f"{arrays[name].dtype} {arrays[name].shape}"
                raise ValueError(f"its {name} is {got}, not one for each of {self.lanes} runs")
        spent = arrays["queries"]
        if (spent < 0).any() or spent.sum() > self.limit:
            raise ValueError(f"it counts {spent.sum()} queries where the budget allows {self.limit}")


class Source(ABC):
    """The problem instances of a sweep, and how work on them is packed into tasks."""

    names: tuple[str, ...]
    dim: int

    @abstractmethod
    def task(
        self,
        grid: Grid,
        configurations: Sequence[Sequence[int]],
        instances: Sequence[int],
        seeds: Sequence[int],
        settings: RunSettings,
        tile: Tile,
    ) -> Task:
        """The task that runs several configurations of one structure on each of these instances."""

    def tile(self, lanes: tuple[int, int, int], settings: RunSettings) -> Tile:
        """The shape of the runs that are computed together; by default one run at a time."""
        return Tile(1, 1, 1, count=lanes[0] * lanes[1] * lanes[2])

    @abstractmethod
    def largest(self, seeds: int) -> int:
        """The largest number of runs in a part."""

    @abstractmethod
    def checksums(self) -> dict[str, str]:
        """A checksum of each instance's data."""
