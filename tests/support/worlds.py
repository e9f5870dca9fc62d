"""Small worlds for methods that see more than values: ξ is a vector that moves with the decision."""

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.methods.models import LinearGaussian
from driftopt.problem import Problem
from driftopt.pytree import module
from driftopt.rng.threefry import normal
from support.bowl import Bowl


@module
class Shifting(Problem):
    """ξ ~ N(b + A x, 0.09 I),  F(x; ξ) = ½‖x − ξ‖² + ½‖x‖²."""

    base: jax.Array
    shift: jax.Array

    @property
    def dim(self) -> int:
        return self.base.shape[-1]

    def noise(self, key):
        return normal(key, (self.dim,))

    def respond(self, noise, x):
        return self.base.astype(x.dtype) + self.shift.astype(x.dtype) @ x + 0.3 * noise.astype(x.dtype)

    def value(self, x, xi):
        return 0.5 * jnp.sum((x - xi) ** 2) + 0.5 * jnp.sum(x**2)

    def model(self):
        return LinearGaussian()

    def objective(self, x):
        mean = self.base.astype(x.dtype) + self.shift.astype(x.dtype) @ x
        return self.value(x, mean) + 0.5 * 0.09 * self.dim


@module
class Slow(Shifting):
    """The same, reached slowly: the world's mean moves half of the way at every deployment."""

    def begin(self, key):
        return jnp.zeros(self.dim, jnp.float32)

    def advance(self, world, noise, x):
        goal = self.base.astype(x.dtype) + self.shift.astype(x.dtype) @ x
        world = 0.5 * world + 0.5 * goal
        return world, world + 0.3 * noise.astype(x.dtype)


@module
class Forgetful(Shifting):
    """The same as a world with memory that forgets at once: what it shows is what the problem shows."""

    def begin(self, key):
        return jnp.zeros(self.dim, jnp.float32)

    def advance(self, world, noise, x):
        xi = self.respond(noise, x)
        return xi, xi


@module
class ForgetfulBowl(Bowl):
    """A bowl as a world with memory that forgets at once."""

    def begin(self, key):
        return jnp.zeros((), jnp.float32)

    def advance(self, world, noise, x):
        xi = self.respond(noise, x)
        return xi, xi


def shifting(seed: int = 0, dim: int = 3, kind: type[Shifting] = Shifting) -> Shifting:
    rng = np.random.default_rng(seed)
    base, shift = rng.normal(size=dim), 0.3 * rng.normal(size=(dim, dim))
    return kind(jnp.asarray(base, jnp.float32), jnp.asarray(shift, jnp.float32))


def forgetful(problem: Bowl | Shifting) -> Problem:
    """The same as a world with memory that forgets at once."""
    kind = {Bowl: ForgetfulBowl, Shifting: Forgetful}[type(problem)]
    return kind(*vars(problem).values())
