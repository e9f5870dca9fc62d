"""Numbers, times and leases as a person reads them on the pages of a study."""

import datetime
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape
from typing import Any

import numpy as np

from driftopt import averages
from driftopt.report import formats
from driftopt.report.numbers import MINUS, fixed, significant
from driftopt.report.table import Row, Table, cells
from driftopt.space.grid import DecisionGrid
from driftopt.study.records import StudySpec

DAY = 86400.0
_SPANS = ((DAY, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))
_BARS = "▁▂▃▄▅▆▇█"
_MOST_DECIMALS = 9
_LONG = 1e9  # numbers from here on are written with an exponent
_NAME = 19  # characters of a name on a line with others
_IN_LINE = 6  # coordinates on one line
_FINEST = 12  # decimals of a grid's step that are looked at


def money(mean: float, unit: str = "", error: float | None = None) -> str:
    """An amount as people write it, with as many digits as its error leaves sure.

    >>> money(2345.3, "€", 211.0), money(-4.26, "$"), money(0.1234, "kWh", 0.012), money(1234567.0)
    ('€2,350 ± 210', '−$4.26', '0.123 ± 0.012 kWh', '1,230,000')
    """
    if not math.isfinite(mean):
        return significant(mean)
    sure = error is not None and math.isfinite(error)
    size = float(error or 0.0) if sure and error else abs(mean) / 10
    places = 1 - math.floor(math.log10(size)) if 0 < size < 1e300 else 0
    places = max(min(places, 12), -300)
    figure = f"{abs(round(mean, places)):,.{max(places, 0)}f}"
    figure += f" ± {round(float(error or 0.0), places):,.{max(places, 0)}f}" if sure else ""
    sign = MINUS if round(mean, places) < 0 else ""
    return f"{sign}{unit}{figure}" if unit in ("€", "$", "£") else f"{sign}{figure} {unit}".rstrip()


def plain(value: float) -> str:
    """A number in at most four digits, without an exponent where people write none.

    >>> plain(12345.678), plain(0.05), plain(9.99)
    ('12,350', '0.05', '9.99')
    """
    if not math.isfinite(value) or not 1e-6 < abs(value) < 1e15:
        return significant(value, 4)
    places = max(3 - math.floor(math.log10(abs(value))), -15)
    figure = f"{round(value, places):,.{max(places, 0)}f}".replace("-", MINUS)
    return figure.rstrip("0").rstrip(".") if "." in figure else figure


def span(seconds: float) -> str:
    """A length of time, to the nearest: two days or more in days, two hours or more in hours, and so on.

    >>> span(2.7 * 86400), span(1.5 * 86400), span(86399.9), span(3600), span(0.2)
    ('3 days', '36 hours', '1 day', '1 hour', 'less than a second')
    """
    for (unit, name), (finer, _) in zip(_SPANS, (*_SPANS[1:], _SPANS[-1]), strict=True):
        near = math.floor(seconds / finer + 0.5) * finer  # so that a moment less than a day is one
        count = math.floor(near / unit + 0.5)
        if near == unit or near >= 2 * unit:
            return f"{count:,} {name}{'' if count == 1 else 's'}"
    return "less than a second"


def lease(expires_at: float | None, now: float) -> str:
    """How long a deployment may still be out.

    >>> lease(7 * 86400.0, 0.1), lease(0.0, 7200.0), lease(None, 0.0)
    ('7 days left', '2 hours overdue', 'no end')
    """
    if expires_at is None:
        return "no end"
    left = expires_at - now
    return f"{span(left)} left" if left > 0 else f"{span(-left)} overdue"


def ago(at: float, now: float) -> str:
    """How long ago a moment was; one that another machine's clock has put into the future is said to be.

    >>> ago(0.0, 86400.0), ago(0.2, 0.0), ago(5 * 86400.0, 0.0)
    ('1 day ago', 'less than a second ago', '5 days ahead of this clock')
    """
    return f"{span(at - now)} ahead of this clock" if at - now >= 1 else f"{span(max(0.0, now - at))} ago"


def of_budget(spent: int, budget: int | None) -> str:
    """How much of a budget is spent.

    >>> of_budget(3, 60), of_budget(1, None)
    ('3 of 60 deployments', '1 deployment')
    """
    return f"{spent} deployment{'s' * (spent != 1)}" if budget is None else f"{spent} of {budget} deployments"


def date(at: float) -> str:
    """The day, in UTC, of seconds since the epoch.

    >>> date(0.0)
    '1970-01-01'
    """
    return moment(at).strftime("%Y-%m-%d")


def days(first: float, last: float) -> str:
    """From one moment to another, by the calendar.

    >>> days(0.0, 0.0), days(0.0, 3 * 86400.0)
    ('1970-01-01 (UTC)', '1970-01-01 to 1970-01-04 (UTC), 3 days')
    """
    if date(first) == date(last):
        return f"{date(first)} (UTC)"
    return f"{date(first)} to {date(last)} (UTC), {span(last - first)}"


def moment(at: float) -> datetime.datetime:
    """Seconds since the epoch as a time in UTC; the nearest that a calendar has."""
    first, last = -62135596800.0, 253402300799.0  # the years 1 and 9999
    zero = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return zero + datetime.timedelta(seconds=min(max(at, first), last))


def fold(values: Sequence[float], most: int) -> list[float]:
    """The values, oldest first, as the means of at most so many stretches of about the same length.

    >>> fold([1.0, 3.0, 5.0, 7.0], 2)
    [2.0, 6.0]
    """
    if not values:
        return []
    parts = np.array_split(np.asarray(values, dtype=np.float64), min(most, len(values)))
    return [float(averages.mean(part)) for part in parts]


def sparkline(values: Sequence[float]) -> str:
    """A bar for each value, between the least and the largest.

    >>> sparkline([0.0, 1.0, 2.0]), sparkline([5.0, 5.0])
    ('▁▅█', '▄▄')
    """
    if not values:
        return ""
    halves = [value / 2 for value in values]  # so that no difference overflows
    low, wide = min(halves), max(halves) - min(halves)
    if wide == 0:
        return "▄" * len(values)
    return "".join(_BARS[min(7, int((value - low) / wide * 8))] for value in halves)


def decimals(spec: StudySpec, x: Any) -> list[int]:
    """Decimals with which each coordinate is read.

    On a grid, the grid's; else two digits of what a trial changes, radius / √d in the coordinate's unit, or
    of the change from the start where that is smaller, down to a tenth.
    """
    grid = next((step for step in spec.space.steps if isinstance(step, DecisionGrid)), None)
    shown: list[int] = []
    for i, (value, start) in enumerate(zip(x, spec.x0, strict=True)):
        if grid is not None and grid.steps[i] > 0:
            shown.append(max(_written(grid.steps[i]), _written(grid.origin[i])))
        else:
            trial = spec.units[i] / math.sqrt(spec.dim)
            size = max(min(abs(value - start) or trial, trial), trial / 10)
            shown.append(min(_MOST_DECIMALS, max(0, 1 - math.floor(math.log10(size)))) if size > 0 else 0)
    return shown


def _written(number: float) -> int:
    """How many decimals a number is written with, up to the error of its last bits."""
    exponent = Decimal(repr(round(float(number), _FINEST))).normalize().as_tuple().exponent
    return min(_MOST_DECIMALS, max(0, -exponent)) if isinstance(exponent, int) else 0


def price(value: float, places: int, *, sign: bool = False) -> str:
    """A coordinate with so many decimals; one too long for that with six digits.

    >>> price(2.5, 2), price(-0.25, 2, sign=True), price(3e20, 2)
    ('2.50', '−0.25', '3e+20')
    """
    return significant(value, 6) if abs(value) >= _LONG else fixed(value, places, sign=sign)


def as_typed(spec: StudySpec, x: Iterable[float]) -> list[str]:
    """Each coordinate with the digits that matter, as one would type it.

    Nine of them where it stands in a constraint and on no grid: what is typed must keep a sum of shares too.
    """
    values, places = list(x), decimals(spec, list(x))
    rows = np.asarray(spec.steps.get("constraints", {}).get("A", np.zeros((0, spec.dim))))
    grid = next((step for step in spec.space.steps if isinstance(step, DecisionGrid)), None)
    free = np.ones(spec.dim, bool) if grid is None else grid.steps == 0
    bound = rows.any(axis=0) & free
    return [
        (significant(value, 9) if fine else price(value, few)).replace("−", "-")
        for value, few, fine in zip(values, places, bound, strict=True)
    ]


def most_changed(spec: StudySpec, x: Any, most: int) -> list[int]:
    """The coordinates of a decision to show: all, in order; or those farthest from the start, first.

    Each is measured in its unit.
    """
    if spec.dim <= most:
        return list(range(spec.dim))
    units = np.asarray(spec.units)
    with np.errstate(over="ignore"):
        far = np.abs(np.asarray(x) / units - np.asarray(spec.x0) / units)
    return [int(i) for i in np.argsort(-far, kind="stable")[:most]]


def short(name: str, most: int = _NAME) -> str:
    """A name that leaves room for others on its line.

    >>> short("tea"), short("a name that does not end")
    ('tea', 'a name that does n…')
    """
    return name if len(name) <= most else name[: most - 1] + "…"


def effect(size: float, known: int) -> str:
    """What a covariate explains.

    >>> effect(0.25, 40), effect(0.0, 1)
    ('0.25 for one more of it, from 40 answers', 'explains nothing so far, from 1 answer')
    """
    what = f"{significant(size, 3)} for one more of it" if size else "explains nothing so far"
    return f"{what}, from {known} answer{'s' * (known != 1)}"


def decision(spec: StudySpec, x: Any, most: int = 6) -> str:
    """A decision on one line; of a long one, what is farthest from the start."""
    places, chosen = decimals(spec, x), most_changed(spec, x, most)
    parts = [f"{short(spec.names[i])} {price(float(x[i]), places[i])}" for i in chosen]
    more = [f"… and {spec.dim - len(chosen)} more"] if spec.dim > len(chosen) else []
    return ", ".join(parts + more)


def row(start: float, here: float, places: int) -> tuple[str, str, str]:
    """A coordinate at the start, where it is recommended, and the change: all with the same decimals.

    >>> row(2.5, 2.75, 2), row(1.0, 1.0, 2)
    (('2.50', '2.75', '+0.25'), ('1.00', '1.00', '0'))
    """
    change = "0" if here == start else price(here - start, places, sign=True)
    return price(start, places), price(here, places), change


def number(value: float) -> str:
    """A value or a coordinate, with the digits that people read."""
    return significant(value, 6)


def plainly(names: Sequence[str], x: Iterable[float]) -> str:
    """A decision on one line; of a long one, the beginning.

    >>> plainly(["tea", "oil"], [2.5, -1.0])
    'tea 2.5, oil −1'
    """
    parts = [f"{name} {number(value)}" for name, value in zip(names, x, strict=True)]
    more = [f"and {len(parts) - _IN_LINE} more"] if len(parts) > _IN_LINE else []
    return ", ".join(parts[:_IN_LINE] + more)


def html(caption: str, lines: Iterable[tuple[str, str]], note: str = "") -> str:
    """Two columns, what and how much, with a note below."""
    table = formats.html(Table(caption, ("", ""), [Row(label, cells([text])) for label, text in lines]))
    return table + (f"<p>{escape(note)}</p>" if note else "")
