"""The log of a study, the truth of it: all that knows SQL is in this room.

`Log` is one study's log, `studies` are the studies of a database; rows are plain tuples.
"""

from driftopt.study.log import studies
from driftopt.study.log.database import Database
from driftopt.study.log.keys import Request
from driftopt.study.log.log import Log, Reader, Writer
from driftopt.study.log.rows import (
    Asked,
    Happened,
    Mark,
    Opened,
    Row,
    Written,
    chained,
    checksum_of,
    stored,
    vector_as_json,
    vector_from_json,
)

__all__ = [
    "Asked",
    "Database",
    "Happened",
    "Log",
    "Mark",
    "Opened",
    "Reader",
    "Request",
    "Row",
    "Writer",
    "Written",
    "chained",
    "checksum_of",
    "stored",
    "studies",
    "vector_as_json",
    "vector_from_json",
]
