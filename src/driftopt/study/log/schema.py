"""The database's tables. Rows are only ever appended: the log is the study, its replay is the state.

| table | one row is |
|---|---|
| driftopt_format | the format version of the whole database |
| driftopt_studies | a study: its name and its unchanging specification |
| driftopt_iterations | an iteration of a sequential method opened, with its points |
| driftopt_trials | a deployment handed out: one unit of budget, whatever becomes of it |
| driftopt_events | what happened to a trial, or to the study |
| driftopt_keys | what was done for a request that carried a key |
| driftopt_heads | how many rows a study's log has, and the last one's checksum |

A trial is complete, failed or held (reported, but implausible); a result is later corrected, voided,
doubted (it counted, but is held now), accepted (held no longer) or updated (it was early). A lease is renewed
when the trial's holder asks for it again. A study is extended, stopped or resumed.

A study's rows are numbered 1, 2, … over its three tables (`row`), and each carries the checksum of itself and
all rows before it: a row that is changed, lost or added by accident is noticed, whichever it is. Only a head
is ever changed; it can be computed from the rows.

Vectors and specifications are JSON: Python writes the shortest decimal that reads back to the same
binary64, so no bit is lost and any tool can read them.
"""

from typing import Any

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


# SQLite is asked for AUTOINCREMENT: an id is never used again, even were rows to go from the end. The other
# tables are kept in the order of their keys (no rowid): a row more then writes one page less.
def _id() -> Column[int]:
    return Column("id", Integer, primary_key=True, autoincrement=True)


def _study(**more: Any) -> Column[int]:
    return Column("study_id", Integer, ForeignKey("driftopt_studies.id"), nullable=False, **more)


def _checksum() -> Column[str]:
    return Column("checksum", String(32), nullable=False)


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
    _checksum(),
    sqlite_autoincrement=True,
)

heads = Table(
    "driftopt_heads",
    metadata,
    _study(primary_key=True),
    Column("rows", Integer, nullable=False),
    _checksum(),
    sqlite_with_rowid=False,
)

iterations = Table(
    "driftopt_iterations",
    metadata,
    _study(primary_key=True),
    Column("row", Integer, primary_key=True, autoincrement=False),
    Column("iteration", Integer, nullable=False),
    Column("points", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("opened_at", Double, nullable=False),
    _checksum(),
    UniqueConstraint("study_id", "iteration"),
    sqlite_with_rowid=False,
)

trials = Table(
    "driftopt_trials",
    metadata,
    _id(),
    _study(),
    Column("row", Integer, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("iteration", Integer, nullable=False),
    Column("point", Integer, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("x", Text, nullable=False),
    Column("context", Text),  # the category of each context
    Column("holder", String(200), nullable=False),
    Column("asked_at", Double, nullable=False),
    Column("expires_at", Double),
    _checksum(),
    UniqueConstraint("study_id", "row"),
    sqlite_autoincrement=True,
)
Index("driftopt_trials_by_study", trials.c.study_id)

events = Table(
    "driftopt_events",
    metadata,
    _study(primary_key=True),
    Column("row", Integer, primary_key=True, autoincrement=False),
    Column("trial_id", Integer, ForeignKey("driftopt_trials.id")),  # null: the study as a whole
    Column("kind", String(20), nullable=False),
    Column("value", Double),
    Column("sem", Double),
    Column("x_deployed", Text),
    Column("reason", Text),
    Column("who", String(200)),  # who said so, where that is another than the trial's holder
    Column("at", Double, nullable=False),
    _checksum(),
    Column("beside", Text),  # what else was told: covariates and the like
    sqlite_with_rowid=False,
)
Index("driftopt_events_by_trial", events.c.trial_id)

keys = Table(
    "driftopt_keys",
    metadata,
    Column("study_id", Integer, primary_key=True, autoincrement=False),  # 0: requests to create a study
    Column("key", String(200), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # of several things asked together
    Column("asked_for", String(32), nullable=False),  # a checksum of what the request said
    Column("result", Integer, nullable=False),  # the number of the trial, or of the study
    Column("at", Double, nullable=False),
    sqlite_with_rowid=False,
)
