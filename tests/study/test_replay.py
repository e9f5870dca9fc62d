"""The log's replay is the state: live equals simulated, resumed equals uninterrupted, old logs open."""

import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt import methods
from driftopt.drivers.host import Host
from driftopt.drivers.simulation import simulate
from driftopt.problem import Problem
from driftopt.pytree import module
from driftopt.rng.seeds import as_key, query_key, run_keys
from driftopt.study import ReplayError, Study
from driftopt.study.sequential_rule import Replay
from driftopt.study.trial import STATES
from support.study_worlds import PLAIN, bowl, drive

GOLDEN = Path(__file__).parent / "golden"
NOW = 1_700_300_000.0  # as in write_golden.py


@module
class Bowl(Problem):
    """F(x; ξ) = ‖x − 0.1 ξ‖², ξ ~ N(0, I): exact in both precisions up to rounding."""

    scale: jax.Array

    @property
    def dim(self):
        return 2

    @property
    def x0(self):
        return jnp.array([1.0, -0.5], jnp.float32)

    def noise(self, key):
        return jax.random.normal(key, (2,), jnp.float32)

    def respond(self, noise, x):
        return 0.1 * noise

    def value(self, x, xi):
        return jnp.sum((x - xi) ** 2)

    def objective(self, x):
        return jnp.sum(x * x) + 0.02


def lived(name, seed=11, budget=48):
    """A study of a method that was answered with the simulation's noise to its end, and its world."""
    params = dict(methods.entry(name).example)
    if "batch" in methods.entry(name).parameters:
        params["batch"] = 2
    study = Study.create(
        "sqlite://",
        "a",
        x0=[1.0, -0.5],
        budget=budget,
        method=name,
        params=params,
        rng=seed,
        outliers=False,
    )
    _, oracle = run_keys(as_key(seed))
    noise = np.asarray(drawn(oracle, np.arange(budget)), np.float64)
    spec = study.spec

    def world(x, iteration, sample, point):
        query = (iteration * spec.repeats + sample) * spec.points + point
        return float(np.sum((x - 0.1 * noise[query]) ** 2))

    drive(study, lambda trial: world(trial.x, trial.iteration, trial.sample, trial.point))
    return study, world


@jax.jit
def drawn(oracle, queries):
    return jax.vmap(lambda query: Bowl(jnp.float32(1)).noise(query_key(oracle, query)))(queries)


@pytest.mark.parametrize("method", ["zo-o2nc-2pt", "zo-o2nc-1pt"])
def test_a_live_study_walks_like_a_simulation(method):
    """Same method, same key, same noise: the iterates agree to float32, the simulation's precision.

    For the others too, by the next test and that of hosts and simulations in drivers/test_drivers_agree.py.
    """
    study, _ = lived(method)
    trace = simulate(methods.get(method, **study.spec.params), Bowl(jnp.float32(1)), budget=48, rng=11)
    np.testing.assert_allclose(study.recommend().x, trace.x, rtol=2e-4, atol=2e-5)


def test_every_study_walks_as_its_method_does(name):
    """Held by a host that is told the means of the same answers."""
    study, world = lived(name)
    spec = study.spec
    host = Host(methods.get(name, **spec.params), np.array([1.0, -0.5]), 11)
    for iteration in range(48 // (spec.repeats * spec.points)):
        host.tell(
            [
                np.mean([world(x, iteration, sample, point) for sample in range(spec.repeats)])
                for point, x in enumerate(host.points)
            ]
        )
    np.testing.assert_allclose(study.recommend().x, host.recommend(), rtol=1e-12)


@pytest.fixture(scope="module")
def whole():
    """A run without interruption, longer than the host's window of numbers drawn ahead."""
    return drive(Study.create("sqlite://", "a", budget=540, **PLAIN))


@pytest.mark.parametrize("cut", [1, 300])
def test_a_resumed_study_equals_the_uninterrupted_one(sqlite_url, whole, cut):
    """To the bit, the object being dropped in the middle of an iteration or between two."""
    study = Study.create(sqlite_url, "a", budget=540, **PLAIN)
    for _ in range(cut):
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    resumed = drive(Study.open(sqlite_url, "a"))
    assert resumed.recommend().x.tobytes() == whole.recommend().x.tobytes()
    assert [t.x.tobytes() for t in resumed.trials()] == [t.x.tobytes() for t in whole.trials()]


def test_replaying_many_iterations_equals_taking_them_one_by_one():
    study = Study.create("sqlite://", "a", budget=2000, **PLAIN)
    rows = np.random.default_rng(0).standard_normal((700, 2))
    steps = [np.full(2, np.nan) if k % 97 == 5 else row for k, row in enumerate(rows)]
    single, bulk = Replay(study.spec), Replay(study.spec)
    for end in range(1, len(steps) + 1):
        single.follow(steps[:end])
    bulk.follow(steps)
    assert single.recommend().tobytes() == bulk.recommend().tobytes()
    assert single.points.tobytes() == bulk.points.tobytes()


def test_a_log_that_this_method_did_not_write_is_refused(sqlite_url, monkeypatch):
    drive(Study.create(sqlite_url, "a", budget=20, **PLAIN))
    monkeypatch.setattr(Replay, "decisions", lambda _: np.zeros((2, 2)))
    with pytest.raises(ReplayError, match="away from the log"):
        Study.open(sqlite_url, "a").recommend()
    with pytest.raises(ReplayError, match="away from the log"):
        Study.open(sqlite_url, "a").verify()


@pytest.mark.parametrize("name", ["model", "sequential"])
def test_a_database_that_was_written_before_still_opens(tmp_path, name):
    """The golden database holds every state; its studies go on as they would have then."""
    shutil.copy(GOLDEN / "studies.sqlite", tmp_path / "study.db")
    expected = np.load(GOLDEN / "studies.npz")
    study = Study.open(tmp_path / "study.db", name, clock=lambda: NOW)
    assert study.verify() > 0
    close = {"rtol": 1e-5, "atol": 1e-6}  # directions are float32, and their last bit is not a promise
    np.testing.assert_allclose(study.recommend().x, expected[name], **close)
    assert {t.state for t in study.trials()} == set(STATES)
    trial = study.ask()
    np.testing.assert_allclose(trial.x, expected[f"{name}-next"], **close)
    assert study.tell(trial.id, bowl(trial)) == "complete"
