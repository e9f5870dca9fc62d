"""The untuned walk: its schedule and its edges, bounds near the start, kinked valleys, and planted twins."""

from operator import itemgetter
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftopt
from driftopt import methods
from driftopt.drivers.host import Host
from driftopt.methods import walk
from driftopt.problems.synthetic import two_wells
from driftopt.pytree import module
from driftopt.rng.seeds import as_key
from driftopt.study import Study
from support.bowl import Bowl, bowl
from support.numpy_transcription import TRANSCRIPTIONS
from support.retraced import traced_again


def told(method, x0, oracle, iterations, seed=0):
    """The states after 0 … `iterations` answers of a plain function of a point, and all queried points."""
    host, states, points = Host(method, np.asarray(x0, float), seed), [], []
    for _ in range(iterations):
        states.append(host.state)
        points.append(host.points)
        host.tell(np.array([oracle(p) for p in host.points]))
    states = [jax.tree.map(np.asarray, s._replace(key=0)) for s in [*states, host.state]]
    return states, np.array(points)


def noisy(objective, level, seed=0):
    rng = np.random.default_rng(seed)
    return lambda x: float(objective(x) + level * rng.normal())


WORLDS = {
    "hasty": lambda points, rng: np.abs(points + 9).sum(axis=1) + 0.5 * rng.standard_normal(len(points)),
    "costly": lambda points, rng: np.abs(points).sum(axis=1) + 0.1 * rng.standard_normal(len(points)),
    "louder": lambda points, rng: ((points - 1) ** 2).sum(axis=1) * rng.standard_t(2, len(points)),
}


@pytest.mark.parametrize("limit", [{}, {"max_radius": 0.7}], ids=["free", "promised"])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("world", WORLDS)
def test_every_rule_is_as_transcribed_and_has_its_say(world, width, limit):
    """Two iterations say nothing, as where answers were taken back; the last ones are beyond the budget."""
    params = {"radius": 0.5, "budget": 240, "directions": width, **limit}
    start, rng, noise, values, path = np.ones(3), np.random.default_rng(3), [], [], []
    host = Host(methods.get("walk", **params), start, 3)
    for iteration in range(132 // width):
        noise.append(np.asarray(host.noise, np.float64))
        values.append(WORLDS[world](host.points, rng) + (np.nan if iteration in (0, 5) else 0))
        host.tell(values[-1])
        path.append(np.asarray(host.state.x))
    plain = TRANSCRIPTIONS["walk"](start, noise, values, **params)
    np.testing.assert_allclose(path, plain.iterates[1:], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(host.recommend(), plain.report, rtol=1e-8, atol=1e-9)
    assert plain.seen[world] > 5 or (world == "hasty" and limit)


def test_within_bounds_it_is_as_transcribed():
    low, high = np.array([0.0, -np.inf, -0.2]), np.array([np.inf, 0.5, 0.3])
    params, start, rng = {"radius": 0.4, "budget": 120}, np.zeros(3), np.random.default_rng(3)
    host = Host(methods.get("walk", **params).within(low, high), start, 3)
    noise, values = [], []
    for _ in range(60):
        noise.append(np.asarray(host.noise, np.float64))
        values.append(((host.points - 0.6) ** 2).sum(axis=1) + 0.1 * rng.standard_normal(2))
        assert (host.points >= low).all()
        assert (host.points <= high).all()
        host.tell(values[-1])
    plain = TRANSCRIPTIONS["walk"](start, noise, values, **params, low=low, high=high)
    np.testing.assert_allclose(host.state.x, plain.iterates[-1], rtol=1e-8, atol=1e-9)


def test_no_trial_is_farther_than_promised_and_some_pairs_are_at_x():
    method = methods.get("walk", radius=5.0, max_radius=0.3, budget=400)
    states, points = told(method, np.ones(4), noisy(lambda x: (x**2).sum(), 0.5), 200)
    x = np.array([s.x for s in states])
    apart = np.linalg.norm(points - x[:-1, None], axis=2)
    assert apart.max() == pytest.approx(0.3)  # reached, and not passed
    at_x = method.at_iterate(np.arange(200), 4)
    assert (at_x[:, 0] == (np.arange(200) % 8 == 0)).all()
    assert (apart[at_x] == 0).all()
    assert (apart[~at_x] > 0).all()
    assert np.linalg.norm(np.diff(x, axis=0), axis=1).max() <= method.reach_in(4)


def trials_cost_nothing(width, kind=walk.Walk):
    slope = np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    method = kind(radius=0.3, budget=400, directions=width)
    states, _ = told(method, np.ones(5), lambda p: float(slope @ p), 160 // width, seed=3)
    return abs(float(states[-1].cost)) < 0.02 * float(np.abs(slope).sum() * states[-1].width)


@pytest.mark.parametrize("width", [1, 4])
def test_on_a_plane_without_noise_trials_cost_nothing(width):
    """The mean of a pair is f at x, however far x has moved since: the fall is no cost."""
    assert trials_cost_nothing(width)


@module
class NeverFallen(walk.Walk):
    """Takes the value at x for the one that was last asked for, however far x has moved since."""

    def tell(self, state, values, noise=None):
        return super().tell(state, values, noise)._replace(fallen=jnp.zeros_like(state.fallen))


def test_forgetting_the_fall_fails_that_test():
    assert not trials_cost_nothing(4, NeverFallen)


@pytest.mark.parametrize("level", [-60.0, 5000.0])
@pytest.mark.parametrize("missing", [(0,), (1,), (0, 1), (8,)])
def test_a_constant_added_to_all_answers_changes_nothing_whichever_were_taken_back(missing, level):
    paths = []
    for added in (0.0, level):
        rng, host = np.random.default_rng(5), Host(methods.get("walk", radius=0.5, budget=80), np.zeros(4), 3)
        for iteration in range(40):
            values = ((host.points - 1) ** 2).sum(axis=1) + rng.standard_normal(2) + added
            host.tell(values + (np.nan if iteration in missing else 0))
        paths.append(np.asarray(host.state.x))
    np.testing.assert_allclose(*paths, atol=1e-8)


@pytest.mark.parametrize(("values", "unit"), [(1e-6, 1), (1e6, 1), (1, 1000)])
def test_units_do_not_matter(values, unit):
    paths = []
    for scale, length in ((1, 1), (values, unit)):
        method, oracle = methods.get("walk", radius=0.4 * length, budget=240), noisy(lambda x: x @ x, 0.02)
        states, _ = told(
            method, np.ones(3) * length, lambda x, o=oracle, s=scale, u=length: s * (7 + o(x / u)), 120
        )
        paths.append([state.x / length for state in states])
    np.testing.assert_allclose(*paths, rtol=1e-6, atol=1e-7)


@jax.jit
def asked(method, state):
    return method.ask(state)


@jax.jit
def after(method, state, values):
    return method.tell(state, values)


@given(
    st.integers(2, 40),
    st.sampled_from([1, 12]),  # each is compiled
    st.sampled_from([0.0, 1e-12, 1.0, 1e12]),
    st.integers(0, 9),
)
@settings(max_examples=40, deadline=None)
def test_tiny_and_odd_budgets_stay_finite_and_near(budget, dim, level, seed):
    """Fewer than 2d queries, one dimension, no noise or only noise: nothing blows up."""
    method = methods.get("walk", radius=0.5, max_radius=0.5, budget=budget)
    rng, state = np.random.default_rng(seed), method.init(as_key(seed), jnp.zeros(dim, jnp.float32))
    for _ in range(budget // 2):
        assert np.isfinite(asked(method, state)).all()
        state = after(method, state, jnp.asarray(level * rng.normal(size=2), jnp.float32))
    assert np.linalg.norm(method.recommend(state)) <= budget // 2 * method.reach_in(dim) * (1 + 1e-3)
    if level == 0:
        np.testing.assert_array_equal(state.x, np.zeros(dim))


def test_a_budget_is_needed_and_drivers_fill_it_in():
    bare, planned = methods.get("walk", radius=0.5), methods.get("walk", radius=0.5, budget=200)
    with pytest.raises(ValueError, match="budget"):
        bare.init(as_key(0), jnp.zeros(3))
    one, other = (driftopt.simulate(m, bowl(), budget=200, rng=1) for m in (bare, planned))
    np.testing.assert_array_equal(one.x, other.x)
    result = driftopt.minimize(
        lambda x: (x**2).sum(), [1.0], budget=51, radius=0.2, rng=0, final_queries=10, method="walk"
    )
    assert result.params["budget"] == 41
    assert result.nfev == 50


def test_the_length_comes_from_the_bounds():
    """Each coordinate's from its own: in those units the radius is 1."""
    bounds = [(-1, 1)] * 3 + [(-5, 5)]
    result = driftopt.minimize(
        lambda x: (x**2).sum(), np.ones(4), budget=20, bounds=bounds, rng=0, method="walk"
    )
    assert result.params["units"] == pytest.approx([0.4] * 3 + [2.0])  # √d/10 of each width
    assert result.params["radius"] == 1
    study = Study.create("sqlite://", "prices", x0=[0.5] * 4, budget=20, bounds=bounds, rng=0, method="walk")
    assert study.spec.params["radius"] == result.params["radius"]


@pytest.mark.parametrize("x0", [[3.0, 4.0], [0.0, 0.0], [1e90, 1e90], [1e3, -1e-2]])
def test_without_any_length_the_start_gives_the_first_one(x0):
    """After two deployments at x0, the first trials change each coordinate by about a tenth of its start."""
    size = np.sqrt(2) / 10 * np.where(np.array(x0) == 0, 1, np.abs(x0))
    result = driftopt.minimize(lambda x: float(x[0]), x0, budget=40, rng=0, method="walk")
    away = np.linalg.norm((result.history["x"] - x0) / size, axis=1)
    np.testing.assert_allclose(away[:4], [0, 0, 1, 1], rtol=1e-6)
    assert away[:6].max() < 5
    study = Study.create("sqlite://", "prices", x0=x0, budget=40, rng=0, method="walk")
    assert study.spec.params["radius"] == result.params["radius"]


def test_coordinates_of_unlike_scale_all_come_down_without_bounds():
    """With one length for both, 100 for a coordinate of .01, the second would be noise."""
    rng, scales = np.random.default_rng(0), np.array([1e3, 1e-2])
    result = driftopt.minimize(
        lambda x: float(((x / scales - 1.5) ** 2).sum() + 0.02 * rng.normal()),
        scales,
        budget=1000,
        method="walk",
        rng=0,
    )
    assert (abs(result.x / scales - 1.5) < 0.1).all()


def test_a_largest_radius_is_one_length_for_all_coordinates():
    promised = {"method": "walk", "params": {"max_radius": 0.3}}
    far = driftopt.minimize(lambda x: x[0], [3.0, -4.0], budget=40, rng=0, **promised)
    assert far.params["radius"] == pytest.approx(0.5)
    assert "units" not in far.params
    trials = np.diff(far.history["x"].reshape(-1, 2, 2), axis=1)
    assert np.linalg.norm(trials, axis=2).max() == pytest.approx(0.6)


RADII = 2.0 ** np.arange(-5, 3)


@module
class Level(Bowl):
    """The bowl with noise of the same level everywhere."""

    def value(self, x, xi):
        return self.objective(x) + 0.5 * xi.astype(x.dtype)

    def draw(self, key, x):
        return jax.random.normal(key, (), jnp.float32)


@module
class Kink(Bowl):
    """f(x) = Σ max(3e_i, −e_i), e = x − center: blurred by a radius, its lowest point moves."""

    def objective(self, x):
        apart = x - self.center.astype(x.dtype)
        return jnp.sum(jnp.maximum(3 * apart, -apart))


def descents(method, dim, runs=24, budget=3000):
    """The mean of log10 f for each radius, and its standard error; the start is two lengths from the end."""
    problems = driftopt.stack([Kink(jnp.full(dim, 2 / np.sqrt(dim), jnp.float32))])
    ends = np.log10(driftopt.simulate_many(method, problems, budget=budget, seeds=range(runs)).fun[0])
    return ends.mean(axis=0), ends.std(axis=0) / np.sqrt(runs)


@pytest.mark.parametrize("dim", [1, 10])
def test_a_radius_far_too_small_or_too_large_costs_little(dim):
    """From 1/32 to 4: no more than twice the best radius' value (0.3 in log10), to six standard errors."""
    means, errors = descents(methods.get("walk", radius=RADII), dim)
    assert (means - means.min() < 0.3 + 6 * errors).all(), means
    assert means.max() < 0  # from f = 2


def test_a_radius_that_cannot_change_fails_that_test(monkeypatch):
    """The planted twin: with the rule taken out, most radii are far worse than the best."""
    monkeypatch.setattr(walk, "PACE", 1e9)
    with traced_again():
        means, errors = descents(methods.get("walk", radius=RADII), 10)
    assert (means - means.min() - 6 * errors.max() > 0.3).sum() > 4, means


def left(x0, bounds, dim, optimum=0.2, seeds=8, **given):
    """The mean gap of (x − optimum)², noise .05, in `dim` coordinates, after 1,000 values of `minimize`."""
    ends = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        result = driftopt.minimize(
            lambda x, rng=rng: float(((x - optimum) ** 2).sum() + 0.05 * rng.normal()),
            np.full(dim, x0, float),
            budget=1000,
            bounds=None if bounds is None else [bounds] * dim,
            rng=seed,
            **given,
            method="walk",
        )
        ends.append(((result.x - np.clip(optimum, *(bounds or (-9, 9)))) ** 2).sum())
    return np.array(ends)


@pytest.mark.parametrize("dim", [1, 10])
def test_bounds_on_or_near_the_start_cost_nothing(dim):
    """Reflected trials saw one better point on both sides: gaps of .97 and 2.2 where .005 is left without."""
    free = left(0.0, None, dim, radius=0.1)
    for low in (0.0, -0.1):
        found = left(0.0, (low, None), dim, radius=0.1)
        error = np.sqrt((free.var() + found.var()) / len(free))
        assert found.mean() < free.mean() + 5 * error + 0.01 * dim


def test_the_default_radius_in_a_wide_box_and_a_minimum_in_a_corner():
    assert left(1.0, (0, 10), 2).mean() < 0.02
    assert left(1.0, (0.5, 10), 2, optimum=0.2).mean() < 0.02
    assert left(0.0, (0, 10), 2, optimum=0.0).mean() < 0.02


@module
class Valley(Bowl):
    """f(x) = |y₁ − 3| + 5 |y₂|, (y₁, y₂) = x turned by a right angle's half: a kinked valley, level noise."""

    def objective(self, x):
        return jnp.abs((x[0] + x[1]) / 2**0.5 - 3) + 5 * jnp.abs((x[0] - x[1]) / 2**0.5)


def along_the_valley(seeds=12):
    begun = driftopt.stack([Valley(jnp.zeros(2, jnp.float32))])
    method = methods.get("walk", radius=0.5)
    return driftopt.simulate_many(method, begun, budget=4000, seeds=range(seeds)).fun.ravel()


def test_in_a_kinked_valley_steps_get_longer_while_slopes_go_on(monkeypatch):
    """The planted twin, whose steps follow the radius alone, stalls near the start, where f = 3."""
    now = along_the_valley()
    monkeypatch.setattr(walk, "HASTE", 0.0)
    with traced_again():
        stalled = along_the_valley()
    assert now.mean() + 5 * now.std() / len(now) ** 0.5 < stalled.mean() - 5 * stalled.std() / len(now) ** 0.5


class Form(NamedTuple):
    """The weights of a bowl, a plane and a narrow valley: one program for all of them."""

    bowl: float = 0.0
    plane: float = 0.0
    valley: float = 0.0

    def at(self, x):
        valley = jnp.abs(x[0] - 3) + 50 * jnp.abs(x[0] - x[-1])
        return self.bowl * ((x - 0.4) ** 2).sum() + self.plane * x.sum() + self.valley * valley


@jax.jit
def ends(form, level, x0):
    """Twelve runs of 600 values: their states, how much of f is left, how far it fell, how far they are."""
    method = methods.get("walk", radius=0.5, budget=600)

    @jax.vmap
    def run(key):
        def step(state, key):
            values = jax.vmap(form.at)(method.ask(state)) + level * jax.random.normal(key, (2,))
            return method.tell(state, values), None

        return jax.lax.scan(step, method.init(key, x0), jax.random.split(key, 300))[0]

    states = run(jax.random.split(jax.random.key(3), 12))._replace(key=jnp.arange(12))
    left = jax.vmap(form.at)(states.mean)
    return states, left, form.at(x0) - left, jnp.linalg.norm(states.mean - x0, axis=1)


def settled(form, level, dim):
    """Whether each of some runs has settled at its end, and how much of f is left."""
    states, left, fall, away = jax.tree.map(np.asarray, ends(form, level, jnp.zeros(dim)))
    method = methods.get("walk", radius=0.5, budget=600)
    each = [jax.tree.map(itemgetter(i), states) for i in range(12)]
    return [method.settled(*run) for run in zip(each, fall, away, strict=True)], left


def test_a_run_that_ends_at_a_minimum_or_sees_noise_alone_has_settled():
    """At most once in a million runs it has not."""
    for form, level in ((Form(bowl=1.0), 0.1), (Form(), 1.0)):
        for dim in (1, 3):
            assert all(settled(form, level, dim)[0])


def test_a_run_that_ends_on_a_slope_has_not_settled():
    """A plane, and a valley so narrow that trials get short: half of the way is left."""
    assert not any(settled(Form(plane=1.0), 0.5, 3)[0])
    found, left = settled(Form(valley=1.0), 0.1, 2)
    assert left.mean() > 1.5  # of 3
    assert not any(found)


@pytest.mark.parametrize(("slope", "said"), [(1.0, True), (0.0, False)])
def test_minimize_says_so(slope, said):
    rng = np.random.default_rng(0)
    result = driftopt.minimize(
        lambda x: float(slope * x[0] + rng.normal()), [0.0], budget=1000, radius=1.0, method="walk", rng=0
    )
    assert result.success
    assert ("may not be stationary" in result.message) == said


def spread(ends):
    return float(ends.max() / np.median(ends))


def test_no_run_ends_far_worse_than_the_others():
    """The radius 8 times too small in 100 dimensions; two dimensions with bounds at 1,000."""
    many = driftopt.stack([two_wells(100, noise=0.5, rng=0)])
    method = methods.get("auto", radius=10 / 8)
    assert spread(driftopt.simulate_many(method, many, budget=1000, seeds=range(16)).fun) < 20
    box = np.full(2, 1000.0)
    for radius in (0.5, 283.0):
        method = methods.get("auto", radius=radius).within(-box, box)
        few = driftopt.stack([Level(jnp.array([0.5, -0.3], jnp.float32))])
        assert spread(driftopt.simulate_many(method, few, budget=1000, seeds=range(64)).fun) < 20
