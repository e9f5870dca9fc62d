"""Parametric families that contain a problem's own law, for methods that fit one by maximum likelihood."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from driftopt.methods import solvers
from driftopt.oracle import Model, mean_over
from driftopt.rng.threefry import normal

ITERATIONS = 100  # of the search, where the likelihood has no closed form
LEAST = 1e-6  # the smallest standard deviation: that of equal samples is 0


class Line(NamedTuple):
    """A mean a₁x + a₀ and a standard deviation."""

    slope: Array
    offset: Array
    deviation: Array


class RootMean(Model):
    """ξ ~ N(√(a₁x + a₀), s²) in one dimension."""

    def fit(self, x: Array, xi: Array, taken: Array) -> Line:
        """Least squares; the search begins where the root touches the fitted line in the middle."""
        seen = jnp.where(taken, xi[:, 0], 0)
        line, middle = _line(x[:, 0], seen, taken), mean_over(taken, x[:, 0])
        height = line.slope * middle + line.offset
        slope = 2 * height * line.slope

        def squares(numbers: Array) -> Array:
            gap = seen - signed_root(numbers[0] * x[:, 0] + numbers[1])
            return mean_over(taken, gap * gap)

        start = jnp.stack([slope, height * jnp.abs(height) - slope * middle])
        found = solvers.descend(squares, start, ITERATIONS)
        return Line(found[0], found[1], _root(squares(found)))

    def draw(self, parameters: Line, key: Array, x: Array) -> Array:
        """ξ ~ N(√(a₁x + a₀), s²), of shape (1,)."""
        mean = signed_root(parameters.slope * x + parameters.offset)
        return mean + parameters.deviation * normal(key, (1,)).astype(x.dtype)


class Lines(NamedTuple):
    """Two lines, the share of the first, and the standard deviation around either."""

    slopes: Array  # (2,)
    offsets: Array  # (2,)
    share: Array
    deviation: Array


class TwoLines(Model):
    """ξ ~ g N(a₁x + a₀, s²) + (1 − g) N(b₁x + b₀, s²) in one dimension."""

    def fit(self, x: Array, xi: Array, taken: Array) -> Lines:
        """The likelihood's maximum near two parallel lines, one deviation above and below the fitted one."""
        seen = jnp.where(taken, xi[:, 0], 0)
        line = _line(x[:, 0], seen, taken)

        def surprise(numbers: Array) -> Array:
            lines = _lines(numbers)
            means = lines.slopes[:, None] * x[None, :, 0] + lines.offsets[:, None]
            squares = ((seen[None] - means) / lines.deviation) ** 2
            logits = jnp.log(jnp.stack([lines.share, 1 - lines.share]))[:, None] - squares / 2
            likely = jax.scipy.special.logsumexp(logits, axis=0) - jnp.log(lines.deviation)
            return mean_over(taken, -likely)

        up, half = line.offset + line.deviation, jnp.log(line.deviation / 2)
        down, even = line.offset - line.deviation, jnp.zeros_like(line.slope)
        start = jnp.stack([line.slope, line.slope, up, down, even, half])
        return _lines(solvers.descend(surprise, start, ITERATIONS))

    def draw(self, parameters: Lines, key: Array, x: Array) -> Array:
        """ξ of one part or the other, of shape (1,)."""
        which, rest = jax.random.split(key)
        part = jnp.where(jax.random.uniform(which, (), x.dtype) < parameters.share, 0, 1)
        mean = parameters.slopes[part] * x + parameters.offsets[part]
        return mean + parameters.deviation * normal(rest, (1,)).astype(x.dtype)


class Followed(NamedTuple):
    """a₀ and a₁ of the coefficient, μ and σ of the feature, s of the outcome."""

    offset: Array
    follow: Array
    center: Array
    spread: Array
    deviation: Array


class FollowedCoefficient(Model):
    """ξ = (v, y), v ~ N(μ, σ²), y ~ N((a₀ + a₁x)v, s²) in one dimension."""

    def fit(self, x: Array, xi: Array, taken: Array) -> Followed:
        """Least squares of y on v and xv, and the feature's own moments; all in closed form."""
        feature, outcome = jnp.where(taken, xi[:, 0], 0), jnp.where(taken, xi[:, 1], 0)
        columns = jnp.stack([feature, x[:, 0] * feature], axis=1)
        found, *_ = jnp.linalg.lstsq(columns, outcome)
        center = mean_over(taken, feature)
        return Followed(
            found[0],
            found[1],
            center,
            _root(mean_over(taken, (feature - center) ** 2)),
            _root(mean_over(taken, (outcome - jnp.sum(columns * found[None], axis=1)) ** 2)),
        )

    def draw(self, parameters: Followed, key: Array, x: Array) -> Array:
        """ξ = (v, y)."""
        noise = normal(key, (2,)).astype(x.dtype)
        feature = parameters.center + parameters.spread * noise[0]
        coefficient = parameters.offset + parameters.follow * x[0]
        return jnp.stack([feature, coefficient * feature + parameters.deviation * noise[1]])


def signed_root(z: Array) -> Array:
    """√z, continued to the left as −√|z|; its derivative at 0 is held finite."""
    size = jnp.maximum(jnp.abs(z), float(jnp.finfo(z.dtype).tiny))
    return jnp.sign(z) * jnp.sqrt(size)


def _line(x: Array, y: Array, taken: Array) -> Line:
    """The line of least squares through (x, y), both (n,)."""
    middle, height = mean_over(taken, x), mean_over(taken, y)
    width = jnp.maximum(mean_over(taken, (x - middle) ** 2), LEAST**2)
    slope = mean_over(taken, (x - middle) * (y - height)) / width
    offset = height - slope * middle
    return Line(slope, offset, _root(mean_over(taken, (y - slope * x - offset) ** 2)))


def _lines(numbers: Array) -> Lines:
    """Six free numbers as a mixture: the share through the logistic function, s through the exponential."""
    share = jnp.clip(jax.nn.sigmoid(numbers[4]), LEAST, 1 - LEAST)
    return Lines(numbers[:2], numbers[2:4], share, jnp.maximum(jnp.exp(numbers[5]), LEAST))


def _root(square: Array) -> Array:
    return jnp.sqrt(jnp.maximum(square, LEAST**2))
