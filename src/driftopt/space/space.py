"""`Space`: the start and the names of decisions, and the steps from a method's point to a decision.

    method's point ──►  each step's `deploy`, in the order of STEPS  ──►  the decision to deploy

A new rule for decisions is a new file with a `SpaceStep` and a line in STEPS: drivers call `deploy` and
`report`, a study stores `given`, and neither knows which steps there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.space import units
from driftopt.space.bounds import Bounds
from driftopt.space.constraints import Constraints
from driftopt.space.grid import DecisionGrid
from driftopt.space.step import Plain, SpaceStep
from driftopt.space.units import Units

COARSE = 2.0  # a grid whose step exceeds this many radii is too coarse
STEPS: tuple[type[SpaceStep], ...] = (Units, Bounds, Constraints, DecisionGrid)


@dataclass(frozen=True, eq=False)
class Space(Plain):
    """The decisions that are allowed; its arguments have been checked."""

    start: np.ndarray  # (d,), the decision in force today
    names: tuple[str, ...]  # one for each coordinate
    # From what a method asks to what is deployed: units, bounds, constraints, grid.
    steps: tuple[SpaceStep, ...] = ()

    @classmethod
    def build(cls, start: Any, *, names: Sequence[str] | None = None, **given: Any) -> "Space":
        """From the user's arguments.

        Args:
            start: the decision in force today, a vector; or a Space, which is then returned.
            names: a different name for each coordinate; by default x0, x1, …
            given: a value for each of the steps `units`, `bounds`, `constraints`, `grid`; None: without it.

        Raises:
            ValueError: a value does not make a step, or its step cannot give the start.
        """
        if isinstance(start, Space):
            if twice := [key for key, value in {"names": names, **given}.items() if value is not None]:
                raise ValueError(f"x0 is a Space and has its own {', '.join(twice)}: give each once")
            return start
        origin = checks.vector("x0", start)
        steps: list[SpaceStep] = []
        for kind in STEPS:
            if (value := given.pop(kind.name, None)) is not None:
                step = kind.parse(value, origin, steps)
                steps += [] if step is None else [step]
        assert not given, f"no step is called {', '.join(given)}"
        return cls(origin, _names(names, origin.size), tuple(steps))

    @property
    def dim(self) -> int:
        """d, the number of coordinates."""
        return self.start.size

    @property
    def given(self) -> dict[str, Any]:
        """The steps in JSON's types: `Space.build(start, names=names, **given)` is this space again."""
        return {step.name: step.given for step in self.steps}

    def __repr__(self) -> str:
        parts = [f"{self.start.tolist()}", f"names={list(self.names)}"]
        return f"Space({', '.join([*parts, *(f'{key}={value}' for key, value in self.given.items())])})"

    def sized(self, radius: Any) -> "tuple[Space, Any]":
        """The space in whose units one number is the radius of trials, and that number.

        A radius with a number for each coordinate becomes the units, in which the radius is 1. One number is
        a radius in the units of the space. Without a radius, it is 1 if the space has units; else each
        coordinate's is √d/10 of the width of its bounds, so that a trial moves it by about a tenth of its
        range: one number if the widths are equal, None if a width is infinite.

        >>> Space.build([1.0] * 25, bounds=[(0, 2)] * 25).sized(None)[1]
        1.0
        >>> Space.build([1.0, 50.0]).sized([0.1, 5.0])
        (Space([1.0, 50.0], names=['x0', 'x1'], units=[0.1, 5.0]), 1.0)
        """
        apart = isinstance(radius, list | tuple) or (isinstance(radius, np.ndarray) and radius.ndim > 0)
        measured = any(isinstance(step, Units) for step in self.steps)
        if apart:
            if measured:
                raise ValueError("radius must be one number: the space has its own units")
            sizes = checks.positive("radius", checks.vector("radius", radius, self.dim).tolist())
        elif radius is not None:
            return self, radius
        elif measured:
            return self, 1.0
        else:
            sizes = np.sqrt(self.dim) / 10 * self._widths
            if not np.isfinite(sizes).all() or np.allclose(sizes, sizes.min(), rtol=1e-9, atol=0):
                return self, self.radius
        return Space.build(self.start, names=self.names, units=sizes, **self.given), 1.0

    @property
    def radius(self) -> float | None:
        """√d/10 of the narrowest width of the bounds, one radius for every coordinate; None without bounds.

        For methods that must see decisions in their own units.
        """
        narrowest = np.sqrt(self.dim) / 10 * self._widths.min()
        return float(narrowest) if np.isfinite(self._widths).all() else None

    def kept_by(self, method: Any) -> Any:
        """The method, knowing the bounds in its own units where there are any."""
        box = next((step for step in self.steps if isinstance(step, Bounds)), None)
        return method if box is None else method.within(box.lower / self._units, box.upper / self._units)

    @property
    def _widths(self) -> np.ndarray:
        return next((step.widths for step in self.steps if isinstance(step, Bounds)), np.array([np.inf]))

    @cached_property
    def _way(self) -> tuple[SpaceStep, ...]:
        """The steps that a point takes: all except the replaced ones."""
        replaced = [name for step in self.steps for name in step.instead_of]
        return tuple(step for step in self.steps if step.name not in replaced)

    @cached_property
    def _units(self) -> Any:
        return units.of(self.steps)

    def deploy(self, points: np.ndarray, draw: Sequence[int] = ()) -> np.ndarray:
        """The decisions to deploy for a method's points, (…, d) → (…, d).

        `draw` identifies this draw of points, for random steps: the same draw gives the same decisions.
        """
        for step in self._way:
            points = step.deploy(points, draw)
        return points

    def legal(self, decisions: np.ndarray, centre: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Decisions (m, d) near a legal centre, changed as little as it takes until they can be deployed.

        Decisions that cannot be changed in this way are left out.

        >>> space = Space.build([1.0, 1.0], bounds=[(0, 2)] * 2, constraints={"A": [[1, 1]], "ub": [3]})
        >>> space.legal(np.array([[2.0, 2.0], [5.0, 0.5]]), space.start, np.random.default_rng(0))
        array([[1.5, 1.5],
               [2. , 0.5]])
        """
        for step in self._way:
            decisions = step.legal(decisions, centre, rng)
        return decisions

    def along(self, rays: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Directions (m, d) from a legal centre, turned so that a short way along them can be allowed."""
        for step in self._way:
            rays = step.along(rays, centre)
        return rays

    def lift(self, decisions: np.ndarray) -> np.ndarray:
        """The points of a method whose deployment gives these decisions."""
        for step in reversed(self._way):
            decisions = step.lift(decisions)
        return decisions

    def begin(self, radius: float) -> np.ndarray:
        """The first point of a search with trials of this radius: the start, or a point inside."""
        decision = self.start
        for step in self._way:
            decision = step.begin(decision, radius * self._units)
        return self.lift(decision)

    def check_trials(self, widest: Any) -> None:
        """Refuse trials that cannot differ: x0 is the only decision, or a grid would round them back.

        Few trials change a coordinate whose step is more than twice their `widest` radius. None is for a
        method that finds a radius that is wide enough.
        """
        if alone := next((step.name for step in self.steps if step.alone(self.start)), None):
            others = [name for name in self.given if name in ("bounds", "constraints") and name != alone]
            together = " with the " + " and the ".join(others) if others else ""
            raise ValueError(
                f"{alone}: x0 is the only decision that is left{together}, so there is nothing to try; widen "
                "one of them, and leave coordinates that cannot change out of x0"
            )
        grid = next((step for step in self.steps if isinstance(step, DecisionGrid)), None)
        if widest is None or grid is None:
            return
        radii = float(np.asarray(widest)) * np.broadcast_to(self._units, self.start.shape)
        if (coarse := np.flatnonzero(grid.steps > COARSE * radii * (1 + 1e-9))).size:
            i = int(coarse[0])
            raise ValueError(
                f"the grid's step {grid.steps[i]:g} of {self.names[i]} is more than twice the "
                f"{radii[i]:.4g} by which a trial may move it, so hardly a trial would change it: give a "
                "larger radius, max_radius or max_change, or a finer grid; auto without max_radius finds its "
                "own radius"
            )

    def report(self, point: np.ndarray, begun: np.ndarray | None = None) -> np.ndarray:
        """The decision for a method's recommendation.

        A coordinate that has not moved since the search has `begun` is exactly the start's; all of them or
        none if coordinates depend on each other.
        """
        decision = point
        for step in self._way:
            decision = step.report(decision)
        if begun is None:
            return np.array(decision)
        still = point == begun
        if not all(step.by_coordinate for step in self._way):
            still = still.all()
        return np.where(still, self.start, decision)

    def distance(self, one: np.ndarray, other: np.ndarray) -> float:
        """The distance of two decisions, in the units of the space."""
        with np.errstate(over="ignore"):  # an infinite distance
            return float(np.linalg.norm((one - other) / self._units))

    def distances(self, decisions: np.ndarray, other: np.ndarray) -> np.ndarray:
        """(n,), the distances of decisions (n, d) from another one, in the units of the space."""
        with np.errstate(over="ignore"):
            return np.linalg.norm((decisions - other) / self._units, axis=1)

    def toward(self, here: np.ndarray, there: np.ndarray, limit: float) -> np.ndarray:
        """A decision on the straight line towards another that is farther away, within `limit` of the first.

        On a grid there is one if the limit is more than the `stride`; with constraints, it may be off the
        straight line.
        """
        point = self._part(here, there, limit)
        for step in self._way:
            if (first := step.detour(here, there, point)) is not None:
                return self._part(here, first, limit)
        return point

    def _part(self, here: np.ndarray, there: np.ndarray, limit: float) -> np.ndarray:
        away = self.distance(here, there)
        point = there if away <= limit else here + limit / away * (1 - 1e-9) * (there - here)
        for step in self._way:
            point = step.toward(here, point)
        return point

    def astray(self, deployed: np.ndarray, asked: np.ndarray) -> float:
        """The distance between two decisions, without deployed coordinates that count as the asked ones."""
        for step in self._way:
            deployed = step.settled(asked, deployed)
        return self.distance(deployed, asked)

    @property
    def stride(self) -> float:
        """The largest distance to the next decision towards any other; infinite if there may be none."""
        return float(sum(np.linalg.norm(step.stride / self._units) for step in self._way))

    @property
    def slack(self) -> float:
        """The most by which decisions may be farther apart than a method's points."""
        return float(sum(np.linalg.norm(step.slack / self._units) for step in self._way))


def _names(names: Sequence[str] | None, dim: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{i}" for i in range(dim))
    listed = tuple(checks.text("names", name) for name in checks.several("names", names))
    if len(listed) != dim or len(set(listed)) != dim:
        raise ValueError(
            f"names must be {dim} different names, one for each coordinate of x0; got {list(listed)}"
        )
    return listed
