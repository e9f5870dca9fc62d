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


def grid_of(budget: int, every: int) -> np.ndarray:
    """The counts of queries at which curves are shown: 0, each multiple of `every`, and the budget.

    >>> grid_of(10, 4)
    array([ 0,  4,  8, 10])
    """
    return np.unique([*range(0, budget, every), budget])


def on_grid(run: Recorded, grid: np.ndarray, start: float) -> np.ndarray:
    """The objective at the grid's counts: that of the last evaluation up to there, and before any the start.

    Methods are evaluated between their iterations, so at other counts each.

    >>> on_grid((np.array([3, 8]), np.array([0.5, 0.25])), grid_of(10, 4), 1.0)
    array([1.  , 0.5 , 0.25, 0.25])
    """
    at, values = run
    return np.concatenate([[start], values])[np.searchsorted(at, grid, side="right")]


def average(runs: Sequence[Recorded | None], grid: np.ndarray, start: float) -> Curve:
    """The mean curve of runs on the grid; `start` is the value at 0 queries."""
    values = np.stack([on_grid(run, grid, start) for run in runs if run is not None])
    values = np.where(np.isfinite(values).all(axis=0), values, np.nan)
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(values) - 1))
    return Curve(grid, mean, mean - spread, mean + spread)


def limits(curves: Mapping[str, Curve], best: float | None) -> tuple[float, float]:
    """The range to show: from below the best known value to a little above the common start.

    Curves that blow up leave the panel. Without a best known value the lowest mean sets the bottom.
    """
    means = [float(v) for curve in curves.values() for v in curve.mean if np.isfinite(v)]
    starts = [float(curve.mean[0]) for curve in curves.values() if np.isfinite(curve.mean[0])]
    known: list[float] = [] if best is None else [float(best)]
    low: float = min([*means, *known], default=0.0)
    high = max(starts, default=low + 1)
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


# These methods look the same in every picture, and the default is the strongest.
NAMED = {
    "auto": STYLES[0],
    "model": Style(COLOURS[0], DASHES[1], "o"),
    "walk": Style(COLOURS[0], DASHES[2], "o"),
    "zo-o2nc-2pt": STYLES[1],
    "zo-o2nc-1pt": STYLES[5],
    "zo-ga": STYLES[2],
    "zo-sph": STYLES[3],
    "zo-og": STYLES[4],
    "zo-co": STYLES[6],
}


def assign(methods: Sequence[str]) -> dict[str, Style]:
    """A style for each method: its own, or the next free one; up to 24 methods have different styles.

    >>> styles = assign(["mine", "auto"])
    >>> styles["auto"] == STYLES[0], styles["mine"] == STYLES[1]
    (True, True)
    """
    chosen = {method: NAMED[method] for method in methods if method in NAMED}
    free = [style for style in STYLES if style not in chosen.values()]
    others = [method for method in methods if method not in chosen]
    given = {method: (free or STYLES)[k % len(free or STYLES)] for k, method in enumerate(others)}
    return {method: chosen.get(method) or given[method] for method in methods}
