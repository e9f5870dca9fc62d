"""Explore, fit a model of how the data moves, minimise the loss under it: two-stage and plug-in.

Two-stage: Miller, Perdomo and Zrnic, "Outside the echo chamber: optimizing the performative risk", ICML 2021,
for a location family. Plug-in: Lin and Zrnic, "Plug-in performative optimization", ICML 2024. Both are our
reading of the papers.

    explore     x_i = x_0 + s z_i,   z_i ~ N(0, I),   one ξ_i ~ Ξ(x_i) each
    two-stage   half of the budget explores: ξ_i ≈ b + A x_i by least squares
                the other half at x_0 gives ξ⁰_j;   x = argmin mean_j F(x; ξ⁰_j + Â(x − x_0))
    plug-in     all of the budget explores: β̂ by maximum likelihood in a family D_β(x)
                x = argmin E F(x; ξ), ξ ~ D_β̂(x), over draws under common random numbers

All points are asked together: the exploration does not depend on the results.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.method import Method
from driftopt.methods import directions, solvers
from driftopt.methods.entry import Entry
from driftopt.methods.models import LinearGaussian, flattened, least_squares, unflattening
from driftopt.oracle import Observed, Sight
from driftopt.pytree import module, static


class State(NamedTuple):
    key: Array
    told: Array
    x: Array


class Exploring(Method):
    """One iteration that spends the whole budget: `budget` points with one sample each."""

    batch: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]

    radius: ArrayLike  # s
    low: ArrayLike | None
    high: ArrayLike | None
    budget: int | None
    iterations: int

    def for_budget(self, budget: int) -> "Method":
        return self if self.budget is not None else replace(cast(Any, self), budget=budget)

    def points(self, dim: int) -> int:
        return self.budget or 2 * (dim + 1)

    def init(self, key: Array, x0: Array, like: Observed | None = None) -> State:
        return State(key, jnp.zeros((), jnp.int32), x0)

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        return directions.gaussian(jax.random.fold_in(key, count), self.explored(dim), dim)

    def ask(self, state: State, noise: Array | None = None) -> Array:
        drawn = self.drawn(state, noise)
        rest = jnp.zeros((self.points(len(state.x)) - len(drawn), len(state.x)), state.x.dtype)
        return jnp.clip(state.x + self.radius * jnp.concatenate([drawn, rest]), self.low, self.high)

    def explored(self, dim: int) -> int:
        """The number of points that explore."""
        return self.points(dim)

    def _settled(self, state: State, risk: Callable[[Array], Array]) -> State:
        x = jnp.clip(solvers.descend(risk, state.x, self.iterations), self.low, self.high)
        return State(state.key, state.told + 1, x)


@module
class TwoStage(Exploring):
    """A location family: x moves the mean of ξ, by Â, and nothing else of its law.

    Args:
        radius: standard deviation of the explored decisions around the start, in every coordinate.
    """

    sees: ClassVar[Sight] = Sight.OBSERVATIONS

    radius: ArrayLike = 1.0
    budget: int | None = static(default=None)
    iterations: int = static(default=50)
    low: ArrayLike | None = None
    high: ArrayLike | None = None

    def explored(self, dim: int) -> int:
        return self.points(dim) // 2

    def tell(self, state: State, values: Observed, noise: Array | None = None) -> State:
        flat, taken = flattened(jax.tree.map(lambda leaf: leaf[:, 0], values.xi)), values.taken[:, 0]
        flat, half = flat.astype(state.x.dtype), self.explored(len(state.x))
        _, shift = least_squares(values.points[:half] - state.x, flat[:half], taken[:half])
        back = unflattening(jax.tree.map(lambda leaf: leaf[0, 0], values.xi))

        def risk(x: Array) -> Array:
            moved = flat[half:] + shift @ (x - state.x)
            return jnp.mean(jax.vmap(lambda one: values.loss(x, back(one)))(moved))

        return self._settled(state, risk)


@module
class PlugIn(Exploring):
    """A parametric family of laws, fitted by maximum likelihood.

    Args:
        radius: standard deviation of the explored decisions around the start, in every coordinate.
        model: "problem", the family of the problem or of `model=`; or "linear", ξ ~ N(b + Ax, Σ), whether or
            not it holds.
        draws: draws from the fitted model, in place of its expectation.
    """

    radius: ArrayLike = 1.0
    model: str = static(default="problem")
    budget: int | None = static(default=None)
    draws: int = static(default=1000)
    iterations: int = static(default=50)
    low: ArrayLike | None = None
    high: ArrayLike | None = None

    @property
    def sees(self) -> Sight:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Sight.MODEL if self.model == "problem" else Sight.OBSERVATIONS

    def tell(self, state: State, values: Observed, noise: Array | None = None) -> State:
        model = values.model if self.model == "problem" else LinearGaussian()
        assert model is not None  # the driver has checked
        seen = jax.tree.map(lambda leaf: leaf[:, 0], values.xi)
        fitted = model.fit(values.points, seen, values.taken[:, 0])
        keys = jax.random.split(jax.random.fold_in(state.key, np.uint32(2**32 - 1)), self.draws)

        def risk(x: Array) -> Array:
            return jnp.mean(jax.vmap(lambda key: values.loss(x, model.draw(fitted, key, x)))(keys))

        return self._settled(state, risk)


ENTRIES = {
    "two-stage": Entry(
        TwoStage,
        "explore, fit a location family, minimise (Miller, Perdomo and Zrnic 2021)",
        {"radius": 0.5, "budget": 40, "iterations": 20},
    ),
    "plug-in": Entry(
        PlugIn,
        "explore, fit a model of Ξ, minimise under it (Lin and Zrnic 2024)",
        {"radius": 0.5, "budget": 40, "draws": 50, "iterations": 20},
        {"model": partial(checks.choice, allowed=("problem", "linear")), "draws": checks.shape},
        finds="optimum of the model",
    ),
}
