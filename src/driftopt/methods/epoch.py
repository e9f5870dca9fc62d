"""One-point steps in epochs, for a world with memory: hold a decision until the world has come to rest.

Ray, Ratliff, Drusvyatskiy and Fazel, "Decision-dependent risk minimization in geometrically decaying dynamic
environments", AAAI 2022.

    deploy x_t + δ u_t for n deployments and use the last value only
    g = (d/δ) F u_t;   x_{t+1} = Π(x_t − η g)

The world they study moves geometrically, p ← λⁿ p + (1 − λⁿ) Ξ(x), so a few deployments are enough.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
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
    position: Array  # deployments of the running epoch
    direction: Array  # u_t, from the epoch's first deployment on


@module
class Epochs(Method):
    """One deployment an iteration; only the last of an epoch moves the iterate.

    Args:
        hold: n, deployments of one decision, of which the last is used.
    """

    sees: ClassVar[Sight] = Sight.MEMORY
    broadcasts: ClassVar[bool] = True
    batch: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]

    radius: ArrayLike
    step: ArrayLike
    hold: ArrayLike = 10  # n
    low: ArrayLike | None = None  # Π projects every coordinate between these two; None: an open side
    high: ArrayLike | None = None

    def points(self, dim: int) -> int:
        return 1

    def init(self, key: Array, x0: Array) -> State:
        nothing = jnp.zeros((), jnp.int32)
        return State(key, nothing, x0, nothing, jnp.zeros_like(x0))

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        return directions.sphere(jax.random.fold_in(key, count), 1, dim)

    def ask(self, state: State, noise: Array | None = None) -> Array:
        drawn = self.drawn(state, noise)
        return (state.x + self.radius * jnp.where(state.position == 0, drawn[0], state.direction))[None]

    def tell(self, state: State, values: Array, noise: Array | None = None) -> State:
        drawn = self.drawn(state, noise)
        direction = jnp.where(state.position == 0, drawn[0], state.direction)
        position = state.position + 1
        ends = position >= self.hold
        gradient = state.x.shape[0] / self.radius * values[0] * direction
        x = jnp.clip(state.x - self.step * gradient, self.low, self.high)
        return State(
            state.key, state.told + 1, jnp.where(ends, x, state.x), jnp.where(ends, 0, position), direction
        )


ENTRIES = {
    "zo-epoch": Entry(
        Epochs,
        "one point, held until the world is at rest (Ray et al. 2022)",
        {"radius": 0.5, "step": 0.01, "hold": 3},
        {"hold": checks.count},
    )
}
