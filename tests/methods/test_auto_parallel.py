"""auto with several pairs out at once: one decision an iteration, the same directions, the same books."""

import jax
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.drivers.host import Host
from driftopt.methods import auto
from driftopt.problems import kink
from driftopt.pytree import module
from driftopt.study import Study

SLOPE = np.array([1.0, -2.0, 0.5, 3.0, -1.0])


def iterations(width, objective, count, kind=auto.Auto, **numbers):
    """The hosts' (x, radius, points, values, x after) of `count` iterations of `width` pairs, float64."""
    method = methods.get("auto", **{"radius": 0.3, "budget": 400, "directions": width, **numbers})
    host, found = Host(kind(**vars(method)), np.ones(5), 3), []
    for _ in range(count):
        before, points = host.state, np.array(host.points)
        values = np.array([objective(p) for p in points])
        host.tell(values)
        after = jax.tree.map(np.asarray, host.state._replace(key=0))
        found.append((np.array(before.x), float(before.radius), points, values, after.x, after))
    return found


def test_the_pairs_of_an_iteration_surround_one_decision():
    for x, radius, points, _, _, _ in iterations(3, lambda p: float((p**2).sum()), 20):
        pairs = points.reshape(3, 2, 5)
        np.testing.assert_allclose(pairs.mean(axis=1), np.tile(x, (3, 1)), atol=1e-12)
        apart = np.linalg.norm(pairs[:, 0] - x, axis=1)
        assert np.all((apart == 0) | (np.abs(apart - radius) < 1e-6 * radius))


def test_several_at_once_try_the_directions_of_one_at_a_time():
    def tried(width, count):
        halves = [
            (points.reshape(width, 2, 5)[:, 0] - x) / radius
            for x, radius, points, _, _, _ in iterations(width, lambda p: 0.0, count)
        ]
        return np.concatenate(halves)

    np.testing.assert_allclose(tried(4, 6), tried(1, 24), atol=1e-6)


def test_each_pair_moves_the_decision_down_along_its_own_direction():
    for x, _, points, values, after, _ in iterations(2, lambda p: float(SLOPE @ p), 30):
        for (up, down), (high, low) in zip(points.reshape(2, 2, 5), values.reshape(2, 2), strict=True):
            if not np.array_equal(up, down):
                # Two neighbours of an orthonormal basis, or of two bases: along u alone the sign is sure.
                assert (high - low) * ((after - x) @ (up - down)) <= 0 or _share_no_basis(points)


def _share_no_basis(points):
    one, two = points.reshape(2, 2, 5)[:, 0] - points.reshape(2, 2, 5)[:, 1]
    return abs(one @ two) > 1e-6


def trials_cost_nothing(width, kind=auto.Auto):
    last = iterations(width, lambda p: float(SLOPE @ p), 160 // width, kind)[-1][-1]
    small = abs(float(last.cost)) < 0.02 * float(np.abs(SLOPE).sum() * last.width)
    return small and float(last.spread.rough) < 0.02 * float(last.spread.first)


@pytest.mark.parametrize("width", [1, 4])
def test_on_a_plane_without_noise_trials_cost_nothing(width):
    """The mean of a pair is f at x, however far x has moved since: the fall is no cost."""
    assert trials_cost_nothing(width)


@module
class OneByOne(auto.Auto):
    """Pairs that are asked together, taken for pairs asked one after the other."""

    def tell(self, state, values, noise=None):
        drawn, state = self.drawn(state, noise), state._replace(told=state.told * self.directions)
        for number in range(self.directions):
            pair = values[2 * number : 2 * number + 2]
            state = self._tell_pair(state, pair, drawn[number], state.radius)
        return state._replace(told=state.told // self.directions)


def test_counting_the_fall_pair_by_pair_fails_that_test():
    """The planted twin: of two at once already, whose program compiles in half the time of four."""
    assert not trials_cost_nothing(2, OneByOne)


def test_trials_at_most_double_from_one_iteration_to_the_next_and_keep_the_promise():
    flat = np.random.default_rng(0)
    radii = [r for _, r, *_ in iterations(8, lambda p: flat.normal(), 25, radius=0.01, max_radius=2.0)]
    growth = np.array(radii[1:]) / radii[:-1]
    assert growth.max() <= 2
    assert max(radii) <= 2.0
    assert radii[-1] > 4 * radii[0]


def test_the_program_of_an_iteration_is_as_long_for_many_pairs_as_for_few():
    def operations(width):
        host = Host(methods.get("auto", radius=0.3, budget=400, directions=width), np.ones(5), 3)
        return len(jax.make_jaxpr(host.method.ask)(host.state).eqns)

    with jax.enable_x64(True):
        assert operations(50) == operations(3)


def test_the_pairs_at_x_are_those_that_at_iterate_names():
    method = methods.get("auto", radius=0.3, budget=400, directions=3)
    found = iterations(3, lambda p: float((p**2).sum()), 20)
    at_x = np.array([np.all(points == x, axis=1) for x, _, points, *_ in found])
    np.testing.assert_array_equal(method.at_iterate(np.arange(20), 5), at_x)


def test_four_pairs_at_once_reach_what_one_at_a_time_reaches():
    """Mean of 40 runs in ten dimensions, 320 queries: no worse by more than four standard errors and 2 %."""
    place, ends = driftopt.stack([kink(10, noise=0.5, rng=8110)]), {}
    start = float(kink(10, noise=0.5, rng=8110).objective(np.zeros(10)))
    for width in (1, 4):
        walk = methods.get("auto", radius=0.8, directions=width)
        ends[width] = np.ravel(driftopt.simulate_many(walk, place, budget=320, seeds=range(40)).fun)
    worse = ends[4] - ends[1]
    assert worse.mean() < 4 * worse.std(ddof=1) / 40**0.5 + 0.02 * start


def test_a_parallel_study_walks_with_auto_and_takes_answers_in_any_order():
    study = Study.create("sqlite://", "a", x0=[1.0, -0.5], radius=0.3, budget=96, rng=0, parallel=4)
    assert study.spec.method == "auto"
    for _ in range(96 // 8):
        trials = study.ask_many(99)
        assert len(trials) == 8
        for trial in reversed(trials):
            study.tell(trial.id, float((np.asarray(trial.x) ** 2).sum()))
    assert np.abs(study.recommend().x).max() < 0.5
