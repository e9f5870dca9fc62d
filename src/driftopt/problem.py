"""What a simulated problem is: a decision-dependent law Ξ(x), a loss F(x; ξ), and the exact f(x).

    f(x) = E[F(x; ξ)],  ξ ~ Ξ(x)

Zeroth-order methods see `sample` alone. `draw` and `value` stand apart because Ξ reacts to the decision
and F does not; `objective` is for evaluation and is never counted.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike


def decision(x: ArrayLike) -> Array:
    """x as JAX floats: people hand in lists and NumPy's float64, whose limits float32 does not have."""
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.float32)


class Problem(ABC):
    """A frozen pytree of JAX functions of one decision x, shape (dim,). Drivers vmap.

    A subclass gives `draw`, `value` and `objective`. One that runs in hot loops splits `draw` further:
    `noise(key)` holds everything random about a query and does not see x, `respond(noise, x)` turns it
    into ξ ~ Ξ(x). Then many lanes can share one set of random numbers, drawn in bulk.
    """

    # Whether `respond` and `value` also take arrays with further axes behind their own, one for each run
    # (x as (d, lanes), the problem's own leaves likewise). Code that sums over axis 0 and multiplies does,
    # by NumPy's broadcasting, and lanes are then what CPUs vectorise. Others are vmapped.
    broadcasts: ClassVar[bool] = False

    @property
    @abstractmethod
    def dim(self) -> int:
        """d, the length of a decision."""

    @property
    def x0(self) -> Array:
        """Where runs start unless told otherwise."""
        return jnp.zeros(self.dim, jnp.float32)

    def noise(self, key: Array) -> Any:
        """Everything random about one query."""
        return key

    def respond(self, noise: Any, x: Array) -> Any:
        """ξ ~ Ξ(x), the data's answer to the decision, as a function of the noise."""
        return self.draw(noise, x)

    def draw(self, key: Array, x: Array) -> Any:
        """ξ ~ Ξ(x)."""
        if type(self).respond is Problem.respond:
            raise NotImplementedError(
                f"{type(self).__name__} must define draw(key, x), or noise(key) and respond(noise, x)"
            )
        return self.respond(self.noise(key), x)

    @abstractmethod
    def value(self, x: Array, xi: Any) -> Array:
        """F(x; ξ)."""

    def observe(self, noise: Any, x: Array) -> Array:
        """F(x; ξ) for the ξ that this noise gives at x."""
        return self.value(x, self.respond(noise, x))

    def sample(self, key: Array, x: Array) -> Array:
        """One query: F(x; ξ) for a fresh ξ ~ Ξ(x)."""
        return self.observe(self.noise(key), x)

    @abstractmethod
    def objective(self, x: Array) -> Array:
        """The exact f(x)."""
