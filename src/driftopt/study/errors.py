"""What can go wrong in a live study, one class a case; each message says what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Holding:
    """One deployment that is out: who holds it, and until when (None: no end)."""

    id: int
    holder: str
    expires_at: float | None


class StudyError(Exception):
    """Base of everything a study raises on purpose."""


class NothingToAsk(StudyError):
    """Every point of the iteration is out; `holdings` says who holds what."""

    def __init__(self, message: str, holdings: Sequence[Holding] = ()):
        super().__init__(message)
        self.holdings = tuple(holdings)


class Halted(StudyError):
    """A hard limit was broken twice in a row: go back to the start, until someone resumes the study."""


class BudgetSpent(NothingToAsk):
    """No deployment can be paid for any more: ask for the recommendation."""


class Conflict(StudyError, ValueError):
    """A trial has another result already. Nothing was changed."""


class UnknownTrial(StudyError, ValueError):
    """No trial of this study has that id."""


class StudyExists(StudyError, ValueError):
    """The database already holds a study of that name."""


class NoSuchStudy(StudyError, ValueError):
    """The database holds no study of that name."""


class FormatError(StudyError, ValueError):
    """The database was written in a format this version cannot read."""


class ReplayError(StudyError):
    """The replayed state does not lead to the points in the log."""


class DamagedLog(StudyError):
    """A row of the log is not what was written. Nothing is computed from such a log."""


class DatabaseRefused(StudyError):
    """The database could not be opened, read or written; in its own words."""


class Duplicate(DatabaseRefused):
    """A row was in the database already, or one that it belongs to was not. Nothing was recorded."""


class Implausible(UserWarning):
    """A correction is far from all other answers. It counts all the same."""
