"""Covariates, which no decision moves, explain a part of a value's noise; this step subtracts it.

With z = (y, c), a value and its covariates, the method learns from

    y − β̂ᵀ(c − c̄)        c̄ the mean of the covariates so far

and β̂ is learnt from differences d of z, as a method learns from differences of y: those of an iteration's
points from their mean, and that mean's from a running mean of the last few iterations. So neither f's level
nor its fall is taken for the work of a covariate. With forgetting, S = Σ λ^age w d dᵀ and n = Σ λ^age w,

    b_j = S_yj − Σ_{l≠j} S_jl β_l,     β_j = (b_j/S_jj) (1 − T σ²/(b_j²/S_jj))₊,     σ² = residual square/n

one round of j = 1 … k an iteration. The ridge is the factor in brackets, as strong as the evidence is weak:
b_j²/(S_jj σ²) is the square of a t-statistic, about 1 for a covariate that explains nothing, which is left
out then (T = 4 + 2 log k: of many some look as if they did). Of two that say the same the second finds
nothing left to explain. A difference that is an outlier in any of its numbers weighs little, w = min(1, 4
√(its usual square)/|d|)⁴; what is usual is the median of three running means fed in turn. The answer that is
adjusted has no part in its own β̂.

The same code runs on NumPy's arrays and on JAX's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftopt import checks
from driftopt.answers.beside import Beside
from driftopt.answers.step import Step, Told

EVIDENCE, EACH = 4.0, 2.0  # T = EVIDENCE + EACH log k: squared t-statistics below this count as nothing
MEMORY = 400.0  # differences that are remembered, about
NEAR = 0.3  # the running mean of iterations looks back over about 1/NEAR of them
WILD = 4.0  # from this many usual deviations on, a difference weighs less
UNSURE = 3  # iterations before it is known what is usual
# The variance of (this mean − the running mean), in units of the mean's own.
_APART = 1 + NEAR / (2 - NEAR)


def largest(dtype: Any) -> float:
    """A covariate beyond this is taken for an error, and not known: squares of squares must not overflow."""
    return float(np.finfo(dtype).max) ** 0.2


class Learnt(NamedTuple):
    """The estimated effects of covariates; z = (y, c) has 1 + k numbers."""

    count: Any  # iterations
    level: Any  # (1 + k,) running mean of z over the last few iterations
    centre: Any  # (k,) c̄
    usual: Any  # (3, 1 + k) running mean squares of differences, fed in turn
    squares: Any  # (1 + k, 1 + k) S
    weight: Any  # n
    effects: Any  # (k,) β̂


def adjust(learnt: Learnt, values: Any, covariates: Any, xp: Any = np) -> tuple[Learnt, Any]:
    """The estimates after an iteration, and its (p,) values less the part that covariates explain.

    Args:
        learnt: the estimates before.
        values: (p,), finite.
        covariates: (p, k); what is NaN, or beyond `largest`, is not known: as if it were c̄.
        xp: numpy, or jax.numpy.
    """
    known = xp.abs(covariates) <= largest(covariates.dtype)  # NaN is not
    first = learnt.count == 0
    held = xp.where(known, covariates, 0)
    some = xp.sum(known, axis=0)
    means = xp.sum(held, axis=0) / xp.maximum(some, 1)
    centre = xp.where(first, means, learnt.centre)
    covariates = xp.where(known, covariates, centre)
    change = xp.sum((covariates - centre) * learnt.effects, axis=1)
    fits = xp.all(xp.isfinite(change))
    told = values - xp.where(fits, change, 0)

    z = xp.concatenate([values[:, None], covariates], axis=1)
    after = _learn(learnt._replace(centre=centre), z, xp)
    sound = xp.stack([xp.all(xp.isfinite(leaf)) for leaf in after])
    return Learnt(*(xp.where(xp.all(sound), new, old) for new, old in zip(after, learnt, strict=True))), told


def _learn(learnt: Learnt, z: Any, xp: Any) -> Learnt:
    count, first = learnt.count + 1, learnt.count == 0
    mean = xp.mean(z, axis=0)
    apart = xp.where(first, 0, mean - learnt.level) * (len(z) / _APART) ** 0.5
    # Deviations from the mean of p points make p − 1 differences; the mean's own is one more.
    rows = xp.concatenate([z - mean, apart[None]])

    middle = xp.sort(learnt.usual, axis=0)[1]
    limit = xp.where(middle > 0, WILD * xp.sqrt(middle), xp.inf)
    size = xp.abs(rows)
    fits = xp.where(size > limit, limit / xp.where(size > 0, size, 1), 1)
    share = xp.where(count > UNSURE, xp.min(fits, axis=1) ** 4, 0)
    keep = 1 - len(z) / MEMORY if len(z) < MEMORY / 2 else 0.5
    squares = keep * learnt.squares + (rows * share[:, None]).T @ rows
    counts = xp.mean(share[:-1]) * (len(z) - 1) + xp.where(first, 0, share[-1])
    weight = keep * learnt.weight + counts

    # How large differences usually are, from all of this iteration's.
    square = xp.sum(xp.minimum(size, limit) ** 2, axis=0) / len(z)
    turn = xp.arange(3)[:, None] == learnt.count % 3
    rate = xp.maximum(1 / xp.ceil(count / 3), 0.03)
    usual = learnt.usual + xp.where(turn, rate, 0) * (square - learnt.usual)

    # An outlying mean moves the running one by no more than is usual; at first it is the last mean itself.
    near = xp.where(count <= UNSURE, mean - learnt.level, NEAR * xp.clip(mean - learnt.level, -limit, limit))
    pace = xp.maximum(1 / count, 1 / MEMORY)
    return learnt._replace(
        count=count,
        level=learnt.level + near,
        centre=learnt.centre + pace * (mean[1:] - learnt.centre),
        usual=usual,
        squares=squares,
        weight=weight,
        effects=_effects(squares, weight, learnt.effects, xp),
    )


def _effects(squares: Any, weight: Any, effects: Any, xp: Any) -> Any:
    """One round through the covariates, from the effects as they were."""
    own, across = squares[0, 1:], squares[1:, 1:]
    residual = squares[0, 0] - 2 * xp.sum(own * effects) + xp.sum(effects * (across @ effects))
    doubt = (EVIDENCE + EACH * math.log(len(own))) * xp.maximum(residual, 0) / xp.maximum(weight, 1)
    found = [effects[j] for j in range(len(own))]
    for j in range(len(own)):
        rest = own[j] - sum(across[j, i] * found[i] for i in range(len(own)) if i != j)
        spread = across[j, j]
        explained = rest * rest / xp.where(spread > 0, spread, 1)
        sure = (spread > 0) & (explained > doubt)
        factor = 1 - doubt / xp.where(sure, explained, 1)
        found[j] = xp.where(sure, rest / xp.where(spread > 0, spread, 1) * factor, 0)
    return xp.stack(found)


@dataclass(frozen=True)
class Covariates(Step):
    """Takes out of an iteration's values what their covariates explain."""

    reads: ClassVar[str] = "covariates"  # pyright: ignore[reportIncompatibleVariableOverride]

    names: tuple[str, ...]

    def row(self, beside: Beside) -> Sequence[float]:
        return [beside.covariates.get(name, np.nan) for name in self.names]

    def begin(self) -> Learnt:
        k = len(self.names)
        shapes = (), (1 + k,), (k,), (3, 1 + k), (1 + k, 1 + k), (), (k,)
        return Learnt(*map(np.zeros, shapes))

    def take(self, memory: Learnt, told: Told) -> tuple[Learnt, Told]:
        """The values at each point, means of their samples, less what the covariates' means explain.

        Where no covariates came along, all are unknown, and nothing is changed.
        """
        given, xp = told.beside.get(self.reads), told.xp
        if given is None:
            return memory, told
        with np.errstate(all="ignore"):
            values = told.mean()
            known = told.known(given) & (xp.abs(given) <= largest(given.dtype))
            total, count = xp.sum(xp.where(known, given, 0), axis=0), xp.sum(known, axis=0)
            means = xp.where(count > 0, total / xp.maximum(count, 1), xp.nan)  # (p, k)
            memory, adjusted = adjust(memory, values, means, xp)
            return memory, told._replace(values=told.values - (values - adjusted))


def season(period: float, at: float, name: str = "season") -> dict[str, float]:
    """Cosine and sine of the phase 2π·at/period, by name: together they fit a season of any phase and size.

    Args:
        period: the length of the season, in any unit: 52 for weeks of a year, 7 for days of a week.
        at: the moment, in the same unit: the number of the week, or of the day.
        name: the first word of both names; two seasons need two different ones.

    A study with a season has the covariates `[*season(52, 0)]`; for a sharper season add the half period,
    `season(26, at, "half")`.

    >>> {name: round(value, 3) for name, value in season(52, 8).items()}
    {'season cos': 0.568, 'season sin': 0.823}
    """
    phase = 2 * math.pi * checks.number("at", at) / checks.one_positive("period", period)
    if not math.isfinite(phase):
        raise ValueError(f"at must be a finite number, got {at!r}")
    return {f"{name} cos": math.cos(phase), f"{name} sin": math.sin(phase)}
