"""Seasons as covariates: the two numbers that say where in a period a moment lies."""

import math

from driftopt import checks


def season(period: float, at: float, name: str = "season") -> dict[str, float]:
    """Cosine and sine of the phase 2π·at/period, by name: what a season of any phase and size is made of.

    Args:
        period: how long the season is, in any unit: 52 for weeks of a year, 7 for days of a week.
        at: the moment, in the same unit: the number of the week, or of the day.
        name: what they are called; two seasons at once need two names.

    A study that is told them has the covariates `[*season(52, 0)]`; a sharper season wants the half period
    too, `season(26, at, "half")`.

    >>> {name: round(value, 3) for name, value in season(52, 8).items()}
    {'season cos': 0.568, 'season sin': 0.823}
    """
    phase = 2 * math.pi * checks.number("at", at) / checks.one_positive("period", period)
    if not math.isfinite(phase):
        raise ValueError(f"at must be a finite number, got {at!r}")
    return {f"{name} cos": math.cos(phase), f"{name} sin": math.sin(phase)}
