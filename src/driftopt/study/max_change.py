"""How far apart two consecutive deployments can be, and the radius that keeps them within `max_change`.

O2NC with radius δ and reach D = δ/M queries y_t ± δu. Since y_t lies between x_{t−1} and x_t, and both
‖Δ_t‖, ‖Δ_{t+1}‖ ≤ D,

    ‖y_{t+1} − y_t‖ ≤ 2D,   so any two points of one iteration or of two neighbours are at most
    2δ + 2D = 2δ(1 + 1/M) apart,

in whatever order they are asked, and asked again. Folding into bounds never lengthens a distance.
"""

import numpy as np

from driftopt.study.spec import Spec

# Directions are unit vectors in float32: their length is 1 up to 1e-7.
_ROUNDING = 1 + 1e-6


def widest_radius(max_change: float, reach: float) -> float:
    """The largest δ with 2δ(1 + reach) ≤ max_change, where `reach` is D in radii, that is 1/M."""
    return max_change / (2 * (1 + reach) * _ROUNDING)


def check_radius(radius: float, max_change: float, reach: float) -> None:
    """A radius chosen by hand must keep the promise too."""
    widest = widest_radius(max_change, reach)
    if radius > widest:
        raise ValueError(
            f"radius {radius:g} moves consecutive deployments by up to {2 * radius * (1 + reach):g}, "
            f"more than max_change {max_change:g}: lower it to {widest:g} or leave it out"
        )


def excursion_allowed(spec: Spec, iterate: np.ndarray, center: np.ndarray, spread: float = 0.0) -> bool:
    """May points within `spread` of `center` be deployed between the method's own points?

    Those lie within δ + 2D of the present iterate x, before and after: the excursion must be within
    max_change of all of them, ‖center − x‖ + spread + δ + 2D ≤ max_change, and within itself.
    """
    if spec.max_change is None:
        return True
    away = spec.space.distance(center, iterate)
    span = away + spread + spec.radius + 2 * (spec.reach or 0.0)
    return max(span, 2 * spread) <= spec.max_change
