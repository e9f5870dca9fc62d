"""Means and standard errors that are finite whenever the values are: sums of huge numbers overflow."""

import numpy as np

LARGEST = float(np.finfo(float).max)


def mean(values: np.ndarray) -> np.ndarray:
    """The mean over the first axis, added up in order; if that overflows, of values divided first.

    >>> mean(np.array([1e308, 1e308, 1e308])) == 1e308
    np.True_
    """
    count = len(values)
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.add.reduce(values, axis=0) / count
        if np.isfinite(plain).all():
            return plain
        # By rounding, the parts of the largest number may add up to more.
        return within_range(np.add.reduce(values / count, axis=0))


def within_range(number: float | np.ndarray) -> np.ndarray:
    """The number, or the largest one of its sign if it has overflowed.

    >>> float(within_range(-np.inf))
    -1.7976931348623157e+308
    """
    return np.clip(number, -LARGEST, LARGEST)


def standard_error(values: np.ndarray) -> float:
    """s/√n of n ≥ 2 values, s² = Σ(y − ȳ)²/(n − 1).

    >>> standard_error(np.array([1e308, -1e308])) == 1e308
    True
    """
    with np.errstate(over="ignore", invalid="ignore"):
        plain = float(values.std(ddof=1) / np.sqrt(values.size))
    if np.isfinite(plain):
        return plain
    largest = float(np.abs(values).max())
    return min(float((values / largest).std(ddof=1) / np.sqrt(values.size)), 1.0) * largest
