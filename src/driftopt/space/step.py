"""The contract of a step on the way out: from a method's point towards the decision that is deployed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np


class Step(ABC):
    """A pure function on points, (…, d) → (…, d), with a name under which it is given and stored.

    A step never lengthens a distance, so what a method promises of its points holds for the decisions.
    """

    name: ClassVar[str]  # the keyword of `Space.build`, and the key under which a study stores it

    @classmethod
    @abstractmethod
    def parse(cls, given: Any, start: np.ndarray, before: "Sequence[Step]") -> "Self | None":
        """The step from what the user gave for it; None: it is left out.

        Args:
            given: the user's value, or what `given` stored.
            start: the decision in force today.
            before: the steps that come earlier on the way.

        Raises:
            ValueError: no step can be made of it, or the start is no decision that this step can give.
        """

    @property
    @abstractmethod
    def given(self) -> Any:
        """What builds this step again, as JSON knows it."""

    @abstractmethod
    def deploy(self, points: np.ndarray, draw: Sequence[int]) -> np.ndarray:
        """The points one step nearer to the world.

        Args:
            points: (…, d), not to be written to.
            draw: whole numbers that name this draw of points; all randomness of a step comes from them.
        """

    def report(self, point: np.ndarray) -> np.ndarray:
        """The same for a recommendation, without randomness."""
        return self.deploy(point, ())

    def begin(self, point: np.ndarray, radius: float) -> np.ndarray:
        """Where a walk with trials of this radius begins: at `point`, unless it would be stuck there."""
        return point
