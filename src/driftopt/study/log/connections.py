"""Connections to SQLite files and PostgreSQL servers, as a study needs them.

SQLite: a write lock from a transaction's start, a full flush at its end, the file watched for being replaced.
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.pool import StaticPool

from driftopt.study.errors import DatabaseRefused

WRITES = "writes"  # in a connection's `info`: its next transaction will write
# What psycopg does by default is wait without end; seconds, where a URL says nothing else.
_REACHABLE = {
    "connect_timeout": 5,
    "keepalives_idle": 10,  # a server that vanished is noticed after 10 + 3 × 5 s
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,  # milliseconds
}
_IDLE_WITHIN = 300  # seconds between two statements, after which a process that hangs gives its locks back


def as_url(url: str | os.PathLike[str]) -> sa.URL:
    """A database URL, or the path of an SQLite file."""
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
    if not isinstance(text, str) or not text:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            "url must be a database URL (sqlite:///file.db, postgresql://…) or a file's path; got "
            f"{repr(text) if isinstance(url, str) else type(url).__name__}"
        )
    try:
        text.encode()  # a lone surrogate is no character of any file's name
        parsed = sa.make_url(text) if "://" in text else sa.URL.create("sqlite", database=str(Path(text)))
    except (exc.ArgumentError, ValueError):
        raise ValueError(
            "url cannot be read: expected sqlite:///file.db, postgresql://user:password@host:5432/name or a "
            "file's path (it is not shown, as it may hold a password)"
        ) from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise ValueError(f"url: a study is stored in SQLite or PostgreSQL, not {parsed.get_backend_name()!r}")
    if parsed.get_backend_name() == "sqlite" and (parsed.host or parsed.username or parsed.password):
        raise ValueError(
            "url: an SQLite file has no user, password or host; write sqlite:///file.db, with three slashes, "
            "or the file's path"
        )
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed


def sqlite(url: sa.URL, timeout: float) -> sa.Engine:
    """Connections to an SQLite file that wait `timeout` seconds for another writer."""
    path = url.database
    memory = path in (None, "", ":memory:")
    pool: dict[str, Any] = {"poolclass": StaticPool} if memory else {}
    engine = sa.create_engine(url, connect_args={"timeout": timeout, "check_same_thread": False}, **pool)

    first: list[tuple[int, int] | None] = []  # the file that was opened; another of its name is not it

    def connecting(_: Any, __: Any, cargs: list[Any], cparams: dict[str, Any]) -> None:
        if first and first[0] != identity(path):
            raise gone()  # SQLite would make a new file
        if path and not memory and (options := _only_to_look(path)):
            cargs[:] = [f"file:{quote(os.path.abspath(path))}?{options}"]
            cparams["uri"] = True

    def connected(dbapi_connection: Any, record: Any) -> None:
        # `begin` opens transactions, not the driver's guess at when one is needed.
        dbapi_connection.isolation_level = None
        dbapi_connection.execute("PRAGMA synchronous=FULL")
        dbapi_connection.execute("PRAGMA foreign_keys=ON")
        first.extend([] if first or memory else [identity(path)])
        record.info["file"] = first[0] if first else None
        record.info["wal_path"] = None if memory or _only_to_look(str(path)) else f"{path}-wal"

    def begin(dbapi_connection: Any) -> None:
        # A write lock from the start: a read lock upgraded later could fail at once, whatever the timeout.
        write = dbapi_connection.info.pop(WRITES, False)
        dbapi_connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    event.listen(engine, "do_connect", connecting)
    event.listen(engine, "connect", connected)
    # Not SQLAlchemy's event of that name: with a listener to it, every statement looks for listeners to ten.
    engine.dialect.do_begin = begin
    return engine


def postgres(url: sa.URL, lock_within: float, statement_within: float) -> sa.Engine:
    """Connections to a PostgreSQL server, each tried before it is used again.

    Args:
        url: where the server is. Time limits that it gives, or that the server has for its user, stay.
        lock_within: seconds after which a statement stops waiting for a lock that another process holds.
        statement_within: seconds after which the server stops any statement.
    """
    limits = {
        "lock_timeout": lock_within,
        "statement_timeout": statement_within,
        "idle_in_transaction_session_timeout": _IDLE_WITHIN,
    }
    reachable = {name: value for name, value in _REACHABLE.items() if name not in url.query}

    def connected(dbapi_connection: Any, _: Any) -> None:
        # Not in `options` of the connection: poolers such as PgBouncer refuse those.
        milliseconds = [f"{1000 * limit:.0f}" for limit in limits.values()]
        dbapi_connection.cursor().execute(
            "SELECT set_config(name, value, false) "
            "FROM unnest(%s::text[], %s::text[]) AS wanted(name, value) WHERE current_setting(name) = '0'",
            (list(limits), milliseconds),
        )
        dbapi_connection.commit()

    try:
        engine = sa.create_engine(url, pool_pre_ping=True, connect_args=reachable)
    except ModuleNotFoundError as error:
        raise ValueError(f"url needs the package {error.name}: pip install 'driftopt[postgres]'") from None
    except exc.SQLAlchemyError:
        raise ValueError(f"url: there is no driver {url.drivername!r}; use postgresql://") from None
    event.listen(engine, "connect", connected)
    return engine


def dispose(engine: sa.Engine, pid: int) -> None:
    """A database that is dropped gives its connections back, but never those of a parent process."""
    if pid == os.getpid():
        engine.dispose()


def identity(path: str | None) -> tuple[int, int] | None:
    """Which file it is, whatever its name; None: there is none."""
    try:
        found = os.stat(path or "")
    except OSError:
        return None
    return found.st_dev, found.st_ino


def gone() -> DatabaseRefused:
    """What to say where a file is no longer the one that was opened."""
    return DatabaseRefused(
        "the file of the database was deleted or replaced while it was open: nothing was recorded. Put it "
        "back, or open the study again"
    )


def note_wal(info: dict[str, Any]) -> None:
    """Remember which -wal file a connection has open, from within its first transaction."""
    if info.get("wal") is None and info.get("wal_path") is not None:
        info["wal"] = identity(info["wal_path"])


def wal_is_gone(info: dict[str, Any]) -> bool:
    """Whether the -wal file that a connection has open has lost its name: all in it goes with the process.

    SQLite deletes it with the last connection, so never while one is open.
    """
    return info.get("wal") is not None and info["wal"] != identity(info["wal_path"])


def _only_to_look(path: str) -> str:
    """SQLite's options for a file that this user may read and not write; empty where he may.

    Reading in WAL mode writes a file beside the database, unless it is said that nobody else writes: true
    while no log is waiting to be taken in.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.exists(path) or (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
        return ""
    waiting = os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0
    return "mode=ro" if waiting else "mode=ro&immutable=1"


def without_secrets(url: sa.URL) -> str:
    """The URL as it may be shown: no password, wherever it stands."""
    secret = [key for key in url.query if any(word in key.lower() for word in ("pass", "secret", "token"))]
    hidden = url.update_query_dict(dict.fromkeys(secret, "***")) if secret else url
    return hidden.render_as_string(hide_password=True)
