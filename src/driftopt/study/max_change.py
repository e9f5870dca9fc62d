"""How far apart two consecutive deployments can be, and the radius that keeps them within `max_change`.

O2NC with radius δ and reach D = δ/M queries y_t ± δu. Since y_t lies between x_{t−1} and x_t, and both
‖Δ_t‖, ‖Δ_{t+1}‖ ≤ D,

    ‖y_{t+1} − y_t‖ ≤ 2D,   so any two points of one iteration or of two neighbours are at most
    2δ + 2D = 2δ(1 + 1/M) apart,

in whatever order they are asked, and asked again. The steps of a space lengthen distances by their slack, if
at all. So the method goes straight from one of its points to the next; what is farther off, control, the
recommendation or the way back, is gone to in steps (`approach.py`).
"""

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
