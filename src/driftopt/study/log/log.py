"""A study's log: read and appended to through `Reader` and `Writer`. What rows mean is said elsewhere.

Rows come out as plain tuples, vectors as the JSON text that is stored; the rest of a study knows no SQL.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import sqlalchemy as sa

from driftopt.study.errors import DamagedLog, ImpossiblePlace, NoSuchStudy, UnknownTrial
from driftopt.study.log import keys, statements, studies
from driftopt.study.log.database import Database
from driftopt.study.log.keys import Request
from driftopt.study.log.rows import (
    Answered,
    Asked,
    Happened,
    Mark,
    Opened,
    Row,
    Written,
    checksum_of,
    stored,
    vector_as_json,
    vector_from_json,
)
from driftopt.study.trial import ANSWERS, Place, state_of

T = TypeVar("T")

_ADVICE = "the database is damaged, and nothing is computed from it. Go back to a copy of it"


class Log:
    """The log of one study. Whatever is read or written passes through `read` or `write`."""

    def __init__(self, database: Database, found: studies.Found):
        self.database = database
        self.study_id = found.id
        self.spec = found.spec
        self.created_at = found.created_at
        self.begin = Mark(0, found.checksum)

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str] | Database,
        name: str,
        spec: str,
        now: float,
        request: Request | None = None,
    ) -> "Log":
        """The empty log of a new study; where the same request came before, the log that it made."""
        database = url if isinstance(url, Database) else Database(url)
        return cls(database, studies.add(database, name, spec, now, request=request))

    @classmethod
    def open(cls, url: str | os.PathLike[str] | Database, name: str) -> "Log":
        """The log of a study that exists; in a database that is open already, over its connections."""
        database = url if isinstance(url, Database) else Database(url)
        try:
            return cls(database, studies.find(database, name))
        except BaseException:
            if database is not url:
                database.close()
            raise

    def read(self, work: "Callable[[Reader], T]") -> T:
        """Run `work` on a snapshot: all it reads is of one moment."""
        return self.database.read(lambda connection: work(Reader(connection, self.study_id)))

    def write(self, work: "Callable[[Writer], T]", *, again: bool = False) -> "tuple[T, Written]":
        """Run `work` as the study's only writer; all of it is committed, or nothing.

        Returns what `work` returned, and the rows that are in the log now.

        `again` says that doing it twice is the same as doing it once.
        """

        def written(connection: sa.Connection) -> tuple[T, Written]:
            writer = Writer(connection, self.study_id)
            result = work(writer)
            return result, writer.finish()

        return self.database.write(written, again=again)


class KnownTrial(NamedTuple):
    """What the log says of one trial."""

    asked: Asked
    happened: list[Happened]  # oldest first
    redrawn: bool  # the iteration was drawn anew after it was asked
    tried_again: bool  # there is another trial at its place

    @property
    def told(self) -> Happened | None:
        """What was answered, if anything was."""
        return next((row for row in self.happened if row.kind in ANSWERS), None)


class Reader:
    """What can be asked of the log."""

    _head_statement: Any = statements.HEAD

    def __init__(self, connection: sa.Connection, study_id: int):
        self._connection = connection
        self._study = {"study_id": study_id}
        found = connection.execute(self._head_statement, self._study).first()
        if found is None:
            if connection.execute(statements.STUDY, self._study).first() is None:
                raise NoSuchStudy("the study was deleted")
            raise DamagedLog(f"the end of the log is not written down: {_ADVICE}")
        self._head = Mark(*found)

    @property
    def appended(self) -> int:
        """How many rows this transaction appended so far."""
        return 0

    def since(self, mark: Mark) -> tuple[list[Row], Mark]:
        """The rows after `mark` in their order, each checked, and where the log ends now."""
        if self._head == mark:
            return [], mark
        where = self._study | {"after": mark.rows}
        found: list[tuple[Any, Row, str]] = [
            (row[0], kind._make(row[:-1]), row[-1])
            for kind, statement in statements.SINCE
            for row in self._connection.execute(statement, where).all()
        ]
        try:
            found.sort(key=lambda line: line[0])
        except TypeError:
            raise DamagedLog(f"a row has no number: {_ADVICE}") from None
        for number, row, checksum in found:
            mark = Mark(mark.rows + 1, checksum_of(mark.checksum, row))
            if number != mark.rows or checksum != mark.checksum:
                raise DamagedLog(f"row {mark.rows} is missing, or is not what was written: {_ADVICE}")
        if self._head != mark:
            raise DamagedLog(f"the log ends after row {mark.rows}, and not as it was written: {_ADVICE}")
        return [row for _, row, _ in found], mark

    def trial(self, id: int) -> "KnownTrial":
        """What was handed out under this number, and what happened to it."""
        rows = self._connection.execute(statements.TRIAL, self._study | {"id": id}).all()
        if not rows:
            raise UnknownTrial(f"this study has no trial {id}: `trials` lists those that it has")
        width = len(Asked._fields)
        asked, (redrawn, tried_again) = Asked._make(rows[0][:width]), rows[0][width : width + 2]
        happened = [Happened._make(row[width + 2 :]) for row in rows if row[width + 2] is not None]
        return KnownTrial(asked, happened, asked.kind == "method" and bool(redrawn), bool(tried_again))

    def tries(self, place: Place, *, whole_draw: bool = False) -> dict[int, list[str]]:
        """What happened to each trial at a place, or anywhere in its draw."""
        found: dict[int, list[str]] = {}
        statement = statements.TRIES if whole_draw else statements.TRIES_AT_PLACE
        for id, kind in self._connection.execute(statement, self._study | place._asdict()):
            found.setdefault(id, []).extend([] if kind is None else [kind])
        return found

    def points(self, iteration: int, draw: int | None = None) -> np.ndarray | None:
        """The decisions of a draw, or of the iteration's last; None: there is none."""
        where = self._study | {"iteration": iteration}
        if draw is None:
            text = self._connection.execute(statements.LAST_POINTS, where).scalar()
        else:
            text = self._connection.execute(statements.POINTS, where | {"draw": draw}).scalar()
        return None if text is None else vector_from_json(text)

    def last(self, kind: str, most: int, before: int | None = None) -> dict[int, Answered]:
        """The last answers to trials of a kind, as they now stand: oldest first, by trial.

        Those before a row of the log, if one is given. What was voided is left out.
        """
        return self._standing(statements.LAST, before, of_kind=kind, most=most)

    def first(self, kind: str, most: int) -> dict[int, Answered]:
        """The first answers, likewise."""
        return self._standing(statements.FIRST, None, of_kind=kind, most=most)

    def evaluations(self, place: Place, before: int | None = None) -> dict[int, Answered]:
        """The answers on one side of the pairs that evaluate one recommendation, likewise."""
        where = {"iteration": place.iteration, "sample": place.sample}
        return self._standing(statements.EVALUATIONS, before, of_kind=place.kind, **where)

    def _standing(self, statement: Any, before: int | None, **where: Any) -> dict[int, Answered]:
        where |= self._study | {"before": self._next if before is None else before}
        stand: dict[int, Answered] = {}
        rows: list[Any] = sorted(self._connection.execute(statement, where).all(), key=lambda row: row.row)
        for _, trial, kind, value, beside in rows:
            stand.pop(trial, None)
            if kind != "voided":
                stand[trial] = Answered(value, kind in ("held", "doubted"), beside)
        # As they were asked: what was amended last must not stand beside what was asked last.
        return dict(sorted(stand.items()))

    @property
    def _next(self) -> int:
        return self._head.rows + 1


def _impossible(why: str) -> ImpossiblePlace:
    return ImpossiblePlace(
        f"{why}: this process knew the study otherwise than its log says. Nothing was recorded; try again"
    )


class Writer(Reader):
    """What can be appended to it: nothing else changes a study."""

    _head_statement: Any = statements.LOCKED_HEAD

    def __init__(self, connection: sa.Connection, study_id: int):
        super().__init__(connection, study_id)
        self._before, self._rows = self._head, list[Row]()

    def open(self, iteration: int, draw: int, points: np.ndarray, repeats: int, now: float) -> None:
        """An iteration's points are drawn, or drawn again."""
        last = self._last_opened()
        after = [(0, 0)] if last is None else [(last[0] + 1, 0), (last[0], last[1] + 1)]
        if (iteration, draw) not in after:
            raise _impossible(f"iteration {iteration}, draw {draw} does not come next")
        text = vector_as_json(points)
        self._append(Opened(self._next, iteration, draw, text, len(points), repeats, stored(now)))

    def ask(self, place: Place, x: np.ndarray, holder: str, now: float, expires_at: float | None) -> Asked:
        """A deployment is handed out.

        Raises:
            ImpossiblePlace: the log has no such place, or an answer to it.
        """
        if place.kind == "method":
            self._check_place(place)
        id = self._connection.execute(statements.NEXT_ID[self._connection.dialect.name]).scalar_one()
        until = None if expires_at is None else stored(expires_at)
        row = Asked(self._next, id, *place, vector_as_json(x), str(holder), stored(now), until)
        self._append(row)
        return row

    def _check_place(self, place: Place) -> None:
        last = self._last_opened()
        if last is None or last[:2] != (place.iteration, place.draw):
            raise _impossible(f"iteration {place.iteration}, draw {place.draw} is not open")
        _, _, count, repeats = last
        if place.point >= count or place.sample >= repeats:
            raise _impossible(f"iteration {place.iteration} has {count} points, each {repeats} times")
        if any(state_of(kinds) == "complete" for kinds in self.tries(place).values()):
            raise _impossible(f"point {place.point} of iteration {place.iteration} has its answer")

    def _last_opened(self) -> tuple[int, int, int, int] | None:
        """The iteration and draw that were opened last, how many points they have, and repeats of each."""
        found: Any = self._connection.execute(statements.LAST_OPENED, self._study).first()
        return None if found is None else (found[0], found[1], found[2], found[3])

    def say(
        self,
        trial_id: int | None,
        kind: str,
        now: float,
        *,
        value: float | None = None,
        sem: float | None = None,
        x_deployed: str | None = None,
        reason: str | None = None,
        who: str | None = None,
        beside: str | None = None,
    ) -> None:
        """Something happened to a trial, or, with None, to the study."""
        told = (value, sem, x_deployed, reason, who, stored(now), beside)
        self._append(Happened(self._next, trial_id, kind, *told))

    def done_for(self, request: Request) -> int | None:
        """The trial that was handed out for a request before, if it came before."""
        return keys.find(self._connection, self._study["study_id"], request)

    def keep(self, request: Request, trial_id: int, now: float) -> None:
        """Write down which trial was handed out for a request."""
        keys.keep(self._connection, self._study["study_id"], request, trial_id, now)

    def _append(self, row: Row) -> None:
        self._head = Mark(row.row, checksum_of(self._head.checksum, row))
        whole = self._study | row._asdict() | {"checksum": self._head.checksum}
        self._connection.execute(statements.APPEND[type(row)], whole)
        self._rows.append(row)

    @property
    def appended(self) -> int:
        """How many rows this transaction appended so far."""
        return len(self._rows)

    def finish(self) -> Written:
        """Write down where the log ends now."""
        if self._rows:
            self._connection.execute(
                statements.NEW_HEAD, {"of_study": self._study["study_id"]} | self._head._asdict()
            )
        return Written(self._before, self._rows, self._head)
