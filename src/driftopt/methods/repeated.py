"""Retraining: descend, or minimise, on the data of the current decision, as if the data did not react.

Perdomo, Zrnic, Mendler-Dünner and Hardt, "Performative prediction", ICML 2020.

    RGD   x ← Π(x − η · mean ∇ₓF(x; ξ)),  ξ ~ Ξ(x)
    RRM   x ← argmin_{x′} mean F(x′; ξ),  ξ ~ Ξ(x)

Both come to rest at the stable point, which is not a minimum of f: the derivative through Ξ is missing. They
show the cost of ignoring the reaction.
"""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt.method import Method
from driftopt.methods import solvers
from driftopt.methods.entry import Entry
from driftopt.oracle import Observed, Sight, mean_formula
from driftopt.pytree import module, static


class State(NamedTuple):
    key: Array
    told: Array
    x: Array


class Retraining(Method):
    """One point, the decision itself, and a batch of ξ there. The method itself draws nothing."""

    radius: ClassVar[float] = 0.0  # pyright: ignore[reportIncompatibleVariableOverride]  every query is at x itself

    batch: ArrayLike
    low: ArrayLike | None  # Π projects every coordinate between these two; None: an open side
    high: ArrayLike | None

    def points(self, dim: int) -> int:
        return 1

    def init(self, key: Array, x0: Array, like: Observed | None = None) -> State:
        return State(key, jnp.zeros((), jnp.int32), x0)

    def noise(self, key: Array, count: ArrayLike, dim: int) -> tuple[()]:
        return ()

    def ask(self, state: State, noise: object = None) -> Array:
        return state.x[None]


@module
class RGD(Retraining):
    """Repeated gradient descent, also known as greedy SGD."""

    sees: ClassVar[Sight] = Sight.GRADIENTS

    step: ArrayLike
    batch: ArrayLike = 1
    low: ArrayLike | None = None
    high: ArrayLike | None = None

    def tell(self, state: State, values: Observed, noise: object = None) -> State:
        gradient = mean_formula(values.gradient, state.x, values.xi, values.taken)
        x = jnp.clip(state.x - self.step * gradient, self.low, self.high)
        return State(state.key, state.told + 1, x)


@module
class RRM(Retraining):
    """Repeated risk minimisation.

    Args:
        iterations: iterations of the search for one batch's minimum.
    """

    sees: ClassVar[Sight] = Sight.OBSERVATIONS

    batch: ArrayLike = 100
    iterations: int = static(default=50)
    low: ArrayLike | None = None
    high: ArrayLike | None = None

    def tell(self, state: State, values: Observed, noise: object = None) -> State:
        def risk(x: Array) -> Array:
            return mean_formula(values.loss, x, values.xi, values.taken)

        x = solvers.descend(risk, state.x, self.iterations)
        return State(state.key, state.told + 1, jnp.clip(x, self.low, self.high))


ENTRIES = {
    "rgd": Entry(
        RGD,
        "repeated gradient descent on one's own data (Perdomo et al. 2020)",
        {"step": 0.1, "batch": 3},
        finds="stable point",
    ),
    "rrm": Entry(
        RRM,
        "repeated risk minimisation on one's own data (Perdomo et al. 2020)",
        {"batch": 10, "iterations": 20},
        finds="stable point",
    ),
}
