"""What is new in a study, whoever did it: the rows of the log since the last look, in plain words."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from driftopt.study.log import Asked, Happened, Log, Opened, Row


class Change(NamedTuple):
    """Something that happened in a study; `row` numbers them 1, 2, … without a gap."""

    row: int
    at: float  # seconds since the epoch
    kind: str  # opened, asked, or what happened: complete, failed, held, corrected, extended, …
    trial_id: int | None  # of the trial, where it is about one
    value: float | None = None  # what was told, where something was
    holder: str | None = None  # of a trial that is asked
    who: str | None = None  # said so, where someone is named
    reason: str | None = None  # why, where someone said


class Watch(ABC):
    """What is new in a study; between two looks nothing is held, not even a connection."""

    @abstractmethod
    def new(self) -> list[Change]:
        """What happened since the last look, oldest first."""


class LogWatch(Watch):
    """Looks at the log itself."""

    def __init__(self, log: Log, after: int | None):
        self._log = log
        self._mark = log.begin
        self._after = 0 if after is None else after
        if after is None:
            self.new()

    def new(self) -> list[Change]:
        rows, mark = self._log.read(lambda log: log.since(self._mark))
        found = [change for change in changes(rows) if change.row > self._after]
        self._mark = mark  # the last thing: an interruption loses no change
        return found


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
