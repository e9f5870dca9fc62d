"""Regression on people whose outcomes follow the prediction.

Izzo, Ying and Zou, "How to learn when data reacts to your model", ICML 2021. A person has a feature v and an
outcome y, the decision x is the coefficient that predicts y from v, and the true coefficient follows it:

    v ~ N(μ, σ²),   y = (a₀ + a₁x) v + s z,   z ~ N(0, 1)
    F(x; ξ) = ½(xv − y)² + ½ρx²,   ξ = (v, y)
    f(x) = ½c((1 − a₁)x − a₀)² + ½s² + ½ρx²,   c = μ² + σ²

f is least at c a₀(1 − a₁)/(c(1 − a₁)² + ρ); retraining rests at c a₀/(c(1 − a₁) + ρ). Without ridge both are
a₀/(1 − a₁), the prediction that makes itself true.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from driftopt import checks
from driftopt.oracle import Model
from driftopt.problem import Optimum, Problem, single
from driftopt.problems.models import FollowedCoefficient
from driftopt.pytree import module
from driftopt.rng.threefry import normal


@module
class PerformativeRegression(Problem):
    """F(x; ξ) = ½(xv − y)² + ½ρx² with y = (a₀ + a₁x)v + sz; made by `performative_regression`."""

    offset: Array  # a₀
    follow: Array  # a₁
    center: Array  # μ
    spread: Array  # σ
    noise_level: Array  # s
    ridge: Array  # ρ

    @property
    def dim(self) -> int:
        return 1

    def noise(self, key: Array) -> Array:
        """Two standard normal numbers, for v and for y."""
        return normal(key, (2,))

    def respond(self, noise: Array, x: Array) -> Array:
        """ξ = (v, y), of shape (2,)."""
        noise = noise.astype(x.dtype)
        feature = self.center + self.spread * noise[0]
        outcome = (self.offset + self.follow * x[0]) * feature + self.noise_level * noise[1]
        return jnp.stack([feature, outcome])

    def value(self, x: Array, xi: Array) -> Array:
        """Half the squared error of the prediction, and the ridge."""
        return 0.5 * (x[0] * xi[0] - xi[1]) ** 2 + 0.5 * self.ridge * x[0] ** 2

    def objective(self, x: Array) -> Array:
        """½c((1 − a₁)x − a₀)² + ½s² + ½ρx²."""
        square = self.center**2 + self.spread**2
        gap = (1 - self.follow) * x[0] - self.offset
        return 0.5 * (square * gap**2 + self.noise_level**2 + self.ridge * x[0] ** 2)

    def optimum(self) -> Optimum:
        """c a₀(1 − a₁)/(c(1 − a₁)² + ρ)."""
        keep = 1 - float(self.follow)
        square = self._square()
        return self._known(square * float(self.offset) * keep / (square * keep**2 + float(self.ridge)))

    def stable_point(self) -> Optimum:
        """c a₀/(c(1 − a₁) + ρ)."""
        square = self._square()
        return self._known(
            square * float(self.offset) / (square * (1 - float(self.follow)) + float(self.ridge))
        )

    def model(self) -> Model:
        """The law of ξ, with a₀, a₁, μ, σ and s unknown."""
        return FollowedCoefficient()

    def _square(self) -> float:
        """c = μ² + σ²."""
        return float(self.center) ** 2 + float(self.spread) ** 2

    def _known(self, x: float) -> Optimum:
        gap = (1 - float(self.follow)) * x - float(self.offset)
        twice = self._square() * gap**2 + float(self.noise_level) ** 2 + float(self.ridge) * x**2
        return Optimum(np.array([x]), twice / 2)


def performative_regression(
    offset: float = 1.0,
    follow: float = 0.5,
    *,
    center: float = 1.0,
    spread: float = 0.5,
    noise: float = 0.5,
    ridge: float = 1.0,
) -> PerformativeRegression:
    """An instance from its numbers.

    Args:
        offset: a₀, the coefficient at the prediction 0.
        follow: a₁ < 1, the share of a prediction that comes true.
        center: μ, the mean of the feature.
        spread: σ, its standard deviation.
        noise: s, the standard deviation of the outcome around its mean.
        ridge: ρ ≥ 0.
    """
    numbers = {name: checks.number(name, value) for name, value in (("offset", offset), ("center", center))}
    if not np.isfinite([*numbers.values()]).all():
        raise ValueError(f"offset and center must be finite, got {offset!r} and {center!r}")
    if not -np.inf < checks.number("follow", follow) < 1:
        raise ValueError(f"follow must be below 1, else predictions run away; got {follow!r}")
    if not 0 <= checks.number("ridge", ridge) < np.inf:
        raise ValueError(f"ridge must be finite and >= 0, got {ridge!r}")
    return PerformativeRegression(
        single(offset),
        single(follow),
        single(center),
        single(checks.positive("spread", spread)),
        single(checks.positive("noise", noise)),
        single(ridge),
    )
