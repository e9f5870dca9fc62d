"""The derivative-free methods of scipy.optimize.minimize."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from driftopt import checks
from driftopt.outside.contract import Outside, World, whole

ALGORITHMS = ("COBYQA", "Powell", "Nelder-Mead", "COBYLA")


@dataclass(frozen=True)
class SciPy(Outside):
    """A derivative-free method of SciPy, restarted from its last point until the budget is spent.

    It reports the best point it has seen, its luckiest draw: these methods are made for functions without
    noise. COBYQA: Ragonneau and Zhang 2023; Powell's method: Powell 1964.

    Args:
        algorithm: COBYQA, Powell, Nelder-Mead or COBYLA.
        radius: the distance of the first trials from the start, if the method has such a number.
        batch: values averaged at each point.
    """

    packages: ClassVar[tuple[str, ...]] = ("scipy",)
    luckiest: ClassVar[bool] = True  # pyright: ignore[reportIncompatibleVariableOverride]

    radius: float
    algorithm: str = "COBYQA"
    batch: int = 1

    def __post_init__(self) -> None:
        checks.positive("radius", self.radius)
        whole("batch", self.batch)
        checks.choice("algorithm", self.algorithm, ALGORITHMS)

    def run(self, world: World) -> None:
        from scipy import optimize  # it loads as slowly as JAX, and every sweep imports this file

        bounds = None if world.sides is None else list(zip(*world.sides, strict=True))
        x = world.x0
        while world.left:
            before = world.left
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about noise that looks like a loss of precision
                result = optimize.minimize(
                    world.one,
                    x,
                    method=self.algorithm,
                    bounds=bounds,
                    options=self._options(x, world.left),
                )
            x = np.asarray(result.x, float)
            if world.left == before:
                return  # it asks for no further point

    def _options(self, x: np.ndarray, left: int) -> dict[str, Any]:
        """The algorithm's options for this radius and budget."""
        first = self.radius
        if self.algorithm == "COBYQA":
            return {"initial_tr_radius": first, "final_tr_radius": 1e-6 * first, "maxfev": left}
        if self.algorithm == "COBYLA":
            return {"rhobeg": first, "maxiter": left}
        if self.algorithm == "Nelder-Mead":
            simplex = np.vstack([x, x + first * np.eye(x.size)])
            return {"initial_simplex": simplex, "maxfev": left}
        return {"direc": first * np.eye(x.size), "maxfev": left}
