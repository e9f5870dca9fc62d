"""No state, recommendation or result ever holds a number that is not finite, whatever values are told."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import driftopt
from driftopt import methods
from driftopt.drivers.host import Host, farthest, with_precision
from driftopt.problem import Problem
from driftopt.pytree import module

HUGE = np.finfo(float).max
EXTREME = st.sampled_from([np.nan, 0.0, 5e-324, 1e-160, 1.0, 1e153, 1e155, 1e200, 1e308, HUGE]).flatmap(
    lambda size: st.sampled_from([size, -size])
)
PROPERTY = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def numbers(host):
    leaves = [leaf for leaf in jax.tree.leaves(host.state) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return np.concatenate([np.ravel(a) for a in (*leaves, host.points, host.recommend())])


@given(values=st.lists(EXTREME, min_size=8, max_size=8), seed=st.integers(0, 3))
@PROPERTY
def test_every_state_of_a_host_is_finite(method, values, seed):
    host = Host(method, np.ones(3), seed)
    endless = itertools.cycle(values)
    for _ in range(10):
        host.tell([next(endless) for _ in range(method.points(3))])
        assert np.isfinite(numbers(host)).all()


def test_a_replay_refuses_what_single_tells_refuse(method):
    rows = np.resize([1.0, HUGE, -HUGE, 1e200, -3.0], (12, method.points(3)))
    single, whole = (Host(method, np.ones(3), 5) for _ in range(2))
    for row in rows:
        single.tell(row)
    whole.replay(rows)
    np.testing.assert_array_equal(single.points, whole.points)
    assert single.diverged == whole.diverged


def test_a_step_that_overflows_is_not_taken_and_is_said():
    host = Host(methods.get("zo-og", radius=1e-3, step=1e6), np.ones(2), 0)
    host.tell([1.0])
    before, walked = host.recommend(), host.diverged
    assert not walked
    host.tell([HUGE])
    assert host.diverged
    np.testing.assert_array_equal(host.recommend(), before)
    host.tell([0.0])
    assert host.diverged  # for good
    assert host.told == 3


def test_ordinary_values_set_no_alarm(method):
    host = Host(method, np.ones(3), 0)
    for _ in range(5):
        host.tell(np.linspace(-1, 1, method.points(3)))
    assert not host.diverged


def test_minimize_ends_finite_or_says_that_it_failed(name):
    entry = methods.entry(name)
    params = {key: value for key, value in entry.example.items() if key not in ("radius", "budget")}
    values = itertools.cycle([1e308, -1e308, 3.0, HUGE])
    try:
        result = driftopt.minimize(
            lambda x: next(values),
            [0.0, 0.0, 0.0],
            budget=60,
            radius=0.5,
            method=name,
            params=params,
            rng=0,
            final_queries=5,
        )
        assert result.success
    except driftopt.MinimizeError as failed:
        result = failed.result
        assert (result.success, result.status) == (False, 3)
        assert "diverged" in result.message
    assert np.isfinite(result.x).all()
    assert np.isfinite([one for one in (result.fun, result.fun_sem) if one is not None]).all()


def test_means_of_huge_values_are_finite():
    """Repeats, final queries and the callback's value."""
    seen = []

    def watch(intermediate_result):
        seen.append(intermediate_result.fun)

    result = driftopt.minimize(
        lambda x: HUGE, [0.0], budget=20, radius=0.5, method="zo-o2nc-2pt", params={"batch": 3}, rng=0,
        final_queries=8, callback=watch,
    )  # fmt: skip
    assert result.success
    assert np.isfinite(seen).all()
    assert result.fun == pytest.approx(HUGE)
    assert result.fun_sem <= 1e-10 * HUGE


@module
class Cliff(Problem):
    """Values as large as single precision allows, of either sign."""

    height: jax.Array

    @property
    def dim(self):
        return 2

    def draw(self, key, x):
        return jax.random.rademacher(key, (), jnp.float32)

    def value(self, x, xi):
        return xi * self.height

    def objective(self, x):
        return jnp.sum(x) * 0


@pytest.mark.parametrize("height", [3e38, np.nan])
def test_what_simulate_reports_is_finite_or_marked(method, height):
    trace = driftopt.simulate(method, Cliff(jnp.float32(height)), budget=60, evaluate_every=30, rng=0)
    assert np.isfinite(trace.x).all()
    assert not np.isnan(trace.objective).any()


@pytest.mark.parametrize("number", ["radius", "step"])
@pytest.mark.parametrize("size", [1e39, 1e-50])
def test_numbers_that_single_precision_cannot_hold_are_refused(number, size):
    method = methods.get("zo-sph", **{"radius": 0.5, "step": 0.1, number: size})
    with pytest.raises(ValueError, match=f"{number}=.* beyond the numbers of a float32 run"):
        with_precision(method, jnp.float32)
    with jax.enable_x64(True):
        assert float(getattr(with_precision(method, jnp.float64), number)) == size


def test_a_start_from_which_no_trial_can_be_made_is_refused():
    with pytest.raises(ValueError, match="radius"):
        driftopt.minimize(lambda x: 0.0, [3 * farthest(np.float64)], budget=10, radius=1.0, method="walk")
    with pytest.raises(ValueError, match="radius"):
        driftopt.minimize(lambda x: 0.0, [1.0], budget=10, radius=HUGE, method="zo-ga", params={"step": 1.0})
