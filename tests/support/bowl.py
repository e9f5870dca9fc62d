"""A small smooth problem whose noise depends on the decision, and methods with a given batch."""

import jax
import jax.numpy as jnp
import numpy as np

from driftopt import methods
from driftopt.problem import Problem
from driftopt.pytree import module


@module
class Bowl(Problem):
    """f(x) = Σ (x_i − c_i)², with noise whose level depends on x."""

    center: jax.Array

    @property
    def dim(self) -> int:
        return self.center.shape[-1]

    def draw(self, key, x):
        return (1 + jnp.sum(jnp.abs(x))) * jax.random.normal(key, (), jnp.float32)

    def value(self, x, xi):
        return self.objective(x) + 0.1 * xi.astype(x.dtype)

    def objective(self, x):
        return jnp.sum((x - self.center.astype(x.dtype)) ** 2)


def bowl(seed: int = 0, dim: int = 3) -> Bowl:
    return Bowl(jnp.asarray(np.random.default_rng(seed).normal(size=dim), jnp.float32))


def with_batch(name: str, batch: int) -> methods.Method:
    params = dict(methods.entry(name).example)
    if "batch" in methods.entry(name).parameters:
        params["batch"] = batch
    return methods.get(name, **params)
