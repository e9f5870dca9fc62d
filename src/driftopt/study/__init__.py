"""Live studies: ask and tell over days, through a database, with nothing lost."""

from driftopt.study.catalogue import Listed, delete, load, studies
from driftopt.study.errors import (
    BudgetSpent,
    Conflict,
    DamagedLog,
    DatabaseRefused,
    FormatError,
    NoSuchStudy,
    NothingToAsk,
    ReplayError,
    StudyError,
    StudyExists,
    UnknownTrial,
)
from driftopt.study.recommendation import Recommendation
from driftopt.study.study import Study
from driftopt.study.summary import Summary
from driftopt.study.trial import Trial

__all__ = [
    "BudgetSpent",
    "Conflict",
    "DamagedLog",
    "DatabaseRefused",
    "FormatError",
    "Listed",
    "NoSuchStudy",
    "NothingToAsk",
    "Recommendation",
    "ReplayError",
    "Study",
    "StudyError",
    "StudyExists",
    "Summary",
    "Trial",
    "UnknownTrial",
    "delete",
    "load",
    "studies",
]
