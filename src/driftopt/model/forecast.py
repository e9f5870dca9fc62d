"""Before the start: what past values say of noise and season, and what a search would then bring and cost.

Nobody knows yet how the value depends on the decision. So the search is played in worlds drawn from the
prior of the model: f ~ GP with the Matérn 5/2 kernel, its size and its length about what they usually are.
Each world is played with the model's policy, of which only the choice of hyper-parameters is left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftopt.model.facts import Estimate
from driftopt.model.policy import FIRST, GROW, HEAT, SHORTEST
from driftopt.model.posterior import matern

WORLDS = 48
FEATURES = 128  # cosines of which a draw of the process consists
CANDIDATES = 60
CHANGE = 0.25  # of the value: how much better the best decision is, where nobody says more
BEST = 2.7  # standard deviations of f by which the best decision that 120 days without noise find is better
UNSURE = 0.8  # the standard deviation of the logarithms of that and of the length
LEVELS = 0.05, 0.5, 0.95
WEEK = 7


@dataclass(frozen=True)
class Past:
    """What values before the start say, as long as the decision stood still."""

    n: int
    level: float
    noise: float  # the standard deviation of a day around its weekday and the drift
    drift: Estimate  # a day
    weekdays: tuple[float, ...] = ()  # from Monday, what each is above the level; empty without dates

    @classmethod
    def of(cls, values: Sequence[float], days: Sequence[int] | None = None) -> "Past":
        """From values in their order.

        Args:
            values: one for each day.
            days: the date of each as a number of days, of which 0 is a Monday; without it there is no season.
        """
        y = np.array(values, float)
        if not (len(y) >= 4 and np.isfinite(y).all()):
            raise ValueError(f"past values must be at least 4 finite numbers, got {len(y)}")
        day = np.arange(len(y)) if days is None else np.array(days)
        line = (day - day.mean())[:, None]
        season = np.zeros((len(y), 0))
        if days is not None and len(y) >= 2 * WEEK and len(set(day % WEEK)) == WEEK:
            season = (day[:, None] % WEEK == np.arange(WEEK)).astype(float) - 1 / WEEK
        design = np.hstack([np.ones((len(y), 1)), line, season[:, 1:]])
        found, *_ = np.linalg.lstsq(design, y, rcond=None)
        left = y - design @ found
        noise = float(np.sqrt(left @ left / max(len(y) - design.shape[1], 1)))
        error = noise * float(np.sqrt(np.linalg.pinv(design.T @ design)[1, 1]))
        effects = np.concatenate([[0.0], found[2:]])
        weekly = tuple((effects - effects.mean()).tolist()) if season.size else ()
        return cls(len(y), float(y.mean()), noise, Estimate(float(found[1]), error), weekly)


class Band(NamedTuple):
    """The middle of many worlds, and where 9 of 10 are."""

    low: float
    middle: float
    high: float


class Horizon(NamedTuple):
    """What a search of so many days brings."""

    days: int
    gain: Band  # of each day afterwards, next to the start
    cost: Band  # of the search, next to the start; negative is a gain
    ahead: float  # the probability that the search has paid for itself by then


def forecast(
    level: float,
    noise: float,
    dim: int,
    days: Sequence[int] = (30, 60, 120),
    change: float | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[Horizon]:
    """What a search would reach and cost after so many days.

    Args:
        level: the value today.
        noise: the standard deviation of a day.
        dim: how many coordinates a decision has.
        days: when to look.
        change: how much better the best decision may be, as a share of the value.
        seed: of the worlds.
        progress: is called with the share that is done.
    """
    rng, size, end = np.random.default_rng([seed, dim]), abs(level) or 1.0, max(days)
    s = size * (CHANGE if change is None else change) / BEST * np.exp(UNSURE * rng.standard_normal(WORLDS))
    length = 2 * dim**0.5 * np.exp(UNSURE * rng.standard_normal(WORLDS))
    # A Matérn 5/2 kernel is a mixture of cosines whose frequencies have Student's law with 5 degrees.
    tails = np.sqrt(5 / rng.chisquare(5, (WORLDS, 1, FEATURES)))
    frequency = rng.standard_normal((WORLDS, dim, FEATURES)) * tails / length[:, None, None]
    phase = rng.uniform(0, 2 * np.pi, (WORLDS, 1, FEATURES))

    def features(x: np.ndarray) -> np.ndarray:
        """(WORLDS, n, FEATURES) of decisions (WORLDS, n, dim) in radii."""
        return s[:, None, None] * np.sqrt(2 / FEATURES) * np.cos(x @ frequency + phase)

    world = rng.standard_normal((WORLDS, FEATURES, 1))
    each, x, y = np.arange(WORLDS), np.zeros((WORLDS, end, dim)), np.zeros((WORLDS, end))
    seen = np.zeros((WORLDS, end, FEATURES))  # features of what was deployed
    truth = np.zeros((WORLDS, end))
    inverse = np.zeros((WORLDS, end, end))
    ridge = max(noise**2, 1e-8 * float((s**2).min()))
    start = (features(np.zeros((WORLDS, 1, dim))) @ world)[:, 0, 0]
    horizons: list[Horizon] = []

    def kernel(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        square = (one**2).sum(2)[:, :, None] + (other**2).sum(2)[:, None] - 2 * one @ other.transpose(0, 2, 1)
        scaled = np.sqrt(np.maximum(square, 0)) / length[:, None, None]
        return s[:, None, None] ** 2 * matern(scaled)

    for t in range(end):
        # The centre: the deployed decision of the lowest mean, and candidates on rays from it.
        xs, half = x[:, :t], inverse[:, :t, :t]
        mean = kernel(xs, xs) @ (half @ y[:, :t, None]) if t else np.zeros((WORLDS, 0, 1))
        centre = x[each, mean[:, :, 0].argmin(1)] if t else np.zeros((WORLDS, dim))
        if t in days:
            horizons.append(_horizon(t, start, truth[:, :t], truth[each, mean[:, :, 0].argmin(1)]))
        farthest = np.linalg.norm(xs, axis=2).max(1, initial=0.0) if t else np.zeros(WORLDS)
        reach = np.where(t < FIRST * dim, 1.0, np.minimum(length / 2, np.maximum(GROW * farthest, 1.0)))
        ray = rng.standard_normal((WORLDS, CANDIDATES, dim))
        ray *= (rng.random(ray.shape) < 0.5) | (rng.random((WORLDS, CANDIDATES, 1)) < 0.5)
        away = np.exp(rng.uniform(np.log(SHORTEST), 0, (WORLDS, CANDIDATES, 1))) * reach[:, None, None]
        ray *= away / np.maximum(np.linalg.norm(ray, axis=2, keepdims=True), 1e-9)
        found = np.concatenate([centre[:, None], centre[:, None] + ray], axis=1)
        if t == 0:
            found = found[:, :1]
        # A draw of the posterior, HEAT times as far from its mean as it is, on the candidates.
        new, drawn = features(found), rng.standard_normal((WORLDS, FEATURES, 1))
        value = (new @ drawn)[:, :, 0] * HEAT
        if t:
            across, error = kernel(found, xs), ridge**0.5 * rng.standard_normal((WORLDS, t))
            value += (
                across @ (half @ (y[:, :t] - HEAT * ((seen[:, :t] @ drawn)[:, :, 0] + error))[:, :, None])
            )[:, :, 0]
        best = value.argmin(1)
        x[:, t], seen[:, t] = found[each, best], new[each, best]
        truth[:, t] = (seen[:, t, None] @ world)[:, 0, 0]
        y[:, t] = truth[:, t] + noise * rng.standard_normal(WORLDS)
        # (K + noise²)⁻¹ with a row more: the formula of the bordered matrix.
        border = kernel(x[:, t : t + 1], xs)[:, 0]
        along = (half @ border[:, :, None])[:, :, 0]
        left = np.maximum(s**2 + ridge - (border * along).sum(1), 0.5 * ridge)
        inverse[:, :t, :t] += along[:, :, None] * along[:, None] / left[:, None, None]
        inverse[:, t, :t] = inverse[:, :t, t] = -along / left[:, None]
        inverse[:, t, t] = 1 / left
        if progress is not None:
            progress((t + 1) / end)
    mean = kernel(x, x) @ (inverse @ y[:, :, None])
    horizons.append(_horizon(end, start, truth, truth[each, mean[:, :, 0].argmin(1)]))
    return horizons


def _horizon(days: int, start: np.ndarray, truth: np.ndarray, best: np.ndarray) -> Horizon:
    """What was reached and paid in each world; less is better there."""
    cost, gain = (truth - start[:, None]).sum(1), start - best
    return Horizon(
        days,
        Band(*np.quantile(gain, LEVELS).tolist()),
        Band(*np.quantile(cost, LEVELS).tolist()),
        float((cost < 0).mean()),
    )
