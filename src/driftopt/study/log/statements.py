"""The statements on a study's rows, built once: SQLAlchemy takes longer to build one than to run it."""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from driftopt.study.log.rows import Asked, Happened, Mark, Opened, Row, checksum_of
from driftopt.study.log.schema import events, heads, iterations, studies, trials


def _columns(table: sa.Table, row: Any) -> Any:
    return sa.select(*(table.c[name] for name in row._fields))


def _given(table: sa.Table, *names: str) -> list[Any]:
    return [table.c[name] == sa.bindparam(name) for name in names]


def _since(table: sa.Table, row: Any) -> Any:
    new = table.c.row > sa.bindparam("after")
    found = _columns(table, row).add_columns(table.c.checksum)
    return found.where(*_given(table, "study_id"), new).order_by(table.c.row)


TABLES: dict[Any, sa.Table] = {Opened: iterations, Asked: trials, Happened: events}
SINCE = [(row, _since(table, row)) for row, table in TABLES.items()]
APPEND = {row: sa.insert(table) for row, table in TABLES.items()}
HEAD = sa.select(heads.c.rows, heads.c.checksum).where(*_given(heads, "study_id"))
STUDY = sa.select(studies.c.id).where(studies.c.id == sa.bindparam("study_id"))
LOCKED_HEAD = HEAD.with_for_update()  # one writer on PostgreSQL; SQLite has locked the whole file already
NEW_HEAD = sa.update(heads).where(heads.c.study_id == sa.bindparam("of_study"))
NEXT_ID = {
    "sqlite": sa.text("SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'driftopt_trials'"),
    "postgresql": sa.text("SELECT nextval(pg_get_serial_sequence('driftopt_trials', 'id'))"),
}
NEXT_IDS = sa.text(  # of PostgreSQL, so many
    "SELECT nextval(pg_get_serial_sequence('driftopt_trials', 'id')) FROM generate_series(1, :more)"
)


def copy(connection: sa.Connection, study_id: int, begin: Mark, rows: Iterable[Row]) -> Mark:
    """Write a whole log at once; returns where it ends."""
    mark, lines = begin, {kind: list[Mapping[str, Any]]() for kind in TABLES}
    for row in rows:
        mark = Mark(row.row, checksum_of(mark.checksum, row))
        lines[type(row)].append(row._asdict() | {"study_id": study_id, "checksum": mark.checksum})
    for kind, statement in APPEND.items():
        if lines[kind]:
            connection.execute(statement, lines[kind])
    connection.execute(NEW_HEAD, {"of_study": study_id} | mark._asdict())
    return mark
