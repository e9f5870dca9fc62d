"""One draw of an iteration, while its answers are awaited."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from driftopt.study.errors import Holding
from driftopt.study.log import Happened
from driftopt.study.trial import Place


@dataclass
class OpenIteration:
    """Which answers of a draw are in, and which deployments are out.

    A slot is one deployment: slot = sample · p + point. So the points are asked in turn, and repeats of a
    point come a round later: a world that drifts slowly then biases both sides of a difference alike.
    """

    row: int  # of the log, where it was opened
    iteration: int
    draw: int
    count: int  # p
    repeats: int
    values: list[float | None] = field(init=False)
    answered_by: list[int | None] = field(init=False)  # the trial that each value came from
    said: list[Happened | None] = field(init=False)  # and the row that says it
    lost: list[set[int]] = field(init=False)  # for each slot, the trials that failed or expired
    out: dict[int, Holding] = field(init=False, default_factory=dict[int, Holding])
    missing: int = field(init=False)
    trials: list[int] = field(init=False, default_factory=list[int])

    def __post_init__(self) -> None:
        self.missing = self.count * self.repeats
        self.values = [None] * self.missing
        self.answered_by = [None] * self.missing
        self.said = [None] * self.missing
        self.lost = [set() for _ in self.values]

    def slot(self, point: int, sample: int) -> int:
        return sample * self.count + point

    def place(self, slot: int) -> Place:
        """The place of a slot."""
        return Place("method", self.iteration, self.draw, slot % self.count, slot // self.count)

    def free(self) -> list[int]:
        """Slots that need a deployment and have none out."""
        return [s for s, value in enumerate(self.values) if value is None and s not in self.out]

    def fill(self, slot: int, trial: int, row: Happened) -> None:
        """An answer for a slot that has none."""
        self.values[slot], self.answered_by[slot], self.said[slot] = row.value, trial, row
        self.missing -= 1

    def clear(self, slot: int, trial: int) -> None:
        """A slot's answer was taken back: it is asked again."""
        self.values[slot] = self.answered_by[slot] = self.said[slot] = None
        self.missing += 1
        self.lost[slot].add(trial)

    def stand(self, amended: Mapping[int, Happened | None]) -> list[Happened | None]:
        """What now stands for each slot, in the order of the samples, not of arrival; None for an answer that
        was taken back after the iteration was over.
        """
        pairs = zip(self.answered_by, self.said, strict=True)
        return [row if trial is None else amended.get(trial, row) for trial, row in pairs]
