"""The next decision: one joint draw of the posterior over decisions that can be deployed, and its best one.

    reach        min(half the kernel's length, the sure length, GROW · the farthest trial so far)
    centre       the deployed decision of the lowest expected loss, improved within the reach
    candidates   points on random rays from the centre and down the slope, made legal; within the reach of a
                 deployed decision
    allowed      those that keep each limit with a probability of 1 − RISK
    next         the lowest of them in one draw (Thompson sampling), so trials that are out need no rule

Until there are two results for each coordinate, candidates stay within one radius of the start.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special  # scipy.stats takes three times as long to import
from scipy.spatial.distance import cdist

from driftopt.model.belief import Belief, Results
from driftopt.model.facts import Estimate, Facts
from driftopt.model.objective import Objective
from driftopt.model.outlier import reason
from driftopt.model.posterior import Inputs
from driftopt.space import Space

CANDIDATES = 300  # points on rays; more help the end in many dimensions a little, and cost time
SHORTEST = 0.02  # of the reach, the shortest ray: the scale on which a kink can still be resolved
GROW = 1.6  # trials grow as geometric search does, so that a radius that is too small costs little
FIRST = 2  # results for each coordinate before trials may grow: then its slope is known from both sides
HEAT = 0.7  # of the draw: the share of the doubt that a trial pays for
RISK = 0.1  # the probability with which a limit may be broken
DRAWS = 200  # draws from which that probability is taken
LAST = 0.2  # of a budget, the share in which the draw cools down


@dataclass(frozen=True)
class Limit:
    """A metric that must stay within limits."""

    column: int
    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Recommendation:
    """The decision that the results speak for, and what it brings against the start."""

    x: np.ndarray
    gain: Estimate  # positive is better


@dataclass(frozen=True)
class Model:
    """What to optimise within which limits; every method is a function of the set of results."""

    space: Space
    units: np.ndarray  # (d,), the radius in each coordinate: about how far a first trial may go
    seed: int = 0
    maximize: bool = False
    objective: Objective | None = None
    limits: Sequence[Limit] = ()
    max_loss: float | None = None  # of the start's value, for one deployment
    max_loss_total: float | None = None  # of all deployments together, in units of the value
    max_radius: float | None = None  # how far a trial may be from a deployed decision, in units of the radius
    max_change: float | None = None  # from one deployment to the next, in units of the space
    budget: int | None = None

    @property
    def sign(self) -> float:
        """−1 where values are to be maximised."""
        return -1.0 if self.maximize else 1.0

    def ask(
        self,
        results: Results,
        number: int,
        context: Sequence[float] = (),
        deployed: np.ndarray | None = None,
    ) -> np.ndarray:
        """The decision of one trial; the same arguments give the same decision.

        Args:
            results: what stands, in any order.
            number: the trial's number in the study, from 1.
            context: the number of each context; of categories, far apart.
            deployed: the decision in force now, for `max_change`.
        """
        if len(results) == 0:
            return self.space.start.copy()
        rng = np.random.default_rng([self.seed, number])
        now = _Now(self, results, number, context, rng)
        centre = now.centre()
        if self.max_change is not None and deployed is not None:
            centre = self.space.toward(deployed, centre, self.max_change)
        reach = now.reach
        noise = float(np.median([posterior.fit.noise for posterior in now.belief.main]))
        shortest = float(np.clip(np.sqrt(self.space.dim * noise / len(results)), SHORTEST, 0.9))
        found = now.near(
            np.vstack([now.rays(centre, reach, CANDIDATES, shortest), now.down(centre, reach, shortest)])
        )
        found = np.vstack([centre, found])
        if self.max_change is not None and deployed is not None:
            found = found[self.space.distances(found, deployed) <= self.max_change * (1 + 1e-9)]
        found = now.kept(found)
        if not len(found):
            start = self.space.start
            return (
                start.copy()
                if deployed is None
                else self.space.toward(deployed, start, self.max_change or np.inf)
            )
        draw = now.belief.draws(now.at(found), 1, rng, HEAT * self._heat(number))[0]
        return found[draw.argmin()]

    def recommend(self, results: Results, number: int, context: Sequence[float] = ()) -> Recommendation:
        """The decision of the lowest expected loss, with its gain over the start."""
        if len(results) == 0:
            return Recommendation(self.space.start.copy(), Estimate(0.0, np.inf))
        now = _Now(self, results, number, context, np.random.default_rng([self.seed, number, 1]))
        centre = now.centre()
        gain = self.facts(results).difference(now.at(centre[None]))
        return Recommendation(centre, Estimate(-self.sign * gain.mean, gain.sd))

    def outlier(self, results: Results, new: Results) -> str | None:
        """Why a new result is implausible next to those that stand, in words that follow "it is"; else None.

        Args:
            results: what stands, without the new one.
            new: one row, the new result.
        """
        if not len(results):
            return None
        now = _Now(self, results, int(new.number[0]), tuple(new.context[0]), np.random.default_rng(0))
        z = np.concatenate([results.covariates, new.covariates])
        z = Results.of(np.zeros((len(z), self.space.dim)), np.zeros(len(z)), covariates=z).inputs(self.units)
        where = replace(now.at(new.x), covariates=z.covariates[-1:])
        return reason(now.belief, where, float(new.value[0]), new.outputs[0])

    def value(self, results: Results, x: np.ndarray, number: int, context: Sequence[float] = ()) -> Estimate:
        """The expected value of a decision."""
        now = _Now(self, results, number, context, np.random.default_rng(0))
        return self.facts(results).total(now.at(x[None]), np.ones(1))

    def facts(self, results: Results) -> Facts:
        """Gains and costs in the units of the value."""
        return Facts.of(results, self.space.start, self.units, self.objective, self.sign)

    def _heat(self, number: int) -> float:
        """1, falling to 0 over the last share of a budget."""
        if self.budget is None:
            return 1.0
        return float(np.clip((self.budget - number) / (LAST * self.budget), 0.0, 1.0))


class _Now:
    """One question to the model: what is believed now, in a context, and the search for decisions."""

    def __init__(
        self, model: Model, results: Results, number: int, context: Sequence[float], rng: np.random.Generator
    ):
        self.model, self.rng = model, rng
        self.belief = Belief(
            results, model.units, model.space.start, model.sign, model.objective, len(model.limits)
        )
        known = self.belief.inputs
        self.here = Inputs(
            np.zeros((1, model.space.dim)),
            np.array([float(number)]),
            np.zeros((1, known.covariates.shape[1])),
            np.array([context], float).reshape(1, -1),
        )
        self.first = len(known) < FIRST * model.space.dim

    def at(self, decisions: np.ndarray) -> Inputs:
        """Decisions (m, d) now."""
        return self.here.moved(decisions / self.model.units)

    @property
    def reach(self) -> float:
        """How far a trial may be from the nearest deployed decision, in radii."""
        fits = [posterior.fit for posterior in self.belief.main]
        length = min(
            np.median([one.kernel.length for one in fits]) / 2, np.median([one.sure for one in fits])
        )
        return float(min(length, self.farthest, self.model.max_radius or np.inf))

    @property
    def farthest(self) -> float:
        """How far a trial may be from the start, in radii."""
        tried = (self.belief.results.x - self.model.space.start) / self.model.units
        return 1.0 if self.first else max(GROW * float(np.linalg.norm(tried, axis=1).max()), 1.0)

    def near(self, found: np.ndarray) -> np.ndarray:
        """Those within the reach of a deployed decision, and not too far from the start."""
        units = self.model.units
        away = cdist(found / units, self.belief.results.x / units).min(axis=1)
        far = np.linalg.norm((found - self.model.space.start) / units, axis=1)
        return found[_within(away, self.reach) & _within(far, self.farthest)]

    def centre(self) -> np.ndarray:
        """The point of the lowest expected loss."""
        start = self.model.space.start
        tried = self.kept(np.vstack([start, self._legal(self.near(self.belief.results.x), start)]))
        expected = self.belief.mean(self.at(tried))
        centre, lowest = tried[expected.argmin()], expected.min()
        for step in self.reach * 0.5 ** np.arange(4):
            found = np.vstack([self.rays(centre, step, 100, SHORTEST), self.down(centre, step, SHORTEST)])
            found = self.kept(np.vstack([centre, self.near(found)]))
            if len(found) and (expected := self.belief.mean(self.at(found))).min() < lowest:
                centre, lowest = found[expected.argmin()], expected.min()
        return centre

    def rays(self, centre: np.ndarray, reach: float, count: int, shortest: float) -> np.ndarray:
        """Points on random rays from the centre; some change few coordinates; lengths are log-uniform."""
        space, units, dim, rng = self.model.space, self.model.units, len(centre), self.rng
        ray = rng.standard_normal((count, dim))
        changed = rng.random((count, dim)) < rng.uniform(1 / dim, 1, (count, 1))
        changed[np.arange(count), rng.integers(dim, size=count)] = True
        ray = np.where(changed | (rng.random((count, 1)) < 0.5), ray, 0.0)
        ray = space.along(ray * units, centre) / units
        length = reach * np.exp(rng.uniform(np.log(shortest), 0, (count, 1)))
        size = np.linalg.norm(ray, axis=1, keepdims=True)
        return self._legal(centre + length * ray / np.where(size > 0, size, 1.0) * units, centre)

    def down(self, centre: np.ndarray, reach: float, shortest: float) -> np.ndarray:
        """Points down the slope of the expected loss."""
        space, units = self.model.space, self.model.units
        slope = space.along(self.belief.slope(self.at(centre[None]))[None] * units, centre)[0] / units
        size = float(np.linalg.norm(slope)) or 1.0
        length = reach * np.geomspace(shortest, 1, 20)[:, None]
        return self._legal(centre - length * slope / size * units, centre)

    def _legal(self, decisions: np.ndarray, centre: np.ndarray) -> np.ndarray:
        return self.model.space.legal(decisions, centre, self.rng)

    def kept(self, found: np.ndarray) -> np.ndarray:
        """The points that keep every limit with a probability of 1 − RISK; without any, the likeliest."""
        if not len(found) or not self.limited:
            return found
        doubt = self._doubt(found)
        return found[doubt < RISK] if (doubt < RISK).any() else found[doubt.argmin()][None]

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        model = self.model
        return bool(model.limits) or model.max_loss is not None or model.max_loss_total is not None

    def _doubt(self, found: np.ndarray) -> np.ndarray:
        """(m,) the probability that a point breaks a limit, of the limit that it breaks most likely."""
        model, points = self.model, self.at(found)
        doubt = np.zeros(len(found))
        for limit, curve in zip(model.limits, self.belief.metrics, strict=True):
            mean, covariance = curve.posterior.joint(points)
            sd = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
            low, high = (curve.scale(np.array([side]))[0] for side in (limit.low, limit.high))
            doubt = np.maximum(doubt, special.ndtr((low - mean) / sd) + special.ndtr((mean - high) / sd))
        if model.max_loss is not None or model.max_loss_total is not None:
            drawn = self.belief.draws(self.at(np.vstack([model.space.start, found])), DRAWS, self.rng)
            loss = drawn[:, 1:] - drawn[:, :1]
            if model.max_loss is not None:
                doubt = np.maximum(doubt, (loss > model.max_loss * abs(drawn[:, :1])).mean(axis=0))
            if model.max_loss_total is not None:
                spent = model.sign * model.facts(self.belief.results).difference(self.belief.inputs).mean
                beyond = spent + np.maximum(loss, 0).mean(axis=0) > model.max_loss_total
                doubt = np.maximum(doubt, beyond * (loss > 0).mean(axis=0))
        return doubt


def _within(distances: np.ndarray, limit: float) -> np.ndarray:
    """Which distances are within a limit, or the shortest there are where a grid is coarser than it."""
    shortest = distances[distances > 1e-9].min(initial=np.inf)
    return distances <= (1 + 1e-9) * (limit if np.isinf(shortest) else max(limit, shortest))
