"""The state of a study: its log folded to the trials with what stands of each.

Lateness, order, corrections, failures and pauses need no rule: a trial stands with the last that was said of
it, or does not stand.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from driftopt.answers import Beside
from driftopt.answers.beside import NOTHING
from driftopt.answers.limits import limits_of
from driftopt.study.errors import DamagedLog, UnknownTrial
from driftopt.study.log import Asked, Happened, Mark, Opened, Reader, Row, Written, vector_from_json
from driftopt.study.records import StudySpec
from driftopt.study.trial import AMENDMENTS, ANSWERS, EVALUATIONS, FOR_ANOTHER, Event, Trial, state_of

TWICE = 2  # results in a row that break a hard limit halt a study


@dataclass
class Entry:
    """One trial: how it was asked, and what happened to it. Vectors and tables are read from text once."""

    asked: Asked
    number: int  # which deployment of the study it is, from 1
    keep: bool  # whether it is what its holder has deployed already
    x: np.ndarray  # the decision as asked, (d,)
    context: Mapping[str, str]  # the category of each
    expires_at: float | None  # when its lease ends; its holder renews it by asking again
    happened: list[Happened] = field(default_factory=list[Happened])
    beside: Beside = NOTHING  # what came with the result that counts, or was the last to count
    deployed: np.ndarray = field(default_factory=lambda: np.zeros(0))  # the decision as deployed, (d,)

    def take(self, row: Happened) -> None:
        """Something happened to it."""
        if row.kind == "renewed":
            self.expires_at = row.value
            return
        if row.kind in ANSWERS and row.x_deployed is not None:
            self.deployed = vector_from_json(row.x_deployed)
        if row.kind != "voided":
            self.beside = Beside.from_json(row.beside)
        self.happened.append(row)

    @property
    def state(self) -> str:
        """The state without regard to its lease."""
        return state_of([row.kind for row in self.happened])

    @property
    def told(self) -> Happened | None:
        """What was reported first, if anything was."""
        return next((row for row in self.happened if row.kind in ANSWERS), None)

    @property
    def last_said(self) -> Happened | None:
        """The result, or what it was last amended to; that it was voided takes nothing from what was said."""
        return next((row for row in reversed(self.happened) if row.kind != "voided"), None)

    @property
    def stands(self) -> Happened | None:
        """The result that counts; None: there is none."""
        return self.happened[-1] if self.state == "complete" else None

    @property
    def at(self) -> float:
        """The moment that its result is of; without one, when it was asked."""
        return self.asked.asked_at if self.beside.at is None else self.beside.at

    def overdue(self, now: float) -> bool:
        """Whether its lease is over."""
        return self.expires_at is not None and self.expires_at <= now

    def out(self, now: float) -> bool:
        """Whether its result is still awaited."""
        return not self.happened and not self.overdue(now)

    def lost(self, now: float) -> bool:
        """True if nobody knows whether it was deployed."""
        return self.state == "failed" or (not self.happened and self.overdue(now))


class State:
    """All that the log says, up to the last `follow`."""

    def __init__(self, spec: StudySpec, begin: Mark):
        self.spec = spec
        self.seen = begin
        self.rows: list[Row] = []  # all of them
        self.entries: dict[int, Entry] = {}  # by the trial's number in the database, in the order asked
        self.opened: list[Opened] = []
        self.amended = False  # whether a result changed after others may have been drawn from it
        self.budget = spec.budget
        self.extended: list[tuple[int, int]] = []  # iterations opened before, and the budget from there on
        self.stopped: str | None = None  # why the study was ended
        self._resumed = 0  # the row since which hard limits count
        self._last: Entry | None = None
        self.whole = True  # False after an interruption, which may have left it anywhere between two rows

    # Folding

    def follow(self, log: Reader) -> None:
        """Take in the rows since the last time."""
        self._fold(*log.since(self.seen))

    def take(self, written: Written) -> None:
        """Take in rows that were just committed, if they are the next ones."""
        if written.rows and written.before == self.seen:
            self._fold(written.rows, written.after)

    def _fold(self, rows: Sequence[Row], seen: Mark) -> None:
        self.whole = False
        for row in rows:
            try:
                self._take(row)
            except LookupError:
                raise DamagedLog(f"row {row.row} of the log does not follow from those before it") from None
            self.rows.append(row)
        self.seen, self.whole = seen, True

    def _take(self, row: Row) -> None:
        match row:
            case Opened():
                if row.iteration != len(self.opened):
                    raise LookupError(row.iteration)
                self.opened.append(row)
            case Asked():
                if row.kind == "method" and not self.spec.uses_model and row.iteration >= len(self.opened):
                    raise LookupError(row.iteration)
                x = vector_from_json(row.x)
                context = {} if row.context is None else json.loads(row.context)
                number, keep = len(self.entries) + 1, self._keeps(row, x)
                entry = Entry(row, number, keep, x, context, row.expires_at, deployed=x)
                self._last = self.entries[row.id] = entry
            case Happened(trial_id=None):
                self._of_study(row)
            case Happened():
                entry = self.entries[row.trial_id or 0]
                entry.take(row)
                late = entry.asked.kind == "method" and entry.asked.iteration + 1 < len(self.opened)
                self.amended |= row.kind in AMENDMENTS or late

    def _keeps(self, row: Asked, x: np.ndarray) -> bool:
        """Whether a holder changes nothing: nobody has deployed another decision since it deployed this one.

        While a decision settles it is the only one, whoever asks. After a failure nobody knows what is
        deployed.
        """
        for entry in self.latest:
            if entry.lost(row.asked_at) or not np.array_equal(entry.x, x):
                return False
            if entry.asked.holder == row.holder or entry.asked.kind == "settle":
                return True
        return False

    def _of_study(self, row: Happened) -> None:
        if row.kind == "resumed":
            self._resumed = row.row
        elif row.kind == "extended":
            self.budget = int(row.value or 0)
            self.extended.append((len(self.opened), self.budget))
        else:
            before = "" if self.stopped is None else f"{self.stopped}; "
            self.stopped = before + (row.reason or "")

    # Looking

    @property
    def spent(self) -> int:
        """Deployments so far: each counts, whatever becomes of it."""
        return len(self.entries)

    def entry(self, id: int) -> Entry:
        """A trial by its number in the database."""
        if id not in self.entries:
            raise UnknownTrial(f"this study has no trial {id}: `trials` lists those that it has")
        return self.entries[id]

    def of_kind(self, *kinds: str) -> list[Entry]:
        """Trials in the order asked."""
        return [entry for entry in self.entries.values() if entry.asked.kind in kinds]

    @property
    def searched(self) -> int:
        """The number of the last trial that does not evaluate the recommendation; 0 before the first."""
        return next(
            (one.number for one in self.latest if one.asked.kind not in (*EVALUATIONS, *FOR_ANOTHER)), 0
        )

    @property
    def latest(self) -> Iterator[Entry]:
        """Trials, the newest first."""
        return reversed(self.entries.values())

    @property
    def standing(self) -> list[Entry]:
        """The trials whose results count, in the order asked.

        Where decisions settle, a period before the last says nothing.
        """
        idle = FOR_ANOTHER if self.spec.settle > 1 else ()
        return [e for e in self.entries.values() if e.stands is not None and e.asked.kind not in idle]

    @property
    def deployed(self) -> np.ndarray:
        """The decision that was handed out last."""
        return self.spec.start if self._last is None else self._last.x

    def periods(self, x: np.ndarray, now: float) -> int:
        """For how many periods a decision has been deployed by now; a failure begins the count again."""
        count = 0
        for entry in self.latest:
            if entry.lost(now) or not np.array_equal(entry.x, x):
                break
            count += 1
        return count

    @property
    def since_control(self) -> int | None:
        """Deployments since the last control; None before the first."""
        count = 0
        for entry in self.latest:
            if entry.asked.kind == "control":
                return count
            count += entry.asked.kind not in FOR_ANOTHER
        return None

    @property
    def halted(self) -> str | None:
        """Why nothing is asked until someone resumes: a hard limit was broken twice in a row.

        Results count in the order asked; a metric that was not reported says nothing of its limit. One that
        failed has no value, but was deployed.
        """
        hard = [limit for limit in limits_of(self.spec.limits) if limit.hard]
        broken = dict.fromkeys((limit.name for limit in hard), 0)
        for entry in self.entries.values() if hard else ():
            told, metrics = entry.told, entry.beside.metrics
            at_start = entry.asked.kind == "control" or entry.asked.place[::3] == ("confirm", 0)
            if told is None or told.row <= self._resumed or at_start:
                continue
            if entry.state not in ("complete", "failed"):
                continue
            for limit in hard:
                if limit.name in metrics:
                    over = limit.excess(metrics[limit.name]) > 0
                    broken[limit.name] = broken[limit.name] + 1 if over else 0
            if twice := [limit for limit in hard if broken[limit.name] >= TWICE and limit.name in metrics]:
                words = ", ".join(
                    f"{one.name} is {metrics[one.name]:g} and may be {one.words}" for one in twice
                )
                return f"{words}: twice in a row, at last in trial {entry.asked.id}"
        return None

    # As the caller sees it

    def trials(self, now: float) -> list[Trial]:
        """Every trial, in the order asked."""
        return [self.trial(entry, now) for entry in self.entries.values()]

    def trial(self, entry: Entry, now: float) -> Trial:
        """One trial."""
        asked, told, said = entry.asked, entry.told, entry.last_said
        state = "expired" if not entry.happened and entry.overdue(now) else entry.state
        plain = {
            name: value for name, value in asked._asdict().items() if name not in ("row", "x", "context")
        }
        plain |= {"x": entry.x.copy(), "names": tuple(self.spec.names), "state": state, "keep": entry.keep}
        plain |= {"context": entry.context, "expires_at": entry.expires_at}
        plain["history"] = tuple(Event(e.kind, e.value, e.reason, e.who, e.at) for e in entry.happened)
        if told is None or said is None:
            return Trial(**plain)
        amended = next((row for row in reversed(entry.happened) if row.kind in AMENDMENTS), told)
        plain |= {"answered_at": told.at, "reason": amended.reason}
        plain["x_deployed"] = None if told.x_deployed is None else entry.deployed.copy()
        if amended.kind != "voided":
            plain |= entry.beside._asdict()
            plain |= {"sem": said.sem, "value": self.value(entry, said)}
        return Trial(**plain)

    def value(self, entry: Entry, said: Happened) -> float | None:
        """The value that was reported, or what the objective makes of the outputs."""
        if said.value is not None or self.spec.value_of is None:
            return said.value
        outputs = entry.beside.outputs
        if not all(name in outputs for name in self.spec.outputs):
            return None
        listed = np.array([outputs[name] for name in self.spec.outputs])
        return float(self.spec.value_of(entry.deployed, listed))


def answered(entries: Sequence[Entry]) -> list[Entry]:
    """Those whose results stand."""
    return [entry for entry in entries if entry.stands is not None]
