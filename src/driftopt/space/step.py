"""The contract of a step on the way out: from a method's point towards the decision that is deployed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np


class Plain:
    """An object that travels, and is hashed, without what it has computed meanwhile."""

    def __getstate__(self) -> dict[str, Any]:
        computed = [key for key in vars(self) if isinstance(getattr(type(self), key, None), cached_property)]
        return {key: value for key, value in vars(self).items() if key not in computed}


class SpaceStep(Plain, ABC):
    """A pure function on points, (…, d) → (…, d), with a name under which it is given and stored.

    A step lengthens no distance by more than its `slack`, so what a method promises of its points holds for
    the decisions, up to that.
    """

    name: ClassVar[str]  # the keyword of `Space.build`, and the key under which a study stores it
    instead_of: ClassVar[tuple[str, ...]] = ()  # steps whose work this one does too
    by_coordinate: ClassVar[bool] = True  # whether each coordinate of a decision follows from its own alone

    @classmethod
    @abstractmethod
    def parse(cls, given: Any, start: np.ndarray, before: "Sequence[SpaceStep]") -> "Self | None":
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

    def legal(self, decisions: np.ndarray, centre: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Decisions (m, d) near a legal centre, changed as little as it takes until this step allows them.

        Those that cannot be changed so are left out.
        """
        return decisions

    def along(self, rays: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Directions (m, d) from a legal centre, turned so that a short way along them can be allowed."""
        return rays

    def report(self, point: np.ndarray) -> np.ndarray:
        """The same for a recommendation, without randomness."""
        return self.deploy(point, ())

    def begin(self, point: np.ndarray, radius: Any) -> np.ndarray:
        """Where a walk begins whose trials reach `radius` in each coordinate: at the decision `point`, unless
        it would be stuck there.
        """
        return point

    def alone(self, start: np.ndarray) -> bool:
        """Whether it leaves no other decision than the start, so that there is nothing to try."""
        return False

    def lift(self, decisions: np.ndarray) -> np.ndarray:
        """Points that stand for decisions which this step can give."""
        return decisions

    def toward(self, here: np.ndarray, point: np.ndarray) -> np.ndarray:
        """A point on the straight line from the decision `here` to another, as a decision not farther off."""
        return point

    def detour(self, here: np.ndarray, there: np.ndarray, point: np.ndarray) -> np.ndarray | None:
        """Where to go first from `here` to `there` if `point` between cannot be deployed; None: it can."""
        return None

    @property
    def detours(self) -> bool:
        """Whether a way may leave the straight line."""
        return False

    def settled(self, asked: np.ndarray, deployed: np.ndarray) -> np.ndarray:
        """What was deployed, with every coordinate that counts as the asked one replaced by it."""
        return deployed

    @property
    def stride(self) -> Any:
        """How far the next decision is at most, in each coordinate; infinite where no next one is sure."""
        return 0.0

    @property
    def slack(self) -> Any:
        """By how much it may lengthen a distance, in each coordinate."""
        return 0.0

    @property
    def rounding(self) -> float:
        """How far a recommendation is at most from the point that it was rounded from, in the units of the
        space; infinite: anywhere.
        """
        return 0.0
