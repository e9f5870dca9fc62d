"""Welch's test, Holm's correction and intervals: a bold number without an interval misleads."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftopt import averages

RESAMPLES = 10_000
FEW = 8  # values; with fewer the bootstrap covers less than it states


class Interval(NamedTuple):
    """A range that holds the true value with the stated confidence."""

    low: float
    high: float


def welch(one: np.ndarray, other: np.ndarray) -> float:
    """p of Welch's two-sided test of equal means; NaN where a sample is not finite or too small.

    >>> round(welch(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])), 3)
    0.288
    """
    if min(len(one), len(other)) < 2 or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return float("nan")
    if np.ptp(one) == 0 and np.ptp(other) == 0:
        return 1.0 if one[0] == other[0] else 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # one side may be the same number in every run
        tested: Any = _laws().ttest_ind(one, other, equal_var=False)
    return float(tested.pvalue)


def mann_whitney(one: np.ndarray, other: np.ndarray) -> float:
    """p of the two-sided Mann–Whitney test of ranks, in which +inf ranks last; NaN for a single value.

    >>> round(mann_whitney(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, np.inf])), 3)
    0.1
    """
    if min(len(one), len(other)) < 2 or np.isnan([*one, *other]).any():
        return float("nan")
    if len({*one.tolist(), *other.tolist()}) == 1:
        return 1.0
    return float(_laws().mannwhitneyu(one, other, alternative="two-sided").pvalue)


def joint_test(values: np.ndarray) -> float:
    """p that all methods are as good, from values (instances, methods) of which the ranks count.

    Friedman's test, and for two methods the sign test.

    >>> round(joint_test(np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 7.0], [1.0, 4.0]])), 3)
    0.125
    """
    if values.shape[1] > 2:
        if all(len(set(row)) == 1 for row in values.tolist()):
            return 1.0
        return float(_laws().friedmanchisquare(*values.T).pvalue)
    lower, higher = (int((values[:, 0] < values[:, 1]).sum()), int((values[:, 0] > values[:, 1]).sum()))
    return float(_laws().binomtest(lower, lower + higher).pvalue) if lower + higher else 1.0


def ranks(values: np.ndarray) -> np.ndarray:
    """The ranks from 1 within each row; ties share their mean rank."""
    return np.asarray(_laws().rankdata(values, axis=1))


class Sample(NamedTuple):
    """A sample by its mean, standard deviation (ddof 1) and size."""

    mean: float
    deviation: float
    size: int


def welch_of_averages(ones: Sequence[Sample], others: Sequence[Sample]) -> float:
    """p of Welch's two-sided test of equal averages of independent samples' means; NaN if it is not defined.

    With one sample on each side it is Welch's test. The averages' variance is Σ s²/n over k², and its degrees
    of freedom are Satterthwaite's.

    >>> round(welch_of_averages([Sample(2, 1, 3)], [Sample(3, 1, 3)]), 3)
    0.288
    """
    samples = [(sample, len(side)) for side in (ones, others) for sample in side]
    if not all(s.size > 1 and np.isfinite([s.mean, s.deviation]).all() for s, _ in samples):
        return float("nan")
    apart = np.mean([s.mean for s in ones]) - np.mean([s.mean for s in others])
    variances = np.array([s.deviation**2 / s.size / k**2 for s, k in samples])
    if not variances.sum() > 0:
        return 1.0 if apart == 0 else 0.0
    freedom = variances.sum() ** 2 / sum(
        v**2 / (s.size - 1) for v, (s, _) in zip(variances, samples, strict=True)
    )
    return float(2 * _laws().t.sf(abs(apart) / np.sqrt(variances.sum()), freedom))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the chance of any false rejection stays below the level. NaN stays NaN.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    out = [float("nan")] * len(p_values)
    known = sorted((p, i) for i, p in enumerate(p_values) if np.isfinite(p))
    worst = 0.0
    for rank, (p, i) in enumerate(known):
        worst = max(worst, min(1.0, (len(known) - rank) * p))
        out[i] = worst
    return out


def mean_interval(values: np.ndarray, *, confidence: float = 0.95, seed: int = 0) -> Interval:
    """An interval for the mean: the bootstrap's, or Student's where there are fewer than 8 values.

    Means of resampled values stay within the range of the values, which is too short for few: the true mean
    lies between two normal values only half of the time. NaN for a single value, or one that is not finite.

    >>> [round(side, 2) for side in mean_interval(np.array([1.0, 2.0, 3.0]))]
    [-0.48, 4.48]
    """
    if not 1 < len(values) < FEW or not np.isfinite(values).all():
        return bootstrap_mean(values, confidence=confidence, seed=seed)
    mean, error = float(averages.mean(values)), averages.standard_error(values)
    return _student(mean, error, len(values) - 1, confidence)


def difference_interval(
    one: np.ndarray, other: np.ndarray, *, confidence: float = 0.95, seed: int = 0
) -> Interval:
    """An interval for mean(one) − mean(other): the bootstrap's, or Welch's for fewer than 8 values.

    Welch's is Student's with the standard error √(s₁²/n₁ + s₂²/n₂) and Satterthwaite's degrees of freedom.
    """
    sizes = len(one), len(other)
    if not 1 < min(sizes) < FEW or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return bootstrap_difference(one, other, confidence=confidence, seed=seed)
    errors = averages.standard_error(one), averages.standard_error(other)
    error, apart = float(np.hypot(*errors)), float(averages.mean(one) - averages.mean(other))
    shares = [(each / error) ** 2 if error > 0 else 0.5 for each in errors]
    freedom = 1 / sum(share**2 / (size - 1) for share, size in zip(shares, sizes, strict=True))
    return _student(apart, error, freedom, confidence)


def bootstrap_mean(values: np.ndarray, *, confidence: float = 0.95, seed: int = 0) -> Interval:
    """A bootstrap interval for the mean.

    The percentile interval is too short for small samples; the percentiles are widened so that for normal
    data it matches Student's: α' = Φ(−√(n/(n−1)) t_{n−1}(1 − α/2)) (Hesterberg's expanded percentiles). Below
    8 values that is not enough: `mean_interval`.
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return Interval(float("nan"), float("nan"))
    return _percentiles(_means(values, np.random.default_rng(seed)), len(values), confidence)


def bootstrap_difference(
    one: np.ndarray, other: np.ndarray, *, confidence: float = 0.95, seed: int = 0
) -> Interval:
    """A bootstrap interval for mean(one) − mean(other), the samples drawn independently."""
    if min(len(one), len(other)) < 2 or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return Interval(float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    differences = _means(one, rng) - _means(other, rng)
    return _percentiles(differences, min(len(one), len(other)), confidence)


def _laws() -> Any:
    """scipy.stats, loaded when it is needed: loading takes as long as loading JAX."""
    from scipy import stats

    return stats


def _student(mean: float, error: float, freedom: float, confidence: float) -> Interval:
    """Student's interval."""
    reach = float(_laws().t.ppf((1 + confidence) / 2, freedom)) * error
    return Interval(mean - reach, mean + reach)


def _means(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The means of resampled values."""
    return values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)


def _percentiles(draws: np.ndarray, count: int, confidence: float) -> Interval:
    """The expanded percentile interval."""
    quantile = _laws().t.ppf((1 + confidence) / 2, count - 1)
    tail = float(_laws().norm.cdf(-np.sqrt(count / (count - 1)) * quantile))
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(float(low), float(high))
