"""A method whose values are adjusted for covariates first, for simulation: `with_covariates(method)`.

It is the step that `minimize` and `Study` put before a method (`answers/covariates.py`), with the method in
one object, so that `simulate` and `compare` run it beside others. It sees more than values: another oracle.
"""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.answers import covariates
from driftopt.method import Method, check_method
from driftopt.oracle import Sight, WithCovariates
from driftopt.pytree import module


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    method: Any  # the state of the method within
    learnt: covariates.Learnt


def with_covariates(method: Method) -> "Adjusted":
    """The method, told values less what the problem's covariates explain.

    >>> from driftopt import methods
    >>> str(with_covariates(methods.get("auto", radius=2.0)).sees)
    'K'
    """
    check_method(method)
    if method.sees is not Sight.VALUES or method.scheduled:
        raise ValueError(
            "method must see values alone, as many at every point, to be adjusted for covariates; got "
            f"{checks.brief(method)}"
        )
    return Adjusted(method)


@module
class Adjusted(Method):
    """The method within, on adjusted values."""

    sees: ClassVar[Sight] = Sight.COVARIATES

    method: Method

    @property
    def batch(self) -> ArrayLike:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.method.batch

    @property
    def radius(self) -> ArrayLike:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.method.radius

    @property
    def warmup(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.method.warmup

    @property
    def reach(self) -> ArrayLike | None:
        return self.method.reach

    def for_budget(self, budget: int) -> "Adjusted":
        return Adjusted(self.method.for_budget(budget))

    def points(self, dim: int) -> int:
        return self.method.points(dim)

    def init(self, key: Array, x0: Array, like: WithCovariates | None = None) -> State:
        if like is None:
            raise ValueError("covariates are told by simulate alone: elsewhere give the method itself")
        within = self.method.init(key, x0)
        k = like.covariates.shape[-1]
        return State(key, within.told, within.x, within, covariates.nothing(k, jnp, x0.dtype))

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Any:
        return self.method.noise(key, count, dim)

    def ask(self, state: State, noise: Any = None) -> Array:
        return self.method.ask(state.method, noise)

    def tell(self, state: State, values: WithCovariates, noise: Any = None) -> State:
        learnt, told = covariates.adjust(state.learnt, values.values, values.covariates, jnp)
        within = self.method.tell(state.method, told, noise)
        return State(state.key, within.told, within.x, within, learnt)

    def recommend(self, state: State) -> Array:
        return self.method.recommend(state.method)
