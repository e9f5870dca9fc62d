"""The recommended decision, with what is honestly known of its improvement: never the best value seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt import averages
from driftopt.study import display
from driftopt.study.spec import Spec
from driftopt.study.trial import Trial


@dataclass(frozen=True)
class Mean:
    """A mean of n told values and its standard error."""

    mean: float
    sem: float | None
    n: int


@dataclass(frozen=True)
class Improvement:
    """How much better the recommendation is than the start, in the study's direction: positive is better."""

    mean: float
    sem: float
    recommended: Mean
    start: Mean
    basis: str


@dataclass(frozen=True)
class Metric:
    """What a metric is at the recommendation, or about there."""

    name: str
    mean: float | None  # None: it was not told yet
    sem: float | None
    n: int
    limit: str  # in words
    basis: str

    @property
    def words(self) -> str:
        """In words."""
        if self.mean is None:
            return f"{self.name}: not told yet; {self.limit}"
        error = "" if self.sem is None else f" ± {self.sem:.2g}"
        return f"{self.name}: {self.mean:.4g}{error}, from {self.n} {self.basis}; {self.limit}"


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation:
    """What to deploy when the study is over, or now."""

    x: np.ndarray  # (d,), the decision
    names: tuple[str, ...]  # one for each coordinate
    iterations: int  # how many are complete
    spent: int  # deployments that count against the budget
    # Over the start, positive is better: mean, sem, and what they rest on; None: not known.
    improvement: Improvement | None
    note: str  # what the improvement rests on, or why none is known
    metrics: tuple[Metric, ...] = ()  # what else was measured there, where there are limits

    @property
    def as_dict(self) -> dict[str, float]:
        """The decision by name."""
        return dict(zip(self.names, self.x.tolist(), strict=True))

    @property
    def known(self) -> str:
        """What is known of the improvement, in words."""
        gain = self.improvement
        return self.note if gain is None else f"improvement {gain.mean:.4g} ± {gain.sem:.2g} (standard error)"

    def __repr__(self) -> str:
        return f"<Recommendation: {display.decision(self.names, self.x.tolist())}; {self.known}>"

    def _repr_html_(self) -> str:
        lines = [(name, display.number(value)) for name, value in self.as_dict.items()]
        return display.html(f"Recommendation after {self.iterations} iterations", lines, self.known)


def mean_of(trials: Sequence[Trial]) -> Mean | None:
    """The mean of the told values; one value alone has the error that came with it, if one did."""
    told = [trial for trial in trials if trial.state == "complete" and trial.value is not None]
    if not told:
        return None
    values = np.array([trial.value for trial in told], dtype=np.float64)
    if len(told) > 1:
        return Mean(float(averages.mean(values)), averages.standard_error(values), len(told))
    return Mean(float(values[0]), told[0].sem, 1)


def recommend(
    spec: Spec, x: np.ndarray, iterations: int, spent: int, others: Sequence[Trial]
) -> Recommendation:
    """`others` are the study's control and confirm trials."""
    improvement = _improvement(spec, iterations, others)
    if iterations == 0:
        note = "no iteration is complete: this is the start"
    elif improvement is None:
        note = "improvement over the start is unknown: ask for the purpose confirm to measure it"
    else:
        note = f"improvement over the start, from {improvement.basis}"
    return Recommendation(x, tuple(spec.names), iterations, spent, improvement, note)


def _improvement(spec: Spec, iterations: int, others: Sequence[Trial]) -> Improvement | None:
    """Fresh values at the recommendation against values at the start.

    Two values of a pair saw the same weeks, so that the error is that of the differences, sd(d_i)/√n: what
    moves both sides alike takes no part in it. Controls from the whole study stand in where there is no pair.
    """
    sign = 1.0 if spec.direction == "minimize" else -1.0
    told = [t for t in others if t.kind == "confirm" and t.iteration == iterations and t.state == "complete"]
    sides = [{t.point: t for t in told if t.sample == side} for side in (0, 1)]
    both = sorted(sides[0].keys() & sides[1].keys())
    paired, here = (mean_of([side[pair] for pair in both]) for side in sides)
    if len(both) > 1 and paired is not None and here is not None:
        values = np.array([[side[pair].value for pair in both] for side in sides], dtype=np.float64)
        less = sign * _difference(values[0], values[1])
        error = averages.standard_error(less)
        return Improvement(float(averages.mean(less)), error, here, paired, "confirming pairs")
    here = mean_of(list(sides[1].values()))
    controls = mean_of([trial for trial in others if trial.kind == "control"])
    for start, basis in ((paired, "confirming pairs"), (controls, "confirming and control deployments")):
        if here is not None and start is not None and here.sem is not None and start.sem is not None:
            gain = sign * float(_difference(start.mean, here.mean))
            return Improvement(gain, _both(here.sem, start.sem), here, start, basis)
    return None


def _difference(a: Any, b: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        return averages.within_range(np.subtract(a, b))


def _both(one: float, other: float) -> float:
    """The standard error of a difference: √(a² + b²)."""
    with np.errstate(over="ignore"):
        return float(averages.within_range(np.hypot(one, other)))
