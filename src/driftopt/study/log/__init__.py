"""The log of a study, the truth of it: all that knows SQL is in this room.

`Log` is one study's log, `studies` are the studies of a database; rows are plain tuples.
"""

from driftopt.study.log import studies
from driftopt.study.log.database import Database
from driftopt.study.log.keys import Request
from driftopt.study.log.log import KnownTrial, Log, Reader, Writer
from driftopt.study.log.rows import (
    Answered,
    Asked,
    Deployed,
    Happened,
    Mark,
    Opened,
    Row,
    Written,
    as_trial,
    as_trials,
    chained,
    checksum_of,
    stored,
    vector_as_json,
    vector_from_json,
)

__all__ = [
    "Answered",
    "Asked",
    "Database",
    "Deployed",
    "Happened",
    "KnownTrial",
    "Log",
    "Mark",
    "Opened",
    "Reader",
    "Request",
    "Row",
    "Writer",
    "Written",
    "as_trial",
    "as_trials",
    "chained",
    "checksum_of",
    "stored",
    "studies",
    "vector_as_json",
    "vector_from_json",
]
