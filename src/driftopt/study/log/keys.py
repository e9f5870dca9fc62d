"""Requests that carry a key: what was done for each, in the transaction that did it.

A table of its own, made when the first key is used: a database without it is as good, and versions that do
not know it read on. The rows of a log know nothing of keys.
"""

from typing import Any, NamedTuple

import sqlalchemy as sa

from driftopt.study.log.database import Database
from driftopt.study.log.rows import chained, stored

CREATION = 0  # in the place of a study's number: requests to create one

_metadata = sa.MetaData()
_table = sa.Table(
    "driftopt_keys",
    _metadata,
    sa.Column("study_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),  # of several things asked at once
    sa.Column("asked_for", sa.String(32), nullable=False),  # a checksum of what the request said
    sa.Column("result", sa.Integer, nullable=False),  # the number of the trial, or of the study
    sa.Column("at", sa.Double, nullable=False),
    sqlite_with_rowid=False,
)
_FIND = sa.select(_table.c.asked_for, _table.c.result).where(
    *(_table.c[name] == sa.bindparam(name) for name in ("study_id", "key", "number"))
)
_KEEP = sa.insert(_table)
_FORGET = sa.delete(_table).where(_table.c.study_id == sa.bindparam("of_study"))


class Request(NamedTuple):
    """A request that may come twice: its key, which of several it is, and what it asked for."""

    key: str
    number: int
    asked_for: str

    @classmethod
    def of(cls, key: str, number: int, *said: Any) -> "Request":
        """A request that said so; whatever it said, what is kept is a checksum."""
        return cls(key, number, chained("", *(repr(word) for word in said)))


def prepare(database: Database) -> None:
    """Make the table where there is none."""

    def work(connection: sa.Connection) -> None:
        if not database.sqlite:  # two at once: the second waits for the first's table
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(0x64726967)))
        _metadata.create_all(connection)

    if not database.read(lambda connection: sa.inspect(connection).has_table(_table.name)):
        database.write(work, again=True)


def find(connection: sa.Connection, study_id: int, request: Request) -> int | None:
    """What was done for a request before; ValueError where its key came with another one."""
    where = {"study_id": study_id, "key": request.key, "number": request.number}
    found = connection.execute(_FIND, where).first()
    if found is None:
        return None
    if found.asked_for != request.asked_for:
        raise ValueError(
            f"key {request.key!a:.80} came before with another request: choose a new key for a new request"
        )
    return found.result


def keep(connection: sa.Connection, study_id: int, request: Request, result: int, now: float) -> None:
    """Write down what was done."""
    row = request._asdict() | {"study_id": study_id, "result": result, "at": stored(now)}
    connection.execute(_KEEP, row)


def forget(connection: sa.Connection, study_id: int) -> None:
    """A study is deleted, and with it what was asked of it."""
    if sa.inspect(connection).has_table(_table.name):
        connection.execute(_FORGET, {"of_study": study_id})
