"""A study's log: every statement that reads or appends its rows. What they mean is said elsewhere.

Rows come out as plain tuples, vectors as the JSON text that is stored; the rest of a study knows no SQL.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import sqlalchemy as sa

from driftopt.study.database import Database
from driftopt.study.errors import UnknownTrial
from driftopt.study.schema import events, iterations, trials
from driftopt.study.trial import Place, Trial, state_of

T = TypeVar("T")


class Opened(NamedTuple):
    """An iteration was opened (draw 0), or redrawn (draw 1, 2, …)."""

    id: int
    iteration: int
    draw: int
    points: str  # the decisions to deploy, as JSON
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]  the column's name
    repeats: int
    opened_at: float


class Asked(NamedTuple):
    """A deployment was handed out."""

    id: int
    kind: str
    iteration: int
    draw: int
    point: int
    sample: int
    x: str  # the decision, as JSON
    holder: str
    asked_at: float
    expires_at: float | None

    @property
    def place(self) -> Place:
        return Place(*self[1:6])


class Happened(NamedTuple):
    """Something happened to a trial: complete, failed, expired, superseded, late."""

    id: int
    trial_id: int
    kind: str
    value: float | None
    sem: float | None
    x_deployed: str | None
    reason: str | None
    at: float


Row = Opened | Asked | Happened


def vector_as_json(x: np.ndarray) -> str:
    """No bit is lost: the shortest decimals that read back to the same binary64."""
    return json.dumps(x.tolist(), allow_nan=False)


def vector_from_json(text: str) -> np.ndarray:
    return np.array(json.loads(text), dtype=np.float64)


# Statements are built once: SQLAlchemy takes longer to build one than to run it.


def _columns(table: sa.Table, row: Any) -> Any:
    return sa.select(*(table.c[name] for name in row._fields))


def _given(table: sa.Table, *names: str) -> list[Any]:
    return [table.c[name] == sa.bindparam(name) for name in names]


_KINDS_OF_ROW = ((iterations, Opened), (trials, Asked), (events, Happened))
_SINCE = [
    (
        row,
        _columns(table, row)
        .where(*_given(table, "study_id"), table.c.id > sa.bindparam("after"))
        .order_by(table.c.id),
    )
    for table, row in _KINDS_OF_ROW
]
_TRIAL = _columns(trials, Asked).where(*_given(trials, "study_id", "id"))
_TOLD = _columns(events, Happened).where(*_given(events, "trial_id")).order_by(events.c.id)
_TRIES = (
    sa.select(trials.c.id, events.c.kind)
    .join_from(trials, events, events.c.trial_id == trials.c.id, isouter=True)
    .where(*_given(trials, "study_id", "kind", "iteration", "draw"))
    .order_by(trials.c.id, events.c.id)
)
_TRIES_AT_PLACE = _TRIES.where(*_given(trials, "point", "sample"))
_POINTS = sa.select(iterations.c.points).where(*_given(iterations, "study_id", "iteration", "draw"))
_LAST_POINTS = (
    sa.select(iterations.c.points)
    .where(*_given(iterations, "study_id", "iteration"))
    .order_by(iterations.c.draw.desc())
    .limit(1)
)
_LAST_ASKED = sa.select(trials.c.x).where(*_given(trials, "study_id")).order_by(trials.c.id.desc()).limit(1)
_OPEN = sa.insert(iterations)
_ASK = sa.insert(trials).returning(trials.c.id)
_SAY = sa.insert(events)


class Log:
    """The log of one study. Whatever is read or written passes through `read` or `write`."""

    def __init__(self, database: Database, study_id: int):
        self.database = database
        self.study_id = study_id

    def read(self, work: "Callable[[Reader], T]") -> T:
        """Run `work` on a snapshot: all it reads is of one moment."""
        return self.database.read(lambda connection: work(Reader(connection, self.study_id)))

    def write(self, work: "Callable[[Writer], T]", *, again: bool = False) -> T:
        """Run `work` as the study's only writer; all of it is committed, or nothing.

        `again` says that doing it twice is the same as doing it once.
        """
        return self.database.write(self.study_id, lambda tx: work(Writer(tx, self.study_id)), again=again)


class Reader:
    """What can be asked of the log."""

    def __init__(self, connection: sa.Connection, study_id: int):
        self._connection = connection
        self._study = {"study_id": study_id}

    def since(self, seen: dict[type, int]) -> Iterator[Row]:
        """The rows that are new after `seen`, which is brought up to date."""
        for kind, statement in _SINCE:
            values = self._study | {"after": seen.get(kind, 0)}
            for row in self._connection.execute(statement, values):
                seen[kind] = row[0]
                yield kind._make(row)

    def trial(self, id: int) -> Asked:
        """What was handed out under this number."""
        row = self._connection.execute(_TRIAL, self._study | {"id": id}).first()
        if row is None:
            raise UnknownTrial(f"this study has no trial {id}")
        return Asked._make(row)

    def told(self, id: int) -> list[Happened]:
        """What happened to a trial, oldest first."""
        return [Happened._make(row) for row in self._connection.execute(_TOLD, {"trial_id": id})]

    def tries(self, place: Place, *, whole_draw: bool = False) -> dict[int, list[str]]:
        """What happened to each trial at a place, or anywhere in its draw."""
        found: dict[int, list[str]] = {}
        statement = _TRIES if whole_draw else _TRIES_AT_PLACE
        for id, kind in self._connection.execute(statement, self._study | place._asdict()):
            found.setdefault(id, []).extend([] if kind is None else [kind])
        return found

    def points(self, iteration: int, draw: int | None = None) -> np.ndarray | None:
        """The decisions of a draw, or of the iteration's last; None: there is none."""
        where = self._study | {"iteration": iteration}
        if draw is None:
            text = self._connection.execute(_LAST_POINTS, where).scalar()
        else:
            text = self._connection.execute(_POINTS, where | {"draw": draw}).scalar()
        return None if text is None else vector_from_json(text)

    def last_asked(self) -> np.ndarray | None:
        """The decision handed out last."""
        text = self._connection.execute(_LAST_ASKED, self._study).scalar()
        return None if text is None else vector_from_json(text)

    def trials(
        self,
        names: tuple[str, ...],
        *,
        kinds: Sequence[str] | None = None,
        iteration: int | None = None,
        holder: str | None = None,
    ) -> list[Trial]:
        """Trials with their states, in the order in which they were asked."""
        where = [trials.c.study_id == self._study["study_id"]]
        where += [] if kinds is None else [trials.c.kind.in_(kinds)]
        where += [] if iteration is None else [trials.c.iteration == iteration]
        where += [] if holder is None else [trials.c.holder == holder]
        happened: dict[int, list[Happened]] = {}
        query = _columns(events, Happened).join_from(events, trials, events.c.trial_id == trials.c.id)
        for row in self._connection.execute(query.where(*where).order_by(events.c.id)):
            happened.setdefault(row.trial_id, []).append(Happened._make(row))
        asked = self._connection.execute(_columns(trials, Asked).where(*where).order_by(trials.c.id))
        return [as_trial(Asked._make(row), happened.get(row.id, []), names) for row in asked]


class Writer(Reader):
    """What can be appended to it: the only three statements that change a study."""

    def open(self, iteration: int, draw: int, points: np.ndarray, repeats: int, now: float) -> None:
        """An iteration's points are drawn, or drawn again."""
        row: dict[str, Any] = self._study | {"iteration": iteration, "draw": draw, "opened_at": now}
        row |= {"points": vector_as_json(points), "count": len(points), "repeats": repeats}
        self._connection.execute(_OPEN, row)

    def ask(self, place: Place, x: np.ndarray, holder: str, now: float, expires_at: float | None) -> Asked:
        """A deployment is handed out."""
        row: dict[str, Any] = place._asdict() | {"x": vector_as_json(x), "holder": holder}
        row |= {"asked_at": now, "expires_at": expires_at}
        id = self._connection.execute(_ASK, self._study | row).scalar_one()
        return Asked(id=id, **row)

    def say(
        self,
        trial_id: int,
        kind: str,
        now: float,
        *,
        value: float | None = None,
        sem: float | None = None,
        x_deployed: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Something happened to a trial."""
        row: dict[str, Any] = self._study | {"trial_id": trial_id, "kind": kind, "at": now}
        row |= {"value": value, "sem": sem, "x_deployed": x_deployed, "reason": reason}
        self._connection.execute(_SAY, row)


def as_trial(asked: Asked, happened: Sequence[Happened], names: tuple[str, ...]) -> Trial:
    """A trial from its rows."""
    told = next((event for event in reversed(happened) if event.kind in ("complete", "late", "failed")), None)
    state = state_of([event.kind for event in happened])
    row: dict[str, Any] = asked._asdict() | {"x": vector_from_json(asked.x), "names": names, "state": state}
    if told is not None:
        row |= {"value": told.value, "sem": told.sem, "reason": told.reason, "answered_at": told.at}
        row["x_deployed"] = None if told.x_deployed is None else vector_from_json(told.x_deployed)
    return Trial(**row)
