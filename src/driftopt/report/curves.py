"""Curves of an objective over queries: means and bands of many runs, their panel, and their styles.

A style is a colour, a dash and a marker, which distinguish 24 curves. The eight colours are Okabe and Ito's,
a little darker where theirs fade on white; readers with any colour vision can distinguish them. The next
eight methods have the same colours dashed, the next eight dotted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Recorded = tuple[np.ndarray, np.ndarray]  # one run: queries, objective

COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#d98e00", "#3fa2dc", "#8f8f8f", "#8c6d31")
DASHES = ("", "6 3", "1.5 3")  # as SVG writes them: drawn, left out
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # matplotlib's names


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
    means = [float(v) for curve in curves.values() for v in curve.mean if np.isfinite(v)]
    highs = [v for curve in curves.values() for v in curve.high] if start is None else [start]
    known = [] if best is None else [float(best)]
    low: float = min([*means, *known], default=0.0)
    high = max((float(v) for v in highs if np.isfinite(v)), default=low + 1)
    height = high - low if high > low else 1.0
    return low - 0.1 * height, low + 1.12 * height


@dataclass(frozen=True)
class Style:
    """A colour, a dash pattern in points (empty for a solid line) and a marker."""

    colour: str
    dash: str = ""
    marker: str = "o"


STYLES = tuple(
    Style(colour, dash, MARKERS[(k + shift) % len(MARKERS)])
    for shift, dash in enumerate(DASHES)
    for k, colour in enumerate(COLOURS)
)


def assign(methods: Sequence[str], fixed: Mapping[str, Style] | None = None) -> dict[str, Style]:
    """A style for each method: its fixed one, or the next free one; up to 24 methods have different styles.

    >>> styles = assign(["mine", "zo-og"], {"zo-og": STYLES[0]})
    >>> styles["zo-og"] == STYLES[0], styles["mine"] == STYLES[1]
    (True, True)
    """
    chosen = {method: style for method, style in (fixed or {}).items() if method in methods}
    free = [style for style in STYLES if style not in chosen.values()]
    others = [method for method in methods if method not in chosen]
    given = {method: (free or STYLES)[k % len(free or STYLES)] for k, method in enumerate(others)}
    return {method: chosen.get(method) or given[method] for method in methods}
