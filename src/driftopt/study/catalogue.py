"""The studies of a database as a whole: which there are, delete one, take one up from an exported file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from driftopt import checks
from driftopt.study import log_file, schema
from driftopt.study.database import Database, Found
from driftopt.study.log import NEXT_ID, TABLES
from driftopt.study.rows import Asked, Happened, Mark, Row, checksum_of
from driftopt.study.spec import Spec
from driftopt.study.study import Study


class Listed(NamedTuple):
    """One study of a database."""

    name: str
    created_at: float
    method: str
    direction: str
    dim: int
    budget: int
    spent: int


def studies(url: str | os.PathLike[str]) -> list[Listed]:
    """The studies that a database holds, oldest first."""
    database = Database(url)
    try:
        database.bring_up_to_date()
        spent = sa.select(sa.func.count()).where(schema.trials.c.study_id == schema.studies.c.id)
        extended = sa.select(sa.func.max(schema.events.c.value)).where(
            schema.events.c.study_id == schema.studies.c.id, schema.events.c.kind == "extended"
        )
        columns = (spent.scalar_subquery().label("spent"), extended.scalar_subquery().label("extended"))
        query = sa.select(schema.studies, *columns).order_by(schema.studies.c.id)
        rows = database.read(lambda connection: connection.execute(query).all())
    finally:
        database.close()
    found: list[Listed] = []
    for row in rows:
        spec = Spec.from_json(row.spec)
        plan = (spec.method, spec.direction, spec.dim, int(row.extended or spec.budget))
        found.append(Listed(row.name, row.created_at, *plan, row.spent))
    return found


def delete(url: str | os.PathLike[str], name: str) -> int:
    """Delete a study and its log; returns how many rows that were."""
    database = Database(url)

    def work(connection: sa.Connection) -> int:
        where = {"id": found.id}
        if connection.dialect.name == "postgresql":  # its writers lock this row
            head = sa.select(schema.heads).where(schema.heads.c.study_id == found.id)
            connection.execute(head.with_for_update())
        rows = 0
        for table in (schema.events, schema.trials, schema.iterations, schema.heads):
            gone = connection.execute(sa.delete(table).where(table.c.study_id == sa.bindparam("id")), where)
            rows += gone.rowcount if table is not schema.heads else 0
        connection.execute(sa.delete(schema.studies).where(schema.studies.c.id == found.id))
        return rows

    try:
        found = database.find(name)
        return database.write(work)
    finally:
        database.close()


def load(url: str | os.PathLike[str], path: str | os.PathLike[str], name: str | None = None) -> Study:
    """Take up a study from a .json file that `export` wrote.

    Args:
        url: the database that is to hold it.
        path: the file.
        name: another name for it.

    Raises:
        ValueError: the file is not one that `export` wrote, or was changed since.
        StudyExists: the database holds a study of that name.
    """
    old, created_at, spec, rows = log_file.read(Path(path))
    new = str(checks.text("name", old if name is None else name))
    database = Database(url)
    try:
        database.add(new, spec.as_json(), created_at, lambda tx, found: _write(tx, found, rows))
    finally:
        database.close()
    return Study.open(url, new)


def _write(connection: sa.Connection, study: Found, rows: list[Row]) -> None:
    """The rows under numbers that are free here: their own where those are."""
    numbers = _free(connection, [row.id for row in rows if isinstance(row, Asked)])
    mark, lines = Mark(0, study.checksum), {kind: list[Mapping[str, Any]]() for kind in TABLES}
    for row in rows:
        if isinstance(row, Asked):
            row = row._replace(id=numbers[row.id])
        elif isinstance(row, Happened) and row.trial_id is not None:
            row = row._replace(trial_id=numbers[row.trial_id])
        mark = Mark(row.row, checksum_of(mark.checksum, row))
        lines[type(row)].append(row._asdict() | {"study_id": study.id, "checksum": mark.checksum})
    for kind, table in TABLES.items():
        if lines[kind]:
            connection.execute(sa.insert(table), lines[kind])
    connection.execute(
        sa.update(schema.heads).where(schema.heads.c.study_id == study.id).values(**mark._asdict())
    )
    if connection.dialect.name == "postgresql" and numbers:
        sequence = "pg_get_serial_sequence('driftopt_trials', 'id')"
        last = f"greatest(nextval({sequence}), (SELECT max(id) FROM driftopt_trials))"
        connection.execute(sa.text(f"SELECT setval({sequence}, {last})"))


def _free(connection: sa.Connection, ids: list[int]) -> dict[int, int]:
    """Each trial's number here: its own, or, where any of those is taken, the next that are free."""
    free = connection.execute(NEXT_ID[connection.dialect.name]).scalar_one()
    if not ids or min(ids) >= free:
        return {id: id for id in ids}
    return {id: free + index for index, id in enumerate(ids)}
