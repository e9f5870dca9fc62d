"""How much work runs are, which decides how hard their program is optimised."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.drivers.plan import numbers_of_a_query
from driftopt.problem import Problem
from driftopt.problems import Pricing, StrategicClassification, kink, location_shift
from driftopt.pytree import module


@module
class Crowd(Problem):
    """Draws a hundred numbers from its key, once it knows x."""

    @property
    def dim(self):
        return 2

    def draw(self, key, x):
        return jax.random.normal(key, (100,)) + x[0]

    def value(self, x, xi):
        return jnp.mean(xi)

    def objective(self, x):
        return x[0]


@pytest.mark.parametrize(
    ("problem", "numbers"),
    [
        (kink(7), 7),  # the decision: its noise is one number
        (location_shift(3), 3),
        (Pricing.synthetic(0, buyers=60, products=10), 61),  # a number each, and one that they share
        (StrategicClassification.stand_in(101), 12),  # a person of 11 features and a label
        (Crowd(), 100),  # ξ: all that is random is drawn from a key
    ],
)
def test_a_query_handles_so_many_numbers(problem, numbers):
    for count in (1, 3):
        assert numbers_of_a_query(driftopt.stack([problem] * count).together) == numbers


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
