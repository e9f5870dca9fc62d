"""The bound without a range: where it is given without a caution, it covers as often as it says."""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student_t

from driftopt.stationarity import asymptotic, from_pairs
from support.noisy_slopes import RADIUS, WILD, pareto, student

RUNS, FALSE_ALARM = 2000, 1e-6


def too_many(misses):
    z = (np.mean(misses) - 0.05) / np.sqrt(0.05 * 0.95 / RUNS)
    return z > norm.isf(FALSE_ALARM)


def judged(slope, n, dim, seed=0):
    """RUNS data sets: the bound, whether one is given, and whether it is given without a caution."""
    plus, minus, u = slope.pairs(np.random.default_rng(seed), RUNS, n, dim)
    differences = plus - minus
    bounds = asymptotic.bound(differences[..., None] * u * dim / (2 * RADIUS), 0.95)[0]
    given = asymptotic.changed(differences) >= asymptotic.LEAST_CHANGED
    light = asymptotic.tail_index(differences, u) >= asymptotic.HEAVY
    return bounds, given, given & light & (n >= asymptotic.ENOUGH_PAIRS)


@pytest.mark.parametrize("law", WILD)
@pytest.mark.parametrize(("n", "dim"), [(10, 1), (50, 3), (800, 1)])
def test_a_bound_without_a_caution_covers_at_its_level(law, n, dim):
    slope = WILD[law]
    bounds, _, trusted = judged(slope, n, dim)
    assert not too_many(trusted & (bounds < slope.norm))


def test_taken_without_the_judgement_it_would_not():
    """The twin: rare events and heavy tails make the plain bound miss."""
    for slope, n in (
        (WILD["bernoulli"], 10),
        (WILD["bernoulli"], 50),
        (WILD["sparse"], 10),
        (pareto(1.2), 50),
    ):
        bounds, _, trusted = judged(slope, n, 1)
        assert too_many(bounds < slope.norm)
        assert not too_many(trusted & (bounds < slope.norm))


def test_ordinary_noise_is_trusted():
    _, given, trusted = judged(student(1e6, 1.0), 50, 3)  # as good as Gaussian
    assert given.all()
    assert trusted.mean() > 0.97


@pytest.mark.parametrize("law", WILD)
@pytest.mark.parametrize("n", [20, 60])
def test_the_report_says_what_the_judgement_found(law, n):
    """The door gives, run by run, what the functions for many runs give."""
    plus, minus, u = (side[:20] for side in WILD[law].pairs(np.random.default_rng(0), RUNS, n, 2))
    for ahead, behind, rows in zip(plus, minus, u, strict=True):
        report = from_pairs(ahead, behind, rows, radius=RADIUS)
        differences = ahead - behind
        bound = float(asymptotic.bound(differences[:, None] * rows * 2 / (2 * RADIUS), 0.95)[0])
        if np.count_nonzero(differences) < 10:
            assert report.epsilon is None
            assert "differences are not 0" in report.caution
            assert report.sentence.startswith("no bound at 95 %")
        else:
            assert report.epsilon == pytest.approx(bound, rel=1e-9)
            heavy = float(asymptotic.tail_index(differences, rows)) < 2
            assert (report.caution is not None) == (n < 50 or heavy)
            assert ("if that can be trusted" in report.sentence) == (report.caution is not None)


def test_the_allowance_for_what_was_not_met():
    """One dimension, all estimates 3: only the allowance is left, 3 log(1/α)/n on top."""
    bound, error = asymptotic.bound(np.full((50, 1), 3.0), 0.95)
    assert float(bound) == pytest.approx(3 * (1 + np.log(20) / 50))
    assert float(error) == pytest.approx(0)


@pytest.mark.parametrize("confidence", [0.6, 0.95, 0.999])
@pytest.mark.parametrize("slope", [0.0, 2.0])
def test_the_bound_solves_its_equation(slope, confidence):
    """θ² − max(U, 0) = t √(4 λ θ²/n + 2 tr(Σ²)/(n(n−1))) for what is left without the allowance."""
    n, d = 30, 3
    g = np.random.default_rng(8).standard_normal((n, d)) + slope * np.array([1.0, 0.0, 0.0])
    bound, error = asymptotic.bound(g, confidence)
    unmet = 0.5 * np.linalg.norm(g, axis=1).max() * np.log(1 / (1 - confidence)) / n  # E|⟨u, v⟩| = 1/2 in 3-d
    square = (float(bound) - unmet) ** 2
    seen = max((g.sum(axis=0) @ g.sum(axis=0) - (g * g).sum()) / (n * (n - 1)), 0)
    sigma = np.cov(g, rowvar=False)
    largest, floor = np.linalg.eigvalsh(sigma)[-1], 2 * np.trace(sigma @ sigma) / (n * (n - 1))
    allowed = student_t.ppf(confidence, n - 1) * np.sqrt(4 * largest * square / n + floor)
    assert square - seen == pytest.approx(allowed, rel=1e-9)
    assert float(error) == pytest.approx(np.sqrt(4 * largest * seen / n + floor), rel=1e-9)


def test_hills_index_is_that_of_what_the_slope_leaves():
    """By hand in two dimensions, where the mean gradient explains a part of every difference."""
    rng, n = np.random.default_rng(9), 60
    u = rng.standard_normal((n, 2))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    differences = u @ np.array([3.0, -1.0]) + rng.standard_t(2, n)
    slope = sum(2 * a * row for a, row in zip(differences, u, strict=True)) / n
    left = sorted((abs(a - slope @ row) for a, row in zip(differences, u, strict=True)), reverse=True)
    k = round(n**0.5)
    expected = 1 / np.mean(np.log(np.array(left[:k]) / left[k]))
    assert float(asymptotic.tail_index(differences, u)) == pytest.approx(expected)


@pytest.mark.parametrize("dim", [1, 4])
def test_values_without_noise_have_no_tail(dim):
    rng = np.random.default_rng(0)
    u = rng.standard_normal((60, dim))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    slopes = u @ np.arange(1, dim + 1)
    assert np.isinf(asymptotic.tail_index(np.zeros(60), u))
    if dim == 1:
        assert np.isinf(asymptotic.tail_index(slopes, u))
    assert from_pairs(1 + slopes, 1 - slopes, u, radius=1.0).caution is None
