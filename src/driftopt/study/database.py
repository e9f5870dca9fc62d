"""Transactions on SQLite and PostgreSQL, and which studies a database holds.

There is one writer to a study at a time; readers see a snapshot.
"""

import logging
import os
import random
import sqlite3
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from driftopt.study import connections, schema
from driftopt.study.errors import DatabaseRefused, FormatError, NoSuchStudy, StudyExists

T = TypeVar("T")

# How long a database that is locked or away is waited for: in silence, then with a word, then no longer.
SAY_AFTER, GIVE_UP_AFTER = 2.0, 60.0
_AWAY = (exc.OperationalError, exc.InterfaceError)  # PostgreSQL restarts, or cannot be reached
_log = logging.getLogger("driftopt")
_LOCK = sa.select(schema.studies.c.id).where(schema.studies.c.id == sa.bindparam("study")).with_for_update()


def as_url(url: str | os.PathLike[str]) -> sa.URL:
    """A database URL, or the path of an SQLite file."""
    text = os.fspath(url)
    if not text:
        raise ValueError(
            "url must be a database URL (sqlite:///file.db, postgresql://…) or a file's path; got ''"
        )
    try:
        parsed = sa.make_url(text) if "://" in text else sa.URL.create("sqlite", database=str(Path(text)))
    except (exc.ArgumentError, ValueError):
        raise ValueError(
            "url cannot be read: expected sqlite:///file.db, postgresql://user:password@host:5432/name or a "
            "file's path (it is not shown, as it may hold a password)"
        ) from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise ValueError(f"url: a study is stored in SQLite or PostgreSQL, not {parsed.get_backend_name()!r}")
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed


class Database:
    """A database that holds studies."""

    def __init__(self, url: str | os.PathLike[str]):
        self.url = as_url(url)
        self.label = connections.without_secrets(self.url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._pid = os.getpid()
        self._engine = (
            connections.sqlite(self.url, SAY_AFTER) if self.sqlite else connections.postgres(self.url)
        )
        weakref.finalize(self, connections.dispose, self._engine, self._pid)

    @property
    def engine(self) -> sa.Engine:
        """SQLAlchemy's connections; those of a parent process are never used after a fork."""
        if self._pid != os.getpid():
            self._engine.dispose(close=False)
            self._pid = os.getpid()
        return self._engine

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

    @contextmanager
    def _writing(self) -> Generator[sa.Connection]:
        with self.engine.connect().execution_options(driftopt_write=True) as connection:
            transaction = connection.begin()
            try:
                self._check_file(connection)
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
            raise connections.gone(self.url.database)

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Run `work` on a snapshot."""

        def attempt() -> T:
            with self._reading() as connection:
                return work(connection)

        return self._patiently(attempt, again=True)

    def write(self, study_id: int, work: Callable[[sa.Connection], T], *, again: bool = False) -> T:
        """Run `work` as the only writer of the study; all of it is committed, or nothing.

        Args:
            study_id: the study.
            work: what to do.
            again: doing it twice is the same as doing it once, so that it may be tried again when the
                connection broke while it was committed.
        """

        def attempt() -> T:
            with self._writing() as connection:
                if not self.sqlite:
                    connection.execute(_LOCK, {"study": study_id})
                return work(connection)

        return self._patiently(attempt, again=again)

    def _patiently(self, attempt: Callable[[], T], *, again: bool) -> T:
        """Wait for a database that is locked or restarts: nothing was committed, so all is done again."""
        began, said, pause = time.monotonic(), False, 0.01
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
            except exc.IntegrityError:
                raise
            except exc.SQLAlchemyError as error:
                reason, waits = _words(error), self._passes(error)
            waited = time.monotonic() - began
            if not waits or waited > GIVE_UP_AFTER:
                raise DatabaseRefused(self._refusal(reason, waited if waits else None)) from None
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

    def _refusal(self, reason: str, waited: float | None) -> str:
        if waited is None:
            if "readonly" in reason:
                return f"the database refused: {self.label} may be looked at, but not written ({reason})"
            return f"the database refused: {reason}"
        what = "another process is writing to it" if self.sqlite else "the server does not answer"
        return (
            f"the database refused: {self.label} was waited for {waited:.0f} s, but {what} ({reason}). "
            "Nothing was changed; try again"
        )

    # Which studies there are

    def add(self, name: str, spec: str, now: float) -> int:
        """A new study's id."""
        self._prepare()

        def attempt() -> int:
            with self._writing() as connection:
                row = sa.insert(schema.studies).values(name=name, created_at=now, spec=spec)
                return connection.execute(row.returning(schema.studies.c.id)).scalar_one()

        try:
            return self._patiently(attempt, again=False)
        except exc.IntegrityError:
            raise StudyExists(
                f"{self.label} already holds a study {name!r}: open it, or choose another name"
            ) from None

    def find(self, name: str) -> tuple[int, str]:
        """A study's id and specification."""
        database = self.url.database
        if self.sqlite and database and database != ":memory:" and not Path(database).exists():
            raise NoSuchStudy(f"there is no file {database}; create a study first")

        def work(connection: sa.Connection) -> tuple[int, str]:
            if not sa.inspect(connection).has_table(schema.versions.name):
                raise NoSuchStudy(f"{self.label} holds no studies; create one first")
            self._check_format(connection)
            table = schema.studies.c
            row = connection.execute(sa.select(table.id, table.spec).where(table.name == name)).first()
            if row is None:
                known = connection.execute(sa.select(table.name).order_by(table.id)).scalars().all()
                raise NoSuchStudy(
                    f"{self.label} holds no study {name!r}; it holds {', '.join(known) or 'none'}"
                )
            return row.id, row.spec

        return self.read(work)

    def _prepare(self) -> None:
        """Make the tables where there are none, and check the format of those that stand."""

        def attempt() -> None:
            with self._writing() as connection:
                if not self.sqlite:
                    # Two creators at once: the second waits for the first's tables.
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(0x64726966)))
                schema.metadata.create_all(connection)
                if connection.execute(sa.select(schema.versions.c.version)).first() is None:
                    connection.execute(sa.insert(schema.versions).values(version=schema.FORMAT))
                self._check_format(connection)

        if self.sqlite:
            self._patiently(self._use_wal, again=True)
        self._patiently(attempt, again=True)

    def _use_wal(self) -> None:
        """WAL is a property of the file: set once, kept for ever."""
        command = "PRAGMA journal_mode=WAL"
        try:
            with closing(self.engine.raw_connection()) as raw:
                raw.cursor().execute(command)
        except sqlite3.Error as error:
            raise exc.OperationalError(command, None, error) from error

    def _check_format(self, connection: sa.Connection) -> None:
        version = connection.execute(sa.select(schema.versions.c.version)).scalar_one()
        if version != schema.FORMAT:
            raise FormatError(
                f"{self.label} is in format {version}; this driftopt reads format {schema.FORMAT}: "
                "use the version that wrote it, or a newer one"
            )


class _Unknown(Exception):
    """The connection broke during a commit: nobody knows whether it was made."""

    def __init__(self, error: exc.SQLAlchemyError):
        super().__init__()
        self.said = _words(error)


def _words(error: exc.SQLAlchemyError) -> str:
    """The driver's own words on one line, which hold no password."""
    return " ".join(str(getattr(error, "orig", None) or error).split())
