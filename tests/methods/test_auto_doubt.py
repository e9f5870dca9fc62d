"""How much of its walk auto recommends after few deployments: as transcribed, and more than before."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.drivers.host import Host
from driftopt.methods import auto_doubt
from driftopt.problems import LocationShift, Pricing, StrategicClassification, kink, location_shift
from driftopt.pytree import module
from support.numpy_transcription import TRANSCRIPTIONS
from support.retraced import traced_again


def slope(points):
    return -points.sum(axis=1)


WORLDS = {
    "tidy": lambda points, rng, pair: slope(points) + 0.1 * rng.standard_normal(len(points)),
    "louder at trials": lambda points, rng, pair: (
        np.abs(points).sum(axis=1) * rng.standard_normal(len(points))
    ),
    "heavy tails": lambda points, rng, pair: slope(points) + rng.standard_t(1.2, len(points)),
    "risen": lambda points, rng, pair: 3 * pair + slope(points) + 0.5 * rng.standard_normal(len(points)),
    "fallen": lambda points, rng, pair: slope(points) - pair / 10 + 0.7 * rng.standard_normal(len(points)),
    "fallen by itself": lambda points, rng, pair: -pair / 10 + 0.7 * rng.standard_normal(len(points)),
    "fallen with a short walk": lambda points, rng, pair: (
        (points**2).sum(axis=1) - pair / 5 + 0.5 * rng.standard_normal(len(points))
    ),
    "fallen where tails are heavy": lambda points, rng, pair: (
        5 * (points**2).sum(axis=1) + slope(points) - pair / 3 + rng.standard_t(1.2, len(points))
    ),
}


@pytest.mark.parametrize("limit", [{}, {"max_radius": 0.7}], ids=["free", "promised"])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("world", WORLDS)
def test_what_is_recommended_after_few_pairs_is_as_transcribed(world, width, limit):
    """After 40 of 36 pairs: the last answers are beyond the budget and change nothing."""
    params = {"radius": 0.5, "budget": 72, "directions": width, **limit}
    start, rng, noise, values = np.zeros(8), np.random.default_rng(5), [], []
    host, seen = Host(methods.get("auto", **params), start, 3), 0
    for told in range(40 // width):
        noise.append(np.asarray(host._noise[host.told % host.ahead], np.float64))
        values.append(WORLDS[world](host.points, rng, told * width))
        host.tell(values[-1])
        if told * width >= 4:
            plain = TRANSCRIPTIONS["auto"](start, noise, values, **params)
            np.testing.assert_allclose(host.recommend(), plain.report, rtol=1e-8, atol=1e-9)
            seen += plain.seen.get(world, 0)
    assert world == "tidy" or seen


def recommended(scale, equal=0, budget=120, dim=8):
    """What is recommended of a tidy bowl whose values have this scale and whose first answers are equal."""
    host, asked = Host(methods.get("auto", radius=0.5, budget=budget), np.zeros(dim), 1), 0
    rng = np.random.default_rng(2)
    for _ in range(budget // 2):
        values = ((host.points - 1) ** 2).sum(axis=1) + 0.1 * rng.standard_normal(2)
        values[: max(equal - asked, 0)] = 0.0
        asked += 2
        host.tell(scale * values)
    return np.asarray(host.recommend())


def test_where_the_first_answers_are_equal_the_unit_of_the_values_does_not_matter():
    """No sale in the first weeks. There is no unit before two answers differ."""
    plain = recommended(1.0, equal=4)
    assert ((plain - 1) ** 2).mean() < 0.2
    for scale in (2.0**-20, 2.0**14):
        np.testing.assert_allclose(recommended(scale, equal=4), plain, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e-154, 1e-155, 1e-160, 1e-300])
@pytest.mark.parametrize("dim", [1, 2, 10])
def test_values_however_small_lead_to_a_finite_recommendation(scale, dim):
    assert np.isfinite(recommended(scale, budget=20, dim=dim)).all()


def test_answers_beyond_the_budget_leave_the_value_at_x_and_the_fall_since():
    """Both belong together: what trials cost is measured from them once the budget is extended."""
    host, seen = Host(methods.get("auto", radius=0.5, budget=40), np.zeros(3), 1), []
    rng = np.random.default_rng(2)
    for _ in range(25):  # of 20
        host.tell(100 * ((host.points - 1) ** 2).sum(axis=1) + rng.standard_normal(2))
        seen.append((float(host.state.here), float(host.state.fallen)))
    assert set(seen[19:]) == {seen[19]}
    assert seen[19][1] != 0


FEW = {
    "prices": ([Pricing.synthetic(seed, products=10) for seed in (50, 51)], 0.5),
    "kink": ([kink(10, noise=1.0, rng=seed) for seed in (50, 51)], 0.8),
}


def ends(problems, budget, runs=150, **numbers):
    """The exact objective at what each run recommends, (instances · runs,)."""
    method = methods.get("auto", **numbers)
    return driftopt.simulate_many(
        method, driftopt.stack(problems), budget=budget, seeds=range(runs)
    ).fun.ravel()


@pytest.mark.parametrize("budget", [30, 60])
@pytest.mark.parametrize("kind", FEW)
def test_few_deployments_gain_more_than_with_the_edition_before(kind, budget):
    """On the same random numbers. Edition 7 counts the first steps as noise for ever."""
    problems, radius = FEW[kind]
    before, now = (ends(problems, budget, radius=radius, edition=edition) for edition in (7, 8))
    gain = before - now
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))


FALLEN = {**FEW, "thirty prices": ([Pricing.synthetic(seed, products=30) for seed in (50, 51)], 0.5)}


@pytest.mark.parametrize("budget", [60, 120])
@pytest.mark.parametrize("kind", FALLEN)
def test_a_walk_that_has_surely_come_down_is_doubted_less_than_in_the_edition_before(kind, budget):
    """On the same random numbers; the walk itself is the same."""
    problems, radius = FALLEN[kind]
    before, now = (ends(problems, budget, radius=radius, edition=edition) for edition in (9, 10))
    gain = before - now
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))


@module
class LoudBowl(LocationShift):
    """Not driftopt's own class: programs of those are not traced anew for a rule that is planted."""


def far_too_long():
    """Trials sixteen times too long in a loud bowl, with 30 deployments: where runs end."""
    made = [location_shift(10, noise=2.0, rng=seed) for seed in (50, 51)]
    loud = [LoudBowl(one.base, one.shift, one.noise_level, one.ridge) for one in made]
    return ends(loud, 30, radius=16 * 0.8)


def test_where_values_at_x_have_risen_less_of_the_walk_is_recommended(monkeypatch):
    """Beside it, on the same random numbers, a rule for which no rise counts."""
    now = far_too_long()
    monkeypatch.setattr(auto_doubt, "RISE", 1e9)
    monkeypatch.setattr(auto_doubt, "SURELY", 2e9)
    with traced_again():
        gain = far_too_long() - now
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))


@module
class Applicants(StrategicClassification):
    """Not driftopt's own class, as above."""


def few_applicants(budget):
    """Most cost nothing, and a few very much: the usual answer falls where the mean of all rises."""
    made = [StrategicClassification.stand_in(seed) for seed in (101, 102)]
    own = [Applicants(p.features, p.labels, p.test_features, p.test_labels, p.tau) for p in made]
    return ends(own, budget, runs=400, radius=2.0)


def test_a_fall_at_x_is_no_proof_where_answers_are_heavy_tailed(monkeypatch):
    """Beside it, on the same random numbers, a rule that takes it for proof whatever the tails."""
    now = few_applicants(60)
    for name in ("LONGER", "SHORTER", "ONE_LAW", "TAILED"):
        monkeypatch.setattr(auto_doubt, name, 1e9 * (1 + (name in ("SHORTER", "TAILED"))))
    with traced_again():
        gain = few_applicants(60) - now
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))


def walked_where_values_fall(edition, dim=8, pairs=30, runs=200):
    """|recommended − x0| of |x̄ − x0|, the mean, by how much lower each pair is than the last; f is flat."""
    method = methods.get("auto", radius=0.5, budget=2 * pairs, edition=edition)

    def share(key, fall):
        def take(state, pair):
            values = jax.random.normal(jax.random.fold_in(key, pair), (2,)) - fall * pair
            return method.tell(state, values), None

        last, _ = jax.lax.scan(take, method.init(key, jnp.zeros(dim)), jnp.arange(pairs))
        return jnp.linalg.norm(method.recommend(last)) / jnp.linalg.norm(last.mean)

    keys = jax.random.split(jax.random.key(7), runs)
    every = jax.jit(jax.vmap(share, (0, None)))  # one program for both falls
    return lambda fall: float(every(keys, fall).mean())


def test_where_values_fall_by_themselves_a_walk_of_noise_is_doubted_as_before(monkeypatch):
    """A season, a market that grows. Beside it a rule that does not look at what trials cost."""
    before, now = map(walked_where_values_fall, (9, 10))
    fell = auto_doubt.fall
    planted = walked_where_values_fall(10)
    for fall in (0.2, 0.5):
        assert now(fall) < before(fall) + 0.04
        with monkeypatch.context() as patch:
            patch.setattr(
                auto_doubt,
                "fall",
                lambda first, last, usual, at_x, spread, cost, by_noise: fell(
                    first, last, usual, at_x, spread, 1e9 * jnp.ones_like(cost), by_noise
                ),
            )
            assert planted(fall) > before(fall) + 0.2
