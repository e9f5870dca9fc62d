"""Bayesian optimisation with the Gaussian process of scikit-optimize."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

from driftopt import checks
from driftopt.outside.contract import EXTRA, Outside, World, box, check_box, whole
from driftopt.packages import package

MOST = 200  # points: the time of the next one grows with the cube of their number


@dataclass(frozen=True)
class GaussianProcess(Outside):
    """scikit-optimize's Gaussian process in a box. It reports the minimum of its model's mean.

    Args:
        width: the reach of the box to both sides of the start. None: to the bounds.
        acquisition: EI, LCB, PI or gp_hedge, the rule for the next point.
        batch: values averaged at each point. A process on many points takes hours, so a large budget needs a
            large batch.
    """

    packages: ClassVar[tuple[str, ...]] = ("skopt", "sklearn")

    width: float | None = None
    acquisition: str = "EI"
    batch: int = 1

    def __post_init__(self) -> None:
        whole("batch", self.batch)
        checks.choice("acquisition", self.acquisition, ("EI", "LCB", "PI", "gp_hedge"))
        if self.width is not None:
            checks.positive("width", self.width)

    def check(self, dim: int, points: int, boxed: bool) -> None:
        check_box("skopt", self.width, boxed)
        if points > MOST:
            raise ValueError(
                f"skopt's process would get {points:,} points and take hours: give a batch of "
                f"{-(-points * self.batch // MOST):,} or more, for at most {MOST}"
            )

    def run(self, world: World) -> None:
        skopt: Any = package("skopt", EXTRA, "skopt")
        low, high = box(world, self.width)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about length scales at their limits, and points asked for twice
            search = skopt.Optimizer(
                [(float(a), float(b)) for a, b in zip(low, high, strict=True)],
                base_estimator="GP",
                acq_func=self.acquisition,
                n_initial_points=min(10, max(1, world.left // 2)),
                random_state=world.seed31,
            )

            def lowest_mean() -> Any:
                if not search.models:
                    return world.x0
                return skopt.expected_minimum(search.get_result(), random_state=world.seed31)[0]

            world.recommend = lowest_mean
            search.tell(world.x0.tolist(), world.one(world.x0))
            while world.left:
                point = search.ask()
                search.tell(point, world.one(point))
