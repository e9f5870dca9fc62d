"""The database's tables. Rows are only ever appended: the log is the study, its replay is the state.

| table | one row is |
|---|---|
| driftopt_format | the format version of the whole database |
| driftopt_studies | a study: its name and its unchanging specification |
| driftopt_iterations | an iteration opened (draw 0) or redrawn (draw 1, 2, …), with its points |
| driftopt_trials | a deployment handed out: one unit of budget, whatever becomes of it |
| driftopt_events | something that happened to a trial: complete, failed, expired, superseded, late |

Vectors and specifications are JSON: Python writes the shortest decimal that reads back to the same
binary64, so no bit is lost and any tool can read them.
"""

from sqlalchemy import (
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

FORMAT = 1

metadata = MetaData()


# Every table asks SQLite for AUTOINCREMENT: an id is never used again, even were rows to go from the end.
def _id() -> Column[int]:
    return Column("id", Integer, primary_key=True, autoincrement=True)


def _study() -> Column[int]:
    return Column("study_id", Integer, ForeignKey("driftopt_studies.id"), nullable=False)


versions = Table(
    "driftopt_format", metadata, Column("version", Integer, primary_key=True, autoincrement=False)
)

studies = Table(
    "driftopt_studies",
    metadata,
    _id(),
    Column("name", String(200), nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("spec", Text, nullable=False),
    sqlite_autoincrement=True,
)

iterations = Table(
    "driftopt_iterations",
    metadata,
    _id(),
    _study(),
    Column("iteration", Integer, nullable=False),
    Column("draw", Integer, nullable=False),
    Column("points", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("opened_at", Double, nullable=False),
    UniqueConstraint("study_id", "iteration", "draw"),
    sqlite_autoincrement=True,
)

trials = Table(
    "driftopt_trials",
    metadata,
    _id(),
    _study(),
    Column("kind", String(20), nullable=False),
    Column("iteration", Integer, nullable=False),
    Column("draw", Integer, nullable=False),
    Column("point", Integer, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("x", Text, nullable=False),
    Column("holder", String(200), nullable=False),
    Column("asked_at", Double, nullable=False),
    Column("expires_at", Double),
    sqlite_autoincrement=True,
)
Index("driftopt_trials_by_study", trials.c.study_id, trials.c.id)
Index("driftopt_trials_by_slot", trials.c.study_id, trials.c.kind, trials.c.iteration, trials.c.draw)

events = Table(
    "driftopt_events",
    metadata,
    _id(),
    _study(),
    Column("trial_id", Integer, ForeignKey("driftopt_trials.id"), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("value", Double),
    Column("sem", Double),
    Column("x_deployed", Text),
    Column("reason", Text),
    Column("at", Double, nullable=False),
    # A trial is told once, fails once, expires once.
    UniqueConstraint("trial_id", "kind"),
    sqlite_autoincrement=True,
)
Index("driftopt_events_by_study", events.c.study_id, events.c.id)
