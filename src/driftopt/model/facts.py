"""What the results say in the units of the value: gains and costs as sums of f with their errors.

A gain, the cost of the search and what a period brought are all Σ_j a_j f(x_j, c_j, t_j) for some weights
a. Under the posterior of f on the scale of the value that is a normal law in closed form.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftopt.model.belief import Curve, Results
from driftopt.model.objective import Objective
from driftopt.model.posterior import Inputs


class Estimate(NamedTuple):
    """A number and its standard error."""

    mean: float
    sd: float


@dataclass(frozen=True)
class Facts:
    """The posterior of the value itself."""

    curve: Curve
    start: np.ndarray  # in units

    @classmethod
    def of(
        cls, results: Results, start: np.ndarray, units: np.ndarray, objective: Objective | None = None
    ) -> "Facts":
        """From the standing results; without values, from what the objective makes of outputs."""
        value = results.value
        if objective is not None:
            value = np.where(np.isfinite(value), value, objective(results.x, results.outputs))
        curve = Curve.of(results.inputs(units), value, results.weight, compressed=False, logarithms=False)
        return cls(curve, start / units)

    def total(self, points: Inputs, weights: np.ndarray) -> Estimate:
        """Σ_j weight_j f(point_j)."""
        mean, variance = self.curve.posterior.total(points, weights)
        spread = self.curve.scale.spread
        return Estimate(spread * mean + self.curve.scale.middle * weights.sum(), spread * variance**0.5)

    def difference(self, points: Inputs) -> Estimate:
        """Σ_j f(point_j) − f(start), the start at the same times and in the same contexts."""
        start = Inputs(np.broadcast_to(self.start, points.x.shape), *points.arrays[1:])
        both = Inputs(*(np.concatenate(pair) for pair in zip(points.arrays, start.arrays, strict=True)))
        return self.total(both, np.repeat([1.0, -1.0], len(points)))

    def effects(self) -> np.ndarray:
        """(k,), what one standard deviation of each covariate adds to the value."""
        return self.curve.scale.spread * self.curve.posterior.slopes()
