"""Requests that carry a key: what was done for each, in the transaction that did it.

The rows of a log know nothing of keys.
"""

from typing import Any, NamedTuple

import sqlalchemy as sa

from driftopt.study.log.rows import chained, stored
from driftopt.study.log.schema import keys as _keys

CREATION = 0  # in the place of a study's number: requests to create one

_FIND = sa.select(_keys.c.asked_for, _keys.c.result).where(
    *(_keys.c[name] == sa.bindparam(name) for name in ("study_id", "key", "number"))
)
_KEEP = sa.insert(_keys)
_FORGET = sa.delete(_keys).where(_keys.c.study_id == sa.bindparam("of_study"))


class Request(NamedTuple):
    """A request that may come twice: its key, which of several it is, and what it asked for."""

    key: str
    number: int
    asked_for: str

    @classmethod
    def of(cls, key: str, number: int, *said: Any) -> "Request":
        """A request that said so; whatever it said, what is kept is a checksum."""
        return cls(key, number, chained("", *(repr(word) for word in said)))


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
    connection.execute(_FORGET, {"of_study": study_id})
