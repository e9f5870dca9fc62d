"""Grids of hyper-parameters × seeds × problem instances → a tidy table; selection on development runs."""

from driftopt.methods.grids import Grid, grid
from driftopt.sweep.confirmation import NotConfirmed
from driftopt.sweep.job_queue import JobQueue
from driftopt.sweep.kept_parts import ResultsError
from driftopt.sweep.planning import SweepPlan, plan
from driftopt.sweep.stored_runs import StoredRuns
from driftopt.sweep.table import Runs
from driftopt.sweep.tuning import Selection, Tuned, run, select, stream, tune

__all__ = [
    "Grid",
    "JobQueue",
    "NotConfirmed",
    "ResultsError",
    "Runs",
    "Selection",
    "StoredRuns",
    "SweepPlan",
    "Tuned",
    "grid",
    "plan",
    "run",
    "select",
    "stream",
    "tune",
]
