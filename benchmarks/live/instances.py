"""An `Instance`: a live problem in NumPy, whose objective is known exactly.

Deployment t, from 0, of a decision x brings one value, `sample(x, rng, t)`, with the mean `f(x, t)`. Values
are losses. A run is judged by `share`: 1 at the start and 0 at the optimum, at each deployment.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache
from importlib import import_module

import numpy as np
from scipy import optimize

from driftopt.space import Space

Sides = tuple[np.ndarray, np.ndarray]


class Instance(ABC):
    """What optimisers are told (start, radius, bounds, grid), and what a run is judged by."""

    start: np.ndarray  # (d,)
    radius: np.ndarray  # (d,), the unit of each coordinate: a first trial is about 1 away
    bounds: Sides | None = None
    grid: float | None = None
    shock: int | None = None  # the deployment at which the world changes
    moving: bool = False  # whether f depends on t
    priced: bool = (
        False  # whether values are negative profits, so that shares of the start's value mean something
    )

    @abstractmethod
    def f(self, x: np.ndarray, t: int = 0) -> float:
        """The expected loss of a decision at deployment t."""

    @abstractmethod
    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        """One value."""

    def optimum(self, t: int = 0) -> np.ndarray:
        """The best known decision at deployment t; by default the same at all times, found by descent."""
        return self._lowest

    @property
    def dim(self) -> int:
        return len(self.start)

    @cached_property
    def space(self) -> Space:
        bounds = None if self.bounds is None else list(zip(*(s.tolist() for s in self.bounds), strict=True))
        return Space.build(self.start, bounds=bounds, grid=self.grid)

    def ends(self, t: int = 0) -> tuple[float, float]:
        """The losses of the start and of the optimum at deployment t."""
        if self.moving:
            return self.f(self.start, t), self.f(self.optimum(t), t)
        return self._ends

    def share(self, x: np.ndarray, t: int = 0) -> float:
        """The share of the gap between start and optimum that a decision leaves."""
        start, best = self.ends(t)
        return (self.f(x, t) - best) / (start - best)

    def deployed(self, x: np.ndarray) -> np.ndarray:
        """The nearest decision within bounds and on the grid, for optimisers that know neither."""
        x = np.nan_to_num(np.asarray(x, float), nan=0.0, posinf=1e9, neginf=-1e9)
        x = x if self.bounds is None else np.clip(x, *self.bounds)
        return x if self.grid is None else np.round(np.round(x / self.grid) * self.grid, 10)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return self.f(self.start), self.f(self.optimum())

    @cached_property
    def _lowest(self) -> np.ndarray:
        rng = np.random.default_rng(0)
        around = self.start + 2 * self.radius / self.dim**0.5 * rng.normal(size=(5, self.dim))
        return lowest(self.f, [self.start, *around], self.bounds)


def lowest(f: Callable[[np.ndarray], float], starts: list[np.ndarray], bounds: Sides | None) -> np.ndarray:
    """The lowest point that descent finds from several starts."""
    box = None if bounds is None else list(zip(*bounds, strict=True))
    found = [np.asarray(starts[0], float)]
    for start in starts:
        start = start if bounds is None else np.clip(start, *bounds)
        found.append(optimize.minimize(f, start, method="L-BFGS-B", bounds=box).x)
    best = min(found, key=f)
    if len(best) <= 12:
        again = optimize.minimize(f, best, method="Nelder-Mead", bounds=box, options={"maxiter": 4000})
        best = min((best, again.x), key=f)
    return best


@lru_cache
def instances(which: str) -> dict[str, Instance]:
    """Instances by name, of the set `development` or `validation`."""
    return import_module(f"benchmarks.live.{which}").instances()
