"""Answers of different precision enter with their weight: a slow week counts less.

An answer's variance is measured by r, its sem² or 1/n in units of their running mean: 1 for a usual one.
Samples at a point are averaged with weights 1/r. With R the mean of r over an iteration's points, m their
mean value and L a running mean of earlier ones, the method learns from

    L + min(ω, 1)(m − L) + ω (y − m),       ω = min(3, 1/(1 − φ + φ R))

so that a difference counts in inverse proportion to its variance, as in least squares. φ is the share of the
noise that sem or n speaks of: where weather moves all weeks alike, a large n says little. It is learnt, from
1 on, by how the squares of differences go with R. Where all are equally precise ω is 1, and nothing is
changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftopt.answers.beside import Beside
from driftopt.answers.step import Step, Told, choose, if_sound

MOST = 3.0  # ω at most
NEAR = 0.2  # L looks back over about 1/NEAR iterations
SURE = 4.0  # the precision with which φ is believed to be 1 at first
HUGE = 1e154  # the square of a larger number overflows
WILD = 9.0  # squares count up to this many times the usual one


class UsualPrecision(NamedTuple):
    """Running means of precision, level and differences."""

    count: Any  # iterations
    usual: Any  # (2,) the mean sem² and the mean 1/n; 0 where none was reported
    told: Any  # (2,) the number of iterations that reported them
    level: Any  # L
    square: Any  # the mean square of differences
    goes_with: Any  # Σ (R − 1)(square − 1), in units of the mean square
    varied: Any  # Σ (R − 1)²


@dataclass(frozen=True)
class Precision(Step):
    """Weighs an iteration's answers by their precision."""

    reads: ClassVar[str] = "precision"  # pyright: ignore[reportIncompatibleVariableOverride]

    def row(self, beside: Beside) -> Sequence[float]:
        """Its sem², else its 1/n; the other one is NaN. A sem of 0, or a huge one, says nothing."""
        if beside.sem is not None and not (isinstance(beside.sem, float) and not 0 < beside.sem < HUGE):
            return [beside.sem**2, np.nan]
        return [np.nan, np.nan if beside.n is None else 1 / beside.n]

    def begin(self) -> UsualPrecision:
        zero = np.zeros(())
        return UsualPrecision(zero, np.zeros(2), np.zeros(2), zero, zero, zero, zero)

    def take(self, memory: UsualPrecision, told: Told) -> tuple[UsualPrecision, Told]:
        given, xp = told.beside.get(self.reads), told.xp
        if given is None:
            return memory, told
        with np.errstate(all="ignore"):
            usual, relative = _relative(memory, given, told.known(given) & (given > 0), xp)
            averaged, ratio = _at_points(told, relative)
            after, values = _weigh(usual, averaged, ratio)
            begun = xp.any(usual.told > 0)
            memory, values = if_sound(xp, begun, (after, values), (memory, told.values))
        return memory, told._replace(values=values)


def _relative(memory: UsualPrecision, given: Any, known: Any, xp: Any) -> tuple[UsualPrecision, Any]:
    """(samples, p): each answer's variance in units of the usual one; 1 where nothing is known of it."""
    count, held = known.sum(axis=(0, 1)), xp.where(known, given, 0)
    most = held.max(axis=(0, 1))
    # Of equal numbers the mean is the number itself, to the last bit.
    alike = ((held == most) | ~known).all(axis=(0, 1))
    mean = xp.where(alike, most, held.sum(axis=(0, 1)) / xp.maximum(count, 1))
    told = memory.told + (count > 0)
    usual = memory.usual + (mean - memory.usual) / xp.minimum(xp.maximum(told, 1.0), 100.0)
    usual = xp.where((told == 1) | (mean == memory.usual), mean, usual)
    usual = xp.where(count > 0, usual, memory.usual)
    each = (held / xp.where(usual > 0, usual, 1)).sum(axis=-1)
    return memory._replace(usual=usual, told=told), xp.where(known.any(axis=-1), each, 1.0)


def _at_points(told: Told, relative: Any) -> tuple[Told, Any]:
    """Values whose mean is the weighted one, and (p,) the variance of the weighted mean."""
    if len(relative) == 1:
        return told, relative[0]
    xp, taken = told.xp, told.taken if told.taken is not None else np.ones(relative.shape, bool)
    weights = xp.where(taken, 1 / relative, 0)
    mean = xp.sum(weights * told.values, axis=0) / xp.sum(weights, axis=0)
    alike = xp.all((relative == relative[0]) | ~taken)
    ratio = xp.where(alike, relative[0], xp.sum(taken, axis=0) / xp.sum(weights, axis=0))
    return told._replace(values=xp.where(alike, told.values, mean)), ratio


def _weigh(memory: UsualPrecision, told: Told, ratio: Any) -> tuple[UsualPrecision, Any]:
    xp, means, usual = told.xp, told.mean(), memory.square
    middle = means.mean()
    level = choose(xp, memory.count == 0, middle, memory.level)
    apart = means - middle if len(means) > 1 else means - level
    square = (apart**2).sum() / max(len(means) - 1, 1)
    whole = choose(xp, (ratio == ratio[0]).all(), ratio[0], ratio.mean())
    begun = usual > 0
    unit = choose(xp, begun, xp.minimum(square / choose(xp, begun, usual, 1), WILD), 1.0)
    share = (SURE + memory.goes_with / 2) / (SURE + memory.varied / 2)
    share = xp.minimum(xp.maximum(share, 0.0), 1.0)
    weight = choose(xp, whole == 1, 1.0, xp.minimum(MOST, 1 / (1 - share + share * whole)))
    shrunk = xp.minimum(weight, 1.0)
    pace = xp.maximum(1 / (memory.count + 1), 0.01)
    after = UsualPrecision(
        memory.count + 1,
        memory.usual,
        memory.told,
        level + NEAR * shrunk * (middle - level),
        usual + pace * (choose(xp, begun, xp.minimum(square, WILD * usual), square) - usual),
        memory.goes_with + (whole - 1) * (unit - 1),
        memory.varied + (whole - 1) ** 2,
    )
    change = (level + shrunk * (middle - level)) + weight * (means - middle) - means
    return after, choose(xp, weight == 1.0, told.values, told.values + change)
