"""Laws of noisy values whose mean is exactly linear in the decision, however wild the noise.

F(x) is drawn from one law with probability (1 + s)/2 and from another with probability (1 − s)/2, s = x_1
clipped to [−1, 1]. Its mean is linear between −1 and 1, so ∇f_δ(0) = (mean of the one − mean of the other)/2
· e_1 for every δ ≤ 1 and every dimension.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
RADIUS = 0.5


class Slope(NamedTuple):
    high: Draw
    low: Draw
    norm: float  # ‖∇f_δ(0)‖
    value_range: tuple[float, float] | None = None

    def pairs(self, rng, runs: int, n: int, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values on both sides, (runs, n), and directions, (runs, n, dim)."""
        u = rng.standard_normal((runs, n, dim))
        u /= np.linalg.norm(u, axis=-1, keepdims=True)

        def value(s):
            return np.where(
                rng.random(s.shape) < (1 + s) / 2, self.high(rng, s.shape), self.low(rng, s.shape)
            )

        return value(RADIUS * u[..., 0]), value(-RADIUS * u[..., 0]), u


def nothing(rng, shape):
    return np.zeros(shape)


def bernoulli(odds: float, height: float = 1.0) -> Slope:
    """The issue of conversions: height · Bernoulli(odds (1 + x))."""
    return Slope(
        lambda rng, shape: height * (rng.random(shape) < 2 * odds), nothing, height * odds, (0.0, height)
    )


def poisson(rate: float) -> Slope:
    return Slope(lambda rng, shape: rng.poisson(2 * rate, shape).astype(float), nothing, rate)


def student(freedom: float, slope: float) -> Slope:
    """Symmetric noise without a variance (for freedom ≤ 2) around a slope."""

    def around(mean):
        return lambda rng, shape: mean + rng.standard_t(freedom, shape)

    return Slope(around(slope), around(-slope), slope)


def pareto(index: float) -> Slope:
    """Claims of a heavy tail, which carry the slope."""
    return Slope(lambda rng, shape: 1 + rng.pareto(index, shape), nothing, index / (index - 1) / 2)


def sparse(odds: float) -> Slope:
    """Rare purchases of log-normal size."""

    def purchase(rng, shape):
        return (rng.random(shape) < 2 * odds) * np.exp(rng.standard_normal(shape))

    return Slope(purchase, nothing, odds * float(np.exp(0.5)))


def cut(slope: Slope, low: float, high: float, seed: int = 0) -> Slope:
    """The same laws cut to a range, as tables of 40,000 equally likely values: their means are exact."""
    rng = np.random.default_rng(seed)
    tables = [np.clip(law(rng, (40_000,)), low, high) for law in (slope.high, slope.low)]

    def among(table):
        return lambda rng, shape: table[rng.integers(len(table), size=shape)]

    norm = abs(tables[0].mean() - tables[1].mean()) / 2
    return Slope(among(tables[0]), among(tables[1]), float(norm), (low, high))


WILD = {
    "bernoulli": bernoulli(0.01, 100.0),
    "poisson": poisson(0.02),
    "student": student(1.5, 1.0),
    "pareto": pareto(1.5),
    "sparse": sparse(0.02),
}
RANGED = {
    "bernoulli": WILD["bernoulli"],
    "poisson": cut(WILD["poisson"], 0, 4),
    "student": cut(WILD["student"], -20, 20),
    "pareto": cut(WILD["pareto"], 0, 60),
    "sparse": cut(WILD["sparse"], 0, 10),
}
