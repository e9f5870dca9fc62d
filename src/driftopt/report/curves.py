"""Curves of an objective over queries: means and bands of many runs, and the panel for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Recorded = tuple[np.ndarray, np.ndarray]  # one run: queries, objective


@dataclass(frozen=True)
class Curve:
    """Mean and mean ± one standard deviation of the runs at each count of queries; NaN if any diverged."""

    queries: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Panel:
    """One instance: each method's curve, the best known value or None, and the range to show."""

    title: str
    curves: Mapping[str, Curve]
    best: float | None
    limits: tuple[float, float]


def average(runs: Sequence[Recorded | None], start: float | None = None) -> Curve:
    """The mean curve of runs evaluated at the same counts; `start` is the value at 0 queries."""
    recorded = [run for run in runs if run is not None]
    queries, values = recorded[0][0], np.stack([curve for _, curve in recorded]).astype(float)
    if start is not None:
        queries = np.concatenate([[0], queries])
        values = np.concatenate([np.full((len(values), 1), start), values], axis=1)
    # A method whose iteration is long moves rarely: drop the repeats, keep the last.
    keep = np.append(np.diff(queries) > 0, True)
    queries, values = queries[keep], values[:, keep]
    finite = np.isfinite(values).all(axis=0)
    values = np.where(finite, values, np.nan)
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(values) - 1))
    return Curve(queries, mean, mean - spread, mean + spread)


def limits(
    curves: Mapping[str, Curve], best: float | None, start: float | None = None
) -> tuple[float, float]:
    """The range to show: from below the best known value to a little above the common start.

    Curves that blow up leave the panel. Without a start the highest band sets the top; without a best known
    value the lowest mean sets the bottom.
    """
    means = _finite([curve.mean for curve in curves.values()])
    tops = _finite([curve.high for curve in curves.values()] if start is None else [np.array([start])])
    known = [] if best is None else [float(best)]
    low: float = min([*means, *known], default=0.0)
    high = max(tops, default=low + 1)
    height = high - low if high > low else 1.0
    return low - 0.1 * height, low + 1.12 * height


def _finite(arrays: Sequence[np.ndarray]) -> list[float]:
    return [float(value) for array in arrays for value in array if np.isfinite(value)]
