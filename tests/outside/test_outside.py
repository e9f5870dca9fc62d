"""Optimisers that others wrote: the same queries, counted alike, judged at what they recommend."""

from contextlib import suppress

import jax.numpy as jnp
import numpy as np
import pytest
import scipy

import driftopt
from driftopt import methods, outside, sweep
from driftopt.comparison import compare
from driftopt.outside import LIBRARIES, AskTell, World
from driftopt.outside.contract import Diverged, Spent
from driftopt.problems.synthetic import kink
from driftopt.rng.seeds import as_key, query_key, run_keys
from driftopt.sweep.outside_runs import OutsideRuns, SimulatedTarget
from driftopt.sweep.tasks import RunSettings
from support.worlds import Slow, shifting

# A few numbers for each library; a new one joins these tests by its line here.
NUMBERS = {
    "cma": {"radius": 0.5},
    "cmaes": {"radius": 0.5},
    "nevergrad": {"radius": 0.5},
    "optuna": {"width": 1.0},
    "scipy": {"radius": 0.5},
    "skopt": {"width": 1.0, "batch": 5},
    "model": {"radius": 0.5},
}
BUDGET = 40


def bowl(points):
    return (points**2).sum(axis=1)


def ran(name, seed=3, sides=None, budget=BUDGET):
    """A library's run on a bowl: every point asked for, and the world it leaves."""
    for package in LIBRARIES[name].packages:
        pytest.importorskip(package)
    search, asked = LIBRARIES[name](**NUMBERS[name]), []

    def answer(points):
        asked.extend(points.tolist())
        return bowl(points)

    world = World(
        answer,
        np.array([0.4, -0.3]),
        points=budget // search.batch,
        seed=seed,
        sides=sides,
        batch=search.batch,
    )
    with suppress(Spent):
        search.run(world)
    return np.array(asked), world, search


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_keeps_the_budget_repeats_itself_and_stays_inside(name):
    sides = (np.array([0.1, -1.0]), np.array([1.0, 1.0]))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    points, world, search = ran(name, sides=sides)
    again, *_ = ran(name, sides=sides)
    np.testing.assert_array_equal(points, again)
    after = np.random.get_state()[1]  # noqa: NPY002
    np.testing.assert_array_equal(after, state, "NumPy's own generator is left alone")
    assert BUDGET - 8 * search.batch < len(points) <= BUDGET
    assert len(points) == world.asked * search.batch
    assert (points[:, 0] >= 0.1 - 1e-9).all()
    assert (points[:, 0] <= 1 + 1e-9).all()
    report = world.finish()[-1]
    assert report.shape == (2,)
    assert np.isfinite(report).all()
    if search.luckiest:  # nothing but the best of what it asked for
        np.testing.assert_array_equal(report, points[np.argmin(bowl(points))])


@pytest.mark.parametrize("name", ["cma", "cmaes", "nevergrad", "optuna"])
def test_another_seed_is_another_run(name):
    assert not np.array_equal(ran(name)[0], ran(name, seed=4)[0])


def test_a_world_counts_averages_and_remembers_the_luckiest():
    seen = []

    def answer(points):
        seen.append(points)
        return np.arange(len(points), dtype=float)

    world = World(answer, np.zeros(2), points=5, seed=0, batch=2, marks=[1, 2, 4, 5])
    np.testing.assert_array_equal(world([[1.0, 1.0], [2.0, 2.0]]), [0.5, 2.5])
    np.testing.assert_array_equal(seen[0], [[1, 1], [1, 1], [2, 2], [2, 2]])
    assert (world.asked, world.left) == (2, 3)
    assert world.one([3.0, 3.0]) == 0.5  # as good as the luckiest, which stays
    world.recommend = lambda: [9.0, 9.0]
    with pytest.raises(Spent):
        world(np.ones((3, 2)))
    assert world.asked == 3
    # Before the first answer there is the start; what a search recommends counts from when it is looked at.
    np.testing.assert_array_equal(world.finish(), [[0, 0], [1, 1], [9, 9], [9, 9], [9, 9]])
    endless = World(lambda points: points[:, 0] * np.inf, np.ones(1), points=3, seed=0)
    with pytest.raises(Diverged):
        endless(np.ones(1))


class Walk:
    """Moves its array in place, as much code with NumPy does."""

    def __init__(self, x0, seed):
        self.x = x0

    def ask(self):
        self.x += 1.0
        return self.x

    def tell(self, x, value):
        pass


def test_an_array_that_is_moved_in_place_does_not_move_what_is_reported():
    world = World(bowl, np.full(2, -2.0), points=5, seed=0, marks=[1, 3])
    AskTell(Walk).run(world)
    np.testing.assert_array_equal(world.finish(), [[-1, -1], [0, 0], [0, 0]])
    moved = World(bowl, np.zeros(2), points=2, seed=0, marks=[0])
    moved.x0 += 1.0
    moved.one(moved.x0)
    np.testing.assert_array_equal(moved.finish(), [[0, 0], [1, 1]])


class Fixed:
    """Asks for points that were drawn before, and writes down what it is told."""

    told: list

    def __init__(self, x0, seed):
        rng = np.random.default_rng(5)
        self.points, self.told = iter(0.3 * rng.normal(size=(100, len(x0)))), []
        Fixed.last = self

    def ask(self):
        self.x = next(self.points)
        return self.x

    def tell(self, x, value):
        assert x is self.x
        self.told.append(value)


@pytest.mark.parametrize("kind", [None, Slow])
@pytest.mark.parametrize("settle", [1, 3])
@pytest.mark.parametrize("batch", [1, 2])
def test_the_oracle_is_the_simulators(kind, settle, batch):
    """Query by query: the noise of a simulated run of the same seed, through a world with memory as well."""
    problem, seed, points = shifting() if kind is None else shifting(kind=kind), 6, 20
    search = AskTell(Fixed, batch=batch)
    target = SimulatedTarget(problem, None)
    task = OutsideRuns(
        ((search,),), (target,), ((seed,),), RunSettings(points * batch * settle, settle=settle)
    )
    arrays = task.run()
    assert int(arrays["queries"][0, 0, 0]) == points * batch * settle
    _, oracle = run_keys(as_key(seed))
    world, query, again = problem.begin(oracle), 0, Fixed(np.zeros(3), 0)
    values = []
    for _ in range(points):
        x, each = jnp.asarray(again.ask(), jnp.float32), []
        for _ in range(batch):
            for _ in range(settle):
                noise = problem.noise(query_key(oracle, query))
                world, xi = problem.advance(world, noise, x)
                query += 1
            each.append(float(problem.value(x, xi)))
        values.append(np.mean(each))
    np.testing.assert_allclose(
        arrays["objective"][0, 0, 0], problem.objective(jnp.asarray(arrays["x"][0, 0, 0])), rtol=1e-5
    )
    luckiest = int(np.argmin(values))
    again = Fixed(np.zeros(3), 0)
    wanted = [again.ask() for _ in range(points)][luckiest]
    np.testing.assert_allclose(arrays["x"][0, 0, 0], wanted, rtol=1e-6)


def halves(x0, seed, share):
    """A search that goes to 1 by `share` of the way at every step, whatever it is told."""

    class Halves:
        def __init__(self):
            self.x = np.array(x0, float)

        def ask(self):
            return self.x

        def tell(self, x, value):
            self.x = self.x + share * (1 - self.x)

    return Halves()


def noisy(x, rng):
    return float(np.sum((x - 1) ** 2) + rng.normal(0, 0.1))


def test_they_are_tuned_and_judged_beside_ours():
    """The better number is chosen on development runs; tables say who is judged at its luckiest draw."""
    ours = {"zo-sph": {"radius": 0.5, "step": 0.03}}
    mine = AskTell(halves, recommend=lambda search: search.x)
    theirs = {
        "scipy": {"radius": 0.5},
        "mine": {"method": mine, "share": [0.01, 0.5]},
        "fixed": AskTell(Fixed),
    }
    on_problem = compare(kink(2, rng=1), ours | theirs, budget=30, development=1, held_out=3)
    assert on_problem.score("mine").configurations == 2
    assert {score.method: score.luckiest for score in on_problem.scores} == {
        "zo-sph": False,
        "scipy": True,
        "mine": False,
        "fixed": True,
    }
    assert "| scipy † |" in str(on_problem)
    assert "luckiest draw" in str(on_problem)
    assert "luckiest" in repr(on_problem)
    assert "luckiest" in on_problem._repr_html_()
    assert all(curve is not None for curve in on_problem.tuned.held_out.curves)

    on_function = compare(
        noisy,
        ours | theirs,
        budget=30,
        development=1,
        held_out=2,
        x0=[0.0, 0.0],
        bounds=[(-2, 0.5), (None, None)],
        evaluations=20,
    )
    x = on_function.tuned.held_out.where(method="mine").x
    np.testing.assert_allclose(x[:, 1], 1, atol=1e-4)
    assert (x[:, 0] <= 0.5).all(), "what is reported lies in the bounds"
    assert on_function.score("mine").parameters["share"] == 0.5
    plain = compare(kink(2, rng=1), ours, budget=30, held_out=3)
    assert "luckiest" not in str(plain)
    assert plain.score("zo-sph").mean == pytest.approx(on_problem.score("zo-sph").mean)


# settle, in sweeps and comparisons


def test_a_sweep_settles_as_a_simulation_does():
    problem = shifting(kind=Slow)
    one = sweep.grid("zo-sph", radius=0.4, step=[0.01, 0.05])
    runs = sweep.run([one], [problem], budget=120, seeds=[3], settle=4, progress=False)
    for c, step in enumerate((0.01, 0.05)):
        method = methods.get("zo-sph", radius=0.4, step=step)
        trace = driftopt.simulate(method, problem, budget=120, rng=3, settle=4)
        np.testing.assert_allclose(runs.x[c], trace.x, rtol=1e-4, atol=1e-5)
        assert runs.columns["queries"][c] == trace.queries == 120
    assert runs.manifest["settle"] == 4
    with pytest.raises(ValueError, match="settle"):
        sweep.run([one], [problem], budget=120, seeds=[3], settle=0, progress=False)


def test_kept_runs_are_found_by_the_search_its_numbers_and_the_problem(tmp_path):
    mine = AskTell(halves, recommend=lambda search: search.x)

    def reused(share, problem):
        compared = compare(
            problem, {"mine": {"method": mine, "share": share}}, budget=10, held_out=1, folder=tmp_path
        )
        return compared.tuned.held_out.manifest["parts_found_finished"]

    first, other = kink(2, rng=1), kink(2, rng=2)
    assert [reused(0.1, first), reused(0.1, first), reused(0.2, first), reused(0.1, other)] == [0, 1, 0, 0]


def test_another_version_of_a_library_is_other_work_and_recorded(tmp_path, monkeypatch):
    def manifest():
        table = {"scipy": {"radius": 0.5}}
        compared = compare(kink(2, rng=1), table, budget=10, held_out=1, folder=tmp_path)
        return compared.tuned.held_out.manifest

    assert manifest()["versions"]["scipy"] == scipy.__version__
    assert manifest()["parts_found_finished"] == 1
    monkeypatch.setattr(outside.contract, "installed_version", {"scipy": "99.0"}.get)
    renewed = manifest()
    assert renewed["parts_found_finished"] == 0
    assert renewed["versions"]["scipy"] == "99.0"
