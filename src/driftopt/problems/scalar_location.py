"""Three problems in one dimension whose data has a mean that moves with the decision.

Izzo, Ying and Zou, "How to learn when data reacts to your model", ICML 2021. The loss is F(x; ξ) = xξ in
each, so that f(x) = x m(x) with m the mean of the data:

    root       m(x) = √(a₁x + a₀)                                        f is least at −2a₀/3a₁
    line       m(x) = a₁x + a₀                                           f is least at −a₀/2a₁
    mixture    two normal laws, m(x) = Ax + B                            f is least at −B/2A
               with A = g a₁ + (1 − g) b₁ and B = g a₀ + (1 − g) b₀

F is linear in x, so retraining rests only where the data's mean is 0. There every decision is as good as
another on the data of the day, and f = 0. Left of −a₀/a₁ the root has no square root to take: the mean
is continued there as −√|a₁x + a₀|, so that all of the real line is allowed and neither point moves.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from driftopt import checks
from driftopt.methods.models import LinearGaussian
from driftopt.oracle import Model
from driftopt.problem import Optimum, Problem, single
from driftopt.problems.models import RootMean, TwoLines, signed_root
from driftopt.pytree import module
from driftopt.rng.threefry import normal


class _ScalarLocation(Problem):
    """F(x; ξ) = xξ with ξ of shape (1,), and f(x) = x m(x)."""

    noise_level: Array  # s

    @property
    def dim(self) -> int:
        return 1

    @property
    def x0(self) -> Array:
        """1: at 0 every value would be 0."""
        return jnp.ones(1, jnp.float32)

    @abstractmethod
    def mean(self, x: Array) -> Array:
        """m(x), the mean of the data, of shape (1,)."""

    @abstractmethod
    def line(self) -> tuple[float, float]:
        """The slope and the offset of the line a₁x + a₀ that is 0 where the mean is."""

    def noise(self, key: Array) -> Any:
        return normal(key, (1,))

    def respond(self, noise: Any, x: Array) -> Array:
        return self.mean(x) + self.noise_level * noise.astype(x.dtype)

    def value(self, x: Array, xi: Array) -> Array:
        """xξ."""
        return jnp.sum(x * xi)

    def objective(self, x: Array) -> Array:
        """x m(x)."""
        return jnp.sum(x * self.mean(x))

    def optimum(self) -> Optimum:
        """−a₀/2a₁, the minimum of x(a₁x + a₀)."""
        slope, offset = self.line()
        return Optimum(np.array([-offset / (2 * slope)]), -(offset**2) / (4 * slope))

    def stable_point(self) -> Optimum:
        """−a₀/a₁, where the mean of the data is 0."""
        slope, offset = self.line()
        return Optimum(np.array([-offset / slope]), 0.0)


@module
class RootLocation(_ScalarLocation):
    """ξ ~ N(√(a₁x + a₀), s²),  F(x; ξ) = xξ; make instances with `root_location`."""

    slope: Array  # a₁ > 0
    offset: Array  # a₀ > 0
    noise_level: Array  # s

    def mean(self, x: Array) -> Array:
        """√(a₁x + a₀), continued as an odd function of a₁x + a₀."""
        return signed_root(self.slope * x + self.offset)

    def line(self) -> tuple[float, float]:
        return float(self.slope), float(self.offset)

    def optimum(self) -> Optimum:
        """−2a₀/3a₁."""
        slope, offset = self.line()
        x = -2 * offset / (3 * slope)
        return Optimum(np.array([x]), x * float(np.sqrt(offset / 3)))

    def model(self) -> Model:
        """ξ ~ N(√(b₁x + b₀), s²), with b₀, b₁ and s unknown."""
        return RootMean()


@module
class LineLocation(_ScalarLocation):
    """ξ ~ N(a₁x + a₀, s²),  F(x; ξ) = xξ; make instances with `line_location`."""

    slope: Array  # a₁ > 0
    offset: Array  # a₀
    noise_level: Array  # s

    def mean(self, x: Array) -> Array:
        """a₁x + a₀."""
        return self.slope * x + self.offset

    def line(self) -> tuple[float, float]:
        return float(self.slope), float(self.offset)

    def model(self) -> Model:
        """ξ ~ N(b + Ax, s²), with b, A and s unknown."""
        return LinearGaussian()


@module
class MixtureLocation(_ScalarLocation):
    """ξ ~ g N(a₁x + a₀, s²) + (1 − g) N(b₁x + b₀, s²),  F(x; ξ) = xξ; from `mixture_location`."""

    share: Array  # g, of the first part
    slopes: Array  # (2,), a₁ and b₁
    offsets: Array  # (2,), a₀ and b₀
    noise_level: Array  # s

    def mean(self, x: Array) -> Array:
        """Ax + B."""
        first, second = self.share, 1 - self.share
        slope = first * self.slopes[0] + second * self.slopes[1]
        return slope * x + first * self.offsets[0] + second * self.offsets[1]

    def noise(self, key: Array) -> tuple[Array, Array]:
        """A uniform number for the part, a normal one for the rest."""
        part, rest = jax.random.split(key)
        return jax.random.uniform(part, (), jnp.float32), normal(rest, (1,))

    def respond(self, noise: tuple[Array, Array], x: Array) -> Array:
        part = jnp.where(noise[0] < self.share, 0, 1)
        mean = self.slopes[part] * x + self.offsets[part]
        return mean + self.noise_level * noise[1].astype(x.dtype)

    def line(self) -> tuple[float, float]:
        """A and B."""
        weights = np.array([float(self.share), 1 - float(self.share)])
        slopes, offsets = np.asarray(self.slopes, float), np.asarray(self.offsets, float)
        return float(weights @ slopes), float(weights @ offsets)

    def model(self) -> Model:
        """A mixture of two lines with normal errors, everything about it unknown."""
        return TwoLines()


def root_location(slope: float = 1.0, offset: float = 1.0, *, noise: float = 0.5) -> RootLocation:
    """An instance whose data has the mean √(a₁x + a₀).

    Args:
        slope: a₁ > 0.
        offset: a₀ > 0.
        noise: the data's standard deviation.
    """
    return RootLocation(
        single(checks.positive("slope", slope)),
        single(checks.positive("offset", offset)),
        single(checks.positive("noise", noise)),
    )


def line_location(slope: float = 1.0, offset: float = 1.0, *, noise: float = 0.5) -> LineLocation:
    """An instance whose data has the mean a₁x + a₀.

    Args:
        slope: a₁ > 0.
        offset: a₀.
        noise: the data's standard deviation.
    """
    return LineLocation(
        single(checks.positive("slope", slope)),
        single(checks.vector("offset", offset, 1)[0]),
        single(checks.positive("noise", noise)),
    )


def mixture_location(
    slopes: Sequence[float] = (1.0, 0.5),
    offsets: Sequence[float] = (-0.5, 2.0),
    *,
    share: float = 0.5,
    noise: float = 0.5,
) -> MixtureLocation:
    """Two kinds of people, each with a line of its own.

    Args:
        slopes: a₁ and b₁; A = g a₁ + (1 − g) b₁ must be above 0, else f has no minimum.
        offsets: a₀ and b₀.
        share: g, the share of the first kind, between 0 and 1.
        noise: the standard deviation within either kind.
    """
    lines, starts = checks.vector("slopes", slopes, 2), checks.vector("offsets", offsets, 2)
    if not 0 <= checks.number("share", share) <= 1:
        raise ValueError(f"share must be between 0 and 1, got {share!r}")
    if (mean := share * lines[0] + (1 - share) * lines[1]) <= 0:
        raise ValueError(f"the slopes must be above 0 on average, else f has no minimum; got {mean:g}")
    return MixtureLocation(
        single(share),
        single(lines),
        single(starts),
        single(checks.positive("noise", noise)),
    )
