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
from driftopt.study.facts import Summary
from driftopt.study.forecast import Forecast, forecast
from driftopt.study.looking import Change
from driftopt.study.recommendation import Recommendation
from driftopt.study.study import Study, Watch
from driftopt.study.trial import Status, Trial

__all__ = [
    "BudgetSpent",
    "Change",
    "Conflict",
    "DamagedLog",
    "DatabaseRefused",
    "Forecast",
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
    "forecast",
    "load",
    "studies",
]
