"""The verbs that read: each is a function of (session, record) on one snapshot of the log."""

from typing import TYPE_CHECKING, Any, NamedTuple

from driftopt.study import asking, facts
from driftopt.study.log import Asked, Happened, Opened, Row
from driftopt.study.log_file import as_data
from driftopt.study.recommendation import Recommendation
from driftopt.study.recommendation import recommend as recommended
from driftopt.study.recommendation import stationarity as certified
from driftopt.study.records import After, Called, Here, Nothing, Sureness, TrialId, Wanted, Window
from driftopt.study.session import Session
from driftopt.study.trial import Status, Trial, Trials

if TYPE_CHECKING:
    from driftopt.stationarity import Stationarity


class Change(NamedTuple):
    """Something that happened in a study; `row` numbers them 1, 2, … without a gap."""

    row: int
    at: float  # seconds since the epoch
    kind: str  # opened, asked, or what happened: complete, failed, held, corrected, extended, …
    trial_id: int | None  # of the trial, where it is about one
    value: float | None = None  # what was reported, where something was
    holder: str | None = None  # of a trial that is asked
    who: str | None = None  # said so, where someone is named
    reason: str | None = None  # why, where someone said


class Changes(NamedTuple):
    """Rows of the log; `next` is the `after` of the next page, None on the last."""

    changes: list[Change]
    next: int | None = None


class Verified(NamedTuple):
    """The log is as it was written, and its replay leads to the points that were asked."""

    rows: int


class LogData(NamedTuple):
    """A whole log, with a checksum of all rows."""

    created_at: float
    rows: list[list[Any]]
    checksum: str


def status(session: Session, _: Nothing) -> Status:
    """How far the study is: deployments paid for and spent, and rows of its log. Quick, however long."""
    return session.status()


def trials(session: Session, wanted: Wanted) -> Trials:
    """The deployments so far, in the order asked, a page at a time."""
    given = {name: getattr(wanted, name) for name in ("state", "kind", "holder")}
    found = session.state.trials(session.clock())
    found = [t for t in found if all(v is None or getattr(t, name) == v for name, v in given.items())]
    if wanted.order == "newest":
        found = [t for t in reversed(found) if wanted.after is None or t.id < wanted.after]
    else:
        found = [t for t in found if wanted.after is None or t.id > wanted.after]
    page = found[: wanted.limit]
    return Trials(page, page[-1].id if len(found) > len(page) else None)


def trial(session: Session, one: TrialId) -> Trial:
    """One deployment with its result."""
    return session.state.trial(session.state.entry(one.id), session.clock())


def changes(session: Session, wanted: After) -> Changes:
    """What happened in the study, whoever did it: the rows of its log in plain words, oldest first."""
    rows = session.state.rows[wanted.after :]
    page = [_change(row) for row in rows[: wanted.limit]]
    return Changes(page, page[-1].row if len(rows) > len(page) else None)


def _change(row: Row) -> Change:
    match row:
        case Opened():
            return Change(row.row, row.opened_at, "opened", None)
        case Asked():
            return Change(row.row, row.asked_at, "asked", row.id, holder=row.holder)
        case Happened():
            return Change(row.row, row.at, row.kind, row.trial_id, row.value, None, row.who, row.reason)


def recommend(session: Session, here: Here) -> Recommendation:
    """The decision to deploy, with its expected and its measured gain: never the best value seen."""
    state = session.state
    x, gain = session.recommendation(session.context(here.context))
    trials, left = state.trials(session.clock()), asking.left_of(state)
    return recommended(session.spec, x, len(state.standing), state.spent, left, trials, gain)


def summary(session: Session, called: Called) -> facts.Summary:
    """Where the study is: values, drift, pending and failed deployments, and what to do now."""
    return facts.summarize(session, called.place or session.place)


def course(session: Session, window: Window) -> facts.Course:
    """Everything that a page draws of the study."""
    return facts.course(session, window)


def stationarity(session: Session, sure: Sureness) -> "Stationarity":
    """How stationary the present recommendation is, from the pairs asked for that purpose."""
    if (sure.low is None) != (sure.high is None):
        raise ValueError("low and high are given together, or neither is")
    bounds = None if sure.low is None or sure.high is None else (sure.low, sure.high)
    x, _ = session.recommendation(session.context(None))
    return certified(session.spec, x, session.state.trials(session.clock()), sure.confidence, bounds)


def verify(session: Session, _: Nothing) -> Verified:
    """Read the whole log again, check every row, and replay it."""
    return Verified(session.verify())


def log(session: Session, _: Nothing) -> LogData:
    """The whole log, from which `driftopt.study.load` makes the same study."""
    return LogData(**as_data(session.name, session.log.created_at, session.spec, session.state.rows))
