"""Where a study stands, in numbers: no JAX, and nothing is changed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from driftopt import averages
from driftopt.study import display
from driftopt.study.errors import Holding
from driftopt.study.progress import Progress
from driftopt.study.spec import Spec
from driftopt.study.trial import STATES, Trial

DAY = 86400.0
_HUGE = 1e100  # squares of larger numbers may overflow


@dataclass(frozen=True)
class Drift:
    """How the world moves while the decision stands still: values at the start over time."""

    n: int
    mean: float
    slope: float | None  # per day
    slope_sem: float | None


@dataclass(frozen=True, repr=False)
class Summary:
    """Where the study stands."""

    name: str
    method: str
    direction: str
    dim: int
    budget: int
    spent: int
    reserve: int
    iterations: int
    answered: int  # of the open iteration's deployments
    size: int  # deployments in one iteration
    states: dict[str, int]
    kinds: dict[str, int]
    out: tuple[Holding, ...]
    drift: Drift | None
    stopped: str | None = None  # why the study was ended before its budget

    @property
    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, words and lists, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        states = ", ".join(f"{count} {state}" for state, count in self.states.items() if count)
        return (
            f"<Summary of {self.name!r}: {self.method}, {self.direction}, {self.spent} of {self.budget} "
            f"deployments ({states or 'none asked yet'}), {self.iterations} iterations complete>"
        )

    def _repr_html_(self) -> str:
        lines = [
            ("method", f"{self.method}, {self.direction}"),
            ("deployments", f"{self.spent} of {self.budget}"),
            ("iterations", f"{self.iterations} complete"),
            *((state, str(count)) for state, count in self.states.items() if count),
        ]
        return display.html(f"Study {self.name}", lines)


def drift(trials: Sequence[Trial]) -> Drift | None:
    """Least squares of the start's values on time: y = a + b t, with the standard error of b.

    b = Σ(t − t̄)(y − ȳ) / Σ(t − t̄)²,   se² = Σ residual² / ((n − 2) Σ(t − t̄)²)

    Huge values are measured in units of the largest, so that no sum or square overflows.
    """
    told = [t for t in trials if t.state == "complete" and at_start(t)]
    if not told:
        return None
    days = np.array([t.asked_at for t in told]) / DAY
    told_values = np.array([t.value for t in told], dtype=np.float64)
    mean = float(averages.mean(told_values))
    centred = days - days.mean()
    width = float(centred @ centred)
    if len(told) < 3 or width == 0:
        return Drift(len(told), mean, None, None)
    largest = float(np.abs(told_values).max())
    unit = largest if largest > _HUGE else 1.0
    values = told_values / unit
    with np.errstate(over="ignore"):
        slope = centred @ (values - values.mean()) / width
        residual = values - values.mean() - slope * centred
        error = np.sqrt(residual @ residual / ((len(told) - 2) * width))
        return Drift(len(told), mean, *(float(averages.within_range(unit * b)) for b in (slope, error)))


def at_start(trial: Trial) -> bool:
    return trial.kind == "control" or (trial.kind == "confirm" and trial.sample == 0)


def summarize(name: str, spec: Spec, progress: Progress, trials: Sequence[Trial]) -> Summary:
    """From the study's trials and its progress."""
    counted = Counter(trial.state for trial in trials)
    open = progress.open
    return Summary(
        name=name,
        method=spec.method,
        direction=spec.direction,
        dim=spec.dim,
        budget=progress.budget,
        spent=progress.spent,
        reserve=spec.reserve,
        iterations=progress.closed,
        answered=0 if open is None else spec.size - open.missing,
        size=spec.size,
        states={state: counted.get(state, 0) for state in STATES},
        kinds=dict(Counter(trial.kind for trial in trials)),
        out=tuple(Holding(t.id, t.holder, t.expires_at) for t in trials if t.state == "pending"),
        drift=drift(trials),
        stopped=progress.stopped,
    )
