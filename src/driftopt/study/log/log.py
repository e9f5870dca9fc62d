"""A study's log: read and appended to through `Reader` and `Writer`. What rows mean is said elsewhere.

Rows come out as plain tuples, vectors as the JSON text that is stored; the rest of a study knows no SQL.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa

from driftopt.study.errors import DamagedLog, NoSuchStudy
from driftopt.study.log import keys, statements, studies
from driftopt.study.log.database import Database
from driftopt.study.log.keys import Request
from driftopt.study.log.rows import (
    Asked,
    Happened,
    Mark,
    Opened,
    Row,
    Written,
    checksum_of,
    stored,
    vector_as_json,
)
from driftopt.study.trial import Place

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

    @property
    def _next(self) -> int:
        return self._head.rows + 1


class Writer(Reader):
    """What can be appended to it: nothing else changes a study."""

    _head_statement: Any = statements.LOCKED_HEAD

    def __init__(self, connection: sa.Connection, study_id: int):
        super().__init__(connection, study_id)
        self._before, self._rows = self._head, list[Row]()

    def open(self, iteration: int, points: np.ndarray, repeats: int, now: float) -> None:
        """An iteration's points are drawn."""
        text = vector_as_json(points)
        self._append(Opened(self._next, iteration, text, len(points), repeats, stored(now)))

    def ask(
        self,
        place: Place,
        x: np.ndarray,
        context: str | None,
        holder: str,
        now: float,
        expires_at: float | None,
    ) -> int:
        """A deployment is handed out; returns the trial's number."""
        id = self._connection.execute(statements.NEXT_ID[self._connection.dialect.name]).scalar_one()
        until = None if expires_at is None else stored(expires_at)
        x_text = vector_as_json(x)
        self._append(Asked(self._next, id, *place, x_text, context, str(holder), stored(now), until))
        return id

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
