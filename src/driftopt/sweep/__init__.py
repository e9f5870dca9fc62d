"""Sweeps: grids of hyper-parameters × seeds × problem instances as a tidy table, and tuning by them."""

from driftopt.packages import needs_jax

with needs_jax("driftopt.sweep"):
    from driftopt.methods.grids import Grid, grid
    from driftopt.sweep.executors import JobQueue
    from driftopt.sweep.planning import NotConfirmed, SweepPlan, plan
    from driftopt.sweep.results import ResultsError, Runs
    from driftopt.sweep.running import run, stream
    from driftopt.sweep.tuning import Selection, Tuned, select, tune

__all__ = [
    "Grid",
    "JobQueue",
    "NotConfirmed",
    "ResultsError",
    "Runs",
    "Selection",
    "SweepPlan",
    "Tuned",
    "grid",
    "plan",
    "run",
    "select",
    "stream",
    "tune",
]
