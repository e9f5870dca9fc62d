"""CMA-ES in the two libraries that people use: cma, and cmaes with an adapted learning rate."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from driftopt import checks
from driftopt.outside.contract import EXTRA, Outside, World, spread, whole
from driftopt.packages import package


@dataclass(frozen=True)
class CMA(Outside):
    """CMA-ES of the library cma. It reports its distribution's mean, which the library calls its favorite.

    Hansen, Akimoto and Baudis, "CMA-ES/pycma on GitHub".

    Args:
        radius: the first trials' distance from the start; √d times the standard deviation of a coordinate.
        population: points in a generation; a larger one averages noise. None: the library's own, 4 + 3 log d.
        batch: values averaged at each point.
    """

    packages: ClassVar[tuple[str, ...]] = ("cma",)

    radius: float
    population: int | None = None
    batch: int = 1

    def __post_init__(self) -> None:
        _check(self.radius, self.population, self.batch)

    def run(self, world: World) -> None:
        cma, rng = package("cma", EXTRA, "cma"), world.rng
        options: dict[str, Any] = {
            "randn": lambda *shape: rng.standard_normal(shape),  # its own generator, not NumPy's global one
            "seed": np.nan,
            "verbose": -9,
            # Under noise only the budget ends a run, not small changes.
            "tolfun": 0,
            "tolx": 0,
            "tolfunhist": 0,
            "tolflatfitness": np.inf,
            "tolstagnation": np.inf,
        }
        options |= {} if self.population is None else {"popsize": self.population}
        if world.sides is not None:
            options["bounds"] = [side.tolist() for side in world.sides]
        search = cma.CMAEvolutionStrategy(world.x0, spread(self.radius, world.x0.size), options)
        world.recommend = lambda: search.result.xfavorite
        while world.left >= search.popsize:
            points = search.ask()
            search.tell(points, world(points).tolist())


@dataclass(frozen=True)
class AdaptedCMA(Outside):
    """CMA-ES of the library cmaes, which adapts its learning rate to noise. It reports its mean.

    Nomura, Akimoto and Ono, "CMA-ES with learning rate adaptation", GECCO 2023.

    Args:
        radius: the first trials' distance from the start; √d times the standard deviation of a coordinate.
        population: points in a generation. None: the library's own, 4 + 3 log d.
        adapt: adapt the learning rate.
        batch: values averaged at each point.
    """

    packages: ClassVar[tuple[str, ...]] = ("cmaes",)

    radius: float
    population: int | None = None
    adapt: bool = True
    batch: int = 1

    def __post_init__(self) -> None:
        _check(self.radius, self.population, self.batch)

    def run(self, world: World) -> None:
        cmaes = package("cmaes", EXTRA, "cmaes")
        bounds = None if world.sides is None else np.stack(world.sides, axis=1)
        search = cmaes.CMA(
            mean=world.x0,
            sigma=spread(self.radius, world.x0.size),
            bounds=bounds,
            seed=world.seed31,
            population_size=self.population,
            lr_adapt=self.adapt,
        )
        world.recommend = lambda: search.mean
        while world.left >= search.population_size:
            points = [search.ask() for _ in range(search.population_size)]
            search.tell(list(zip(points, world(points).tolist(), strict=True)))


def _check(radius: float, population: int | None, batch: int) -> None:
    checks.positive("radius", radius)
    whole("batch", batch)
    if population is not None and whole("population", population) < 2:
        raise ValueError(f"population must be at least 2, got {population!r}")
