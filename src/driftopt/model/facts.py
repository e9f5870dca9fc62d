"""What the results say in the units of the value: gains and costs as sums of f with their errors.

A gain, the cost of the search and what a period brought are all Σ_j a_j f(x_j, c_j, t_j) for some weights
a. Under the posterior of f on the scale of the value that is a normal law in closed form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from driftopt.model.belief import FITTED, Curve, Results
from driftopt.model.objective import Objective
from driftopt.model.posterior import Inputs, Posterior, lengths_of, matern

PLAYED = 40  # worlds that are played forward: their mean is sure to a sixth of their spread
FORESEEN = 120  # decisions that a forecast chooses from: a search has not seen many more in as many days
SURE = 0.95  # the probability with which a bound holds


class Estimate(NamedTuple):
    """A number and its standard error."""

    mean: float
    sd: float


class Outlook(NamedTuple):
    """What further deployments are expected to bring."""

    gain: Estimate  # of a deployment afterwards, next to staying with the present recommendation
    cost: Estimate  # of all of them together, next to deploying the present recommendation


@dataclass(frozen=True)
class Facts:
    """The posterior of the value itself: a mixture over the lengths on which it may vary."""

    curve: Curve
    start: np.ndarray  # in units

    @cached_property
    def mixture(self) -> list[tuple[float, Posterior]]:
        """Posteriors and how probable each one is."""
        p = self.curve.posterior
        first = np.argsort(p.inputs.time, kind="stable")[-FITTED:]
        found = lengths_of(p.fit, p.inputs[first], p.y[first], p.weight[first])
        return [(share, replace(p, fit=one)) for share, one in found]

    @classmethod
    def of(
        cls, results: Results, start: np.ndarray, units: np.ndarray, objective: Objective | None = None
    ) -> "Facts":
        """From the standing results; without values, from what the objective makes of outputs."""
        value = results.value
        if objective is not None:
            value = np.where(np.isfinite(value), value, objective(results.x, results.outputs))
        curve = Curve.of(results.inputs(units), value, results.weight, compressed=False, logarithms=False)
        return cls(curve, start / units)

    def total(self, points: Inputs, weights: np.ndarray) -> Estimate:
        """Σ_j weight_j f(point_j)."""
        each = [(share, *posterior.total(points, weights)) for share, posterior in self.mixture]
        mean = sum(share * one for share, one, _ in each)
        variance = sum(share * (square + (one - mean) ** 2) for share, one, square in each)
        spread = self.curve.scale.spread
        return Estimate(spread * mean + self.curve.scale.middle * weights.sum(), spread * variance**0.5)

    def difference(self, points: Inputs) -> Estimate:
        """Σ_j f(point_j) − f(start), the start at the same times and in the same contexts."""
        start = Inputs(np.broadcast_to(self.start, points.x.shape), *points.arrays[1:])
        both = Inputs(*(np.concatenate(pair) for pair in zip(points.arrays, start.arrays, strict=True)))
        return self.total(both, np.repeat([1.0, -1.0], len(points)))

    def effects(self) -> np.ndarray:
        """(k,), what one standard deviation of each covariate adds to the value."""
        return self.curve.scale.spread * self.curve.posterior.slopes()

    def slice(self, points: Inputs, at: Inputs) -> tuple[np.ndarray, np.ndarray]:
        """(m,) f(point_j) − f(at) with standard errors, such as along one coordinate."""
        both = Inputs(*(np.concatenate(pair) for pair in zip(points.arrays, at.arrays, strict=True)))
        mean, covariance = self.joint(both)
        variance = np.diag(covariance) + covariance[-1, -1] - 2 * covariance[-1]
        return (mean - mean[-1])[:-1], np.sqrt(np.maximum(variance, 0))[:-1]

    def slopes(self, at: Inputs, step: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
        """(d,) what one radius more of each coordinate adds, with standard errors.

        A coordinate matters as surely as its slope is away from 0, or that of its slice.
        """
        steps = step * np.eye(at.x.shape[1])
        both = at.moved(np.vstack([at.x + steps, at.x - steps]))
        mean, covariance = self.joint(both)
        sides = np.hstack([np.eye(len(steps)), -np.eye(len(steps))]) / (2 * step)
        return sides @ mean, np.sqrt(np.maximum(np.diag(sides @ covariance @ sides.T), 0))

    def joint(self, points: Inputs) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of f at some points, in the units of the value."""
        each = [(share, *posterior.joint(points)) for share, posterior in self.mixture]
        mean = np.sum([share * one for share, one, _ in each], axis=0)
        covariance = np.sum(
            [share * (square + np.outer(one - mean, one - mean)) for share, one, square in each], axis=0
        )
        spread = self.curve.scale.spread
        return self.curve.scale.middle + spread * mean, spread**2 * covariance

    def forgone(self, candidates: Inputs, at: Inputs, sign: float, rng: np.random.Generator) -> float:
        """What stopping at a decision forgoes of each later deployment: less than this with probability SURE.

        Args:
            candidates: the decisions that a further search could find.
            at: the decision to stop at.
            sign: −1 where values are maximised.
            rng: the source of the draws.
        """
        both = Inputs(*(np.concatenate(pair) for pair in zip(candidates.arrays, at.arrays, strict=True)))
        mean, covariance = self.joint(both)
        drawn = sign * rng.multivariate_normal(mean, covariance, size=400, method="eigh")
        return float(np.quantile(drawn[:, -1] - drawn.min(axis=1), SURE))

    def outlook(
        self, candidates: Inputs, at: Inputs, days: Sequence[int], sign: float, rng: np.random.Generator
    ) -> dict[int, Outlook]:
        """What some numbers of further deployments bring: draws of the posterior are played forward."""
        both = Inputs(*(np.concatenate(pair) for pair in zip(at.arrays, candidates.arrays, strict=True)))
        mean, covariance = self.joint(both)
        noise = self.curve.posterior.sigma * self.curve.scale.spread
        return played(sign * mean, covariance, noise, days, rng)


def played(
    mean: np.ndarray, covariance: np.ndarray, noise: float, days: Sequence[int], rng: np.random.Generator
) -> dict[int, Outlook]:
    """What a search among m decisions brings, next to staying with the first of them.

    Draws of N(mean, covariance) are worlds. Each day of a world takes the lowest decision of one draw of what
    is known by then, and learns its value.
    """
    worlds = rng.multivariate_normal(mean, covariance, size=PLAYED, method="eigh")
    gains, costs = np.zeros((2, PLAYED, max(days) + 1))
    for k, world in enumerate(worlds):
        known, left = mean, covariance
        for day in range(1, max(days) + 1):
            jitter = 1e-8 * float(np.trace(left)) / len(left) + 1e-300
            root = np.linalg.cholesky(left + jitter * np.eye(len(left)))
            i = int((known + root @ rng.standard_normal(len(left))).argmin())
            gain = left[i] / (left[i, i] + noise**2)
            known = known + gain * (world[i] + noise * rng.standard_normal() - known[i])
            left = left - np.outer(gain, left[i])
            costs[k, day] = costs[k, day - 1] + world[i] - world[0]
            gains[k, day] = world[0] - world[known.argmin()]
    return {
        day: Outlook(
            Estimate(float(gains[:, day].mean()), float(gains[:, day].std())),
            Estimate(float(costs[:, day].mean()), float(costs[:, day].std())),
        )
        for day in days
    }


def forecast(
    dim: int, noise: float, gain: float, days: Sequence[int] = (30, 60, 120), seed: int = 0
) -> dict[int, Outlook]:
    """What a search of so many deployments is expected to bring and to cost before anything is known.

    Args:
        dim: how many coordinates there are.
        noise: the standard deviation of a result.
        gain: the gain that the best decision within three radii may be expected to have.
        days: numbers of deployments.
        seed: of the worlds that are played.
    """
    rng = np.random.default_rng(seed)
    ray = rng.standard_normal((FORESEEN, dim))
    away = 3 * rng.random((FORESEEN, 1)) ** (1 / 2) * ray / np.linalg.norm(ray, axis=1, keepdims=True)
    x = np.vstack([np.zeros(dim), away])
    covariance = matern(cdist(x, x) / (2 * dim**0.5))
    worlds = rng.multivariate_normal(np.zeros(len(x)), covariance, size=400, method="eigh")
    scale = gain / float((worlds[:, 0] - worlds.min(axis=1)).mean())
    return played(np.zeros(len(x)), scale**2 * covariance, noise, days, rng)


class Past(NamedTuple):
    """What past values at one decision say of those to come."""

    level: float
    noise: float  # the standard deviation of a value around level, season and drift
    season: tuple[float, ...]  # what each day of the period adds
    drift: Estimate  # a day


def past(values: np.ndarray, period: int = 7) -> Past:
    """Level, noise, season and drift of a series of values, by least squares."""
    n = len(values)
    day = np.arange(n) - (n - 1) / 2
    seasonal = n >= 3 * period
    dummies = np.eye(period)[np.arange(n) % period] if seasonal else np.ones((n, 1))
    design = np.column_stack([dummies, day])
    found, *_ = np.linalg.lstsq(design, values, rcond=None)
    left = values - design @ found
    noise = float(np.sqrt(left @ left / max(n - design.shape[1], 1)))
    level = float(found[:-1].mean())
    season = tuple((found[:-1] - level).tolist()) if seasonal else (0.0,) * period
    return Past(level, noise, season, Estimate(float(found[-1]), noise / float(np.linalg.norm(day))))


def pays_after(cost: Estimate, gain: Estimate) -> float:
    """Deployments of the recommendation until its gain has paid the cost of the search; inf: never.

    >>> pays_after(Estimate(30.0, 5.0), Estimate(2.0, 0.5))
    15.0
    """
    if cost.mean <= 0:
        return 0.0
    return cost.mean / gain.mean if gain.mean > 0 else np.inf
