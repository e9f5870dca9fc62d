"""Sweeps: grids of hyper-parameters × seeds × problem instances as a tidy table, and tuning by them."""

from driftopt.packages import needs_jax

with needs_jax("driftopt.sweep"):
    from driftopt.methods.grids import Grid, grid
    from driftopt.sweep.job_queue import JobQueue
    from driftopt.sweep.kept_parts import ResultsError, StoredRuns
    from driftopt.sweep.planning import NotConfirmed, SweepPlan, plan
    from driftopt.sweep.running import run, stream
    from driftopt.sweep.settings import SweepOptions
    from driftopt.sweep.table import Runs
    from driftopt.sweep.tuning import Selection, Tuned, select, tune

__all__ = [
    "Grid",
    "JobQueue",
    "NotConfirmed",
    "ResultsError",
    "Runs",
    "Selection",
    "StoredRuns",
    "SweepOptions",
    "SweepPlan",
    "Tuned",
    "grid",
    "plan",
    "run",
    "select",
    "stream",
    "tune",
]
