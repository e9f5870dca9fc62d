"""The rows of the log folded, as they come, into what `ask` must know: no SQL, no JAX, no clock.

Longer than 300 lines: one fold over the rows, whose parts share everything that it knows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftopt import averages
from driftopt.answers.beside import NOTHING, Beside
from driftopt.answers.limits import limits_of
from driftopt.study.errors import DamagedLog, Holding
from driftopt.study.log import Asked, Deployed, Happened, Mark, Opened, Reader, Row, Written, as_trial
from driftopt.study.open_iteration import OpenIteration
from driftopt.study.spec import Spec
from driftopt.study.trial import AMENDMENTS, ANSWERS, FOR_ANOTHER, TAKEN_BACK, Trial

# What happened to the method's state, in order: the (p,) values of an iteration, None for a redraw, or the
# budget that it plans for from there on.
Step = np.ndarray | int | None


TWICE = 2  # answers in a row that break a hard limit halt a study
# Answers whose metrics count. One that failed has no value that could be used, but was deployed.
_STANDING = ("complete", "corrected", "accepted", "failed")


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
        self._hard = [limit for limit in limits_of(spec.limits) if limit.hard]
        self._begin = begin
        self.restarts = 0  # how often the log was folded again from its beginning
        self._whole = False  # False while rows are taken in: who is interrupted then begins again
        self._restart()

    def _restart(self) -> None:
        self._amended: dict[int, Happened | None] = {}  # each trial's answer as it now is, if it was amended
        self._seen = self._begin
        self.amended_at = 0  # the last row that amends what the method's state depends on
        self.unlike_at = 0  # the last that amends an answer from which points were drawn already
        self.opened_at = 0  # the row that opened the last closed iteration
        self._last_closed: frozenset[int] = frozenset()  # and its trials, where they are known
        self._draws: dict[tuple[int, int], OpenIteration] = {}
        self._draw_of: dict[int, tuple[OpenIteration, int]] = {}  # a trial's draw and slot
        self._memory = self._spec.answers.begin()  # of the steps on the way in
        self._beside: dict[int, tuple[Asked, list[Happened]]] = {}  # trials that are not the method's own
        self._pending: dict[int, Asked] = {}
        self.budget = self._spec.budget
        self.stopped: str | None = None  # why the study was ended before its budget
        self.halted: str | None = None  # why nothing is asked until someone resumes
        self.broken: dict[str, int] = {}  # by hard limit, how many answers in a row break it
        self.control: float | None = None  # what control gave last, where values are relative to it
        self.spent = 0
        self.deployed = Deployed()
        self.since_control: int | None = None  # deployments since the last control; None before the first
        self.steps: list[Step] = []
        self.closed = 0  # iterations whose values are all in
        self._whole = True

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
        now = [as_trial(*rows, names, self._kept(rows)) for rows in named if self._of_present(rows[0])]
        return now, max(before, default=-1) + 1

    @property
    def confirming(self) -> list[Trial]:
        """What the recommendation's improvement is known from: control, and what confirms the present one."""
        return [*self.beside("control"), *self.evaluations("confirm")[0]]

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
            and (purpose == "method" or row.kind in FOR_ANOTHER or self._of_present(row))
        ]

    def _of_present(self, asked: Asked) -> bool:
        """Whether a trial evaluates the present recommendation."""
        return asked.iteration == self.closed and asked.row > self.amended_at

    def follow(self, log: Reader) -> None:
        """Take in the rows added since the last time; where they amend what is settled, all rows again.

        An interruption at any moment leaves it as it was, or marked as not whole: the next call then reads
        the log from its beginning.
        """
        if not self._whole:
            self.begin_anew()
        rows, seen = log.since(self._seen)
        if self._reaches_back(_amended(rows), rows):
            rows, seen = log.since(self._begin)
            self.begin_anew()
        self._fold(rows, seen)

    def _reaches_back(self, amended: Mapping[int, Happened | None], rows: Sequence[Row]) -> bool:
        """Whether an answer was amended that is in the method's state already, or that may have halted it."""
        asked = {row.id for row in rows if isinstance(row, Asked)} if amended else set[int]()
        before = [id for id in amended if id not in asked]
        return any(self._hard or (id not in self._draw_of and self._moves(id)) for id in before)

    def begin_anew(self) -> None:
        """Forget everything: what is followed next is the whole log."""
        self._whole = False
        self.restarts += 1
        self._restart()

    def take(self, written: Written) -> None:
        """Take in rows that were just committed, if none are missing between and none reach back."""
        if self._whole and written.before == self._seen and not _amended(written.rows):
            self._fold(written.rows, written.after)

    def of(self, rows: Sequence[Row]) -> "Progress":
        """What the beginning of a log told when there was no more of it."""
        early = Progress(self._spec, self._begin)
        early._fold(rows, self._begin)
        return early

    def _fold(self, rows: Sequence[Row], seen: Mark) -> None:
        if not rows:
            return
        self._whole = False
        self._amended |= _amended(rows)
        for row in rows:
            try:
                self._take_in(row)
            except (LookupError, TypeError, ValueError, ArithmeticError) as error:
                raise DamagedLog(
                    f"row {row.row} of the log does not follow from those before it ({error!r:.80}): nothing "
                    "is computed from it. `export` still writes all rows"
                ) from error
        self._seen = seen
        self._whole = True

    def _take_in(self, row: Row) -> None:
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
        if row.kind == "resumed":
            self.halted, self.broken = None, {}
        elif row.kind == "extended":
            self.budget = int(row.value or 0)
            self.steps.append(self._spec.planned(self.budget))
        else:
            before = "" if self.stopped is None else f"{self.stopped}; "
            self.stopped = before + (row.reason or "")

    def _happened(self, row: Happened) -> None:
        if row.trial_id is None:
            self._of_study(row)
            return
        self._pending.pop(row.trial_id, None)
        self._watch(row)
        if row.trial_id in self._beside:
            self._beside[row.trial_id][1].append(row)
        if row.kind in AMENDMENTS and self._moves(row.trial_id):
            self.amended_at = row.row
            self.unlike_at = row.row if self._drawn_from(row.trial_id) else self.unlike_at
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

    def _drawn_from(self, trial: int) -> bool:
        """Whether points of a later iteration than the trial's own may be in the log already."""
        return trial not in self._draw_of and not (self.open is None and trial in self._last_closed)

    def _moves(self, trial: int) -> bool:
        """Whether the method's state depends on a trial's answer."""
        beside = self._beside.get(trial)
        return beside is None or (self._spec.relative_to_control and beside[0].kind == "control")

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
        told = [NOTHING if row is None else self._said(row) for row in stand]
        self._memory, means = answers.take(self._memory, samples, answers.beside(told, shape))
        return means

    def _said(self, row: Happened) -> Beside:
        """What came with a value; control of its own deployments where none was told beside."""
        said = Beside.from_json(row.beside)
        control = self.control if said.control is None else said.control
        return said._replace(sem=row.sem, control=control)

    def _watch(self, row: Happened) -> None:
        """Hard limits, and the last control: a trial counts at its first answer, by what stands of it now."""
        stands = self._amended.get(row.trial_id or 0, row)
        if row.kind not in ANSWERS or stands is None or stands.kind not in _STANDING:
            return
        beside = self._beside.get(row.trial_id or 0)
        asked = None if beside is None else beside[0]
        if asked is not None and asked.kind == "control" and stands.kind != "failed":
            self.control = stands.value if self._spec.relative_to_control else None
        if asked is None or (asked.kind != "control" and (asked.kind, asked.sample) != ("confirm", 0)):
            self._count_broken(row.trial_id, Beside.from_json(stands.beside).metrics)

    def _count_broken(self, trial: int | None, told: Mapping[str, float]) -> None:
        """Each hard limit on its own; a metric that was not told says nothing of its limit."""
        hard = [one for one in self._hard if one.name in told]
        over = {one.name for one in hard if one.excess(told[one.name]) > 0}
        now = {one.name: self.broken.get(one.name, 0) + 1 if one.name in over else 0 for one in hard}
        self.broken = self.broken | now
        twice = [one for one in hard if now[one.name] >= TWICE]
        if twice and self.halted is None:
            words = ", ".join(f"{one.name} is {told[one.name]:g} and may be {one.words}" for one in twice)
            self.halted = f"{words}: twice in a row, at last in trial {trial}"

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
                self._last_closed = frozenset(draw.trials)
            else:
                return
            del self._draws[key]
            for id in draw.trials:
                del self._draw_of[id]
