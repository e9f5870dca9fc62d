"""Before the start: what a search would reach and cost, from past values or from a few numbers."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from driftopt import checks
from driftopt.study import words
from driftopt.study.past import rows_of
from driftopt.study.records import DAY, moment

WIDE = 40  # characters of the picture
_FROM_MONDAY = 3  # the first day of the epoch was a Thursday


class Range(NamedTuple):
    """The middle of many simulated searches, and where nine of ten of them are."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Horizon:
    """What a search of so many days brings."""

    days: int
    gain: Range  # of each day afterwards, over the present decision; positive is better
    cost: Range  # of the whole search, against the present decision; negative is a gain
    ahead: float  # the probability that the search has paid for itself by then


@dataclass(frozen=True)
class Forecast:
    """What is known before the start."""

    unit: str  # of the value
    coordinates: int  # of a decision
    level: float  # of the value, today
    noise: float  # of a day, without its weekday and the drift
    drift: tuple[float, float] | None  # a day, with its standard error; None without past values
    weekdays: tuple[float, ...]  # what each is above the level, from Monday; empty without dates
    horizons: tuple[Horizon, ...]  # what a search of each length brings

    @property
    def lines(self) -> list[str]:
        """A table and a picture, for a terminal."""

        def money(amount: float) -> str:
            return words.money(amount, self.unit)

        share = f"{100 * self.noise / abs(self.level):.2g} %" if self.level else "no share"
        found = [f"level {money(self.level)} a day, noise {money(self.noise)} a day ({share} of it)"]
        if self.drift is not None:
            found.append(f"drift {words.money(self.drift[0], self.unit, self.drift[1])} a day")
        if self.weekdays:
            names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
            each = [f"{name} {money(one)}" for name, one in zip(names, self.weekdays, strict=True)]
            found.append(f"weekdays against the mean: {', '.join(each)}")
        found += ["", f"{'days':>5}  {'gain a day afterwards (90 %)':34}  {'cost of it (90 %)':38}  paid"]
        for one in self.horizons:
            gain = f"{money(one.gain.middle)} ({money(one.gain.low)} to {money(one.gain.high)})"
            cost = f"{money(one.cost.middle)} ({money(one.cost.low)} to {money(one.cost.high)})"
            found.append(f"{one.days:5}  {gain:34}  {cost:38}  {100 * one.ahead:.0f} %")
        low = min(0.0, *(one.gain.low for one in self.horizons))
        high = max(0.0, *(one.gain.high for one in self.horizons))
        if high > low:

            def place(value: float) -> int:
                return round((value - low) / (high - low) * (WIDE - 1))

            found += ["", f"gain a day, from {money(low)} to {money(high)}; ┃ the middle, ┊ no gain"]
            for one in self.horizons:
                bar = [" "] * WIDE
                bar[place(one.gain.low) : place(one.gain.high) + 1] = "─" * (
                    place(one.gain.high) + 1 - place(one.gain.low)
                )
                bar[place(0.0)], bar[place(one.gain.middle)] = "┊", "┃"
                found.append(f"{one.days:5}  {''.join(bar)}")
        return found


def forecast(
    past: str | os.PathLike[str] | Sequence[float] | None = None,
    *,
    coordinates: int,
    value: str = "value",
    level: float | None = None,
    noise: float | None = None,
    change: float | None = None,
    days: Sequence[int] = (30, 60, 120),
    unit: str = "",
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Forecast:
    """What a search would reach and cost, before it begins.

    Args:
        past: values from before, while the decision stood still: one for each day, or the path of a CSV file
            with a column of them, and with `date` for the weekdays.
        coordinates: how many numbers a decision has.
        value: that column's name.
        level: the value of a day, in the place of past values.
        noise: the standard deviation of a day, in the place of past values.
        change: how much better the best decision may be, as a share of the value; by default 0.25.
        days: when to look.
        unit: of the value, such as "€".
        seed: of the simulated searches.
        progress: is called with the share that is done.
    """
    from driftopt.model.forecast import Past  # SciPy
    from driftopt.model.forecast import forecast as played

    checks.one_count("coordinates", coordinates, most=50)
    ends = sorted({checks.one_count("days", one, most=400) for one in checks.several("days", days)})
    if not ends:
        raise ValueError("days must be at least one number of days")
    known = None
    if past is not None:
        if level is not None or noise is not None:
            raise ValueError("level and noise follow from the past values: leave them out")
        dates: list[int] | None = None
        if isinstance(past, str | os.PathLike):
            rows = [row for row in rows_of(past) if row.get(value) is not None]
            if not rows:
                raise ValueError(f"{past} has no column {value!r} with numbers: name it by value")
            numbers = [float(checks.finite(value, row[value])) for row in rows]
            if all("date" in row for row in rows):
                dates = [int(moment("date", row["date"]) // DAY) + _FROM_MONDAY for row in rows]
        else:
            numbers = checks.vector("past", past).tolist()
        known = Past.of(numbers, dates)
        level, noise = known.level, known.noise
    if level is None or noise is None:
        raise ValueError("past values are needed, or both level and noise")
    found = played(
        float(checks.finite("level", level)),
        float(checks.one_positive("noise", noise)),
        coordinates,
        ends,
        None if change is None else float(checks.one_positive("change", change)),
        checks.seed("seed", seed),
        progress,
    )
    return Forecast(
        unit,
        coordinates,
        level,
        noise,
        None if known is None else (known.drift.mean, known.drift.sd),
        () if known is None else known.weekdays,
        tuple(Horizon(one.days, Range(*one.gain), Range(*one.cost), one.ahead) for one in found),
    )
