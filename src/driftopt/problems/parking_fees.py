"""Parking: prices at the kerb that should keep some spaces free, but not many.

After Ray, Ratliff, Drusvyatskiy and Fazel, "Decision-dependent risk minimization in geometrically decaying
dynamic environments", AAAI 2022, with generated numbers. A decision x holds the changes of d blocks' hourly
prices, the occupancy ξ of each block falls with its own, and the city wants it near 70 %:

    ξ ~ N(q̄ + mx, s²I),   F(x; ξ) = ½‖ξ − 0.7‖² + ½γ‖x‖²
    f(x) = ½‖q̄ + mx − 0.7‖² + ½ds² + ½γ‖x‖²

f is least at x = −(q̄ − 0.7) m/(γ + m²). Retraining rests at x = 0: on the data of the day the occupancy is
what it is, and a change only costs. Occupancies are not clipped to [0, 1], which keeps f in closed form.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from driftopt import checks
from driftopt.methods.models import LinearGaussian
from driftopt.problem import Optimum, Problem, single
from driftopt.pytree import module
from driftopt.rng.seeds import as_seed
from driftopt.rng.threefry import normal

TARGET = 0.7


@module
class Parking(Problem):
    """ξ ~ N(q̄ + mx, s²I),  F(x; ξ) = ½‖ξ − 0.7‖² + ½γ‖x‖²; make instances with `parking`."""

    base: Array  # q̄, (d,): the mean occupancy at today's prices
    slope: Array  # m < 0: its change for one dollar more
    noise_level: Array  # s
    ridge: Array  # γ

    @property
    def dim(self) -> int:
        """d, the number of blocks."""
        return self.base.shape[0]

    def mean(self, x: Array) -> Array:
        """q̄ + mx."""
        return self.base + self.slope * x

    def noise(self, key: Array) -> Array:
        return normal(key, (self.dim,))

    def respond(self, noise: Array, x: Array) -> Array:
        """The occupancy of every block."""
        return self.mean(x) + self.noise_level * noise.astype(x.dtype)

    def value(self, x: Array, xi: Array) -> Array:
        """Half the squared distance from the target, and the cost of price changes."""
        return 0.5 * jnp.sum((xi - TARGET) ** 2) + 0.5 * self.ridge * jnp.sum(x * x)

    def objective(self, x: Array) -> Array:
        """½‖q̄ + mx − 0.7‖² + ½ds² + ½γ‖x‖²."""
        return self.value(x, self.mean(x)) + 0.5 * self.dim * self.noise_level**2

    def optimum(self) -> Optimum:
        """−(q̄ − 0.7) m/(γ + m²)."""
        slope = float(self.slope)
        return self._known(-(np.asarray(self.base, float) - TARGET) * slope / (float(self.ridge) + slope**2))

    def stable_point(self) -> Optimum:
        """0: on given data any change only costs."""
        return self._known(np.zeros(self.dim))

    def model(self) -> LinearGaussian:
        """ξ ~ N(b + Ax, Σ), with b, A and Σ unknown."""
        return LinearGaussian()

    def _known(self, x: np.ndarray) -> Optimum:
        gap = np.asarray(self.base, float) + float(self.slope) * x - TARGET
        spread = self.dim * float(self.noise_level) ** 2
        return Optimum(x, float(gap @ gap + float(self.ridge) * x @ x + spread) / 2)


def parking(
    dim: int = 2, *, slope: float = -0.15, noise: float = 0.1, ridge: float = 0.01, rng: Any = 0
) -> Parking:
    """A random instance: mean occupancies q̄ independent and uniform between 0.5 and 1.

    Args:
        dim: d, the number of blocks.
        slope: m < 0, the change of the occupancy for one dollar more.
        noise: s, the standard deviation of an occupancy.
        ridge: γ, the cost of changing a price.
        rng: a seed or a Generator, for q̄.
    """
    base = np.random.default_rng(as_seed(rng)).uniform(0.5, 1.0, int(checks.count("dim", dim)))
    if not -np.inf < checks.number("slope", slope) < 0:
        raise ValueError(f"slope must be below 0: a higher price means fewer cars; got {slope!r}")
    return Parking(
        single(base),
        single(slope),
        single(checks.positive("noise", noise)),
        single(checks.positive("ridge", ridge)),
    )
