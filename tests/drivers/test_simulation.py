"""The simulator: exact counting, one compilation, and lanes that equal single runs."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.drivers import compiled_loop, plan, simulation
from driftopt.method import Method
from driftopt.methods.sgd import SGD
from driftopt.problem import Problem
from driftopt.problems import StrategicClassification
from driftopt.pytree import module
from driftopt.rng.seeds import lane_seed
from support.bowl import Bowl, bowl, with_batch
from support.compilations import compilations

RUN = {"budget": 200, "evaluate_every": 64}  # one shape for most tests, so that they share compilations


def counting(method):
    """A method as it is, except that it recommends the number of its tells instead of a decision."""

    def recommend(self, state):
        return jnp.zeros_like(state.x) + state.told

    return module(type("Counting", (type(method),), {"recommend": recommend}))(**vars(method))


@module
class Level(Bowl):
    """Its objective is the first coordinate, so that a curve shows what was recommended on the way."""

    def objective(self, x):
        return x[0]


def test_queries_are_counted_exactly(name):
    """What the trace reports against what the method was told, at the end and along the way."""
    method = with_batch(name, 3)
    trace = driftopt.simulate(counting(method), Level(jnp.zeros(3)), budget=97, rng=1, evaluate_every=32)
    cost = method.queries(3)
    assert trace.queries == 97 // cost * cost
    np.testing.assert_array_equal(trace.x * cost, trace.queries)
    np.testing.assert_array_equal(trace.objective * cost, trace.evaluated_at)
    assert trace.objective[-1] == trace.fun


def test_a_method_planned_for_a_longer_run_stops_with_the_budget():
    method = methods.get("walk", radius=0.5, budget=4000)
    # Without evaluations noise is drawn for 512 rows, of which 500 are paid for.
    short = driftopt.simulate(method, bowl(), budget=1000)
    exact = driftopt.simulate(method, bowl(), budget=1000, evaluate_every=100)
    assert short.queries == exact.queries == 1000
    np.testing.assert_allclose(short.x, exact.x, rtol=1e-5)
    assert not np.allclose(short.x, driftopt.simulate(method, bowl(), budget=1024).x, rtol=1e-5)


def test_a_budget_below_one_iteration_is_refused(name):
    method = with_batch(name, 5)
    needed = method.queries(3) * (1 + method.warmup)
    words = f"needs {needed} queries" if needed > 1 else "budget must be a whole number >= 1"
    with pytest.raises(ValueError, match=words):
        driftopt.simulate(method, bowl(), budget=needed - 1)
    assert plan.affordable(method.for_budget(needed), 3, needed).queries == needed


def test_every_lane_equals_its_single_run(name):
    """Common random numbers are shared, not mixed up: run (k, s, c) is the run one would make alone."""
    entry = methods.entry(name)
    problems, seeds, radii = [bowl(0), bowl(1)], [4, 9], np.array([0.2, 0.5, 1.0])
    many = driftopt.simulate_many(
        methods.get(name, **{**entry.example, "radius": radii}),
        driftopt.stack(problems),
        seeds=seeds,
        **RUN,
    )
    assert many.x.shape == (2, 2, 3, 3)
    for k, s, c in np.ndindex(2, 2, 3):
        method = methods.get(name, **{**entry.example, "radius": float(radii[c])})
        one = driftopt.simulate(method, problems[k], rng=lane_seed(seeds[s], k), **RUN)
        np.testing.assert_allclose(many.x[k, s, c], one.x, rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(many.objective[k, s, c], one.objective, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("batch", [1, 3])
def test_configurations_added_to_fill_a_vector_leave_no_trace(batch):
    """15 configurations run as 16: nothing of the sixteenth is seen, and the last is its own."""
    problem = StrategicClassification.from_arrays([[1.0, 0.0], [-0.5, 1.0], [0.3, -2.0]], [1, -1, 1])
    radii = np.linspace(0.3, 1.7, 15)
    method = methods.get("zo-o2nc-2pt", radius=radii, step=0.01, block=5, batch=batch)
    many = driftopt.simulate_many(method, driftopt.stack([problem]), seeds=[4, 5], **RUN)
    assert many.x.shape == (1, 2, 15, 3)
    for c in (0, 14):
        alone = methods.get("zo-o2nc-2pt", radius=radii[c], step=0.01, block=5, batch=batch)
        one = driftopt.simulate(alone, problem, rng=5, **RUN)
        np.testing.assert_allclose(many.x[0, 1, c], one.x, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    ("batch", "problem"), [(1, "mapped"), (3, "broadcast"), (np.array([1, 3, 4]), "mapped")]
)
def test_the_form_for_accelerators_gives_the_same_runs(batch, problem, monkeypatch):
    """Noise in another order, no branches and no inner loops: the same runs to rounding."""
    features = [[1.0, 0.0], [-0.5, 1.0], [0.3, -2.0]]
    one = StrategicClassification.from_arrays(features, [1, -1, 1]) if problem == "broadcast" else bowl(0)
    method = methods.get("zo-o2nc-2pt", radius=np.array([0.3, 0.5, 0.8]), step=0.01, block=5, batch=batch)
    here = driftopt.simulate_many(method, driftopt.stack([one]), seeds=[4, 5], **RUN)
    make_plan = compiled_loop.RunPlan.make
    monkeypatch.setattr(
        simulation, "RunPlan", SimpleNamespace(make=lambda *a: replace(make_plan(*a), cpu=False))
    )
    there = driftopt.simulate_many(method, driftopt.stack([one]), seeds=[4, 5], **RUN)
    np.testing.assert_allclose(here.x, there.x, rtol=2e-4, atol=2e-5)


@module
class Coin(Problem):
    """A user's problem with whole-numbered values: a 0/1 loss."""

    odds: jax.Array

    @property
    def dim(self):
        return 2

    def draw(self, key, x):
        return jax.random.bernoulli(key, jax.nn.sigmoid(x[0] - self.odds))

    def value(self, x, xi):
        return xi.astype(jnp.int32)

    def objective(self, x):
        return jax.nn.sigmoid(x[0] - self.odds)


@pytest.mark.parametrize("batch", [1, np.array([1, 3])], ids=["single", "mixed"])
def test_values_may_be_whole_numbers(batch):
    method = methods.get("zo-o2nc-2pt", radius=np.array([0.3, 0.5]), step=0.01, block=5, batch=batch)
    trace = driftopt.simulate_many(method, driftopt.stack([Coin(jnp.float32(0))]), seeds=[1], **RUN)
    assert np.isfinite(trace.x).all()


def test_lanes_of_mixed_batch_equal_lanes_of_one_batch():
    radii, batches = np.array([0.3, 0.3, 0.6]), np.array([1, 4, 70])  # 70: more rows than are drawn at once
    problems = driftopt.stack([bowl(0), bowl(1)])
    mixed = driftopt.simulate_many(
        methods.get("zo-o2nc-1pt", radius=radii, batch=batches), problems, budget=150, seeds=[1, 2]
    )
    for c, (radius, batch) in enumerate(zip(radii, batches, strict=True)):
        method = methods.get("zo-o2nc-1pt", radius=np.array([radius]), batch=int(batch))
        alone = driftopt.simulate_many(method, problems, budget=150, seeds=[1, 2])
        np.testing.assert_allclose(mixed.x[:, :, c], alone.x[:, :, 0], rtol=1e-4, atol=1e-5)
        assert (mixed.queries[:, :, c] == alone.queries[:, :, 0]).all()


def test_batches_may_share_a_program(monkeypatch):
    """One of any batch runs batch 1 as its own program does, over ends of chunks and of noise drawn ahead."""
    monkeypatch.setattr(plan, "ROWS", 7)
    monkeypatch.setattr(compiled_loop, "AHEAD", 3)

    def run(batch):
        method = methods.get("zo-o2nc-2pt", radius=np.array([0.3, 0.6]), batch=batch)
        return driftopt.simulate_many(method, driftopt.stack([bowl(0)]), budget=101, seeds=[1, 2])

    own = run(1)
    before = plan.any_batch.set(True)
    try:
        shared = run(1)
        assert compilations(lambda: run(4)) == 0
    finally:
        plan.any_batch.reset(before)
    np.testing.assert_allclose(shared.x, own.x, rtol=1e-5, atol=1e-6)
    assert compilations(lambda: run(1)) == 0


def test_choices_that_set_no_shape_share_a_program(monkeypatch):
    """Both laws of the directions, each with the bits of a program of its own."""

    def run(name):
        method = methods.get(name, radius=0.3, step=0.01, directions=2)
        return driftopt.simulate(method, bowl(), rng=3, **RUN).x

    sphere = run("zo-sph")
    assert compilations(lambda: run("zo-ga")) == 0
    gaussian = run("zo-ga")
    assert not np.array_equal(sphere, gaussian)
    monkeypatch.setattr(SGD, "in_numbers", Method.in_numbers)
    np.testing.assert_allclose(run("zo-sph"), sphere, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run("zo-ga"), gaussian, rtol=1e-5, atol=1e-6)


def test_results_do_not_depend_on_how_noise_is_chunked(monkeypatch, method):
    whole = driftopt.simulate(method, bowl(), rng=5, **RUN)
    monkeypatch.setattr(plan, "ROWS", 5)
    pieces = driftopt.simulate(method, bowl(), rng=5, **RUN)
    np.testing.assert_allclose(pieces.x, whole.x, rtol=1e-4, atol=1e-5)


def test_numbers_change_without_a_new_compilation(name):
    """What ran with one set of numbers runs with two others, and nothing is compiled for them."""
    entry = methods.entry(name)
    usual = {"radius": 0.1, "step": 0.01, "block": 1, "batch": 2}  # a batch of 1 has a program of its own

    def run(scale):
        numbers = {key: usual[key] * scale for key in usual if key in entry.parameters}
        driftopt.simulate(methods.get(name, **{**entry.example, **numbers}), bowl(), **RUN)

    run(1)
    assert compilations(lambda: (run(2), run(3))) == 0


def test_another_shape_is_a_new_compilation():
    """Which shows that the count above counts."""
    run = partial(driftopt.simulate, methods.get("zo-og", radius=0.1, step=0.01), budget=150)
    run(bowl())
    assert compilations(lambda: run(bowl(dim=5))) > 0
    assert compilations(lambda: run(bowl(dim=5))) == 0


def test_a_diverged_run_scores_infinity():
    method = methods.get("zo-og", radius=0.01, step=100.0)
    trace = driftopt.simulate(method, bowl(), budget=2000, evaluate_every=500)
    assert trace.fun == np.inf
    assert np.isinf(trace.objective).any()
    assert not np.isnan(trace.objective).any()
