"""The statements on a study's rows, built once: SQLAlchemy takes longer to build one than to run it."""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from driftopt.study.log.rows import Asked, Happened, Mark, Opened, Row, checksum_of
from driftopt.study.log.schema import events, heads, iterations, studies, trials
from driftopt.study.trial import AMENDMENTS, Place


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
_REDRAWN = sa.exists().where(
    iterations.c.study_id == trials.c.study_id,
    iterations.c.iteration == trials.c.iteration,
    iterations.c.draw == trials.c.draw + 1,
)
_other = trials.alias()
_TRIED_AGAIN = sa.exists().where(
    *(_other.c[name] == trials.c[name] for name in ("study_id", *Place._fields)), _other.c.id != trials.c.id
)
TRIAL = (
    _columns(trials, Asked)
    .add_columns(_REDRAWN, _TRIED_AGAIN, *(events.c[name] for name in Happened._fields))
    .join_from(trials, events, events.c.trial_id == trials.c.id, isouter=True)
    .where(*_given(trials, "study_id", "id"))
    .order_by(events.c.row)
)
TRIES = (
    sa.select(trials.c.id, events.c.kind)
    .join_from(trials, events, events.c.trial_id == trials.c.id, isouter=True)
    .where(*_given(trials, "study_id", "kind", "iteration", "draw"))
    .order_by(trials.c.id, events.c.row)
)
TRIES_AT_PLACE = TRIES.where(*_given(trials, "point", "sample"))
POINTS = sa.select(iterations.c.points).where(*_given(iterations, "study_id", "iteration", "draw"))
LAST_OPENED = (
    sa.select(*(iterations.c[name] for name in ("iteration", "draw", "count", "repeats")))
    .where(*_given(iterations, "study_id"))
    .order_by(iterations.c.row.desc())
    .limit(1)
)
LAST_POINTS = (
    sa.select(iterations.c.points)
    .where(*_given(iterations, "study_id", "iteration"))
    .order_by(iterations.c.draw.desc())
    .limit(1)
)
_STANDING = (
    sa.select(events.c.row, events.c.trial_id, events.c.kind, events.c.value, events.c.beside)
    .join_from(events, trials, events.c.trial_id == trials.c.id)
    .where(*_given(events, "study_id"), trials.c.kind == sa.bindparam("of_kind"))
    .where(events.c.kind.in_(("complete", "held", *AMENDMENTS)), events.c.row < sa.bindparam("before"))
)
LAST = _STANDING.order_by(events.c.row.desc()).limit(sa.bindparam("most"))
FIRST = _STANDING.order_by(events.c.row).limit(sa.bindparam("most"))
# Of one recommendation there are few: they are found by their place, however long the log.
EVALUATIONS = _STANDING.where(*_given(trials, "study_id", "iteration", "sample"))


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
