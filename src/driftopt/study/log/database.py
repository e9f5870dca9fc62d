"""Transactions on SQLite and PostgreSQL, with patience where a database is locked or away.

There is one writer to a study at a time; readers see a snapshot.
"""

import logging
import math
import os
import random
import sqlite3
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from driftopt.study.errors import DamagedLog, DatabaseRefused, Duplicate
from driftopt.study.log import connections

T = TypeVar("T")

# How long a database that is locked or away is waited for: in silence, then with a word, then no longer.
SAY_AFTER, GIVE_UP_AFTER = 2.0, 60.0
_AWAY = (exc.OperationalError, exc.InterfaceError)  # PostgreSQL restarts, or cannot be reached
_LOCKED = "55P03"  # PostgreSQL's code for a lock that was not free within `lock_timeout`
_log = logging.getLogger("driftopt")


class Database:
    """A database that holds studies."""

    def __init__(self, url: str | os.PathLike[str]):
        self.url = connections.as_url(url)
        self.label = connections.without_secrets(self.url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._until = math.inf  # no database is waited for longer than this moment
        self._pid = os.getpid()
        self._engine = (
            connections.sqlite(self.url, SAY_AFTER)
            if self.sqlite
            else connections.postgres(self.url, SAY_AFTER, GIVE_UP_AFTER)
        )
        weakref.finalize(self, connections.dispose, self._engine, self._pid)

    @property
    def engine(self) -> sa.Engine:
        """SQLAlchemy's connections; those of a parent process are never used after a fork."""
        if self._pid != os.getpid():
            self._engine.dispose(close=False)
            self._pid = os.getpid()
        return self._engine

    def give_up_within(self, seconds: float) -> None:
        """From now on wait no longer than that for a database that is locked or away: this process ends."""
        self._until = min(self._until, time.monotonic() + seconds)

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Generator[sa.Connection]:
        """A snapshot: several statements see one moment."""
        options: dict[str, Any] = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            self._check_file(connection)
            yield connection
            connections.note_wal(connection.info)

    @contextmanager
    def _writing(self) -> Generator[sa.Connection]:
        with self.engine.connect() as connection:
            connection.info[connections.WRITES] = True
            transaction = connection.begin()
            try:
                self._check_file(connection)
                connections.note_wal(connection.info)
                yield connection
            except BaseException:
                transaction.rollback()
                raise
            try:
                transaction.commit()
            except _AWAY as error:
                if self.sqlite:
                    raise
                raise _Unknown(error) from error
            self._check_file(connection)

    def _check_file(self, connection: sa.Connection) -> None:
        """What is written into a file that has no name any more is lost: it must not be acknowledged."""
        opened = connection.info.get("file")
        if opened is not None and opened != connections.identity(self.url.database):
            connection.invalidate()
            raise connections.gone()
        if connections.wal_is_gone(connection.info):
            # The last connection that is closed brings what is in the deleted file into the main one.
            connection.invalidate()
            self._engine.dispose()
            raise DatabaseRefused(
                "the -wal file of the database was deleted or replaced while it was open: what was said just "
                "now may not be recorded. Look at the study's trials before you go on"
            )

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Run `work` on a snapshot."""

        def attempt() -> T:
            with self._reading() as connection:
                return work(connection)

        return self._patiently(attempt, again=True)

    def write(self, work: Callable[[sa.Connection], T], *, again: bool = False) -> T:
        """Run `work` as the only writer; all of it is committed, or nothing.

        Args:
            work: what to do. On PostgreSQL it must lock its study first.
            again: doing it twice is the same as doing it once, so that it may be tried again when the
                connection broke while it was committed.
        """

        def attempt() -> T:
            with self._writing() as connection:
                return work(connection)

        return self._patiently(attempt, again=again)

    def _patiently(self, attempt: Callable[[], T], *, again: bool) -> T:
        """Wait for a database that is locked or restarts: nothing was committed, so all is done again."""
        began, said, locked, pause = time.monotonic(), False, self.sqlite, 0.01
        while True:
            try:
                return attempt()
            except _Unknown as error:
                reason, waits = error.said, again
                if not again:
                    raise DatabaseRefused(
                        f"{self.label}: the connection broke during a commit ({reason}), and it is not known "
                        "whether it was made: look at the study's trials before going on"
                    ) from None
            except exc.IntegrityError as error:
                raise Duplicate(
                    f"the database refused: {_words(error)}. Nothing was recorded; try again"
                ) from None
            except UnicodeDecodeError as error:  # SQLite names things of a damaged file in its complaints
                raise self._damaged(str(error)) from None
            except exc.SQLAlchemyError as error:
                reason, waits = _words(error), self._passes(error)
                locked = self.sqlite or getattr(getattr(error, "orig", None), "sqlstate", "") == _LOCKED
                if self.sqlite and ("malformed" in reason or "decode" in reason):
                    raise self._damaged(reason) from None
            waited = time.monotonic() - began
            if not waits or waited > GIVE_UP_AFTER or time.monotonic() >= self._until:
                raise DatabaseRefused(self._refusal(reason, waited if waits else None, locked)) from None
            if waited > SAY_AFTER and not said:
                said = True
                _log.warning("driftopt: waiting for %s: %s", self.label, reason)
            time.sleep(random.uniform(0, pause))
            pause = min(2 * pause, 1.0)

    def _passes(self, error: exc.SQLAlchemyError) -> bool:
        """Whether waiting may help: a lock that another holds, a server that comes back."""
        said = _words(error)
        if self.sqlite:
            return isinstance(error, exc.OperationalError) and ("locked" in said or "busy" in said)
        refused = ("password", "authentication", "does not exist", "could not translate", "failed to resolve")
        return isinstance(error, _AWAY) and not any(word in said for word in refused)

    def _refusal(self, reason: str, waited: float | None, locked: bool) -> str:
        if waited is None:
            if "readonly" in reason:
                return f"the database refused: {self.label} may be looked at, but not written ({reason})"
            return f"the database refused: {reason}"
        what = "another process is writing to it" if locked else "the server does not answer"
        return (
            f"the database refused: {self.label} was waited for {waited:.0f} s, but {what} ({reason}). "
            "Nothing was changed; try again"
        )

    def _damaged(self, reason: str) -> DamagedLog:
        return DamagedLog(f"SQLite finds {self.label} damaged ({reason}): go back to a copy of it")

    def ping(self) -> None:
        """Nothing, where the database answers; DatabaseRefused where it does not."""
        self.read(lambda connection: connection.execute(sa.select(sa.literal(1))).scalar())

    def check(self) -> None:
        """Let SQLite look at the structure of its file; DamagedLog where it finds a fault."""
        if self.sqlite:
            found = self.read(lambda tx: tx.exec_driver_sql("PRAGMA integrity_check(1)").scalar())
            if found != "ok":
                raise self._damaged(str(found))

    def use_wal(self) -> None:
        """WAL is a property of an SQLite file: set once, kept for ever."""
        if self.sqlite:
            self._patiently(self._use_wal, again=True)

    def _use_wal(self) -> None:
        command = "PRAGMA journal_mode=WAL"
        try:
            with closing(self.engine.raw_connection()) as raw:
                raw.cursor().execute(command)
        except sqlite3.Error as error:
            raise exc.OperationalError(command, None, error) from error


class _Unknown(Exception):
    """The connection broke during a commit: nobody knows whether it was made."""

    def __init__(self, error: exc.SQLAlchemyError):
        super().__init__()
        self.said = _words(error)


def _words(error: exc.SQLAlchemyError) -> str:
    """The driver's own words on one line, which hold no password."""
    return " ".join(str(getattr(error, "orig", None) or error).split())
