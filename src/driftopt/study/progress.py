"""The rows of the log folded, as they come, into what `ask` must know: no SQL, no JAX, no clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftopt import averages
from driftopt.answers.beside import NOTHING, Beside
from driftopt.study.errors import Holding
from driftopt.study.log import Asked, Deployed, Happened, Mark, Opened, Reader, Row, Written, as_trial
from driftopt.study.spec import Spec
from driftopt.study.trial import AMENDMENTS, FOR_ANOTHER, TAKEN_BACK, Place, Trial

# What happened to the method's state, in order: the (p,) values of an iteration, None for a redraw, or the
# budget that it plans for from there on.
Step = np.ndarray | int | None


@dataclass
class OpenIteration:
    """One draw of one iteration, while answers are awaited.

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


def _amended(rows: Sequence[Row]) -> dict[int, Happened | None]:
    """What the answers of trials were amended to, each for the last time; None: to nothing."""
    return {
        row.trial_id: None if row.kind in TAKEN_BACK else row
        for row in rows
        if isinstance(row, Happened) and row.kind in AMENDMENTS and row.trial_id is not None
    }


class Progress:
    """Everything in the log up to the last `follow`."""

    def __init__(self, spec: Spec, begin: Mark):
        self._spec = spec
        self._begin = begin
        self.restarts = 0  # how often the log was folded anew, because an answer was amended
        self._restart({})

    def _restart(self, amended: Mapping[int, Happened | None]) -> None:
        """Forget everything, but for what answers were amended to: each trial's value as it now stands."""
        self._amended = dict(amended)
        self._seen = self._begin
        self.amended_at = 0  # the last row that amends an answer to the method
        self.opened_at = 0  # the row that opened the last closed iteration
        self._draws: dict[tuple[int, int], OpenIteration] = {}
        self._draw_of: dict[int, tuple[OpenIteration, int]] = {}  # a trial's draw and slot
        self._memory = self._spec.answers.begin()  # of the steps on the way in
        self._beside: dict[int, tuple[Asked, list[Happened]]] = {}  # trials that are not the method's own
        self._pending: dict[int, Asked] = {}
        self.budget = self._spec.budget
        self.stopped: str | None = None  # why the study was ended before its budget
        self.spent = 0
        self.deployed = Deployed()
        self.since_control: int | None = None  # deployments since the last control; None before the first
        self.steps: list[Step] = []
        self.closed = 0  # iterations whose values are all in

    @property
    def memory(self) -> Any:
        """What the steps on the way in remember."""
        return self._memory

    @property
    def rows(self) -> int:
        """Rows of the log taken in."""
        return self._seen.rows

    @property
    def open(self) -> OpenIteration | None:
        """The draw now being answered, if one is."""
        return next(reversed(self._draws.values()), None)

    def beside(self, kind: str) -> list[Trial]:
        """Trials that are not the method's own, in the order in which they were asked."""
        names = tuple(self._spec.names)
        return [
            as_trial(*rows, names, self._kept(rows)) for rows in self._beside.values() if rows[0].kind == kind
        ]

    def _kept(self, rows: tuple[Asked, list[Happened]]) -> bool:
        return rows[0].id in self.deployed.kept

    @property
    def pending(self) -> list[Asked]:
        """What is out, oldest first."""
        return list(self._pending.values())

    def evaluations(self, purpose: str) -> tuple[list[Trial], int]:
        """Trials that evaluate the present recommendation, and the first pair's number that is theirs.

        It changes with every iteration, and with an answer that is amended.
        """
        names = tuple(self._spec.names)
        of_purpose = [rows for rows in self._beside.values() if rows[0].kind == purpose]
        named = [rows for rows in of_purpose if rows[0].iteration == self.closed]
        before = [asked.point for asked, _ in named if asked.row < self.amended_at]
        now = [as_trial(*rows, names, self._kept(rows)) for rows in named if rows[0].row > self.amended_at]
        return now, max(before, default=-1) + 1

    def unanswered(self, holder: str, purpose: str) -> list[Asked]:
        """What a holder was handed for a purpose and has not answered, oldest first.

        Evaluations of an earlier recommendation are of no use any more.
        """
        kinds = ("method", "control") if purpose == "method" else (purpose,)
        return [
            row
            for row in self._pending.values()
            if row.holder == holder
            and row.kind in (*kinds, *FOR_ANOTHER)
            and (purpose == "method" or row.kind in FOR_ANOTHER or row.iteration == self.closed)
        ]

    def follow(self, log: Reader) -> None:
        """Take in the rows added since the last time; where they amend earlier answers, all rows anew."""
        rows, seen = log.since(self._seen)
        if _amended(rows):
            if self._seen != self._begin:
                rows, seen = log.since(self._begin)
            self.restarts += 1
            self._restart(_amended(rows))
        self._fold(rows, seen)

    def take(self, written: Written) -> None:
        """Take in rows that were just committed, if none are missing between and none reach back."""
        if written.rows and written.before == self._seen and not _amended(written.rows):
            self._fold(written.rows, written.after)

    def of(self, rows: Sequence[Row]) -> "Progress":
        """What the beginning of a log told when there was no more of it."""
        early = Progress(self._spec, self._begin)
        early._restart(_amended(rows))
        early._fold(rows, self._begin)
        return early

    def _fold(self, rows: Sequence[Row], seen: Mark) -> None:
        self._seen = seen
        for row in rows:
            self.deployed.take(row)
            match row:
                case Opened():
                    draw = OpenIteration(row.row, row.iteration, row.draw, row.count, row.repeats)
                    self._draws[row.iteration, row.draw] = draw
                    self._close()
                case Asked():
                    self._asked(row)
                case Happened():
                    self._happened(row)

    def _asked(self, row: Asked) -> None:
        self.spent += 1
        self._pending[row.id] = row
        if row.kind == "control":
            self.since_control = 0
        elif self.since_control is not None and row.kind not in FOR_ANOTHER:
            self.since_control += 1
        if row.kind == "method":
            draw = self._draws[row.iteration, row.draw]
            slot = draw.slot(row.point, row.sample)
            draw.out[slot] = Holding(row.id, row.holder, row.expires_at)
            draw.trials.append(row.id)
            self._draw_of[row.id] = draw, slot
        else:
            self._beside[row.id] = row, []

    def _of_study(self, row: Happened) -> None:
        if row.kind == "extended":
            self.budget = int(row.value or 0)
            self.steps.append(self._spec.planned(self.budget))
        else:
            self.stopped = row.reason or ""

    def _happened(self, row: Happened) -> None:
        if row.trial_id is None:
            self._of_study(row)
            return
        self._pending.pop(row.trial_id, None)
        if row.trial_id in self._beside:
            self._beside[row.trial_id][1].append(row)
        elif row.kind in AMENDMENTS:
            self.amended_at = row.row
        found = self._draw_of.get(row.trial_id)
        if found is None:
            return  # not the method's own, or of an iteration that is over: it does not change the state
        draw, slot = found
        holding = draw.out.get(slot)
        if holding is not None and holding.id == row.trial_id:
            del draw.out[slot]
        if row.kind in ("complete", "corrected", "accepted") and draw.answered_by[slot] is None:
            draw.fill(slot, row.trial_id, row)
            if draw.missing == 0:
                self._close()
        elif row.kind in TAKEN_BACK and draw.answered_by[slot] == row.trial_id:
            draw.clear(slot, row.trial_id)
        elif row.kind in ("failed", "expired", "held"):
            # By trial, not by who holds the slot now: a process that reads the log at once, late, must
            # count what one that watched it counted, and a trial that expired and then failed is one.
            draw.lost[slot].add(row.trial_id)

    def _told(self, draw: OpenIteration) -> np.ndarray:
        """The (p,) values for the method.

        The mean at a point is that of the samples which stand. Where a point has none left, all are NaN: a
        host then moves nothing and only counts the iteration.
        """
        stand, shape = draw.stand(self._amended), (draw.repeats, draw.count)
        values = [None if row is None else row.value for row in stand]
        samples = np.array(values, dtype=np.float64).reshape(shape)
        void = np.isnan(samples)
        if void.any():
            if void.all(axis=0).any():
                return np.full(samples.shape[1], np.nan)
            rest = averages.mean(np.where(void, 0.0, samples)) * (len(samples) / (~void).sum(axis=0))
            samples = np.where(void, rest, samples)
        answers = self._spec.answers
        told = [NOTHING if row is None else Beside.from_json(row.beside) for row in stand]
        self._memory, means = answers.take(self._memory, samples, answers.beside(told, shape))
        return means

    def _close(self) -> None:
        """Draws that are over become steps of the method's state."""
        for key in list(self._draws):
            draw = self._draws[key]
            if (draw.iteration, draw.draw + 1) in self._draws:
                self.steps.append(None)
            elif draw.missing == 0:
                self.steps.append(self._told(draw))
                self.closed += 1
                self.opened_at = draw.row
            else:
                return
            del self._draws[key]
            for id in draw.trials:
                del self._draw_of[id]
