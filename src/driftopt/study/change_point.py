"""An alarm where control has changed: a self-starting CUSUM on the values at the start.

Hawkins, "Self-starting CUSUM charts for location and scale", The Statistician 36 (1987). With m and s the
mean and standard deviation of the values before the n-th,

    U = Φ⁻¹(T_{n−2}(√((n − 1)/n) (y − m)/s))

is standard normal and independent from value to value as long as y is normal and nothing changes, whatever
its mean and spread. C⁺ = max(0, C⁺ + U − ½) and C⁻ = max(0, C⁻ − U − ½) sum up what is too high and too low;
an alarm is where one passes 8. U counts within ±3, so that one wild value is no change. One false alarm comes
in about 10,000 values, one in a hundred series of 100: a test counts them, for heavy tails too. Values must
be independent: neighbours that go together raise more. Written here because no maintained package that we
know has it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SHIFT, ALARM, WILD = 0.5, 8.0, 3.0
FIRST = 4  # values before the first that is judged


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
    """The first change of control values, in their order; None: there is no sign of one.

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
