"""Bounds by reflection: a method moves freely in ℝ^d, and the point folded into the bounds is deployed.

f(fold(x)) is as Lipschitz as f, is not flat outside the bounds, and every queried point lies inside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from driftopt import checks
from driftopt.space.step import SpaceStep


@dataclass(frozen=True, eq=False)
class Bounds(SpaceStep):
    """lower ≤ x ≤ upper, coordinate by coordinate; an infinite side is open."""

    name: ClassVar[str] = "bounds"

    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def parse(cls, given: Any, start: np.ndarray, before: Sequence[SpaceStep] = ()) -> Self | None:
        """From pairs (low, high), None meaning open, or from scipy's Bounds."""
        if given is None:
            return None
        lower, upper = _sides(given, start.size)
        if not (lower < upper).all():
            raise ValueError(
                f"bounds: every lower bound must be below its upper bound; got {lower} and {upper}"
            )
        outside = np.flatnonzero((start < lower) | (start > upper))
        if outside.size:
            each = [f"coordinate {i}: {start[i]:.15g}, not {lower[i]:g} to {upper[i]:g}" for i in outside[:8]]
            raise ValueError(f"x0 is outside the bounds in {'; '.join(each)}")
        return cls(lower, upper)

    @property
    def given(self) -> list[list[float | None]]:
        sides = (
            [side if np.isfinite(side) else None for side in s.tolist()] for s in (self.lower, self.upper)
        )
        return [list(pair) for pair in zip(*sides, strict=True)]

    @cached_property
    def widths(self) -> np.ndarray:
        return self.upper - self.lower

    def begin(self, point: np.ndarray, radius: Any) -> np.ndarray:
        """The point, moved half a trial's reach, radius/√d, away from every bound that is nearer.

        On a bound, both points of a pair are folded onto one, and their difference is 0.

        >>> Bounds(np.zeros(2), np.array([50.0, np.inf])).begin(np.array([0.0, 9.0]), 2**0.5 * 5)
        array([2.5, 9. ])
        """
        away = np.minimum(radius / (2 * np.sqrt(point.size)), self.widths / 4)
        return np.clip(point, self.lower + away, self.upper - away)

    def toward(self, here: np.ndarray, point: np.ndarray) -> np.ndarray:
        return np.clip(point, self.lower, self.upper)

    def legal(self, decisions: np.ndarray, centre: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.clip(decisions, self.lower, self.upper)

    def deploy(self, points: np.ndarray, draw: Sequence[int] = ()) -> np.ndarray:
        """The points, reflected into the bounds as often as needed; a point inside is unchanged.

        >>> Bounds(np.zeros(1), np.ones(1)).deploy(np.array([[-0.25], [0.5], [1.25], [2.25]])).ravel()
        array([0.25, 0.5 , 0.75, 0.25])
        """
        inside = (points >= self.lower) & (points <= self.upper)
        if inside.all():
            return points
        width, low, high = self.widths, np.isfinite(self.lower), np.isfinite(self.upper)
        with np.errstate(invalid="ignore", over="ignore"):
            within = np.mod(points - self.lower, 2 * width)
            both = self.lower + width - np.abs(within - width)
            above = self.lower + np.abs(points - self.lower)
            below = self.upper - np.abs(self.upper - points)
        folded = np.where(low & high, both, np.where(low, above, np.where(high, below, points)))
        return np.where(inside, points, np.clip(folded, self.lower, self.upper))


def _sides(bounds: Any, dim: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        if hasattr(bounds, "lb"):  # scipy's Bounds, which we need not import to recognise
            lower, upper = np.asarray(bounds.lb, float), np.asarray(bounds.ub, float)
            return np.broadcast_to(lower, (dim,)), np.broadcast_to(upper, (dim,))
        pairs: list[Any] = list(bounds) if np.iterable(bounds) else []
        if len(pairs) == dim and all(np.shape(pair) == (2,) for pair in pairs):
            lower = np.array([-np.inf if low is None else low for low, _ in pairs], float)
            return lower, np.array([np.inf if high is None else high for _, high in pairs], float)
    except (TypeError, ValueError):
        pass  # refused below, with the user's value
    raise ValueError(
        f"bounds must be {dim} pairs (low, high), one for each coordinate of x0; got {checks.brief(bounds)}"
    )
