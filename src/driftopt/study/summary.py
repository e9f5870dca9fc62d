"""Where a study stands, in numbers: no JAX, and nothing is changed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from driftopt.study.errors import Holding
from driftopt.study.ledger import Ledger
from driftopt.study.spec import Spec
from driftopt.study.trial import STATES, Trial

DAY = 86400.0


@dataclass(frozen=True)
class Drift:
    """How the world moves while the decision stands still: values at the start over time."""

    n: int
    mean: float
    slope: float | None  # per day
    slope_sem: float | None


@dataclass(frozen=True)
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

    @property
    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, words and lists, for JSON."""
        return asdict(self)


def drift(trials: Sequence[Trial]) -> Drift | None:
    """Least squares of the start's values on time: y = a + b t, with the standard error of b.

    b = Σ(t − t̄)(y − ȳ) / Σ(t − t̄)²,   se² = Σ residual² / ((n − 2) Σ(t − t̄)²)
    """
    told = [t for t in trials if t.state == "complete" and at_start(t)]
    if not told:
        return None
    days = np.array([t.asked_at for t in told]) / DAY
    values = np.array([t.value for t in told], dtype=np.float64)
    centred = days - days.mean()
    width = float(centred @ centred)
    if len(told) < 3 or width == 0:
        return Drift(len(told), float(values.mean()), None, None)
    slope = float(centred @ (values - values.mean())) / width
    residual = values - values.mean() - slope * centred
    error = float(np.sqrt(residual @ residual / ((len(told) - 2) * width)))
    return Drift(len(told), float(values.mean()), slope, error)


def at_start(trial: Trial) -> bool:
    return trial.kind == "control" or (trial.kind == "confirm" and trial.sample == 0)


def summarize(name: str, spec: Spec, ledger: Ledger, trials: Sequence[Trial]) -> Summary:
    """From the study's trials and its ledger."""
    counted = Counter(trial.state for trial in trials)
    turn = ledger.open
    return Summary(
        name=name,
        method=spec.method,
        direction=spec.direction,
        dim=spec.dim,
        budget=spec.budget,
        spent=ledger.spent,
        reserve=spec.reserve,
        iterations=ledger.closed,
        answered=0 if turn is None else spec.size - turn.missing,
        size=spec.size,
        states={state: counted.get(state, 0) for state in STATES},
        kinds=dict(Counter(trial.kind for trial in trials)),
        out=tuple(Holding(t.id, t.holder, t.expires_at) for t in trials if t.state == "pending"),
        drift=drift(trials),
    )
