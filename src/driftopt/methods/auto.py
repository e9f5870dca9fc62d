"""A walk that needs no tuning: `radius` alone says how far a trial decision may be from the current one.

N pairs of queries from the start x, with v = the running mean square of a:

    δ_t = R · 0.4^(t/N)                          the radius shrinks
    a   = F(x + δu) − F(x − δu),  u on the sphere
    x  ← x − (2δ/√N) (a/√v) u                    in units of its own noise: no step size to choose

and the decision reported is the mean of x over the last quarter.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt import directions
from driftopt.method import Method, Query
from driftopt.pytree import module, static

SHRINK = 0.4
MEMORY = 20.0
TAIL = 0.75


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    square: Array  # v
    mean: Array  # the mean of x over the tail so far; before it, x itself


@module
class Auto(Method):
    """The method for a live system, where nobody can spend budgets to choose a step size."""

    broadcasts: ClassVar[bool] = True

    radius: ArrayLike
    batch: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]
    budget: int | None = static(default=None)

    def for_budget(self, budget: int) -> "Auto":
        return self if self.budget is not None else Auto(self.radius, budget=budget)

    def points(self, dim: int) -> int:
        return 2

    def init(self, key: Array, x0: Array) -> State:
        if self.budget is None:
            raise ValueError("auto plans its walk for a budget: give budget=…, the queries of the whole run")
        return State(key, jnp.zeros((), jnp.int32), x0, jnp.zeros((), x0.dtype), x0)

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        return directions.sphere(jax.random.fold_in(key, count), 1, dim)[0]

    @property
    def _pairs(self) -> int:
        return max(1, (self.budget or 0) // 2)

    def _radius(self, state: State) -> Array:
        done = jnp.minimum(state.told, self._pairs).astype(state.x.dtype) / self._pairs
        return jnp.asarray(self.radius) * SHRINK**done

    def ask(self, state: State, noise: Any = None) -> tuple[State, Query]:
        step = self._radius(state) * self.drawn(state, noise)
        return state, Query(jnp.stack([state.x + step, state.x - step]), self.batch)

    def tell(self, state: State, values: Array, noise: Any = None) -> State:
        direction = self.drawn(state, noise)
        pairs, count = self._pairs, state.told.astype(state.x.dtype)
        difference = values[0] - values[1]
        rate = jnp.maximum(1 / (count + 1), min(MEMORY / pairs, 1.0))
        square = state.square + rate * (difference**2 - state.square)
        length = 2 * self._radius(state) * difference / jnp.sqrt(jnp.where(square > 0, square, 1) * pairs)
        live = state.told < pairs
        x = state.x - jnp.where(live, length, 0) * direction
        averaged = jnp.maximum(count + 1 - int(TAIL * pairs), 1)
        mean = jnp.where(live, state.mean + (x - state.mean) / averaged, state.mean)
        return State(state.key, state.told + 1, x, square, mean)

    def recommend(self, state: State) -> Array:
        return state.mean
