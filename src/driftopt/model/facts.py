"""What the results say in the units of the value: money so far, what more deployments would bring, and why.

A gain, the cost of the search and what a month brought are all Σ_j a_j f(x_j, c_j, t_j) for some weights a.
Under the posterior of f on the scale of the value that is a normal law in closed form. What further
deployments would bring follows from draws of that posterior in which they are played.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import special  # scipy.stats takes three times as long to import
from scipy.spatial.distance import cdist

from driftopt.model.belief import Curve, Results
from driftopt.model.objective import Objective
from driftopt.model.posterior import LENGTHS, Fit, Inputs, Posterior
from driftopt.space import Space

SURE = 0.95  # the probability with which a bound holds
WORLDS = 64  # that are played forward: their mean is sure to an eighth of their spread
STEPS = 40  # of a play: longer ones repeat each decision, with so much less noise
CANDIDATES = 250  # decisions that a further search could find
HEAT = 0.7  # of a draw of the policy
FAINT = 0.05  # how probable a length must be, next to the most probable one, to count
MIXED = 400  # results from which the most probable length and noise are sure enough
ALARM = 1e-4  # the probability, without a shock, of results as far from what earlier ones predict
LATEST = 7  # results that are compared with the earlier ones
FEWEST = 8  # earlier results from which anything is predicted


class Estimate(NamedTuple):
    """A number and its standard error."""

    mean: float
    sd: float


class Outlook(NamedTuple):
    """What further deployments are expected to bring."""

    gain: Estimate  # of each deployment afterwards, next to staying with the present recommendation
    cost: Estimate  # of all of them together, next to deploying the present recommendation


@dataclass(frozen=True)
class Facts:
    """The posterior of the value itself: a mixture over the lengths that the results leave possible."""

    curve: Curve
    posteriors: tuple[tuple[float, Posterior], ...]  # with their probabilities
    start: np.ndarray  # in units
    sign: float = 1.0  # −1 where values are maximised

    @classmethod
    def of(
        cls,
        results: Results,
        start: np.ndarray,
        units: np.ndarray,
        objective: Objective | None = None,
        sign: float = 1.0,
    ) -> "Facts":
        """From the standing results; without values, from what the objective makes of outputs."""
        value = values_of(results, objective)
        curve = Curve.of(results.inputs(units), value, results.weight, compressed=False, logarithms=False)
        return cls(curve, _mixture(curve.posterior), start / units, sign)

    def total(self, points: Inputs, weights: np.ndarray) -> Estimate:
        """Σ_j weight_j f(point_j)."""
        each = [(share, *posterior.total(points, weights)) for share, posterior in self.posteriors]
        mean = sum(share * one for share, one, _ in each)
        variance = sum(share * (one**2 + error) for share, one, error in each) - mean**2
        spread = self.curve.scale.spread
        return Estimate(
            spread * mean + self.curve.scale.middle * float(weights.sum()), spread * max(variance, 0.0) ** 0.5
        )

    def difference(self, points: Inputs) -> Estimate:
        """Σ_j f(point_j) − f(start), the start at the same times and in the same contexts."""
        start = Inputs(np.broadcast_to(self.start, points.x.shape), *points.arrays[1:])
        return self.total(joined(points, start), np.repeat([1.0, -1.0], len(points)))

    def joint(self, points: Inputs) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of f at some points."""
        each = [(share, *posterior.joint(points)) for share, posterior in self.posteriors]
        mean = np.sum([share * one for share, one, _ in each], axis=0)
        covariance = np.zeros((len(mean), len(mean)))
        for share, one, error in each:
            covariance += share * (error + np.outer(one - mean, one - mean))
        spread = self.curve.scale.spread
        return self.curve.scale.middle + spread * mean, spread**2 * covariance

    def costs(self, points: Inputs) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of how much each deployment lost against the start; negative is a gain."""
        start = Inputs(np.broadcast_to(self.start, points.x.shape), *points.arrays[1:])
        mean, covariance = self.joint(joined(points, start))
        n = len(points)
        both = covariance[:n, :n] + covariance[n:, n:] - covariance[:n, n:] - covariance[n:, :n]
        return self.sign * (mean[:n] - mean[n:]), both

    def effects(self) -> np.ndarray:
        """(k,), what one standard deviation of each covariate adds to the value."""
        return self.curve.scale.spread * self.curve.posterior.slopes()

    def slice(self, points: Inputs, at: Inputs) -> tuple[np.ndarray, np.ndarray]:
        """(m,) f(point_j) − f(at) with standard errors, such as along one coordinate."""
        mean, covariance = self.joint(joined(points, at))
        variance = np.diag(covariance) + covariance[-1, -1] - 2 * covariance[-1]
        return (mean - mean[-1])[:-1], np.sqrt(np.maximum(variance, 0))[:-1]

    def slopes(self, at: Inputs, step: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
        """(d,) what one radius more of each coordinate adds, with standard errors."""
        steps = step * np.eye(at.x.shape[1])
        mean, covariance = self.joint(at.moved(np.vstack([at.x + steps, at.x - steps])))
        sides = np.hstack([np.eye(len(steps)), -np.eye(len(steps))]) / (2 * step)
        return sides @ mean, np.sqrt(np.maximum(np.diag(sides @ covariance @ sides.T), 0))

    def candidates(self, space: Space, units: np.ndarray, at: Inputs, seed: int) -> Inputs:
        """Decisions that a further search could find: twice as far from the start as trials have come.

        Half of them are on random rays from `at`, half are mixtures of those that are best in some draw.
        """
        rng, x = np.random.default_rng([seed, len(self.curve.posterior.y)]), at.x[-1] * units
        tried, many = self.curve.posterior.inputs.x, (CANDIDATES, len(x))

        def legal(ray: np.ndarray) -> Inputs:
            found = space.legal(x + space.along(ray * units, x), x, rng)
            far = np.linalg.norm(found / units - self.start, axis=1)
            return at.moved(found[far <= farthest] / units)

        farthest = max(2 * float(np.linalg.norm(tried - self.start, axis=1).max()), 2.0)
        ray = rng.standard_normal(many) * (rng.random(many) < rng.uniform(0.3, 1.5, (CANDIDATES, 1)))
        ray /= np.maximum(np.linalg.norm(ray, axis=1, keepdims=True), 1e-9)
        found = legal(farthest * np.exp(rng.uniform(np.log(0.05), 0, (CANDIDATES, 1))) * ray)
        mean, covariance = self.joint(found)
        drawn = self.sign * (mean + rng.standard_normal((2 * CANDIDATES, len(mean))) @ _root(covariance).T)
        best = found.x[drawn.argmin(axis=1)] - at.x[-1]
        one, other = best[:CANDIDATES], best[CANDIDATES:]
        share = rng.uniform(0, 1, (2, CANDIDATES, 1))
        return joined(found, legal(share[0] * one + share[1] * other))

    def forgone(self, candidates: Inputs, at: Inputs, seed: int) -> float:
        """What stopping at a decision forgoes of each later deployment, at most with probability SURE."""
        mean, covariance = self.joint(joined(candidates, at))
        normal = np.random.default_rng(seed).standard_normal((400, len(mean)))
        drawn = self.sign * (mean + normal @ _root(covariance).T)
        return max(0.0, float(np.quantile(drawn[:, -1] - drawn.min(axis=1), SURE)))

    def outlook(self, candidates: Inputs, at: Inputs, days: int, seed: int) -> Outlook:
        """What `days` further deployments bring: they are played in worlds drawn from the posterior.

        Each step of a world deploys the best candidate of one draw of what is known there by then. A draw
        given t values is a draw before them, corrected by the kriging of their difference (Matheron's rule).
        """
        rng, tried = np.random.default_rng(seed), self.curve.posterior.inputs.x
        reach = sum(share * posterior.fit.kernel.length for share, posterior in self.posteriors) / 2
        near = cdist(candidates.x, tried).min(axis=1) <= reach
        points = joined(candidates[near], at)
        mean, covariance = self.joint(points)
        mean, root, m = self.sign * mean, _root(covariance), len(points)
        steps = min(days, STEPS)
        noise = (self.curve.posterior.sigma * self.curve.scale.spread) ** 2 * steps / days
        noise = max(noise, 1e-9 * float(np.trace(covariance)) / m)

        def drawn(heat: float = HEAT) -> np.ndarray:
            return mean + heat * rng.standard_normal((WORLDS, m)) @ root.T

        worlds, each = drawn(1.0), np.arange(WORLDS)
        chosen, seen = np.zeros((WORLDS, steps), int), np.zeros((WORLDS, steps))
        costs = np.zeros(WORLDS)

        def corrected(before: np.ndarray, t: int, error: np.ndarray) -> np.ndarray:
            """(WORLDS, m) draws, or means, given the first t values."""
            rows = chosen[:, :t]
            square = covariance[rows[:, :, None], rows[:, None, :]] + noise * np.eye(t)
            gap = seen[:, :t] - np.take_along_axis(before, rows, axis=1) - error
            along = np.linalg.solve(square, gap[:, :, None])[:, :, 0]
            return before + (covariance[rows] * along[:, :, None]).sum(axis=1)

        for t in range(steps):
            known = (
                corrected(drawn(), t, HEAT * noise**0.5 * rng.standard_normal((WORLDS, t))) if t else drawn()
            )
            chosen[:, t] = known.argmin(axis=1)
            truth = worlds[each, chosen[:, t]]
            seen[:, t] = truth + noise**0.5 * rng.standard_normal(WORLDS)
            costs += (truth - worlds[:, -1]) * days / steps
        best = corrected(np.broadcast_to(mean, (WORLDS, m)), steps, np.zeros(1)).argmin(axis=1)
        gains = worlds[:, -1] - worlds[each, best]
        return Outlook(
            Estimate(float(gains.mean()), float(gains.std())),
            Estimate(float(costs.mean()), float(costs.std())),
        )


def _mixture(posterior: Posterior) -> tuple[tuple[float, Posterior], ...]:
    """Posteriors of other lengths and noise, as probable as the results make them; the chosen one if many."""
    chosen = posterior.fit
    if len(posterior.y) > MIXED:
        return ((1.0, posterior),)
    each = [
        replace(
            posterior, fit=Fit(replace(chosen.kernel, length=length, additive=a), chosen.noise * more, 0.0)
        )
        for length in np.array(LENGTHS) * posterior.inputs.x.shape[1] ** 0.5
        for a in {0.0, chosen.kernel.additive}
        for more in np.geomspace(0.1, 10, 5)
    ]
    share = np.exp(np.array([one.evidence for one in each]) - max(one.evidence for one in each))
    share *= share > FAINT
    return tuple((float(p), one) for p, one in zip(share / share.sum(), each, strict=True) if p > 0)


def values_of(results: Results, objective: Objective | None) -> np.ndarray:
    """(n,) the values, or what the objective makes of the outputs where none was reported."""
    if objective is None:
        return results.value
    return np.where(np.isfinite(results.value), results.value, objective(results.x, results.outputs))


def joined(*points: Inputs) -> Inputs:
    """All points, one after the other."""
    return Inputs(*(np.concatenate(parts) for parts in zip(*(one.arrays for one in points), strict=True)))


def _root(covariance: np.ndarray) -> np.ndarray:
    """R with R Rᵀ = covariance, of which rounding may have taken positive definiteness."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0))


def sums(mean: np.ndarray, covariance: np.ndarray, groups: Sequence[np.ndarray]) -> list[Estimate]:
    """The sum of each group of jointly normal numbers.

    >>> sums(np.array([1.0, 2.0]), np.eye(2), [np.array([0, 1])])[0].mean
    3.0
    """
    return [
        Estimate(float(mean[one].sum()), float(np.sqrt(max(covariance[np.ix_(one, one)].sum(), 0.0))))
        for one in groups
    ]


def pays_after(cost: Estimate, gain: Estimate) -> float:
    """Deployments of the recommendation until its gain has paid the cost of the search; inf: never.

    >>> pays_after(Estimate(30.0, 5.0), Estimate(2.0, 0.5))
    15.0
    """
    if cost.mean <= 0:
        return 0.0
    return cost.mean / gain.mean if gain.mean > 0 else np.inf


class Shock(NamedTuple):
    """The latest results are not what earlier ones predict."""

    number: int  # how many results
    apart: float  # their mean, less what was predicted of it
    expected: float  # that prediction


def shock(results: Results, units: np.ndarray, objective: Objective | None = None) -> Shock | None:
    """Whether the world has changed of late: the posterior without the latest results predicts their mean."""
    value = values_of(results, objective)
    rows = np.flatnonzero(np.isfinite(value))
    rows = rows[np.argsort(results.number[rows], kind="stable")]
    if len(rows) < FEWEST + LATEST:
        return None
    before, inputs = rows[:-LATEST], results.inputs(units)
    curve = Curve.of(
        inputs[before], value[before], results.weight[before], compressed=False, logarithms=False
    )
    for latest in (rows[-LATEST:], rows[-3:]):
        mean, covariance = curve.posterior.joint(inputs[latest])
        covariance += curve.posterior.sigma**2 * np.diag(1 / results.weight[latest])
        apart = float((curve.scale(value[latest]) - mean).mean())
        sd = float(np.sqrt(covariance.sum())) / len(latest)
        if 2 * special.stdtr(len(before), -abs(apart) / sd) < ALARM:
            spread, middle = curve.scale.spread, curve.scale.middle
            return Shock(len(latest), spread * apart, middle + spread * float(mean.mean()))
    return None
