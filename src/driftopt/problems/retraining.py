"""The stable point of a linear classifier under retraining, found numerically.

A decision x is stable if no other z has a lower mean loss on the data of x. Its retraining gap measures
the distance from that, in units of the loss:

    gap(x) = E F(x; ξ) − min_z E F(z; ξ),  ξ ~ Ξ(x)

People jump when the classifier passes them, so the gap is not continuous in x, and a finite population
need not have a decision with a gap of exactly 0. `retrained` looks for a small one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

ROUNDS = 40
NEWTON = 60  # steps for one minimum, most of them never taken
WIDTHS = (0.3, 0.1, 0.03, 0.01, 0.003)  # of the parabola that rounds the hinge's corner, one after the other

Losses = tuple[np.ndarray, np.ndarray, np.ndarray]  # of the margins: the loss, its slope, its curvature


class Rest(NamedTuple):
    """The decision with the smallest retraining gap of the search."""

    x: np.ndarray
    gap: float


def retrained(respond: Callable[[np.ndarray], np.ndarray], labels: np.ndarray, loss: str, start: Any) -> Rest:
    """Retrain on the data of the last decision, in steps that grow shorter, and keep the best at rest.

    Args:
        respond: features (n, k) after the response to a decision (w, b).
        labels: ±1, (n,).
        loss: "hinge" or "logistic".
        start: the first decision, (k + 1,).
    """
    x = np.asarray(start, float)
    best = Rest(x, np.inf)
    for count in range(ROUNDS):
        rows = labels[:, None] * np.column_stack([respond(x), np.ones(len(labels))])
        answer = _answer(rows, loss, x)
        gap = _mean(rows @ x, loss) - _mean(rows @ answer, loss)
        if gap < best.gap:
            best = Rest(x, float(max(gap, 0)))
        x = x + (answer - x) / (1 + count / 5)
    return best


def _answer(rows: np.ndarray, loss: str, x: np.ndarray) -> np.ndarray:
    """argmin_z of the mean loss of the margins rows @ z."""
    if loss == "logistic":
        return _newton(rows, x, _logistic)
    for width in WIDTHS:
        x = _newton(rows, x, lambda margin, width=width: _rounded_hinge(margin, width))
    return x


def _newton(rows: np.ndarray, x: np.ndarray, losses: Callable[[np.ndarray], Losses]) -> np.ndarray:
    """Newton's method with step halving on a convex mean loss."""
    for _ in range(NEWTON):
        value, slope, curvature = losses(rows @ x)
        gradient = rows.T @ slope / len(rows)
        hessian = (rows.T * curvature) @ rows / len(rows) + 1e-9 * np.eye(len(x))
        move, length = np.linalg.solve(hessian, -gradient), 1.0
        promised = float(gradient @ move)
        while losses(rows @ (x + length * move))[0].mean() > value.mean() + 1e-4 * length * promised:
            length /= 2
            if length < 1e-10:
                return x
        x = x + length * move
        if -promised < 1e-13:
            return x
    return x


def _mean(margin: np.ndarray, loss: str) -> float:
    """The mean of the plain loss."""
    each = np.maximum(1 - margin, 0) if loss == "hinge" else np.logaddexp(-margin, 0)
    return float(each.mean())


def _logistic(margin: np.ndarray) -> Losses:
    share = np.exp(-np.logaddexp(margin, 0))
    return np.logaddexp(-margin, 0), -share, share * (1 - share)


def _rounded_hinge(margin: np.ndarray, width: float) -> Losses:
    """max(0, 1 − m), with a parabola where |1 − m| < width: above the hinge by at most width/4."""
    short = 1 - margin
    inside = np.abs(short) < width
    value = np.where(inside, (short + width) ** 2 / (4 * width), np.maximum(short, 0))
    slope = np.where(inside, -(short + width) / (2 * width), np.where(short > 0, -1.0, 0.0))
    return value, slope, np.where(inside, 1 / (2 * width), 0.0)
