"""How much work runs are, also where a start is whole numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.drivers.plan import numbers_of_a_query
from driftopt.problem import Problem
from driftopt.pytree import module


@module
class Sloped(Problem):
    """Its start is whole numbers, and its data need floats."""

    @property
    def dim(self):
        return 2

    @property
    def x0(self):
        return jnp.array([1, 2])

    def draw(self, key, x):
        return jax.grad(lambda y: jnp.sum(y * y))(x) + jax.random.normal(key, (2,))

    def value(self, x, xi):
        return jnp.sum(x * xi)

    def objective(self, x):
        return 2 * jnp.sum(x * x)


@pytest.mark.parametrize("settle", [1, 2])
def test_a_start_of_whole_numbers_is_one_of_floats(settle):
    assert numbers_of_a_query(driftopt.stack([Sloped()]).together) == 2
    method = methods.get("zo-sph", radius=0.1, step=0.01)
    trace = driftopt.simulate(method, Sloped(), budget=20, settle=settle, rng=1)
    assert np.isfinite(trace.fun)
