"""Live studies: ask and tell over days, through a database, with nothing lost."""

from driftopt.study.catalogue import Listed, delete, load, studies
from driftopt.study.errors import (
    BudgetSpent,
    Conflict,
    DamagedLog,
    DatabaseRefused,
    FormatError,
    Halted,
    Implausible,
    NoSuchStudy,
    NothingToAsk,
    ReplayError,
    StudyError,
    StudyExists,
    UnknownTrial,
)
from driftopt.study.recommendation import Recommendation
from driftopt.study.status import Status
from driftopt.study.study import Study
from driftopt.study.summary import Summary
from driftopt.study.trial import Trial
from driftopt.study.watching import Change, Watch

__all__ = [
    "BudgetSpent",
    "Change",
    "Conflict",
    "DamagedLog",
    "DatabaseRefused",
    "FormatError",
    "Halted",
    "Implausible",
    "Listed",
    "NoSuchStudy",
    "NothingToAsk",
    "Recommendation",
    "ReplayError",
    "Status",
    "Study",
    "StudyError",
    "StudyExists",
    "Summary",
    "Trial",
    "UnknownTrial",
    "Watch",
    "delete",
    "load",
    "studies",
]
