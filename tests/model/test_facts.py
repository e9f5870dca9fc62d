"""Costs, gains, slopes and outlooks: as often right as they say, and equal to what they are made of."""

import numpy as np
import pytest

from driftopt.model import Model, Results
from driftopt.model.facts import Estimate, forecast, past, pays_after, played
from driftopt.model.policy import _Now
from driftopt.space import Space


def searched(seed, trials=20, noise=0.4, d=2):
    """A model, its results, the true loss of a random smooth world, and its lowest point."""
    rng = np.random.default_rng(seed)
    goal = rng.normal(size=d)
    goal *= rng.uniform(0.5, 1.5) / np.linalg.norm(goal)

    def loss(x):
        return float((np.sqrt(1 + 4 * (x - goal) ** 2) - 1).sum())

    model, x, y = Model(Space.build(np.zeros(d)), np.full(d, 0.35), seed), np.zeros((0, d)), []
    for trial in range(1, trials + 1):
        x = np.vstack([x, model.ask(Results.of(x, y), trial)])
        y = [*y, loss(x[-1]) + noise * rng.normal()]
    return model, Results.of(x, y), loss, goal


@pytest.fixture(scope="module")
def studies():
    return [searched(seed) for seed in range(40)]


def within(truth: float, estimate: Estimate, narrower: float = 1.0) -> bool:
    """Whether the truth is in the 90 % interval."""
    return abs(truth - estimate.mean) < 1.645 * narrower * estimate.sd


def test_cost_and_gain_are_as_often_within_their_intervals_as_they_say(studies):
    """28 of 40 or fewer: improbable (1e-3) at a coverage of 0.87; intervals of half the width do miss."""
    right = np.zeros((2, 2), int)
    for model, results, loss, _ in studies:
        stayed = loss(np.zeros(2))
        cost = model.facts(results).difference(results.inputs(model.units))
        found = model.recommend(results, len(results) + 1)
        for i, narrower in enumerate((1.0, 0.4)):
            right[i] += (
                within(sum(map(loss, results.x)) - len(results) * stayed, cost, narrower),
                within(stayed - loss(found.x), found.gain, narrower),
            )
    assert (right[0] > 28).all()
    assert (right[1] <= 28).all()


def around(model, results, x):
    """Decisions that a further search could find, and x, both now."""
    now = _Now(model, results, len(results) + 1, (), np.random.default_rng(1))
    return now.at(now.rays(x, 2 * now.reach, 100, 0.05)), now.at(x[None])


def test_stopping_forgoes_less_than_it_says(studies):
    right = 0
    for model, results, loss, goal in studies:
        x = model.recommend(results, len(results) + 1).x
        candidates, here = around(model, results, x)
        most = model.facts(results).forgone(candidates, here, 1.0, np.random.default_rng(2))
        right += loss(x) - loss(goal) <= most
    assert right >= 33


def test_slopes_and_slices_are_differences_of_the_posterior(studies):
    model, results, _, _ = studies[0]
    facts, (_, here) = model.facts(results), around(model, results, np.array([0.2, 0.1]))
    along = here.moved(here.x + np.array([[0.5, 0.0], [-0.5, 0.0]]))
    mean, sd = facts.slice(along, here)
    slope, error = facts.slopes(here)
    assert slope[0] == pytest.approx(mean[0] - mean[1])
    both = facts.total(along, np.array([1.0, -1.0]))
    assert (slope[0], error[0]) == pytest.approx((both.mean, both.sd), rel=1e-4)
    assert (sd > 0).all()


def test_an_outlook_gains_more_and_costs_more_with_more_days():
    """Decisions that are known to be equal bring nothing; independent ones bring their lowest in the end."""
    rng = np.random.default_rng(0)
    known = played(np.zeros(5), np.full((5, 5), 1e-12), 0.1, (5, 20), rng)
    assert known[20].gain.mean == pytest.approx(0, abs=1e-3)
    unknown = played(np.zeros(5), np.eye(5), 0.1, (3, 60), rng)
    assert unknown[3].gain.mean < unknown[60].gain.mean
    assert unknown[60].gain.mean == pytest.approx(1.16, abs=6 * unknown[60].gain.sd / 40**0.5)


def test_a_forecast_is_worse_with_noise():
    quiet, noisy = forecast(3, 0.1, 1.0, (10, 30)), forecast(3, 3.0, 1.0, (10, 30))
    assert quiet[10].gain.mean < quiet[30].gain.mean
    assert noisy[30].gain.mean < quiet[30].gain.mean
    assert quiet[30].gain.mean == pytest.approx(1, abs=0.5)


def test_past_values_show_noise_season_and_drift():
    rng, day = np.random.default_rng(3), np.arange(140)
    season = np.array([3.0, 1, 0, 0, -1, -1, -2])
    found = past(50 + season[day % 7] + 0.05 * day + 2 * rng.normal(size=140))
    assert found.noise == pytest.approx(2, rel=0.3)
    assert np.array(found.season) == pytest.approx(season, abs=2.5)
    assert abs(found.drift.mean - 0.05) < 5 * found.drift.sd
    assert past(np.array([1.0, 2.0, 3.0])).noise == pytest.approx(0, abs=1e-9)


def test_a_search_has_paid_when_its_gain_covers_its_cost():
    cost, gain = Estimate(30.0, 5.0), Estimate(2.0, 0.5)
    assert pays_after(cost, gain) == 15
    assert pays_after(Estimate(-3.0, 5.0), gain) == 0
    assert pays_after(cost, Estimate(-1.0, 0.5)) == np.inf
