"""Connections and transactions on SQLite and PostgreSQL.

There is one writer to a study at a time; readers see a snapshot.
"""

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
from sqlalchemy import event, exc
from sqlalchemy.pool import StaticPool

from driftopt.study import schema
from driftopt.study.errors import DatabaseRefused, FormatError, NoSuchStudy, StudyExists

T = TypeVar("T")

# A writer waits this long for the others, here and again for each retry, before it gives up.
_BUSY_SECONDS = 60
_RETRIES = 20
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
        self.label = _without_secrets(self.url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._pid = os.getpid()
        self._engine = _sqlite(self.url) if self.sqlite else _postgres(self.url)
        weakref.finalize(self, _dispose, self._engine, self._pid)

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
            yield connection

    @contextmanager
    def _writing(self) -> Generator[sa.Connection]:
        with self.engine.connect().execution_options(driftopt_write=True) as connection, connection.begin():
            yield connection

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Run `work` on a snapshot."""

        def attempt() -> T:
            with self._reading() as connection:
                return work(connection)

        return self._patiently(attempt)

    def write(self, study_id: int, work: Callable[[sa.Connection], T]) -> T:
        """Run `work` as the only writer of the study; all of it is committed, or nothing."""

        def attempt() -> T:
            with self._writing() as connection:
                if not self.sqlite:
                    connection.execute(_LOCK, {"study": study_id})
                return work(connection)

        return self._patiently(attempt)

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """A locked SQLite database is waited for. Nothing was committed, so all of it is done again."""
        for retry in range(_RETRIES):
            try:
                return attempt()
            except exc.SQLAlchemyError as error:
                said = getattr(error, "orig", None) or error
                busy = self.sqlite and ("locked" in str(said) or "busy" in str(said))
                if isinstance(error, exc.IntegrityError):
                    raise
                if not busy or retry == _RETRIES - 1:
                    raise DatabaseRefused(f"the database refused: {said}") from error
                time.sleep(random.uniform(0, 0.01 * 2 ** min(retry, 6)))
        raise AssertionError("unreachable")

    # Which studies there are

    def add(self, name: str, spec: str, now: float) -> int:
        """A new study's id."""
        self._prepare()

        def attempt() -> int:
            with self._writing() as connection:
                row = sa.insert(schema.studies).values(name=name, created_at=now, spec=spec)
                return connection.execute(row.returning(schema.studies.c.id)).scalar_one()

        try:
            return self._patiently(attempt)
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
            self._patiently(self._use_wal)
        self._patiently(attempt)

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


def _without_secrets(url: sa.URL) -> str:
    """The URL as it may be shown: no password, wherever it stands."""
    secret = [key for key in url.query if any(word in key.lower() for word in ("pass", "secret", "token"))]
    hidden = url.update_query_dict(dict.fromkeys(secret, "***")) if secret else url
    return hidden.render_as_string(hide_password=True)


def _postgres(url: sa.URL) -> sa.Engine:
    try:
        return sa.create_engine(url, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        raise ValueError(f"url needs the package {error.name}: pip install 'driftopt[postgres]'") from None
    except exc.SQLAlchemyError:
        raise ValueError(f"url: there is no driver {url.drivername!r}; use postgresql://") from None


def _dispose(engine: sa.Engine, pid: int) -> None:
    """A database that is dropped gives its connections back, but never those of a parent process."""
    if pid == os.getpid():
        engine.dispose()


def _sqlite(url: sa.URL) -> sa.Engine:
    memory = url.database in (None, "", ":memory:")
    pool: dict[str, Any] = {"poolclass": StaticPool} if memory else {}
    engine = sa.create_engine(
        url, connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False}, **pool
    )

    def connected(dbapi_connection: Any, _: Any) -> None:
        # SQLAlchemy's begin event opens transactions, not the driver's guess at when one is needed.
        dbapi_connection.isolation_level = None
        dbapi_connection.execute("PRAGMA synchronous=FULL")
        dbapi_connection.execute("PRAGMA foreign_keys=ON")

    def begun(connection: sa.Connection) -> None:
        # A write lock from the start: a read lock upgraded later could fail at once, whatever the timeout.
        write = connection.get_execution_options().get("driftopt_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine
