"""Gradient estimates from noisy values, as pure functions.

Each estimator gives the points to query around a centre y, and an estimate of ∇f_δ(y) from the values there.
Here f_δ(y) = E f(y + δu), u uniform in the unit ball (for Gaussian directions: u ~ N(0, I)).
An estimator holds no numbers but shapes; the radius δ belongs to the method.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt.methods import directions
from driftopt.pytree import module, static
from driftopt.shapes import Decision, Directions, Number, Points, Slopes, Values


class Estimator(ABC):
    """The points to query around a centre, and the gradient estimate from the values there."""

    warmup: ClassVar[int] = 0  # queries spent before the first estimate

    @abstractmethod
    def points(self, dim: int) -> int:
        """Points in one query."""

    @abstractmethod
    def directions(self, key: Array, dim: int) -> Directions:
        """The random directions of one iteration, (n, d)."""

    @abstractmethod
    def queries(self, center: Decision, directions: Directions, radius: Number) -> Points:
        """The points to query, (p, d)."""

    @abstractmethod
    def gradient(self, values: Values, directions: Directions, radius: Number, previous: Number) -> Decision:
        """The estimate, (d,), from the p values; `previous` is the mean value of the query before."""

    def in_numbers(self) -> "Estimator":
        """The estimator with its discrete choices as numbers, except where they set a shape."""
        return self


def _both_sides(center: Decision, directions: Directions, radius: Number) -> Points:
    # Signs first: with many runs side by side the directions are shared, the centres are not.
    return center[None] + radius * jnp.concatenate([directions, -directions])


def _mean_along(slopes: Slopes, directions: Directions) -> Decision:
    return jnp.sum(_bounded(slopes)[:, None] * directions, axis=0) / directions.shape[0]


def _bounded(slopes: Slopes) -> Slopes:
    """Slopes cut a little below the largest number, so that their mean is finite where the values are.

    The difference of two finite values need not be finite, nor its product with d/δ. A slope that does not
    overflow is unchanged. Simulations, in single precision, mark a run that overflows as diverged
    instead: there every operation counts.
    """
    if slopes.dtype == jnp.float32:
        return slopes
    largest = np.finfo(slopes.dtype).max / 2**12 / slopes.shape[0]
    return jnp.clip(slopes, -largest, largest)


@module
class TwoPoint(Estimator):
    """eq:two_point_estimator, averaged over n directions u_j:

        g = 1/n Σ_j  c/(2δ) (F(y + δu_j; ξ⁺) − F(y − δu_j; ξ⁻)) u_j

    with c = d on the sphere and c = 1 for Gaussian directions.
    """

    count: int = static(default=1)
    law: str = static(default="sphere")

    def points(self, dim: int) -> int:
        return 2 * self.count

    def directions(self, key: Array, dim: int) -> Directions:
        return getattr(directions, self.law)(key, self.count, dim)

    def queries(self, center: Decision, directions: Directions, radius: Number) -> Points:
        return _both_sides(center, directions, radius)

    def gradient(self, values: Values, directions: Directions, radius: Number, previous: Number) -> Decision:
        slopes = (values[: self.count] - values[self.count :]) * (self._scale(directions) / (2 * radius))
        return _mean_along(slopes, directions)

    def _scale(self, directions: Directions) -> ArrayLike:
        """The factor c of the formula."""
        return directions.shape[1] if self.law == "sphere" else 1

    def in_numbers(self) -> Estimator:
        return TwoPointOfEitherLaw(self.count, on_sphere=np.float32(self.law == "sphere"))


@module
class TwoPointOfEitherLaw(TwoPoint):
    """TwoPoint with the law as a number, which is not 0 for the sphere: both laws share a program."""

    on_sphere: ArrayLike = 1.0

    def directions(self, key: Array, dim: int) -> Directions:
        drawn = directions.gaussian(key, self.count, dim)
        return jnp.where(self._lies_there(), directions.of_length_one(drawn), drawn)

    def _scale(self, directions: Directions) -> ArrayLike:
        return jnp.where(self._lies_there(), jnp.asarray(directions.shape[1], directions.dtype), 1)

    def _lies_there(self) -> Array:
        return jnp.asarray(self.on_sphere) != 0

    def in_numbers(self) -> Estimator:
        return self


@module
class OnePoint(Estimator):
    """g = 1/n Σ_j d/δ · F(y + δu_j; ξ_j) u_j, u_j on the sphere; one direction unless widened."""

    count: int = static(default=1)

    def points(self, dim: int) -> int:
        return self.count

    def directions(self, key: Array, dim: int) -> Directions:
        return directions.sphere(key, self.count, dim)

    def queries(self, center: Decision, directions: Directions, radius: Number) -> Points:
        return center[None] + radius * directions

    def gradient(self, values: Values, directions: Directions, radius: Number, previous: Number) -> Decision:
        return _mean_along(values * (directions.shape[1] / radius), directions)


@module
class Residual(OnePoint):
    """eq:one_point_estimator: g_t = d/δ · (h_t − h_{t−1}) u_t, where h_t = F(y_t + δu_t; ξ_t).

    h_0 costs one query before the first iteration. With n directions h_{t−1} is the mean of n values: it
    is independent of u_t, so the estimate stays unbiased.
    """

    warmup: ClassVar[int] = 1

    def gradient(self, values: Values, directions: Directions, radius: Number, previous: Number) -> Decision:
        return super().gradient(values - previous, directions, radius, previous)


@module
class Coordinate(Estimator):
    """g_i = (F(y + δe_i; ξ⁺) − F(y − δe_i; ξ⁻)) / (2δ) for every coordinate i: 2d points."""

    def points(self, dim: int) -> int:
        return 2 * dim

    def directions(self, key: Array, dim: int) -> Directions:
        return directions.coordinates(dim)

    def queries(self, center: Decision, directions: Directions, radius: Number) -> Points:
        return _both_sides(center, directions, radius)

    def gradient(self, values: Values, directions: Directions, radius: Number, previous: Number) -> Decision:
        dim = directions.shape[0]
        return _bounded((values[:dim] - values[dim:]) / (2 * radius))
