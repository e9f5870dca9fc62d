"""GZO-NS and GZO-HS: two points along a direction that is guided by the gradient of the known formula F.

Hikima, Sawada and Fujino, "Guided zeroth-order methods for stochastic non-convex problems with
decision-dependent distributions", ICML 2025. Written from the formulas; where the paper leaves a choice open
it is our reading.

    v_k = mean of ∇ₓF(x_k; ξ), normalised;   w = √(α_k/d) z + √(1 − α_k) s v_k,   z ~ N(0, I), s ~ N(0, 1)
    g = (F̄(x_k + μ_k w; m_k) − F̄(x_k − μ_k w; m_k))/(2μ_k) · w;   x_{k+1} = x_k − β_k g
    μ_{k+1} = max(η μ_k, μ_min);   α_{k+1} = 1 − γ(1 − α_k)

The gradient of F leaves out how the law of ξ moves with x, so it is not a gradient of f; but f often falls
along it. NS takes v from n_k = m_k new ξ ~ Ξ(x_k), which count: m_k + 2 m_k queries an iteration. HS takes it
from the ξ of the last `window` iterations, with gradients at the new x, at no cost: 2 m_k queries.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.methods import directions
from driftopt.methods.entry import Entry
from driftopt.methods.ogvr import EXAMPLE, Scheduled
from driftopt.methods.parameters import number_with
from driftopt.oracle import Observed, Sight, mean_formula
from driftopt.pytree import module, static


class Noise(NamedTuple):
    z: Array  # (1, d)
    s: Array


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    guide: Array  # v_k, 0 at the start
    past: Any  # HS: the ξ of the last iterations, and a mask of those that were drawn


@module
class Guided(Scheduled):
    """The parts that both methods share: how a direction is mixed, and the step along it.

    Args:
        free: the share of the direction that is not guided at the start, from 0 to 1: the paper's α₀.
        trust: the factor by which 1 − α, the trust in the guide, falls in every iteration.
    """

    sees: ClassVar[Sight] = Sight.GRADIENTS

    radius: ArrayLike = 0.2  # μ_0
    step: ArrayLike = 0.01  # β
    free: ArrayLike = 0.0  # α_0: the share of the direction that is not guided
    trust: ArrayLike = 0.98  # γ: how slowly the guide is given up

    def points(self, dim: int) -> int:
        return 2

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Any:
        key = jax.random.fold_in(key, count)
        return Noise(
            directions.gaussian(key, 1, dim), directions.gaussian(jax.random.fold_in(key, 1), 1, 1)[0, 0]
        )

    def _direction(self, state: State, drawn: Noise, k: Array) -> Array:
        free = 1 - (1 - self.free) * self.trust ** k.astype(state.x.dtype)  # α_k
        along = jnp.sqrt(jnp.maximum(1 - free, 0)) * drawn.s * state.guide
        return jnp.sqrt(free / len(state.x)) * drawn.z[0] + along

    def _both_sides(self, state: State, drawn: Noise, k: Array) -> Array:
        move = self.radius_at(k, state.x) * self._direction(state, drawn, k)
        return jnp.stack([state.x + move, state.x - move])

    def _step(self, state: State, values: Array, drawn: Noise, k: Array) -> Array:
        slope = (values[0] - values[1]) / (2 * self.radius_at(k, state.x))
        return state.x - self.step_at(k, state.x) * slope * self._direction(state, drawn, k)


@module
class NewSamples(Guided):
    """GZO-NS. Even iterations take the guide's samples at x_k, odd ones query the two points."""

    warmup: ClassVar[int] = 1

    def samples(self, count: ArrayLike, dim: int) -> Any:
        told: Any = count
        return self.batch_at(told // 2) * np.array([1, 0]) + self.batch_at(told // 2) * (told % 2) * np.array(
            [0, 1]
        )

    def init(self, key: Array, x0: Array, like: Observed | None = None) -> State:
        return State(key, jnp.zeros((), jnp.int32), x0, jnp.zeros_like(x0), ())

    def ask(self, state: State, noise: Noise | None = None) -> Array:
        drawn: Noise = self.drawn(state, noise)
        here = jnp.stack([state.x, state.x])
        return jnp.where(state.told % 2 == 0, here, self._both_sides(state, drawn, state.told // 2))

    def tell(self, state: State, values: Observed, noise: Noise | None = None) -> State:
        drawn: Noise = self.drawn(state, noise)
        guides = state.told % 2 == 0
        guide = _normalised(mean_formula(values.gradient, state.x, _first(values.xi), values.taken[0]))
        x = self._step(state, values.values, drawn, state.told // 2)
        return State(
            state.key,
            state.told + 1,
            jnp.where(guides, state.x, x),
            jnp.where(guides, guide, state.guide),
            (),
        )


@module
class OldSamples(Guided):
    """GZO-HS. The guide is 0 before the first values, so the first step is 0 if α_0 = 0."""

    window: int = static(default=10)

    def samples(self, count: ArrayLike, dim: int) -> Any:
        return np.ones(2, np.int32) * self.batch_at(count)

    def init(self, key: Array, x0: Array, like: Observed | None = None) -> State:
        assert like is not None
        past = jax.tree.map(
            lambda leaf: jnp.zeros((self.window, *leaf.shape), leaf.dtype), (like.xi, like.taken)
        )
        return State(key, jnp.zeros((), jnp.int32), x0, jnp.zeros_like(x0), past)

    def ask(self, state: State, noise: Noise | None = None) -> Array:
        return self._both_sides(state, self.drawn(state, noise), state.told)

    def tell(self, state: State, values: Observed, noise: Noise | None = None) -> State:
        drawn: Noise = self.drawn(state, noise)
        x = self._step(state, values.values, drawn, state.told)
        at = state.told % self.window
        past = jax.tree.map(lambda old, new: old.at[at].set(new), state.past, (values.xi, values.taken))
        guide = _normalised(mean_formula(values.gradient, x, *past))
        return State(state.key, state.told + 1, x, guide, past)


def _first(xi: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[0], xi)


def _normalised(vector: Array) -> Array:
    norm = jnp.sqrt(jnp.sum(vector * vector))
    return jnp.where(norm > 0, vector / jnp.where(norm > 0, norm, 1), 0)


_CHECKS = {
    "free": number_with("between 0 and 1", lambda share: (share >= 0) & (share <= 1)),
    "trust": checks.positive,
}
ENTRIES = {
    "gzo-ns": Entry(
        NewSamples, "two points along a guided direction, new ξ for the guide (Hikima 2025)", EXAMPLE, _CHECKS
    ),
    "gzo-hs": Entry(
        OldSamples, "gzo-ns with the guide from past ξ", {**EXAMPLE, "window": 3, "free": 0.2}, _CHECKS
    ),
}
