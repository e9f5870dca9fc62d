"""Units: a method moves in z = x / units, in which a trial goes equally far in every coordinate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from driftopt import checks
from driftopt.space.step import SpaceStep


@dataclass(frozen=True, eq=False)
class Units(SpaceStep):
    """x = z · sizes, coordinate by coordinate."""

    name: ClassVar[str] = "units"

    sizes: np.ndarray

    @classmethod
    def parse(cls, given: Any, start: np.ndarray, before: Sequence[SpaceStep] = ()) -> Self | None:
        """From a number > 0 for each coordinate."""
        if given is None:
            return None
        return cls(checks.positive("units", checks.vector("units", given, start.size)))

    @property
    def given(self) -> list[float]:
        return self.sizes.tolist()

    def deploy(self, points: np.ndarray, draw: Sequence[int] = ()) -> np.ndarray:
        """
        >>> Units(np.array([0.05, 10.0])).deploy(np.array([[2.0, 2.0]]))
        array([[ 0.1, 20. ]])
        """
        return points * self.sizes

    def lift(self, decisions: np.ndarray) -> np.ndarray:
        return decisions / self.sizes


def of(steps: Sequence[SpaceStep]) -> Any:
    """The units among some steps; 1.0 without any."""
    return next((step.sizes for step in steps if isinstance(step, Units)), 1.0)
