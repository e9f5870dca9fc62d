"""DFO(λ): one-point steps for a world with memory, on two time scales.

Liu, Li and Wai, "Two-timescale derivative free optimization for performative prediction with Markovian data",
ICML 2024, Algorithm 1.

    δ_k = δ_0/(1 + k)^β,   η_k = η_0/(1 + k)^α,   τ_k = max{1, ⌊τ_0 log(1 + k)⌋},   u_k on the sphere
    for m = 1 … τ_k:   deploy θ + δ_k u_k, see F;   θ ← θ − η_k λ^{τ_k − m} (d/δ_k) F u_k

One direction is held for τ_k deployments, so that the world comes nearer to rest, and early values count
less by the factor λ. (The factor d/δ_k makes the step one along an estimate of the gradient; without
it the method does not descend at its stated rate.)
"""

from math import log
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.method import Method
from driftopt.methods import directions
from driftopt.methods.entry import Entry
from driftopt.oracle import Sight
from driftopt.pytree import module


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    stage: Array  # k
    position: Array  # m − 1, deployments of the running stage
    direction: Array  # u_k, from the stage's first deployment on


@module
class DFO(Method):
    """One deployment an iteration; a stage keeps the direction drawn with its first."""

    sees: ClassVar[Sight] = Sight.MEMORY
    broadcasts: ClassVar[bool] = True
    batch: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]

    radius: ArrayLike  # δ_0
    step: ArrayLike  # η_0
    forget: ArrayLike  # λ
    hold: ArrayLike  # τ_0
    step_power: ArrayLike  # α
    radius_power: ArrayLike  # β

    def points(self, dim: int) -> int:
        return 1

    def init(self, key: Array, x0: Array) -> State:
        nothing = jnp.zeros((), jnp.int32)
        return State(key, nothing, x0, nothing, nothing, jnp.zeros_like(x0))

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        return directions.sphere(jax.random.fold_in(key, count), 1, dim)

    def ask(self, state: State, noise: Array | None = None) -> Array:
        return (state.x + self._radius(state) * self._direction(state, self.drawn(state, noise)))[None]

    def tell(self, state: State, values: Array, noise: Array | None = None) -> State:
        direction = self._direction(state, self.drawn(state, noise))
        deployments = self._deployments(state)
        left = deployments - 1 - state.position  # τ_k − m
        weight = self.forget ** left.astype(state.x.dtype)
        step = self.step / self._late(state) ** self.step_power
        scale = step * weight * (state.x.shape[0] / self._radius(state)) * values[0]
        ends = left <= 0
        return State(
            state.key,
            state.told + 1,
            state.x - scale * direction,
            state.stage + ends,
            jnp.where(ends, 0, state.position + 1),
            direction,
        )

    def _late(self, state: State) -> Array:
        return 1 + state.stage.astype(state.x.dtype)

    def _radius(self, state: State) -> Array:
        return jnp.asarray(self.radius / self._late(state) ** self.radius_power)

    def _deployments(self, state: State) -> Array:
        # With τ_0 = 2/log 2 it is a whole number at k + 1 = 2, 4, 8 …, which rounding must not fall short of.
        whole = jnp.floor(self.hold * jnp.log(self._late(state)) + 1e-4)
        return jnp.maximum(1, whole).astype(jnp.int32)

    def _direction(self, state: State, drawn: Any) -> Array:
        return jnp.where(state.position == 0, drawn[0], state.direction)


def _dfo(
    radius: Any,
    step: Any,
    forget: Any = 0.5,
    mixing: float = 0.5,
    hold: Any = None,
    step_power: Any = 2 / 3,
    radius_power: Any = 1 / 6,
) -> DFO:
    """One-point steps on two time scales.

    Args:
        radius: δ_0, the radius of the first stage; the theorem's grows as d^(1/6).
        step: η_0, the step of the first stage; the theorem's falls as d^(−2/3).
        forget: λ, the weight of a deployment against the next one of its stage: above 0, at most 1.
        mixing: ρ, the share of its state that the world keeps from one deployment to the next.
        hold: τ_0: a stage k is held for max(1, ⌊τ_0 log(1 + k)⌋) deployments. None: 2/log(1/max(ρ, λ)), the
            theorem's.
        step_power: α, how fast steps fall.
        radius_power: β, how fast the radius falls.
    """
    if hold is None:
        slowest = float(np.max([np.max(forget), mixing]))  # NaN if one of them is
        if not 0 < slowest < 1:
            raise ValueError(f"forget and mixing must be above 0 and below 1, or give hold; got {slowest}")
        hold = 2 / log(1 / slowest)
    return DFO(radius, step, forget, hold, step_power, radius_power)


ENTRIES = {
    "dfo": Entry(
        _dfo,
        "one point on two time scales, for a world with memory (Liu, Li and Wai 2024)",
        checks={
            "forget": checks.positive,
            "mixing": checks.number,
            "hold": checks.positive,
            "step_power": checks.positive,
            "radius_power": checks.positive,
        },
    )
}
