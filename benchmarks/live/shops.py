"""A shop: prices that move the units sold of several products, from day to day."""

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from importlib import import_module

import numpy as np
from scipy import optimize

from driftopt.space import Space

DAYS = 120
FAILED = 0.04  # of the days, nothing comes back


class Shop(ABC):
    """Units sold are Poisson numbers around `units`, times the day's level and common noise."""

    start: np.ndarray  # (d,), today's prices
    radius: np.ndarray
    bounds: tuple[np.ndarray, np.ndarray]
    grid: float  # of the price tags
    law: tuple[np.ndarray, float] | None = None  # a row and its upper limit: row @ x ≤ limit
    cost: np.ndarray  # of a unit
    fixed: float
    noise: float
    weekday: np.ndarray  # (7,)
    promotion: range
    boost: float  # by which the promotion multiplies demand

    @abstractmethod
    def units(self, x: np.ndarray, t: int) -> np.ndarray:
        """Units that are sold on an average weekday."""

    def level(self, t: int) -> float:
        """What weekday and promotion make of demand."""
        return float(self.weekday[t % 7] * (self.boost if t in self.promotion else 1.0))

    def profit(self, x: np.ndarray, t: int, level: float = 1.0) -> float:
        """The expected profit of a day."""
        return float(((x - self.cost) * self.units(x, t)).sum() * level - self.fixed)

    def day(self, x: np.ndarray, t: int, rng: np.random.Generator) -> tuple[float, np.ndarray]:
        """The profit and the units of one day."""
        weather = np.exp(self.noise * rng.normal() - self.noise**2 / 2)
        sold = rng.poisson(self.units(x, t) * self.level(t) * weather).astype(float)
        return float(((x - self.cost) * sold).sum() - self.fixed), sold

    def covariates(self, t: int) -> np.ndarray:
        """(7,): six weekdays and the promotion."""
        return np.append(np.arange(1, 7) == t % 7, t in self.promotion).astype(float)

    @cached_property
    def space(self) -> Space:
        law = None if self.law is None else {"A": [self.law[0].tolist()], "ub": [self.law[1]]}
        sides = list(zip(*(side.tolist() for side in self.bounds), strict=True))
        return Space.build(self.start, bounds=sides, constraints=law, grid=self.grid)

    @cached_property
    def most(self) -> float:
        """The most that any prices bring on an average day after the last one."""
        rng = np.random.default_rng(0)
        law = () if self.law is None else [optimize.LinearConstraint(self.law[0][None], -np.inf, self.law[1])]
        found = []
        for k in range(6):
            begin = np.clip(self.start * np.exp(0.06 * k * rng.normal(size=len(self.start))), *self.bounds)
            best = optimize.minimize(
                lambda x: -self.profit(x, DAYS),
                self.start if k == 0 else begin,
                method="SLSQP",
                bounds=list(zip(*self.bounds, strict=True)),
                constraints=law,
                options={"maxiter": 500},
            )
            if self.law is None or self.law[0] @ best.x <= self.law[1] + 1e-6:
                found.append(self.profit(best.x, DAYS))
        return max(found)

    def gain(self, x: np.ndarray) -> float:
        """The share of the possible gain that prices reach after the last day."""
        today = self.profit(self.start, DAYS)
        return (self.profit(x, DAYS) - today) / (self.most - today)


@lru_cache
def shops(which: str) -> list[Shop]:
    """The shops of the set `development` or `validation`."""
    return import_module(f"benchmarks.live.{which}").shops()
