"""The contract of a step from a method's point towards the decision that is deployed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np


class Plain:
    """An object that is pickled and hashed without its cached properties."""

    def __getstate__(self) -> dict[str, Any]:
        computed = [key for key in vars(self) if isinstance(getattr(type(self), key, None), cached_property)]
        return {key: value for key, value in vars(self).items() if key not in computed}


class SpaceStep(Plain, ABC):
    """A pure function on points, (…, d) → (…, d), with the name of its argument.

    A step lengthens no distance by more than its `slack`, so a limit on the distance of a method's points
    holds for the decisions, up to that.
    """

    name: ClassVar[str]  # the keyword of `Space.build`, and the key under which a study stores it
    instead_of: ClassVar[tuple[str, ...]] = ()  # the steps that this one replaces
    by_coordinate: ClassVar[bool] = True  # True: each coordinate of a decision follows from its own alone

    @classmethod
    @abstractmethod
    def parse(cls, given: Any, start: np.ndarray, before: "Sequence[SpaceStep]") -> "Self | None":
        """The step from the user's value; None if it is left out.

        Args:
            given: the user's value, or the stored `given`.
            start: the decision in force today.
            before: the earlier steps.

        Raises:
            ValueError: the value does not make a step, or the step cannot give the start.
        """

    @property
    @abstractmethod
    def given(self) -> Any:
        """The value that builds this step again, in JSON's types."""

    @abstractmethod
    def deploy(self, points: np.ndarray, draw: Sequence[int]) -> np.ndarray:
        """The points after this step.

        Args:
            points: (…, d), not to be written to.
            draw: whole numbers that identify this draw of points; all randomness of a step comes from them.
        """

    def legal(self, decisions: np.ndarray, centre: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Decisions (m, d) near a legal centre, changed as little as it takes until this step allows them.

        Decisions that cannot be changed in this way are left out.
        """
        return decisions

    def along(self, rays: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Directions (m, d) from a legal centre, turned so that a short way along them can be allowed."""
        return rays

    def report(self, point: np.ndarray) -> np.ndarray:
        """The recommended point after this step, without randomness."""
        return self.deploy(point, ())

    def begin(self, point: np.ndarray, radius: Any) -> np.ndarray:
        """The first point of a search from `point` with trials of `radius` in each coordinate."""
        return point

    def alone(self, start: np.ndarray) -> bool:
        """True if the start is the only decision that this step allows."""
        return False

    def lift(self, decisions: np.ndarray) -> np.ndarray:
        """The points whose deployment gives these decisions."""
        return decisions

    def toward(self, here: np.ndarray, point: np.ndarray) -> np.ndarray:
        """A point on the straight line from the decision `here`, as a decision that is not farther away."""
        return point

    def detour(self, here: np.ndarray, there: np.ndarray, point: np.ndarray) -> np.ndarray | None:
        """The first target from `here` to `there` if `point` between cannot be deployed; else None."""
        return None

    def settled(self, asked: np.ndarray, deployed: np.ndarray) -> np.ndarray:
        """The deployed decision, with every coordinate that counts as the asked one replaced by it."""
        return deployed

    @property
    def stride(self) -> Any:
        """The largest distance to the next decision, in each coordinate; infinite if there may be none."""
        return 0.0

    @property
    def slack(self) -> Any:
        """The most that this step may lengthen a distance, in each coordinate."""
        return 0.0
