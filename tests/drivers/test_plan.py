"""How much work runs are, which decides how hard their program is optimised."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.drivers import observed_loop, plan
from driftopt.drivers.plan import ObservedPlan, RunPlan, numbers_of_a_query
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


def is_quick(problem, queries, times=1):
    together = driftopt.stack([problem] * 2).together
    method = methods.get("zo-og", radius=0.1, step=0.1)
    return RunPlan.make(method, together, queries // 2, None, problem.dim, (2, 1, 1), 1, times).quick


def test_runs_are_quick_below_so_much_work_of_all_their_lanes():
    queries = plan.QUICK // 10
    assert is_quick(kink(10), queries - 128)
    assert not is_quick(kink(10), queries)
    assert not is_quick(kink(10), queries // 2, times=2)
    assert not is_quick(kink(20), queries // 2)


def test_what_counts_many_buyers_is_work_though_decisions_are_short():
    queries = plan.QUICK // 70
    assert is_quick(Pricing.synthetic(0, buyers=60, products=10), queries)
    assert not is_quick(Pricing.synthetic(0, buyers=120, products=10), queries)


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


def test_runs_of_a_deployment_that_settles_are_measured_by_all_their_lanes_too(monkeypatch):
    """They have a loop of their own."""
    found = []

    def noted(*given, **named):
        found.append(ObservedPlan(*given, **named).quick)
        raise InterruptedError

    monkeypatch.setattr(observed_loop, "ObservedPlan", noted)
    method, two = methods.get("zo-og", radius=[0.1, 0.2], step=0.1), driftopt.stack([kink(7), kink(7, rng=1)])
    for bound in (2 * 100 * 3 * 2 * 7, 2 * 100 * 3 * 2 * 7 + 1):  # instances, queries, seeds, radii, numbers
        monkeypatch.setattr(observed_loop, "QUICK", bound)
        with pytest.raises(InterruptedError):
            driftopt.simulate_many(method, two, budget=100, settle=2, seeds=range(3))
    assert found == [False, True]
