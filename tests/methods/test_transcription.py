"""Each method against its NumPy transcription, from the same draws and the same recorded values."""

from functools import cache

import jax
import numpy as np
import pytest

from driftopt import methods
from driftopt.drivers.host import Host
from driftopt.methods import output_rules
from support.field_transcription import FIELD
from support.numpy_transcription import TRANSCRIPTIONS
from support.recorded_world import X0, coordinates, walk

ANSWERS = 23  # not a multiple of the block, so that a run ends within one
EVERY = TRANSCRIPTIONS | FIELD


def recorded_run(name, params, seed=3, answers=ANSWERS):
    """Drive a method with a rough noisy function; keep the noise, queries, values and iterates."""
    method = methods.get(name, **params)
    host, rng = Host(method, X0, seed), np.random.default_rng(seed)
    noise, points, values, iterates = [], [], [], [np.asarray(host.state.x)]
    for _ in range(answers):
        # The host's own draws, not the same numbers drawn anew: another compilation may round differently.
        noise.append(jax.tree.map(lambda a: np.asarray(a, np.float64), host.noise))
        points.append(host.points)
        values.append(np.abs(host.points).sum(axis=1) + 0.3 * rng.standard_normal(len(host.points)))
        host.tell(values[-1])
        iterates.append(np.asarray(host.state.x))
    return noise, np.array(points), values, np.array(iterates), host.recommend(), method.warmup


@cache
def seen(name, params):
    """A method of the field in the world that shows it what it sees: one run for all who look at it."""
    return walk(methods.get(name, **dict(params)))


def agrees(name, params, transcription):
    method = methods.get(name, **params)
    if name in FIELD:  # these see more than a host can show
        noise, points, told, iterates, report = seen(name, tuple(params.items()))
        given = {**methods.entry(name).defaults, **params}
        run = transcription(X0[: coordinates(method)], noise, told, **given)
        warmup = method.warmup
    else:
        noise, points, values, iterates, report, warmup = recorded_run(name, params)
        run = transcription(X0, noise, values, **params)
    close = {"rtol": run.close, "atol": run.close / 10}
    return (
        np.allclose(points, run.points, **close)
        and np.allclose(iterates[warmup:], run.iterates, **close)
        and np.allclose(report, run.report, **close)
    )


def settings(name):
    """The parameters to try, read off the registry's line, so that a new method is covered by its entry."""
    takes, example = methods.entry(name).parameters, dict(methods.entry(name).example)
    yield example
    if name not in OF_EACH_CLASS:
        return
    yield from ({**example, "block": 4, "output": rule} for rule in output_rules.RULES if "block" in takes)
    if "directions" in takes:
        yield {**example, "directions": 3}
    if "budget" in takes:
        yield {**example, "budget": 2 * (ANSWERS - 3)}  # planned for less than the run is driven
    if "growth" in takes and "window" in takes:
        yield {**example, "batch": 1, "growth": 0}  # one sample is a record too
    if "block" in takes and takes_no_step(name):
        yield {"radius": 0.5, "block": 4}  # the scale-free learner


def takes_no_step(name):
    try:
        methods.get(name, radius=0.5)
    except ValueError:
        return False
    return True


OF_EACH_CLASS = {type(methods.get(n, **methods.entry(n).example)): n for n in methods.names()}.values()
CASES = [(name, params) for name in methods.names() for params in settings(name)]
# Steps so small that no increment is projected: there the step size would not show.
CASES_OF = {
    n: {k: 1e-3 if k == "step" else v for k, v in methods.entry(n).example.items()} for n in methods.names()
}


def test_every_registered_method_is_transcribed():
    assert set(EVERY) == set(methods.names())


@pytest.mark.parametrize(
    ("name", "params"), CASES, ids=lambda v: v if isinstance(v, str) else "-".join(map(str, v.values()))
)
def test_method_equals_its_transcription(name, params):
    assert agrees(name, params, EVERY[name])


TWINS = [
    (name, number) for name in methods.names() for number in ("radius", "step") if number in CASES_OF[name]
]


@pytest.mark.parametrize(("name", "number"), TWINS)
def test_a_slightly_wrong_number_is_noticed(name, number):
    params = CASES_OF[name]

    def wrong(x0, noise, values, **given):
        seen = max(1e-7, 100 * EVERY[name](x0, noise, values, **given).close)  # what can be told apart
        return EVERY[name](x0, noise, values, **{**given, number: given[number] * (1 + seen)})

    assert not agrees(name, params, wrong)


NEITHER = [
    (name, number)
    for name in methods.names()
    if not {"radius", "step"} & set(CASES_OF[name])
    for number, value in CASES_OF[name].items()
    if isinstance(value, float)
]


@pytest.mark.parametrize(("name", "number"), NEITHER)
def test_a_wrong_number_is_noticed_where_decisions_are_few(name, number):
    """A method that walks on a grid does not see small changes: half of a number it must see."""

    def wrong(x0, noise, values, **given):
        return EVERY[name](x0, noise, values, **{**given, number: given[number] / 2})

    assert not agrees(name, CASES_OF[name], wrong)


def test_option_two_spends_its_first_answer_on_the_initialisation_query():
    """h_0 is asked at x_0 + δu_0 and moves nothing; g_1 = d/δ (h_1 − h_0) u_1 is the first estimate."""
    radius, step = 0.5, 1e-3
    noise, points, values, iterates, _, warmup = recorded_run(
        "zo-o2nc-1pt", {"radius": radius, "step": step, "block": 8}, answers=4
    )
    assert warmup == 1
    np.testing.assert_allclose(points[0, 0], X0 + radius * noise[0].directions[0], rtol=1e-14)
    # Δ_1 = 0, so x_0 = x_1, reached after the warm-up and the first iteration; then x_2 = x_1 + Δ_2.
    np.testing.assert_array_equal(iterates[:3], np.tile(X0, (3, 1)))
    first = len(X0) / radius * (values[1][0] - values[0][0]) * noise[1].directions[0]
    np.testing.assert_allclose(iterates[3], X0 - step * first, rtol=1e-13)


def test_block_one_stays_at_the_start():
    """Every block begins with Δ = 0: with M = 1 no increment is ever played, in closed form x_t = x_0."""
    *_, iterates, report, _ = recorded_run("zo-o2nc-2pt", {"radius": 0.5, "step": 0.1, "block": 1})
    np.testing.assert_array_equal(iterates, np.tile(X0, (ANSWERS + 1, 1)))
    np.testing.assert_array_equal(report, X0)


def test_one_long_block_in_a_large_ball_is_a_double_sum_of_gradients():
    """Unprojected, Δ_{t+1} = −η Σ_{s≤t} g_s, so x_T = x_0 − η Σ_s (T − s) g_s."""
    radius, step = 0.5, 1e-7
    noise, _, values, iterates, *_ = recorded_run(
        "zo-o2nc-2pt", {"radius": radius, "step": step, "block": ANSWERS}
    )
    d = len(X0)
    gradients = [
        d / (2 * radius) * (h[0] - h[1]) * n.directions[0] for h, n in zip(values, noise, strict=True)
    ]
    weights = ANSWERS - np.arange(1, ANSWERS + 1)
    expected = X0 - step * np.sum(weights[:, None] * np.array(gradients), axis=0)
    np.testing.assert_allclose(iterates[-1], expected, rtol=0, atol=1e-15)
