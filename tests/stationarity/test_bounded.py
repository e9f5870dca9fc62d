"""The bound for values of known range: its level holds for every law and every number of pairs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from driftopt.stationarity import bounded, from_pairs
from support.noisy_slopes import RADIUS, RANGED

RUNS, FALSE_ALARM = 2000, 1e-6


def too_many_misses(misses, level=0.95):
    """Whether so many misses in RUNS repetitions would come by chance less than once in a million."""
    z = (np.mean(misses) - (1 - level)) / math.sqrt(level * (1 - level) / RUNS)
    return z > norm.isf(FALSE_ALARM)


def bounds(slope, n, dim, *, level=0.95, planned=True, seed=0):
    """RUNS bounds on the norm."""
    plus, minus, u = slope.pairs(np.random.default_rng(seed), RUNS, n, dim)
    width = slope.value_range[1] - slope.value_range[0]
    estimates = ((plus - minus) / width)[..., None] * u
    return bounded.bound(estimates, level, planned=planned) * width * dim / (2 * RADIUS)


@pytest.mark.parametrize("law", RANGED)
@pytest.mark.parametrize(("n", "dim"), [(2, 1), (50, 3), (200, 1)])
def test_the_bound_covers_at_its_level_for_every_law(law, n, dim):
    slope = RANGED[law]
    assert not too_many_misses(bounds(slope, n, dim) < slope.norm)


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize(("n", "level"), [(5, 0.95), (40, 0.8), (150, 0.95)])
def test_the_bound_covers_where_it_is_shortest(n, level, planned):
    """Every value on the edge of the range, and nothing at all is seen twice as often as allowed."""
    odds = 1 - (2 * (1 - level)) ** (1 / n)
    seen = np.random.default_rng(1).random((RUNS, n, 1)) < odds
    found = bounded.bound(seen.astype(float), level, planned=planned)
    assert not too_many_misses(found < odds, level)
    assert too_many_misses(0.4 * found < odds, level)  # the twin: a bound that is too short is caught


def test_looking_after_every_pair_keeps_the_level():
    """Stopped at the shortest of 25 bounds."""
    odds, n = 0.05, 150
    seen = (np.random.default_rng(2).random((RUNS, n, 1)) < odds).astype(float)
    looks = np.unique(np.geomspace(2, n, 25).astype(int))
    often = np.min([bounded.bound(seen[:, :k], 0.95, planned=False) for k in looks], axis=0)
    assert not too_many_misses(often < odds)


def by_hand(estimates, v, level, planned):
    """The docstring's inequality for each direction v, a column, pair by pair."""
    n, d = estimates.shape
    evidence, total, squares = math.log(1 / (1 - level)), np.zeros(d), 0.25 / d
    left, right = 0.0, evidence
    for i, g in enumerate(estimates, start=1):
        centre = total / i
        c = 1 + np.linalg.norm(centre)
        s = math.sqrt(2 * evidence / (squares / i * (n if planned else i * math.log(i + 1))))
        bet = min(0.8, s / (1 + 0.78 * s))
        left += bet / c
        right += bet / c * (g @ v) + (-math.log(1 - bet) - bet) * ((g - centre) @ v / c) ** 2
        total = total + g
        squares += np.sum((g - centre) ** 2) / c**2 / d
    return right / left


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("n", [2, 7, 60])
def test_the_bound_is_the_longest_of_all_directions(n, planned):
    rng = np.random.default_rng(n)
    u = rng.standard_normal((n, 2))
    estimates = rng.uniform(-0.2, 0.4, (n, 1)) * u / np.linalg.norm(u, axis=1, keepdims=True)
    angles = np.linspace(0, 2 * np.pi, 3001)
    around = by_hand(estimates, np.array([np.cos(angles), np.sin(angles)]), 0.9, planned).max()
    found = float(bounded.bound(estimates, 0.9, planned=planned))
    assert found == pytest.approx(min(around, 2 / np.pi), rel=1e-5)
    assert found >= min(around, 2 / np.pi) * (1 - 1e-12)


@pytest.mark.parametrize("planned", [True, False])
def test_many_data_sets_side_by_side_are_each_by_itself(planned):
    estimates = np.random.default_rng(7).uniform(-0.3, 0.3, (5, 12, 3))
    each = [bounded.bound(one, 0.9, planned=planned) for one in estimates]
    np.testing.assert_allclose(bounded.bound(estimates, 0.9, planned=planned), each, rtol=1e-12)


@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 2**32), st.sampled_from([0, 1e-9, 1, 1e6]))
@settings(max_examples=200, deadline=None)
def test_the_supremum_is_never_too_small(d, n, seed, size):
    rng = np.random.default_rng(seed)
    root, linear = rng.standard_normal((n, d)), size * rng.standard_normal(d)
    v = rng.standard_normal((500, d))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    seen = (v @ linear + ((v @ root.T) ** 2).sum(axis=1)).max()
    found = float(bounded.largest_on_sphere(root, linear))
    assert found >= seen * (1 - 1e-12)
    # and no longer than what its two parts imply apart
    assert found <= (np.linalg.norm(linear) + np.linalg.norm(root, 2) ** 2) * (1 + 1e-9)


def test_nothing_seen_is_the_rule_of_three():
    """log(1/α)/n over the largest bet."""
    found = float(bounded.bound(np.zeros((1000, 3)), 0.95, planned=False)) * 1000
    assert found == pytest.approx(math.log(20) / 0.8)


def test_the_range_alone_bounds_the_norm():
    edge = np.ones((3, 1))
    assert float(bounded.bound(edge, 0.95, planned=True)) == 1.0
    plus, minus, u = np.ones(2), np.zeros(2), np.array([[1.0, 0.0], [0.0, 1.0]])
    report = from_pairs(plus, minus, u, radius=0.25, value_range=(0, 1))
    assert report.epsilon == pytest.approx(4 * 2 / np.pi)  # B = 2/(2 · 0.25), E|⟨u, v⟩| = 2/π
