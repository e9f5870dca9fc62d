"""One definition, several drivers: the same key and the same noise give the same iterates."""

import itertools

import jax
import numpy as np
import pytest

import driftopt
import driftopt.pytree
from driftopt.drivers import host as host_module
from driftopt.drivers import small_program
from driftopt.drivers.host import Host, with_precision
from driftopt.rng.seeds import as_key, method_key, query_key, run_keys
from support.bowl import bowl, with_batch


@jax.jit
def answer(problem, oracle, query, x):
    return problem.sample(query_key(oracle, query), x)


def recorded_oracle(problem, seed, queries):
    """The simulator's own noise as a plain Python function: query by query, in the simulator's order."""
    _, oracle = run_keys(as_key(seed))
    return lambda x: float(answer(problem, oracle, next(queries), np.asarray(x, np.float32)))


def test_simulate_and_minimize_walk_the_same_path(name):
    """With three samples a point, and as many as the trace reports; one sample is in the next test.

    To 2e-3 relative: the simulator computes in float32, minimize in float64.
    """
    method, problem, seed = with_batch(name, 3), bowl(), 11
    simulated = driftopt.simulate(method, problem, budget=200, rng=seed, evaluate_every=64)
    host = Host(method, np.zeros(3), seed)
    drawn = itertools.count()
    fun = recorded_oracle(problem, seed, drawn)
    for _ in range(200 // int(method.queries(3))):
        rows = np.array([[fun(point) for point in host.points] for _ in range(host.repeats)])
        host.tell(rows.mean(axis=0))
    assert next(drawn) == simulated.queries
    np.testing.assert_allclose(host.recommend(), simulated.x, rtol=2e-3, atol=1e-4)


def test_minimize_is_the_host_loop(name):
    """The front door adds checks and a history, nothing else."""
    entry = driftopt.methods.entry(name)
    params = {key: value for key, value in entry.example.items() if key not in ("radius", "budget")}
    method = driftopt.methods.get(name, **entry.example)
    problem, seed = bowl(), 2
    budget = entry.example.get("budget", 200)
    result = driftopt.minimize(
        recorded_oracle(problem, seed, itertools.count()),
        np.zeros(3),
        budget=budget,
        radius=entry.example["radius"],
        method=name,
        params=params,
        rng=seed,
    )
    simulated = driftopt.simulate(method, problem, budget=budget, rng=seed, evaluate_every=64)
    assert result.nfev == simulated.queries
    np.testing.assert_allclose(result.x, simulated.x, rtol=2e-3, atol=1e-4)


def test_a_replayed_host_is_the_host_bit_for_bit(method):
    answers = np.random.default_rng(0).normal(size=(600, method.points(3)))
    steps, replay = (Host(method, np.ones(3), 7) for _ in range(2))
    for row in answers:
        steps.tell(row)
    replay.replay(answers[:100])
    replay.replay(answers[100:])
    np.testing.assert_array_equal(steps.points, replay.points)
    np.testing.assert_array_equal(steps.recommend(), replay.recommend())


@pytest.mark.parametrize("memory", ["shared", "apart"])
def test_the_host_is_the_method_to_rounding(method, memory, monkeypatch):
    """Over several windows of noise, and also where JAX does not share NumPy's memory."""
    put = jax.device_put
    if memory == "apart":
        copied = lambda x, how: np.array(x) if how.get("may_alias") else x  # noqa: E731
        monkeypatch.setattr(jax, "device_put", lambda x, *to, **how: put(copied(x, how), *to, **how))
    monkeypatch.setattr(host_module, "NUMBERS", 60)
    answers = np.random.default_rng(3).normal(size=(40, method.points(3)))
    host = Host(method, np.ones(3), 7, soon=memory == "shared")
    with jax.enable_x64(True):
        method = with_precision(method, np.float64)
        init, ask, tell, recommend = map(jax.jit, (method.init, method.ask, method.tell, method.recommend))
        state = init(method_key(7), np.ones(3))
        # Noise is in float32 with many methods; tests/drivers/test_whole_numbers.py is about it.
        window = small_program.noise_window(method, method_key(7), np.int32(0), 3, len(answers))
        for i, row in enumerate(answers):
            noise = jax.tree.map(lambda leaf, i=i: leaf[i], window)
            np.testing.assert_allclose(host.points, ask(state, noise), rtol=1e-9, atol=1e-12)
            host.tell(row)
            state = tell(state, row, noise)
        np.testing.assert_allclose(host.recommend(), recommend(state), rtol=1e-9, atol=1e-12)
    assert host.told > host.ahead


def test_points_are_the_callers_own(method):
    """The function that is shown them may keep and change them."""
    host = Host(method, np.ones(3), 3)
    kept = list[np.ndarray]()
    for turn in range(8):
        first = host.points
        kept.append(first.copy())
        first[:] = np.nan
        np.testing.assert_array_equal(host.points, kept[-1])
        host.tell(np.linspace(turn, 1, len(first)))


def test_a_window_of_another_size_changes_nothing_but_memory(method, monkeypatch):
    """Where one iteration needs very many random numbers, fewer iterations are drawn at once."""
    answers = np.random.default_rng(1).normal(size=(40, method.points(3)))
    wide = Host(method, np.ones(3), 7)
    usual = wide.ahead  # found when it is first asked for
    monkeypatch.setattr(host_module, "NUMBERS", 60)
    narrow = Host(method, np.ones(3), 7)
    assert narrow.ahead < usual
    for host in (wide, narrow):
        host.replay(answers)
    np.testing.assert_allclose(narrow.recommend(), wide.recommend(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(narrow.points, wide.points, rtol=1e-6, atol=1e-9)
