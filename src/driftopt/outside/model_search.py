"""driftopt's own model as an optimiser of a comparison: it runs where those of other libraries run."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from driftopt import checks
from driftopt.outside.contract import Outside, World, whole
from driftopt.space import Space


@dataclass(frozen=True)
class ModelSearch(Outside):
    """The model of all results: the default of a study, and of `minimize` for few values.

    Args:
        radius: about how far a first trial may go; by default a tenth of the bounds, or of the start.
        max_radius: how far any trial may be from a decision deployed before.
        batch: values averaged at each point.
    """

    packages: ClassVar[tuple[str, ...]] = ()

    radius: Any = None
    max_radius: float | None = None
    batch: int = 1

    def __post_init__(self) -> None:
        for name, length in (("radius", self.radius), ("max_radius", self.max_radius)):
            if length is not None:
                checks.positive(name, length)
        whole("batch", self.batch)

    def run(self, world: World) -> None:
        from driftopt.model import Model, Results, units_of  # SciPy's linear algebra

        sides = (
            None if world.sides is None else list(zip(*(side.tolist() for side in world.sides), strict=True))
        )
        space, units = units_of(Space.build(world.x0, bounds=sides), self.radius)
        most = None if self.max_radius is None else self.max_radius / float(np.max(units))
        model = Model(space, units, world.seed, max_radius=most, budget=world.left)
        x, values = np.zeros((0, space.dim)), list[float]()
        world.recommend = lambda: model.recommend(Results.of(x, values), len(values) + 1).x
        while world.left:
            point = model.ask(Results.of(x, values), len(values) + 1)
            value = world.one(point)
            x, values = np.vstack([x, point]), [*values, value]
