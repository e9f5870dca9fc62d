"""The log's replay is the state: live equals simulated, resumed equals uninterrupted, old logs open."""

import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sqlalchemy as sa

from driftopt import methods
from driftopt.drivers.host import Host
from driftopt.drivers.simulation import simulate
from driftopt.problem import Problem
from driftopt.pytree import module
from driftopt.rng.seeds import as_key, query_key, run_keys
from driftopt.study import BudgetSpent, ReplayError, Study
from driftopt.study.method_state import MethodState
from driftopt.study.schema import FORMAT, iterations
from support.study_worlds import PLAIN, bowl, drive

GOLDEN = Path(__file__).parent / "golden"


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


def test_a_live_study_walks_like_a_simulation(name):
    """Same method, same key, same noise: the iterates agree to float32, the simulation's precision."""
    problem, seed, budget = Bowl(jnp.float32(1)), 11, 48
    params = dict(methods.entry(name).example)
    if "batch" in methods.entry(name).parameters:
        params["batch"] = 2
    study = Study.create(
        "sqlite://", "a", x0=[1.0, -0.5], budget=budget, method=name, params=params, rng=seed
    )
    _, oracle = run_keys(as_key(seed))
    draw = jax.jit(lambda query: problem.noise(query_key(oracle, query)))
    spec = study.spec

    def world(trial):
        query = (trial.iteration * spec.repeats + trial.sample) * spec.points + trial.point
        return float(np.sum((trial.x - 0.1 * np.asarray(draw(query), np.float64)) ** 2))

    drive(study, world)
    trace = simulate(methods.get(name, **spec.params), problem, budget=budget, rng=seed)
    np.testing.assert_allclose(study.recommend().x, trace.x, rtol=2e-4, atol=2e-5)


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


def test_replaying_many_steps_equals_taking_them_one_by_one():
    study = Study.create("sqlite://", "a", budget=2000, **PLAIN)
    rows = np.random.default_rng(0).standard_normal((700, 2))
    steps = [None if k % 97 == 5 else row for k, row in enumerate(rows)]
    single, bulk = MethodState(study.spec), MethodState(study.spec)
    for end in range(1, len(steps) + 1):
        single.follow(steps[:end])
    bulk.follow(steps)
    assert single.recommend().tobytes() == bulk.recommend().tobytes()
    assert single.points.tobytes() == bulk.points.tobytes()


def test_without_redraws_the_state_is_the_hosts():
    study = Study.create("sqlite://", "a", budget=2000, **PLAIN)
    state, host = (
        MethodState(study.spec),
        Host(methods.get(study.spec.method, **study.spec.params), study.spec.start, study.spec.seed),
    )
    rows = np.random.default_rng(1).standard_normal((300, 2))
    state.follow(list(rows))
    host.replay(rows)
    assert state.points.tobytes() == host.points.tobytes()


def test_a_redraw_changes_the_points_and_not_the_iterate():
    study = Study.create("sqlite://", "a", budget=2000, **PLAIN)
    state = MethodState(study.spec)
    state.follow(list(np.random.default_rng(2).standard_normal((260, 2))))
    before, iterate, announced = state.points, state.recommend(), state.decisions(1)
    assert state.points.tobytes() == before.tobytes() == state.decisions(0).tobytes()
    state.redraw()
    assert state.points.tobytes() == announced.tobytes()
    assert not np.allclose(state.points, before)
    assert state.recommend().tobytes() == iterate.tobytes()


def test_a_log_that_this_method_did_not_write_is_refused(sqlite_url):
    study = drive(Study.create(sqlite_url, "a", budget=20, **PLAIN))
    with study._log.database.engine.begin() as connection:
        connection.execute(sa.update(iterations).values(points="[[0.0, 0.0], [0.0, 0.0]]"))
    with pytest.raises(ReplayError, match="away from the log"):
        Study.open(sqlite_url, "a").recommend()


@pytest.mark.parametrize("version", range(1, FORMAT + 1))
def test_databases_of_every_format_still_open(tmp_path, version):
    """The golden database holds every state; its study goes on to the recommendation it was written with."""
    shutil.copy(GOLDEN / f"study-format-{version}.sqlite", tmp_path / "study.db")
    expected = np.load(GOLDEN / f"study-format-{version}.npz")
    study = Study.open(tmp_path / "study.db", "golden")
    found = study.recommend()
    assert found.iterations == expected["iterations"]
    close = {"rtol": 1e-5, "atol": 1e-6}  # directions are float32, and their last bit is not a promise
    np.testing.assert_allclose(found.x, expected["x"], **close)
    assert {t.state for t in study.trials()} == {"pending", "complete", "failed", "expired", "superseded"}
    assert study.summary().drift.n == expected["controls"]
    for trial in study.trials(state="pending"):
        study.tell(trial.id, bowl(trial))
    drive(study)
    np.testing.assert_allclose(study.recommend().x, expected["final"], **close)
    with pytest.raises(BudgetSpent):
        study.ask()
