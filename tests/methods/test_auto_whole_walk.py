"""What auto learns of the walk as a whole: whether f is a bowl, and whether the walk is lost."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt import methods
from driftopt.methods import auto, auto_evenness, auto_retreat
from support.retraced import traced_again


def walker(world, x0, pairs, runs, **numbers):
    """A function of what `world(points, key, t, run, *facts)` takes last: one program for all such facts.

    It gives what is recommended, the last state and every x.
    """
    method = methods.get("auto", **{"radius": 0.5, "budget": 2 * pairs, **numbers})
    width = method.directions

    def walk(run, *facts):
        def iteration(state, t):
            key = jax.random.fold_in(jax.random.key(run + 9000), t)
            state = method.tell(state, world(method.ask(state), key, t * width, run, *facts))
            return state, state.x

        last, path = jax.lax.scan(
            iteration, method.init(jax.random.key(run), jnp.asarray(x0)), jnp.arange(pairs // width)
        )
        return method.recommend(last), last._replace(key=jnp.zeros(())), path

    program = jax.jit(lambda *facts: jax.vmap(lambda run: walk(run, *facts))(jnp.arange(runs)))
    return lambda *facts: jax.tree.map(np.asarray, program(*facts))


def walks(world, x0, pairs, runs, **numbers):
    """The same at once, for a world without such facts."""
    return walker(world, x0, pairs, runs, **numbers)()


def noise(key, points, level):
    return level * jax.random.normal(key, (len(points),))


def rare_losses(points, key, t, run, chance, size):
    """Seldom a loss of `size` |x|², and a small gain along every axis."""
    one, two = jax.random.split(key)
    lost = jax.random.uniform(two, (len(points),)) < chance
    return -0.1 * points.sum(1) + noise(one, points, 0.1) + jnp.where(lost, size * (points**2).sum(1), 0)


among_rare_losses = cache(partial(walker, rare_losses))


def above_the_start(chance, size, pairs, runs, edition):
    """The mean answer at what is recommended in each walk; at the start it is 0."""
    x = among_rare_losses((0.0,) * 10, pairs, runs, edition=edition)(chance, size)[0]
    return -0.1 * x.sum(-1) + size * chance * (x**2).sum(-1)


@pytest.mark.parametrize(("chance", "pairs", "times"), [(0.2, 30, 30), (0.2, 150, 30), (0.1, 150, 100)])
def test_where_answers_are_heavy_tailed_trials_run_away_far_less(chance, pairs, times):
    """Edition 4 ends that many times as far above the start. Edition 5 too ends above it in these worlds."""
    before, now = (above_the_start(chance, 3, pairs, 400, edition).mean() for edition in (4, 5))
    assert before > 10
    assert before > times * now


def test_where_losses_are_smaller_and_less_rare_the_end_is_below_the_start():
    before, now = (above_the_start(0.3, 1, 150, 400, edition) for edition in (4, 5))
    assert before.mean() > 0.1
    assert now.mean() < -4 * now.std() / 20 < 0


def test_single_answers_of_a_heavy_tail_do_not_lead_the_walk():
    """Edition 5 took steps as long as answers were high."""
    before, now = (above_the_start(0.2, 1, 400, 800, edition) for edition in (5, 7))
    gain = before - now  # on the same random numbers
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))


def louder_afar(points, key, t, run):
    """Best at 0; one answer in five costs what it is away, so that far trials are many times louder."""
    one, two = jax.random.split(key)
    away = jnp.linalg.norm(points, axis=1)
    return noise(one, points, 0.5) + jnp.where(jax.random.uniform(two, (len(points),)) < 0.2, away, 0)


def test_where_noise_grows_with_the_radius_a_lost_walk_is_noticed_by_the_noise_at_x():
    """Trials are sixteen times too long. Edition 5 asked for a rise that is much for trials."""
    before, now = (
        np.linalg.norm(walks(louder_afar, jnp.zeros(10), 150, 400, radius=16.0, edition=edition)[0], axis=1)
        for edition in (5, 7)
    )
    assert before.mean() - now.mean() > 5 * np.hypot(before.std(), now.std()) / np.sqrt(len(now))


def bowl_and_end(objective, edition, **numbers):
    def world(points, key, t, run):
        return objective(points) + noise(key, points, 0.03)

    found, last, _ = walks(world, jnp.zeros(5), 400, 200, edition=edition, **numbers)
    return last.evenness.bowl, np.log(objective(found))


def round_bowl(x):
    return ((x - 1) ** 2).sum(-1)


def kink(x):
    return jnp.maximum(3 * (x - 1), 1 - x).sum(-1)


def test_a_bowl_is_found_and_the_end_is_closer_for_it():
    (bowl, now), (_, before) = (bowl_and_end(round_bowl, edition) for edition in (5, 4))
    assert np.median(bowl) > 0.75
    difference = before - now
    assert difference.mean() > 6 * difference.std() / np.sqrt(len(difference))


def test_a_kink_is_no_bowl():
    assert bowl_and_end(kink, 5)[0].max() < 0.01


def test_a_measure_that_cannot_tell_them_apart_fails_that_test(monkeypatch):
    """The planted twin."""
    monkeypatch.setattr(auto_evenness, "SAME", 10.0)
    with traced_again():
        assert bowl_and_end(kink, 5)[0].max() > 0.1


START = np.ones(3, np.float32)


def plain_with_a_cliff(points, key, t, run):
    """No slope to find; from pair 40 on, all but the start is far worse."""
    away = jnp.linalg.norm(points - START, axis=1) > 0.01
    return noise(key, points, 0.3) + jnp.where((t >= 40) & away, 20, 0)


def valley_that_rises(points, key, t, run):
    """Lowest at 0; from pair 40 on, all answers are higher, wherever they are asked."""
    return jnp.abs(points).sum(1) + noise(key, points, 0.3) + jnp.where(t >= 40, 20, 0)


def began_again(path):
    """Whether x was at the start once more after it had left; the first four pairs may all be there."""
    return (path[:, 8:] == START).all(axis=2).any(axis=1)


@pytest.mark.parametrize("width", [1, 4])
def test_the_walk_begins_again_when_decisions_have_turned_bad_for_good(width):
    *_, path = walks(plain_with_a_cliff, START, 120, 50, directions=width)
    # Of several pairs at once the ones after that at x step on from the start.
    back = began_again(path) if width == 1 else np.linalg.norm(path[:, 10:] - START, axis=2).min(axis=1) < 0.3
    assert back.mean() > 0.9


def test_a_walk_that_has_found_a_slope_goes_on_when_the_world_moves():
    """What rises everywhere says nothing of x: nearly all walks go on, and come nearer."""
    found, _, path = walks(valley_that_rises, START, 120, 100)
    assert began_again(path).mean() < 0.1
    assert np.abs(found).sum(axis=1).mean() < np.abs(path[:, 39]).sum(axis=1).mean()


def test_a_walk_that_asks_for_no_slope_fails_that_test(monkeypatch):
    monkeypatch.setattr(auto, "ASTRAY", 2.0)
    with traced_again():
        *_, path = walks(valley_that_rises, START, 120, 100)
    assert began_again(path).mean() > 0.9


def test_editions_before_never_begin_again(monkeypatch):
    """With several pairs at once too, where what is known of the fall must be kept: the same to the bit."""
    for width in (1, 4):
        one = walks(plain_with_a_cliff, START, 120, 20, directions=width, edition=4)[2]
        assert not began_again(one).any()
        with monkeypatch.context() as patch, traced_again():
            patch.setattr(auto_retreat, "ERRORS", np.inf)
            other = walks(plain_with_a_cliff, START, 120, 20, directions=width, edition=4)[2]
        np.testing.assert_array_equal(one, other)


def test_a_promised_radius_never_jumps_back():
    *_, path = walks(plain_with_a_cliff, START, 120, 50, max_radius=0.5)
    assert not began_again(path).any()
    reach = methods.get("auto", radius=0.5, max_radius=0.5, budget=240).reach_in(3)
    assert np.linalg.norm(np.diff(path, axis=1), axis=2).max() <= reach * (1 + 1e-6)


def with_one_wild(points, key, t, run, size, place):
    """A kink; answer number `place`, or with -1 the one whose number is the run's, is off by `size`."""
    number = 2 * t + jnp.arange(len(points))
    wild = number == jnp.where(place == -1, run, place)
    return jnp.abs(points).sum(1) + noise(key, points, 0.3) + jnp.where(wild, size, 0)


@pytest.fixture(scope="module")
def with_one_wild_answer():
    return walker(with_one_wild, START, 60, 160)


@pytest.mark.parametrize("size", [1e3, -1e3, 1e6, -1e6, 5.0])
def test_one_wild_answer_at_any_single_place_loses_no_walk(size, with_one_wild_answer):
    """Run i has it at answer i: of the 118 from the second pair on, and 40 runs that have none."""
    *_, path = with_one_wild_answer(size, -1)
    assert not began_again(path)[2:].any()


@pytest.mark.parametrize("place", [0, 1])
def test_nor_does_one_at_the_very_first_two(place, with_one_wild_answer):
    *_, path = with_one_wild_answer(1e3, place)
    assert not began_again(path).any()


def test_a_bar_that_is_too_low_fails_that_test(monkeypatch):
    """The planted twin: without wild answers too, a walk is then taken for lost."""
    monkeypatch.setattr(auto_retreat, "ERRORS", -1.0)
    monkeypatch.setattr(auto, "SEVERAL", 1e6)
    monkeypatch.setattr(auto, "ASTRAY", 2.0)
    with traced_again():
        *_, path = walker(with_one_wild, START, 60, 160)(1e3, -1)
    assert began_again(path)[2:].any()
