"""Intervals and tests that keep their level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from driftopt.report.statistics import (
    Sample,
    bootstrap_difference,
    bootstrap_mean,
    difference_interval,
    holm,
    mean_interval,
    welch,
    welch_of_averages,
)

Z = 5.0  # two-sided false alarm below 1e-6


def rejections(shift: float, repeats: int = 4000) -> int:
    rng = np.random.default_rng(1)
    one, other = rng.normal(0, 1, (repeats, 12)), rng.normal(shift, 3, (repeats, 20))
    return sum(welch(a, b) < 0.05 for a, b in zip(one, other, strict=True))


def z_of(count: int, chance: float, repeats: int) -> float:
    return (count - repeats * chance) / np.sqrt(repeats * chance * (1 - chance))


def test_welch_keeps_its_level_with_unequal_variances():
    assert abs(z_of(rejections(0.0), 0.05, 4000)) < Z


def test_a_true_difference_is_seen():  # the twin: the same count must fail
    assert abs(z_of(rejections(1.0), 0.05, 4000)) > Z


def covered(interval, sizes, spreads, repeats=2000):
    """How often an interval of samples of such sizes, all of mean 0, holds 0."""
    rng = np.random.default_rng(6)
    samples = [rng.normal(0, s, (repeats, n)) for n, s in zip(sizes, spreads, strict=True)]
    intervals = [interval(*rows) for rows in zip(*samples, strict=True)]
    return sum(low <= 0 <= high for low, high in intervals)


@pytest.mark.parametrize("count", range(2, 8))
def test_an_interval_of_few_values_covers_as_often_as_it_says(count, monkeypatch):
    monkeypatch.setattr("driftopt.report.statistics.RESAMPLES", 200)
    assert abs(z_of(covered(mean_interval, [count], [1.0]), 0.95, 2000)) < Z
    if count < 5:  # the twin
        assert z_of(covered(bootstrap_mean, [count], [1.0]), 0.95, 2000) < -Z


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3), (5, 5), (7, 7)])
def test_an_interval_of_the_difference_of_few_values_covers_as_often_as_it_says(sizes, monkeypatch):
    """Welch's may cover more, as his degrees of freedom are estimated; never less."""
    monkeypatch.setattr("driftopt.report.statistics.RESAMPLES", 200)
    assert -Z < z_of(covered(difference_interval, sizes, [1.0, 1.0]), 0.95, 2000) < 2 * Z
    if sizes[0] < 4:  # the twin
        assert z_of(covered(bootstrap_difference, sizes, [1.0, 1.0]), 0.95, 2000) < -Z


def test_few_values_have_students_and_welchs_interval():
    one, other = np.random.default_rng(7).normal(size=(2, 5)) * [[1.0], [4.0]]
    tested = stats.ttest_1samp(one, 0).confidence_interval()
    np.testing.assert_allclose(mean_interval(one), tested)
    tested = stats.ttest_ind(one, other[:4], equal_var=False).confidence_interval()
    np.testing.assert_allclose(difference_interval(one, other[:4]), tested)
    many = np.random.default_rng(8).normal(size=8)
    assert mean_interval(many) == bootstrap_mean(many)
    assert difference_interval(many, many + 1) == bootstrap_difference(many, many + 1)


def test_few_values_that_are_alike_or_not_finite():
    same = np.ones(3)
    assert mean_interval(same) == (1.0, 1.0)
    assert difference_interval(same, same) == (0.0, 0.0)
    for odd in (np.array([1.0]), np.array([1.0, np.inf])):
        assert np.isnan(mean_interval(odd)).all()
        assert np.isnan(difference_interval(same, odd)).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_keeps_the_order_and_equals_bonferroni_for_the_smallest(p_values):
    corrected = holm(p_values)
    assert all(c >= p for c, p in zip(corrected, p_values, strict=True))
    assert max(corrected) <= 1
    assert min(corrected) == pytest.approx(min(1, len(p_values) * min(p_values)))
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(corrected)[order]) >= 0).all()


def test_statistics_of_odd_samples():
    same, other = np.ones(4), np.full(4, 2.0)
    assert (welch(same, same), welch(same, other)) == (1.0, 0.0)
    assert np.isnan(welch(same, np.array([1.0, np.inf, 2.0])))
    assert np.isnan(welch(same, np.array([1.0])))
    assert np.isnan(bootstrap_difference(same, np.array([np.inf, 1.0])).low)
    assert np.isnan(holm([0.5, float("nan")])[1])
    a, b = np.random.default_rng(0).normal(size=(2, 9))
    assert welch(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)
    low, high = bootstrap_difference(a, b)
    assert low < a.mean() - b.mean() < high


def rejected_averages(shift: float, repeats: int = 3000) -> int:
    """Averages over three instances with their own levels, variances and sizes."""
    rng = np.random.default_rng(5)
    shapes = [(0.0, 1.0, 8), (5.0, 0.3, 12), (-2.0, 2.0, 20)]
    count = 0
    for _ in range(repeats):
        sides = [
            [rng.normal(level + side * shift, spread, size) for level, spread, size in shapes]
            for side in (0, 1)
        ]
        samples = [[Sample(v.mean(), v.std(ddof=1), len(v)) for v in side] for side in sides]
        count += welch_of_averages(*samples) < 0.05
    return count


def test_the_test_of_averages_keeps_its_level():
    assert abs(z_of(rejected_averages(0.0), 0.05, 3000)) < Z
    assert abs(z_of(rejected_averages(0.3), 0.05, 3000)) > Z  # the twin
