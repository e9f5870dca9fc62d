"""What is new in a study, whoever did it: the rows of the log since the last look, in plain words."""

from collections.abc import Sequence
from typing import NamedTuple

from driftopt.study.log import Asked, Happened, Log, Mark, Opened, Row


class Change(NamedTuple):
    """Something that happened in a study; `row` numbers them 1, 2, … without a gap."""

    row: int
    at: float
    kind: str  # opened, asked, or what happened: complete, failed, held, corrected, extended, …
    trial_id: int | None
    value: float | None = None
    holder: str | None = None  # of a trial that is asked
    who: str | None = None
    reason: str | None = None


class Watch:
    """Looks at a study's log again and again; between two looks nothing is held, not even a connection."""

    def __init__(self, log: Log, after: int | None):
        self._log = log
        self._mark = log.begin
        self._after = after if after is not None else self._end()

    def _end(self) -> int:
        self._mark = self._log.read(lambda log: log.since(self._mark))[1]
        return self._mark.rows

    def new(self) -> list[Change]:
        """What happened since the last look, oldest first."""
        rows, mark = self._log.read(lambda log: log.since(self._mark))
        self._mark = mark
        return [change for change in changes(rows) if change.row > self._after]

    @property
    def mark(self) -> Mark:
        """How far the log was looked at."""
        return self._mark


def changes(rows: Sequence[Row]) -> list[Change]:
    """Each row of a log as a change."""
    return [_change(row) for row in rows]


def _change(row: Row) -> Change:
    match row:
        case Opened():
            return Change(row.row, row.opened_at, "opened", None)
        case Asked():
            return Change(row.row, row.asked_at, "asked", row.id, holder=row.holder)
        case Happened():
            return Change(row.row, row.at, row.kind, row.trial_id, row.value, None, row.who, row.reason)
