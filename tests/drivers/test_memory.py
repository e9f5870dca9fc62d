"""Worlds with memory: what moves between deployments, and decisions held until it is at rest."""

import jax
import jax.numpy as jnp
import numpy as np

import driftopt
from driftopt import methods
from driftopt.drivers import observed_loop
from driftopt.drivers.host import Host
from driftopt.rng.seeds import as_key, query_key, run_keys
from support.worlds import Slow, shifting


def test_a_world_with_memory_moves_one_deployment_after_the_other():
    """The loop's world against a plain Python loop over the same noise, query by query."""
    problem, seed = shifting(kind=Slow), 9
    method = methods.get("zo-sph", radius=0.4, step=0.05, batch=2)
    trace = driftopt.simulate(method, problem, budget=60, rng=seed)
    assert not np.allclose(trace.x, driftopt.simulate(method, shifting(), budget=60, rng=seed).x, atol=1e-3)

    key, oracle = run_keys(as_key(seed))
    state, world, query = method.init(key, jnp.zeros(3)), problem.begin(oracle), 0
    for _ in range(60 // 4):
        points, totals = method.ask(state), np.zeros(2)
        for _ in range(2):
            for i in range(2):
                world, xi = problem.advance(world, problem.noise(query_key(oracle, query)), points[i])
                totals[i] += problem.value(points[i], xi)
                query += 1
        state = method.tell(state, jnp.asarray(totals / 2, jnp.float32))
    np.testing.assert_allclose(trace.x, state.x, rtol=1e-4, atol=1e-5)


@jax.jit
def answer(problem, oracle, query, x):
    return problem.observe(problem.noise(query_key(oracle, query)), x)


def test_settle_holds_each_decision_and_looks_at_the_last(method):
    """In a world that forgets at once, settle = 3 is the plain run on every third query's noise.

    All are paid.
    """
    problem, seed, cost = shifting(), 2, int(method.queries(3))
    method = method.for_budget(20 * cost)
    held = driftopt.simulate(method, problem, budget=3 * 20 * cost, rng=seed, settle=3)
    assert held.queries == 3 * 20 * cost
    _, oracle = run_keys(as_key(seed))
    host = Host(method, np.zeros(3), seed)
    for query in range(0, 20 * cost, cost):
        at = enumerate(host.points.astype(np.float32))
        host.tell([float(answer(problem, oracle, 3 * (query + i) + 2, point)) for i, point in at])
    np.testing.assert_allclose(held.x, host.recommend(), rtol=2e-3, atol=1e-4)


def test_minimize_settles_too():
    calls = []

    def fun(x):
        calls.append(x.copy())
        return float(x @ x) + 100.0 * (len(calls) % 3 != 0)

    params = {"step": 0.05}
    held = driftopt.minimize(
        fun, [1.0, 0.5], budget=60, method="zo-sph", radius=0.2, params=params, settle=3, rng=1
    )
    plain = driftopt.minimize(
        lambda x: float(x @ x), [1.0, 0.5], budget=20, method="zo-sph", radius=0.2, params=params, rng=1
    )
    assert held.nfev == len(calls) == 60
    np.testing.assert_array_equal(held.x, plain.x)
    np.testing.assert_array_equal(np.array(calls)[::3], np.array(calls)[2::3])


def test_no_query_draws_the_worlds_own_numbers():
    """Queries are counted in int32, so none of them has the number of the world's key."""
    assert int(observed_loop.WORLD) > np.iinfo(np.int32).max
