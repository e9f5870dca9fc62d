"""Which studies a database holds: find, add, list and delete them; tables are made."""

import os
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from driftopt.study.errors import DamagedLog, Duplicate, FormatError, NoSuchStudy, StudyExists
from driftopt.study.log import keys, schema, statements
from driftopt.study.log.database import Database
from driftopt.study.log.keys import Request
from driftopt.study.log.rows import Asked, Happened, Mark, Row, chained, stored

# An imported trial keeps its number if that is less than so far beyond the others, and below this.
NEAR, LARGEST_OWN = 2**20, 2**30


class Found(NamedTuple):
    """A study as the database knows it."""

    id: int
    spec: str
    checksum: str
    created_at: float


class Standing(NamedTuple):
    """A study in a list: its plan, and how far it is."""

    name: str
    created_at: float
    spec: str
    spent: int
    extended: int | None  # the last budget that it was extended to
    stopped: int  # how often it was said to end before its budget


def add(
    database: Database,
    name: str,
    spec: str,
    now: float,
    rows: Sequence[Row] = (),
    request: Request | None = None,
) -> Found:
    """A new study, with the rows of a log that is taken over; the study that the same request made before."""
    _prepare(database)

    def taken(connection: sa.Connection) -> bool:
        known = sa.select(schema.studies.c.id).where(schema.studies.c.name == name)
        return connection.execute(known).first() is not None

    def work(connection: sa.Connection) -> Found:
        number = None if request is None else keys.find(connection, keys.CREATION, request)
        if number is not None:
            return _by_number(connection, number, name)
        if taken(connection):
            raise there
        at = stored(now)
        checksum = chained("", name, at, spec)
        row = sa.insert(schema.studies).values(name=name, created_at=at, spec=spec, checksum=checksum)
        id = connection.execute(row.returning(schema.studies.c.id)).scalar_one()
        connection.execute(sa.insert(schema.heads).values(study_id=id, rows=0, checksum=checksum))
        if rows:
            statements.copy(connection, id, Mark(0, checksum), _renumbered(connection, rows))
        if request is not None:
            keys.keep(connection, keys.CREATION, request, id, now)
        return Found(id, spec, checksum, at)

    there = StudyExists(f"{database.label} already holds a study {name!r}: open it, or choose another name")
    try:
        return database.write(work, again=request is not None)
    except Duplicate:  # on PostgreSQL two may create it at one time
        if database.read(taken):
            raise there from None
        raise


def _by_number(connection: sa.Connection, id: int, name: str) -> Found:
    table = schema.studies
    row = connection.execute(sa.select(table).where(table.c.id == id)).first()
    if row is None:
        raise NoSuchStudy(f"the study {name!r} that this request created was deleted: choose a new key")
    return Found(row.id, row.spec, row.checksum, row.created_at)


def find(database: Database, name: str) -> Found:
    """A study by its name."""
    _check_tables(database)

    def work(connection: sa.Connection) -> Found:
        table = schema.studies.c
        row = connection.execute(sa.select(schema.studies).where(table.name == name)).first()
        if row is None:
            known = connection.execute(sa.select(table.name).order_by(table.id)).scalars().all()
            raise NoSuchStudy(
                f"{database.label} holds no study {name!r}; it holds {', '.join(known) or 'none'}"
            )
        if row.checksum != chained("", row.name, row.created_at, row.spec):
            raise DamagedLog(
                f"the specification of {name!r} is not what was written: the database is damaged. "
                "Go back to a copy of it"
            )
        return Found(row.id, row.spec, row.checksum, row.created_at)

    return database.read(work)


def listed(database: Database) -> list[Standing]:
    """All studies, oldest first."""
    _check_tables(database)
    of_study = schema.studies.c.id
    spent = sa.select(sa.func.count()).where(schema.trials.c.study_id == of_study)
    extended = sa.select(sa.func.max(schema.events.c.value)).where(
        schema.events.c.study_id == of_study, schema.events.c.kind == "extended"
    )
    stopped = sa.select(sa.func.count()).where(
        schema.events.c.study_id == of_study, schema.events.c.kind == "stopped"
    )
    plan = (schema.studies.c.name, schema.studies.c.created_at, schema.studies.c.spec)
    parts = [part.scalar_subquery() for part in (spent, extended, stopped)]
    query = sa.select(*plan, *parts).order_by(of_study)
    return database.read(lambda connection: [Standing(*row) for row in connection.execute(query)])


def delete(database: Database, name: str, request: Request | None = None, now: float = 0.0) -> int:
    """Delete a study and its log; returns how many rows the log had, or had when the same request came."""
    if request is not None:
        _check_tables(database)
        done = database.read(lambda connection: keys.find(connection, keys.CREATION, request))
        if done is not None:
            return done
    found = find(database, name)

    def work(connection: sa.Connection) -> int:
        done = None if request is None else keys.find(connection, keys.CREATION, request)
        if done is not None:
            return done
        if connection.dialect.name == "postgresql":  # its writers lock this row
            connection.execute(statements.LOCKED_HEAD, {"study_id": found.id})
        rows = 0
        for table in (schema.events, schema.trials, schema.iterations, schema.heads):
            gone = connection.execute(sa.delete(table).where(table.c.study_id == found.id))
            rows += gone.rowcount if table is not schema.heads else 0
        connection.execute(sa.delete(schema.studies).where(schema.studies.c.id == found.id))
        keys.forget(connection, found.id)
        if request is not None:
            keys.keep(connection, keys.CREATION, request, rows, now)
        return rows

    return database.write(work, again=request is not None)


def _renumbered(connection: sa.Connection, rows: Sequence[Row]) -> list[Row]:
    """The rows with their trials' own numbers if all are free and not far off, else with the next ones.

    A number that is far off would leave few to those who ask after it.
    """
    ids = [row.id for row in rows if isinstance(row, Asked)]
    if not ids:
        return list(rows)
    free = connection.execute(statements.NEXT_ID[connection.dialect.name]).scalar_one()
    own = min(ids) >= free and max(ids) < min(free + NEAR, LARGEST_OWN)
    if connection.dialect.name == "postgresql":
        # Each number that the sequence gives is nobody else's, whoever asks or imports at the same time.
        more = max(ids) - free if own else len(ids) - 1
        drawn = connection.execute(statements.NEXT_IDS, {"more": more}).scalars().all()
        mine = {free, *drawn}
        own = own and mine.issuperset(ids)
        if not own and len(mine) < len(ids):
            mine.update(connection.execute(statements.NEXT_IDS, {"more": len(ids)}).scalars())
        new = ids if own else sorted(mine)
    else:
        new = ids if own else range(free, free + len(ids))
    numbers = dict(zip(ids, new, strict=False))
    return [_with_number(row, numbers) for row in rows]


def _with_number(row: Row, numbers: dict[int, int]) -> Row:
    if isinstance(row, Asked):
        return row._replace(id=numbers[row.id])
    if isinstance(row, Happened) and row.trial_id is not None:
        return row._replace(trial_id=numbers[row.trial_id])
    return row


# The tables


def _check_tables(database: Database) -> None:
    """Make sure that there are studies, in the present format."""
    file = database.url.database
    if database.sqlite and file and file != ":memory:" and not os.path.exists(file):
        raise NoSuchStudy(f"{database.label} holds no studies; create one first")

    def work(connection: sa.Connection) -> None:
        if not sa.inspect(connection).has_table(schema.versions.name):
            raise NoSuchStudy(f"{database.label} holds no studies; create one first")
        _check_format(connection, database.label)

    database.read(work)


def _check_format(connection: sa.Connection, label: str) -> None:
    version = connection.execute(sa.select(schema.versions.c.version)).scalar()
    if version != schema.FORMAT:
        raise FormatError(
            f"{label} is in format {version}; this driftopt reads format {schema.FORMAT}: use the version "
            "that wrote it"
        )


def _prepare(database: Database) -> None:
    """Make the tables where there are none, and check the format of those that are there."""

    def work(connection: sa.Connection) -> None:
        if not database.sqlite:
            # Two creators at once: the second waits for the first's tables.
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(0x64726966)))
        if sa.inspect(connection).has_table(schema.versions.name):
            _check_format(connection, database.label)
            return
        schema.metadata.create_all(connection)
        connection.execute(sa.insert(schema.versions).values(version=schema.FORMAT))

    database.use_wal()
    database.write(work, again=True)
