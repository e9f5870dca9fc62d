"""`Space`: where decisions start, what they are called, and the way from a method's point to a decision.

    method's point ──►  each step's `deploy`, in the order of STEPS  ──►  the decision to deploy

A new rule for decisions is a new file with a `Step` and a line in STEPS: drivers call `deploy` and `report`,
a study stores `given`, and neither knows which steps there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.space.bounds import Bounds
from driftopt.space.step import Step

STEPS: tuple[type[Step], ...] = (Bounds,)


@dataclass(frozen=True, eq=False)
class Space:
    """What a decision may be. Made once, at the door; everything in it has been checked."""

    start: np.ndarray
    names: tuple[str, ...]
    steps: tuple[Step, ...] = ()

    @classmethod
    def build(cls, start: Any, *, names: Sequence[str] | None = None, **given: Any) -> "Space":
        """From the user's arguments.

        Args:
            start: the decision in force today, a vector; or a Space, which is then returned.
            names: a different name for each coordinate; x0, x1, … unless given.
            given: a value for any of the steps (`bounds`), None to leave it out.

        Raises:
            ValueError: a step cannot be made of what was given, or cannot give the start.
        """
        if isinstance(start, Space):
            if twice := [key for key, value in {"names": names, **given}.items() if value is not None]:
                raise ValueError(f"x0 is a Space and has its own {', '.join(twice)}: give each once")
            return start
        origin = checks.vector("x0", start)
        steps: list[Step] = []
        for kind in STEPS:
            step = kind.parse(given.pop(kind.name, None), origin, steps)
            steps += [] if step is None else [step]
        assert not given, f"no step is called {', '.join(given)}"
        return cls(origin, _names(names, origin.size), tuple(steps))

    @property
    def dim(self) -> int:
        return self.start.size

    @property
    def given(self) -> dict[str, Any]:
        """The steps as JSON knows them: `Space.build(start, names=names, **given)` is this space again."""
        return {step.name: step.given for step in self.steps}

    def __repr__(self) -> str:
        parts = [f"{self.start.tolist()}", f"names={list(self.names)}"]
        return f"Space({', '.join([*parts, *(f'{key}={value}' for key, value in self.given.items())])})"

    def deploy(self, points: np.ndarray, draw: Sequence[int] = ()) -> np.ndarray:
        """The decisions that a method's points stand for, (…, d) → (…, d).

        `draw` names this draw of points, for steps that are random: the same draw gives the same decisions.
        """
        for step in self.steps:
            points = step.deploy(points, draw)
        return points

    def begin(self, radius: float) -> np.ndarray:
        """Where a method's walk with trials of this radius begins: at the start, unless it would be stuck."""
        point = self.start
        for step in self.steps:
            point = step.begin(point, radius)
        return point

    def report(self, point: np.ndarray, begun: np.ndarray | None = None) -> np.ndarray:
        """The decision that a method's recommendation stands for.

        A coordinate that has not moved from where the walk has `begun` is the start's, exactly.
        """
        decision = point
        for step in self.steps:
            decision = step.report(decision)
        return np.array(decision) if begun is None else np.where(point == begun, self.start, decision)

    def distance(self, one: np.ndarray, other: np.ndarray) -> float:
        """How far apart two decisions are."""
        with np.errstate(over="ignore"):  # infinitely far is far
            return float(np.linalg.norm(one - other))

    @property
    def radius(self) -> float | None:
        """√d/10 of the narrowest width of the bounds, for those who give no radius; None without bounds.

        A trial at that distance moves every coordinate by about a tenth of the narrowest range.

        >>> Space.build([1.0] * 25, bounds=[(0, 2)] * 25).radius
        1.0
        """
        widths = next((step.widths for step in self.steps if isinstance(step, Bounds)), np.array([np.inf]))
        return float(np.sqrt(self.dim) / 10 * widths.min()) if np.isfinite(widths).all() else None


def _names(names: Sequence[str] | None, dim: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{i}" for i in range(dim))
    listed = tuple(checks.text("names", name) for name in checks.several("names", names))
    if len(listed) != dim or len(set(listed)) != dim:
        raise ValueError(
            f"names must be {dim} different names, one for each coordinate of x0; got {list(listed)}"
        )
    return listed
