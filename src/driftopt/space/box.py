"""Bounds by reflection: a method walks freely in ℝ^d, the world sees the point folded into the box.

f(fold(x)) is as Lipschitz as f, has no flat outside, and every queried point lies inside the bounds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt import checks


@dataclass(frozen=True)
class Box:
    """lower ≤ x ≤ upper, coordinate by coordinate; an infinite side is open."""

    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def parse(cls, bounds: Any, dim: int) -> "Box | None":
        """From pairs (low, high), None meaning open, from scipy's Bounds, or from None: no box."""
        if bounds is None:
            return None
        if hasattr(bounds, "lb"):
            lower = np.broadcast_to(np.asarray(bounds.lb, float), (dim,))
            upper = np.broadcast_to(np.asarray(bounds.ub, float), (dim,))
        else:
            pairs: list[Any] = list(bounds) if np.iterable(bounds) else []
            if len(pairs) != dim or any(np.shape(pair) != (2,) for pair in pairs):
                raise ValueError(
                    f"bounds must be {dim} pairs (low, high), one for each coordinate; got {bounds!r}"
                )
            lower = np.array([-np.inf if low is None else low for low, _ in pairs], float)
            upper = np.array([np.inf if high is None else high for _, high in pairs], float)
        if not (lower < upper).all():
            raise ValueError(f"every lower bound must be below its upper bound; got {lower} and {upper}")
        return cls(lower, upper)

    def check(self, x0: np.ndarray) -> np.ndarray:
        """The start must be inside."""
        outside = np.flatnonzero((x0 < self.lower) | (x0 > self.upper))
        if outside.size:
            raise ValueError(f"x0 is outside the bounds in coordinate {', '.join(map(str, outside))}: {x0}")
        return checks.vector("x0", x0)

    def fold(self, points: np.ndarray) -> np.ndarray:
        """Reflect into the box as often as needed; a point inside stays as it is, to the bit.

        >>> Box(np.zeros(1), np.ones(1)).fold(np.array([[-0.25], [0.5], [1.25], [2.25]])).ravel()
        array([0.25, 0.5 , 0.75, 0.25])
        """
        inside = (points >= self.lower) & (points <= self.upper)
        if inside.all():
            return np.array(points)
        width = self.upper - self.lower
        with np.errstate(invalid="ignore", over="ignore"):
            within = np.mod(points - self.lower, 2 * width)
            both = self.lower + width - np.abs(within - width)
            above = self.lower + np.abs(points - self.lower)
            below = self.upper - np.abs(self.upper - points)
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        folded = np.where(low & high, both, np.where(low, above, np.where(high, below, points)))
        return np.where(inside, points, np.clip(folded, self.lower, self.upper))
