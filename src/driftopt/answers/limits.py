"""Limits on metrics: an exact penalty on the excess, whose weight finds itself.

With e = metric − max (or min − metric) the excess of a metric, the method learns from

    y + Σ_j λ_j e_j,        λ = ρ/(1 + exp(−3 ē/s))

where ē is a running mean of e around the walk and s its standard error: the slope of ρ max(ē, 0), which is
Lipschitz and not smooth, rounded by the uncertainty of ē. ρ begins with the ratio of the usual
differences of y and of e, and follows

    log ρ ← log ρ + 0.6/√t · tanh(ē/s)

it grows while the limit is broken and falls while the limit is kept. At rest ē = 0: the search follows the
limit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftopt import averages, checks
from driftopt.answers.beside import Beside
from driftopt.answers.step import Step, Told, if_sound

NEAR = 0.12  # ē looks back over about 1/NEAR iterations
PACE = 0.6
STEEP = 3.0
LEAST, MOST = -1.0, 7.0  # log ρ stays between: while there is room λ is 0 anyway, and ρ must soon be back


@dataclass(frozen=True)
class Limit:
    """The largest or the smallest value of a metric."""

    name: str
    max: float | None = None
    min: float | None = None
    hard: bool = False

    def excess(self, value: float) -> float:
        """The amount by which a value breaks the limit; negative if it keeps it."""
        if self.max is not None:
            return value - self.max
        return -math.inf if self.min is None else self.min - value

    @property
    def words(self) -> str:
        """The limit in words."""
        if self.max is None and self.min is None:
            return "no limit"
        side = f"at most {self.max:g}" if self.max is not None else f"at least {self.min:g}"
        return f"{side}{', hard' if self.hard else ''}"


@dataclass(frozen=True)
class Measured:
    """A metric at a decision, estimated by a run."""

    name: str
    estimate: float | None  # None: not reported there
    sem: float | None
    count: int  # values that it is the mean of


class Weighed(NamedTuple):
    """The estimates behind the penalty."""

    count: Any  # iterations
    excess: Any  # (m,) ē
    square: Any  # (m,) the mean square of excesses around ē
    spread: Any  # (1 + m,) mean squares of differences: of values, of excesses
    strength: Any  # (m,) log of ρ in units of the ratio of spreads


@dataclass(frozen=True)
class Limits(Step):
    """Adds the penalty for broken limits to an iteration's values."""

    reads: ClassVar[str] = "metrics"  # pyright: ignore[reportIncompatibleVariableOverride]

    limits: tuple[Limit, ...]
    sign: float = 1.0  # −1 where values are to become large

    def row(self, beside: Beside) -> Sequence[float]:
        """The excess of each metric; NaN if it is not reported."""
        told = beside.metrics
        return [limit.excess(told[limit.name]) if limit.name in told else np.nan for limit in self.limits]

    def begin(self) -> Weighed:
        m = len(self.limits)
        return Weighed(np.zeros(()), np.zeros(m), np.zeros(m), np.zeros(1 + m), np.zeros(m))

    def take(self, memory: Weighed, told: Told) -> tuple[Weighed, Told]:
        given, xp = told.beside.get(self.reads), told.xp
        if given is None:
            return memory, told
        with np.errstate(all="ignore"):
            known = told.known(given)
            some = known.any(axis=0)
            mean = xp.where(known, given, 0).sum(axis=0) / xp.maximum(known.sum(axis=0), 1)
            excess = xp.where(some, mean, memory.excess)  # (p, m)
            after = _after(memory, told.mean(), excess, some.any(axis=0), xp)
            added = self.sign * (excess * _weights(memory, xp)).sum(axis=1)
            memory, values = if_sound(xp, True, (after, told.values + added), (memory, told.values))
        return memory, told._replace(values=values)


def _weights(memory: Weighed, xp: Any) -> Any:
    """The penalty's weights λ."""
    spread = memory.spread
    ratio = xp.where(spread[1:] > 0, xp.sqrt(spread[0] / xp.where(spread[1:] > 0, spread[1:], 1)), 0)
    return ratio * xp.exp(memory.strength) / (1 + xp.exp(-STEEP * _sureness(memory, xp)))


def _sureness(memory: Weighed, xp: Any) -> Any:
    """ē in units of its standard error, within ±10."""
    error = xp.sqrt(memory.square * NEAR / (2 - NEAR))
    sure = memory.excess / xp.where(error > 0, error, 1)
    return xp.clip(xp.where(error > 0, sure, xp.sign(memory.excess) * 10), -10, 10)


def _after(memory: Weighed, values: Any, excess: Any, some: Any, xp: Any) -> Weighed:
    count = memory.count + 1
    middle = excess.mean(axis=0)
    near = xp.where(some, xp.maximum(1 / count, NEAR), 0)
    slow = xp.maximum(1 / count, 0.02)
    change = middle - memory.excess
    both = xp.concatenate([values[:, None], excess], axis=1)
    apart = ((both - both.mean(axis=0)) ** 2).mean(axis=0)
    limit = xp.where(memory.spread > 0, 16 * memory.spread, xp.inf)
    after = memory._replace(
        count=count,
        excess=memory.excess + near * change,
        square=memory.square + slow * (xp.where(count > 1, change**2, 0) - memory.square),
        spread=memory.spread + slow * (xp.minimum(apart, limit) - memory.spread),
    )
    pace = PACE / xp.sqrt(count) * xp.tanh(_sureness(after, xp))
    return after._replace(strength=xp.clip(memory.strength + pace, LEAST, MOST))


def measured(names: Sequence[str], told: np.ndarray) -> dict[str, Measured]:
    """The means of (n, m) metrics by name; NaN is a missing one.

    >>> measured(["calls"], np.array([[1.0], [3.0], [np.nan]]))["calls"].estimate
    2.0
    """
    found: dict[str, Measured] = {}
    for name, column in zip(names, told.T, strict=True):
        known = column[np.isfinite(column)]
        error = averages.standard_error(known) if known.size > 1 else None
        mean = float(averages.mean(known)) if known.size else None
        found[name] = Measured(name, mean, error, known.size)
    return found


def limits_of(given: Mapping[str, Mapping[str, Any]]) -> tuple[Limit, ...]:
    """The limits of a study's plan."""
    return tuple(Limit(name, **sides) for name, sides in given.items())


def none_hard(limits: dict[str, dict[str, Any]], where: str) -> dict[str, dict[str, Any]]:
    """The limits, unchanged, for a run that cannot be halted.

    Raises:
        ValueError: one is hard.
    """
    if hard := [name for name, sides in limits.items() if sides.get("hard")]:
        raise ValueError(
            f"limits[{hard[0]!r}] is hard: a hard limit halts a live study, and {where} has nobody to "
            "resume it; leave hard out"
        )
    return limits


def checked(given: Any) -> dict[str, dict[str, Any]]:
    """The limits in JSON's types: each metric's name with "max" or "min", and "hard" for a hard one.

    >>> checked({"complaints": {"max": 5, "hard": True}, "calls": {}})
    {'complaints': {'max': 5.0, 'hard': True}, 'calls': {}}
    """
    found: dict[str, dict[str, Any]] = {}
    for name, sides in checks.table("limits", given).items():
        checks.text("each metric of limits", name, 80)
        table = checks.table(f"limits[{name!r}]", sides)
        if unknown := sorted(set(table) - {"max", "min", "hard"}):
            raise ValueError(f"limits[{name!r}] has {', '.join(unknown)}; it takes max or min, and hard")
        if "max" in table and "min" in table:
            raise ValueError(f"limits[{name!r}] has max and min: give one, and the other under another name")
        one: dict[str, Any] = {}
        for side in {"max", "min"} & set(table):
            one[side] = checks.number(f"limits[{name!r}][{side!r}]", table[side]) + 0.0
            if not math.isfinite(one[side]):
                raise ValueError(f"limits[{name!r}][{side!r}] must be finite, got {table[side]!r}")
        if checks.flag(f"limits[{name!r}]['hard']", table.get("hard", False)):
            if not one:
                raise ValueError(f"limits[{name!r}] is hard and has no max or min")
            one["hard"] = True
        found[name] = one
    return found
