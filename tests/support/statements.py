"""SQL made cheaper: compiled once for all databases of a worker, and not flushed to the disk."""

from typing import Any

import sqlalchemy as sa

from driftopt.study.log import connections

FLUSHING = connections.sqlite  # as everybody has it


class Statements(dict[Any, Any]):
    """Compiled statements by kind of database, in place of by connection pool."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((type(key[0]), *key[1:]), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__((type(key[0]), *key[1:]), value)


def share_statements() -> None:
    """Let engines of SQLAlchemy find what others compiled: ten milliseconds for each."""
    make, shared = sa.Engine.__init__, Statements()

    def made(self: sa.Engine, *given: Any, **named: Any) -> None:
        make(self, *given, **named)
        self._compiled_cache = shared

    sa.Engine.__init__ = made


def leave_it_to_the_system() -> None:
    """Let the system decide when what SQLite wrote reaches the disk, as for the tests' PostgreSQL server.

    To wait for it takes some milliseconds for each of ten thousands of commits, and holds against a loss of
    power alone: what a killed process has committed is there either way. Processes that tests start flush.
    """

    def unflushed(url: sa.URL, timeout: float) -> sa.Engine:
        engine = FLUSHING(url, timeout)
        sa.event.listen(engine, "connect", lambda opened, _: opened.execute("PRAGMA synchronous=OFF"))
        return engine

    connections.sqlite = unflushed
