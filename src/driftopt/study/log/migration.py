"""From format 1 to format 2: the same rows, numbered in one order, each with its checksum.

From format 2 to format 3: events have one column more, for what is told beside a value.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from driftopt.runtime.files import put_in_place
from driftopt.study.errors import FormatError
from driftopt.study.log import schema, statements
from driftopt.study.log.rows import Asked, Happened, Mark, Opened, Row, chained

_OLD = ("studies", "iterations", "trials", "events")
_OLD_INDEXES = ("driftopt_trials_by_study", "driftopt_trials_by_slot", "driftopt_events_by_study")


def needed(connection: sa.Connection, label: str) -> bool:
    """Whether the database is in a format before; FormatError where this version cannot read it."""
    version = connection.execute(sa.select(schema.versions.c.version)).scalar()
    if version not in (1, 2, schema.FORMAT):
        raise FormatError(
            f"{label} is in format {version}; this driftopt reads format {schema.FORMAT}: "
            "use the version that wrote it, or a newer one"
        )
    return version != schema.FORMAT


def keep(path: str, version: int) -> None:
    """A copy of the file as it is, beside it; one that is there already is the older, and stays."""
    kept = Path(f"{path}.format-{version}")
    if kept.exists() or not Path(path).exists():
        return
    if not os.access(path, os.W_OK) or not os.access(kept.parent, os.W_OK):
        raise FormatError(
            f"{path} is in format {version} and has to be brought to format {schema.FORMAT} once, by someone "
            "who may write it and its folder"
        )
    part = kept.with_name(f"{kept.name}.{os.getpid()}.part")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as copy:
        source.backup(copy)
    put_in_place(part, kept)  # SQLite has flushed it


def migrate(connection: sa.Connection) -> None:
    """All of it in the caller's transaction; the old tables stay under another name, but for an SQLite file,
    of which there is a copy.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("LOCK TABLE driftopt_format IN ACCESS EXCLUSIVE MODE"))
    version = connection.execute(sa.select(schema.versions.c.version)).scalar_one()
    if version == 2:
        connection.execute(sa.text("ALTER TABLE driftopt_events ADD COLUMN beside TEXT"))
        connection.execute(sa.update(schema.versions).values(version=schema.FORMAT))
    if version != 1:
        return  # it is done, or another process was quicker
    for index in _OLD_INDEXES:
        connection.execute(sa.text(f"DROP INDEX {index}"))
    for table in _OLD:
        connection.execute(sa.text(f"ALTER TABLE driftopt_{table} RENAME TO driftopt_{table}_format_1"))
    schema.metadata.create_all(connection)
    for study in _rows(connection, "studies", "id"):
        _copy(connection, study)
    if connection.dialect.name == "sqlite":
        for table in reversed(_OLD):
            connection.execute(sa.text(f"DROP TABLE driftopt_{table}_format_1"))
    else:
        for table in ("studies", "trials"):
            last = f"(SELECT coalesce(max(id), 1) FROM driftopt_{table})"
            sequence = f"pg_get_serial_sequence('driftopt_{table}', 'id')"
            connection.execute(sa.text(f"SELECT setval({sequence}, {last})"))
    connection.execute(sa.update(schema.versions).values(version=schema.FORMAT))


def _rows(connection: sa.Connection, table: str, order: str, study: int | None = None) -> list[Any]:
    where = "" if study is None else f" WHERE study_id = {study:d}"
    return list(
        connection.execute(sa.text(f"SELECT * FROM driftopt_{table}_format_1{where} ORDER BY {order}"))
    )


def _copy(connection: sa.Connection, study: Any) -> None:
    spec = study.spec
    checksum = chained("", study.name, study.created_at, spec)
    whole = {"id": study.id, "name": study.name, "created_at": study.created_at, "spec": spec}
    connection.execute(sa.insert(schema.studies), whole | {"checksum": checksum})
    connection.execute(sa.insert(schema.heads), {"study_id": study.id, "rows": 0, "checksum": checksum})
    statements.copy(connection, study.id, Mark(0, checksum), _ordered(connection, study.id))


def _ordered(connection: sa.Connection, study: int) -> list[Row]:
    """The rows of three tables in one order: what a row speaks of comes before it, and else time decides.

    The order within each table stays: nothing that is computed from the log depends on more.
    """
    opened = _rows(connection, "iterations", "id", study)
    asked = _rows(connection, "trials", "id", study)
    happened = _rows(connection, "events", "id", study)
    draws: set[tuple[int, int]] = set()
    known: set[int] = set()
    out: list[Row] = []
    i = j = k = 0
    while i < len(opened) or j < len(asked) or k < len(happened):
        choices: list[tuple[float, int]] = []
        if i < len(opened):
            choices.append((opened[i].opened_at, 0))
        if j < len(asked) and (asked[j].kind != "method" or (asked[j].iteration, asked[j].draw) in draws):
            choices.append((asked[j].asked_at, 1))
        if k < len(happened) and happened[k].trial_id in known:
            choices.append((happened[k].at, 2))
        which, number = min(choices)[1], len(out) + 1
        if which == 0:
            draws.add((opened[i].iteration, opened[i].draw))
            out.append(_as(Opened, number, opened[i]))
            i += 1
        elif which == 1:
            known.add(asked[j].id)
            out.append(_as(Asked, number, asked[j]))
            j += 1
        else:
            out.append(_as(Happened, number, happened[k]))
            k += 1
    return out


def _as(kind: Any, number: int, row: Any) -> Any:
    return kind(number, *(getattr(row, name, None) for name in kind._fields[1:]))
