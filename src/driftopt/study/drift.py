"""How the world moves while the decision stays: values at the baseline over time.

`change` raises an alarm by a self-starting CUSUM (Hawkins, "Self-starting CUSUM charts for location and
scale", The Statistician 36, 1987). With m and s the mean and standard deviation of the first n − 1 values,

    U = Φ⁻¹(T_{n−2}(√((n − 1)/n) (y − m)/s))

is standard normal and independent from value to value as long as y is normal and nothing changes, whatever
its mean and spread. C⁺ = max(0, C⁺ + U − ½) and C⁻ = max(0, C⁻ − U − ½) sum up what is too high and too low;
an alarm is where one passes 8. U counts within ±3, so that one outlier does not count as a change. One false
alarm comes in about 10,000 values, one in a hundred series of 100. Values must be independent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftopt import averages
from driftopt.study.trial import Trial, at_start
from driftopt.study.words import DAY

SHIFT, ALARM, WILD = 0.5, 8.0, 3.0
FIRST = 4  # values before the first that is judged
_HUGE = 1e100  # squares of larger numbers may overflow
_PLACES = 50  # at which the band is known


@dataclass(frozen=True)
class Drift:
    """How the world moves while the decision stands still: values at the start over time."""

    n: int
    mean: float
    slope: float | None  # per day
    slope_sem: float | None


@dataclass(frozen=True)
class DriftBand:
    """The line, and two standard errors to either side, at times in seconds since the epoch."""

    at: list[float]
    level: list[float]
    low: list[float]
    high: list[float]
    slope: float  # a day


def drift(trials: Sequence[Trial]) -> Drift | None:
    """Least squares of the start's values on time: y = a + b t, with the standard error of b.

    b = Σ(t − t̄)(y − ȳ) / Σ(t − t̄)²,   se² = Σ residual² / ((n − 2) Σ(t − t̄)²)

    Huge values are measured in units of the largest, so that no sum or square overflows.
    """
    told = [t for t in trials if t.state == "complete" and t.value is not None and at_start(t)]
    if not told:
        return None
    days = np.array([t.asked_at for t in told]) / DAY
    told_values = np.array([t.value for t in told], dtype=np.float64)
    mean = float(averages.mean(told_values))
    centred = days - days.mean()
    width = float(centred @ centred)
    if len(told) < 3 or width == 0:
        return Drift(len(told), mean, None, None)
    largest = float(np.abs(told_values).max())
    unit = largest if largest > _HUGE else 1.0
    values = told_values / unit
    with np.errstate(over="ignore"):
        slope = centred @ (values - values.mean()) / width
        residual = values - values.mean() - slope * centred
        error = np.sqrt(residual @ residual / ((len(told) - 2) * width))
        return Drift(len(told), mean, *(float(averages.within_range(unit * b)) for b in (slope, error)))


def drift_band(trials: Sequence[Trial]) -> DriftBand | None:
    """The band of `drift`; None for fewer than three values, or where it overflows.

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


@dataclass(frozen=True)
class ChangePoint:
    """Since when control is other than before."""

    began: int  # the number of the first value, from 0, that belongs to the change, as far as can be told
    noticed: int
    higher: bool
    before: float  # the mean until then
    after: float

    @property
    def words(self) -> str:
        """In words."""
        way = "higher" if self.higher else "lower"
        return (
            f"the world has changed: values at the start are {way} since control {self.began + 1}, "
            f"{self.after:.4g} on average after {self.before:.4g} before"
        )


def change(values: Sequence[float]) -> ChangePoint | None:
    """The first change of control values, in their order; None: there is none.

    >>> steady = [1.0, 1.2, 0.9, 1.1, 1.0, 0.8, 1.1, 1.0, 1.1, 0.9]
    >>> change(steady) is None
    True
    >>> change([*steady, *(value + 1 for value in steady)]).began
    10
    """
    from scipy import special  # scipy.stats has the same functions, and takes a second to import

    told = np.array(values, np.float64)
    if len(told) <= FIRST:
        return None
    unit = float(np.abs(told).max()) or 1.0  # squares must not overflow
    scaled = told / unit
    sums, begun = [0.0, 0.0], [FIRST, FIRST]
    mean, squares = float(scaled[:FIRST].mean()), float(scaled[:FIRST].var() * FIRST)
    for n in range(FIRST, len(told)):
        apart, spread = float(scaled[n]) - mean, math.sqrt(squares / (n - 1))
        mean += apart / (n + 1)
        squares += apart * (float(scaled[n]) - mean)
        if spread == 0:
            continue
        t = math.sqrt(n / (n + 1)) * apart / spread
        score = float(np.clip(special.ndtri(special.stdtr(n - 1, t)), -WILD, WILD))
        for side, sign in enumerate((1.0, -1.0)):
            if sums[side] == 0.0:
                begun[side] = n
            sums[side] = max(0.0, sums[side] + sign * score - SHIFT)
            if sums[side] > ALARM:
                at = begun[side]
                means = float(told[:at].mean()), float(told[at:].mean())
                return ChangePoint(at, n, side == 0, *means)
    return None
