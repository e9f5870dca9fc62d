"""GFM and GFM+: gradient-free descent on f_δ where both points of a pair see the same ξ.

GFM: Lin, Zheng and Jordan, "Gradient-free methods for deterministic and stochastic nonsmooth nonconvex
optimization", NeurIPS 2022.

    g(x; u, ξ) = d/(2δ) (F(x + δu; ξ) − F(x − δu; ξ)) u;   x ← x − ηg;   the output is a uniform iterate

GFM+: Chen, Xu and Luo, "Faster gradient-free algorithms for nonsmooth nonconvex stochastic optimization",
ICML 2023, Algorithm 2.

    every m-th iteration   v_t = g(x_t; S′),  |S′| = b′ pairs (u, ξ)
    in between             v_t = v_{t−1} + g(x_t; S) − g(x_{t−1}; S),  the same b pairs in both
    x_{t+1} = x_t − η v_t;   the output is a uniform iterate

Both are made for a ξ whose law does not depend on x. Here the law does: under the same noise ξ still moves
with the decision, and each of the two (or four) values of a pair is a deployment of its own, so each counts.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.method import Method
from driftopt.methods import directions, output_rules
from driftopt.methods.entry import Entry
from driftopt.methods.estimators import TwoPoint
from driftopt.methods.sgd import SGD
from driftopt.oracle import Sight
from driftopt.pytree import module, static


@module
class GFM(SGD):
    """SGD on two points under the same noise."""

    sees: ClassVar[Sight] = Sight.SAME_SAMPLE

    def streams(self, count: ArrayLike, dim: int) -> Any:
        pairs = self.points(dim) // 2
        return np.arange(2 * pairs) % pairs


class Noise(NamedTuple):
    directions: Array  # as many as the larger of b and b′
    pick: Array


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    before: Array  # x_{t−1}
    estimate: Array  # v_{t−1}
    blocks: Any


@module
class GFMPlus(Method):
    """Points: x_t ± δu of b′ pairs; or x_t ± δu and then x_{t−1} ± δu of b pairs; no samples elsewhere."""

    sees: ClassVar[Sight] = Sight.SAME_SAMPLE
    batch: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]

    radius: ArrayLike
    step: ArrayLike
    period: ArrayLike  # m
    pairs: int = static()  # b
    fresh_pairs: int = static()  # b′
    output: str = static(default="random-block")

    def points(self, dim: int) -> int:
        return max(2 * self.fresh_pairs, 4 * self.pairs)

    def queries(self, dim: int) -> Any:
        return 2 * self.fresh_pairs

    def samples(self, count: ArrayLike, dim: int) -> Any:
        fresh: Any = count % self.period == 0  # pyright: ignore[reportOperatorIssue]
        place = np.arange(self.points(dim))
        first, other = (place < 2 * self.fresh_pairs), (place < 4 * self.pairs)
        return fresh * first.astype(np.int32) + (1 - fresh) * other.astype(np.int32)

    def streams(self, count: ArrayLike, dim: int) -> Any:
        fresh: Any = count % self.period == 0  # pyright: ignore[reportOperatorIssue]
        place = np.arange(self.points(dim))
        return fresh * (place % self.fresh_pairs) + (1 - fresh) * (place % self.pairs)

    def init(self, key: Array, x0: Array) -> State:
        zero = jnp.zeros_like(x0)
        return State(key, jnp.zeros((), jnp.int32), x0, x0, zero, output_rules.init(self.output, x0))

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Noise:
        key = jax.random.fold_in(key, count)
        drawn = directions.sphere(jax.random.fold_in(key, 0), max(self.pairs, self.fresh_pairs), dim)
        return Noise(drawn, jax.random.uniform(jax.random.fold_in(key, 1), (), jnp.float32))

    def ask(self, state: State, noise: Noise | None = None) -> Array:
        drawn: Noise = self.drawn(state, noise)
        radius, u = jnp.asarray(self.radius), drawn.directions
        fresh = TwoPoint().queries(state.x, u[: self.fresh_pairs], radius)
        now = TwoPoint().queries(state.x, u[: self.pairs], radius)
        then = TwoPoint().queries(state.before, u[: self.pairs], radius)
        return jnp.where(self._fresh(state), self._filled(fresh), self._filled(jnp.concatenate([now, then])))

    def tell(self, state: State, values: Array, noise: Noise | None = None) -> State:
        drawn: Noise = self.drawn(state, noise)
        fresh = self._gradient(values[: 2 * self.fresh_pairs], drawn.directions[: self.fresh_pairs])
        half, u = 2 * self.pairs, drawn.directions[: self.pairs]
        change = self._gradient(values[:half], u) - self._gradient(values[half : 2 * half], u)
        estimate = jnp.where(self._fresh(state), fresh, state.estimate + change)
        blocks = output_rules.update(self.output, state.blocks, state.x, True, jnp.array(True), drawn.pick)
        x = state.x - self.step * estimate
        return State(state.key, state.told + 1, x, state.x, estimate, blocks)

    def recommend(self, state: State) -> Array:
        return output_rules.report(self.output, state.blocks, state.x)

    def _fresh(self, state: State) -> Array:
        return state.told % self.period == 0

    def _filled(self, points: Array) -> Array:
        """The points, padded to the full number; the padding gets no samples."""
        rest = self.points(points.shape[1]) - len(points)
        return jnp.concatenate([points, jnp.broadcast_to(points[:1], (rest, points.shape[1]))])

    def _gradient(self, values: Array, u: Array) -> Array:
        return TwoPoint(count=len(u)).gradient(values, u, jnp.asarray(self.radius), values[0])


def _gfm(
    radius: Any, step: Any, directions: Any = 1, batch: Any = 1, block: Any = 1, output: str = "random-block"
) -> GFM:
    return GFM(radius, step, block, batch, TwoPoint(directions), output)


def _gfm_plus(
    radius: Any,
    step: Any,
    period: Any = 10,
    pairs: Any = 1,
    fresh_pairs: Any = None,
    output: str = "random-block",
) -> GFMPlus:
    """Descent with a recursive correction.

    Args:
        period: m: every m-th iteration makes a fresh estimate.
        pairs: b, pairs in between, at two centres each: 4b queries.
        fresh_pairs: b′, pairs of a fresh estimate: 2b′ queries. None: m times b.
    """
    if fresh_pairs is None:
        fresh_pairs = checks.shape("period", period) * pairs
    return GFMPlus(radius, step, period, pairs, fresh_pairs, output)


ENTRIES = {
    "gfm": Entry(_gfm, "SGD on two points under the same noise (Lin, Zheng and Jordan 2022)"),
    "gfm+": Entry(
        _gfm_plus,
        "gfm with recursive variance reduction (Chen, Xu and Luo 2023)",
        {"radius": 0.5, "step": 0.01, "period": 4, "pairs": 2},
        {"period": checks.count, "pairs": checks.shape, "fresh_pairs": checks.shape},
    ),
}
