"""The band around the line through the values at the start: what the world does while the decision stands."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftopt.study.summary import DAY, drift
from driftopt.study.trial import Trial, at_start

_PLACES = 50  # at which the band is told


@dataclass(frozen=True)
class DriftBand:
    """The line, and two standard errors to either side, at times in seconds since the epoch."""

    at: list[float]
    level: list[float]
    low: list[float]
    high: list[float]
    slope: float  # a day


def drift_band(trials: Sequence[Trial]) -> DriftBand | None:
    """The band of `drift`; None where fewer than three values are told, or where it leaves all numbers.

    At the time t its half width is 2 √(s²/n + se_b² (t − t̄)²), with s² = se_b² Σ(t − t̄)², the residuals'
    variance.
    """
    found = drift(trials)
    if found is None or found.slope is None or found.slope_sem is None:
        return None
    days = (
        np.array(
            [t.asked_at for t in trials if at_start(t) and t.state == "complete" and t.value is not None]
        )
        / DAY
    )
    centred = days - days.mean()
    along = np.linspace(centred.min(), centred.max(), _PLACES)
    with np.errstate(over="ignore", invalid="ignore"):
        level = found.mean + found.slope * along
        error = 2 * abs(found.slope_sem) * np.sqrt(centred @ centred / len(days) + along**2)
        low, high = level - error, level + error
    if not np.isfinite([level, low, high]).all():
        return None
    at = (along + days.mean()) * DAY
    return DriftBand(at.tolist(), level.tolist(), low.tolist(), high.tolist(), found.slope)
