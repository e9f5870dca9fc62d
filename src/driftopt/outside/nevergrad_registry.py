"""The optimisers of Nevergrad, by their names in its registry."""

import difflib
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from driftopt import checks
from driftopt.outside.contract import EXTRA, Outside, World, spread, whole
from driftopt.packages import package


@dataclass(frozen=True)
class Nevergrad(Outside):
    """An optimiser of Nevergrad. It reports what the library recommends.

    Rapin and Teytaud, "Nevergrad: a gradient-free optimization platform".

    Args:
        optimizer: its name in the library's registry; TBPSA, SPSA and OptimisticNoisyOnePlusOne are made for
            noisy functions.
        radius: the first trials' distance from the start; √d times the standard deviation of a coordinate.
        batch: values averaged at each point.
    """

    packages: ClassVar[tuple[str, ...]] = ("nevergrad",)

    radius: float
    optimizer: str = "TBPSA"
    batch: int = 1

    def __post_init__(self) -> None:
        checks.positive("radius", self.radius)
        whole("batch", self.batch)

    def check(self, dim: int, points: int, boxed: bool) -> None:
        known: Any = package("nevergrad", EXTRA, "nevergrad").optimizers.registry
        if self.optimizer not in known:
            near = difflib.get_close_matches(str(self.optimizer), list(known), n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise ValueError(f"Nevergrad has no optimizer {self.optimizer!r}{hint}")

    def run(self, world: World) -> None:
        ng: Any = package("nevergrad", EXTRA, "nevergrad")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about huge values, budgets and bounds
            space = ng.p.Array(init=world.x0).set_mutation(sigma=spread(self.radius, world.x0.size))
            if world.sides is not None:
                sides = [None if np.isinf(side).any() else side for side in world.sides]
                space = space.set_bounds(*sides)
            space.random_state.seed(world.seed % 2**32)
            search = ng.optimizers.registry[self.optimizer](parametrization=space, budget=world.left)
            world.recommend = lambda: search.provide_recommendation().value
            while world.left:
                candidate = search.ask()
                search.tell(candidate, world.one(candidate.value))
