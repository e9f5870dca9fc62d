"""Answers of different precision enter with their weight: a slow week counts less.

An answer's variance is measured by r, its sem² or 1/n in units of their running mean: 1 for a usual one.
Samples at a point are averaged with weights 1/r. With R the mean of r over an iteration's points, m their
mean value and L a running mean of earlier ones, the method is told

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

from driftopt import averages
from driftopt.answers.beside import Beside
from driftopt.answers.step import Step, Told

MOST = 3.0  # ω at most
NEAR = 0.2  # L looks back over about 1/NEAR iterations
SURE = 4.0  # the precision with which φ is believed to be 1 at first
WILD = 9.0  # squares count up to so many times the usual one


class Known(NamedTuple):
    """What is usual."""

    count: Any  # iterations
    usual: Any  # (2,) the mean sem² and the mean 1/n; 0 where none was told
    told: Any  # (2,) how many iterations told them
    level: Any  # L
    square: Any  # the mean square of differences
    goes_with: Any  # Σ (R − 1)(square − 1), in units of the mean square
    varied: Any  # Σ (R − 1)²


@dataclass(frozen=True)
class Precision(Step):
    """Weighs an iteration's answers by their precision."""

    reads: ClassVar[str] = "precision"  # pyright: ignore[reportIncompatibleVariableOverride]

    def row(self, beside: Beside) -> Sequence[float]:
        """Its sem², else its 1/n; the other one is NaN."""
        if beside.sem:
            return [beside.sem**2, np.nan]
        return [np.nan, np.nan if beside.n is None else 1 / beside.n]

    def begin(self) -> Known:
        zero = np.zeros(())
        return Known(zero, np.zeros(2), np.zeros(2), zero, zero, zero, zero)

    def take(self, memory: Known, told: Told) -> tuple[Known, Told]:
        given = told.beside.get(self.reads)
        if given is None or (not np.isfinite(given).any() and not memory.told.any()):
            return memory, told
        with np.errstate(all="ignore"):
            memory, relative = _relative(memory, given)
            values, ratio = _at_points(told.values, relative)
            after, weighed = _weigh(memory, values, ratio)
        sound = all(np.isfinite(leaf).all() for leaf in after) and bool(np.isfinite(weighed).all())
        return (after, Told(weighed, told.beside)) if sound else (memory, told)


def _relative(memory: Known, given: np.ndarray) -> tuple[Known, np.ndarray]:
    """(samples, p): each answer's variance in units of the usual one; 1 where nothing is known of it."""
    known = np.isfinite(given) & (given > 0)
    usual, told = memory.usual.copy(), memory.told.copy()
    for kind in range(2):
        here = given[..., kind][known[..., kind]]
        if here.size:
            # Of equal numbers the mean is the number itself, to the last bit.
            mean = here[0] if (here == here[0]).all() else here.mean()
            told[kind] += 1
            usual[kind] += (mean - usual[kind]) / min(told[kind], 100.0)
            if told[kind] == 1 or mean == memory.usual[kind]:
                usual[kind] = mean
    each = np.where(known, given / np.where(usual > 0, usual, 1), 0).sum(axis=-1)
    return memory._replace(usual=usual, told=told), np.where(known.any(axis=-1), each, 1.0)


def _at_points(values: np.ndarray, relative: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(samples, p) values whose mean is the weighted one, and (p,) the variance of the weighted mean."""
    if (relative == relative[0]).all():
        return values, relative[0]
    weights = 1 / relative
    mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
    return np.broadcast_to(mean, values.shape).copy(), len(values) / weights.sum(axis=0)


def _weigh(memory: Known, values: np.ndarray, ratio: np.ndarray) -> tuple[Known, np.ndarray]:
    means = averages.mean(values) if len(values) > 1 else values[0]
    middle, first = means.mean(), memory.count == 0
    level = middle if first else memory.level
    apart = means - middle if len(means) > 1 else means - level
    square = float((apart**2).sum() / max(len(means) - 1, 1))
    whole = ratio.mean() if (ratio != ratio[0]).any() else ratio[0]
    usual = memory.square
    unit = min(square / usual, WILD) if usual > 0 else 1.0
    share = (SURE + memory.goes_with / 2) / (SURE + memory.varied / 2)
    share = min(max(share, 0.0), 1.0)
    weight = 1.0 if whole == 1 else min(MOST, 1 / (1 - share + share * whole))
    pace = max(1 / (memory.count + 1), 0.01)
    after = Known(
        memory.count + 1,
        memory.usual,
        memory.told,
        level + NEAR * min(weight, 1.0) * (middle - level),
        usual + pace * ((min(square, WILD * usual) if usual > 0 else square) - usual),
        memory.goes_with + (whole - 1) * (unit - 1),
        memory.varied + (whole - 1) ** 2,
    )
    if weight == 1.0:
        return after, values
    change = (level + min(weight, 1.0) * (middle - level)) + weight * (means - middle) - means
    return after, values + change
