"""A grid: price tags, staff, shelves. Points are rounded at random with the right mean.

A method then sees g(x) = E f(rounded x), which interpolates f between grid points, linearly in each
coordinate: as Lipschitz as f, and without the flat steps that rounding to the nearest would make. So a search
works even if one step of the grid is as far as a trial.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from driftopt import checks
from driftopt.space import units
from driftopt.space.bounds import Bounds
from driftopt.space.constraints import Constraints
from driftopt.space.step import SpaceStep

_STREAM = 0x6121D  # separates these draws from every other use of a seed
_TRIES = 32  # random roundings tried for one that keeps the constraints
_ON_GRID = 1e-9  # of a step: a value this near to a grid point counts as on it
_EXACT = 2.0**52  # whole numbers below are exact in float64


@dataclass(frozen=True, eq=False)
class DecisionGrid(SpaceStep):
    """Multiples of a step, counted from `origin`; a step of 0: the coordinate is continuous."""

    name: ClassVar[str] = "grid"

    steps: np.ndarray
    origin: np.ndarray
    sizes: np.ndarray  # the units
    box: Bounds
    constraints: Constraints | None

    @classmethod
    def parse(cls, given: Any, start: np.ndarray, before: Sequence[SpaceStep] = ()) -> Self | None:
        """From a step for all coordinates, or a list with one for each.

        One is a number (its multiples), a pair (step, through) (through + k · step, as 9.99 ± 0.5 k), or None
        for a coordinate that is continuous.
        """
        if given is None:
            return None
        dim = start.size
        listed = list(given) if isinstance(given, list | tuple | np.ndarray) else [given] * dim
        if len(listed) != dim:
            raise ValueError(
                f"grid must be one step for all, or one for each coordinate of x0, {dim} of them, None for "
                f"a continuous one; got {checks.brief(given)}"
            )
        pairs = [_pair(one) for one in listed]
        wide = np.full(dim, np.inf)
        grid = cls(
            np.array([step for step, _ in pairs]),
            np.array([through for _, through in pairs]),
            np.broadcast_to(np.asarray(units.of(before), float), start.shape),
            next((step for step in before if isinstance(step, Bounds)), Bounds(-wide, wide)),
            next((step for step in before if isinstance(step, Constraints)), None),
        )
        first, last = grid._range
        if (none := np.flatnonzero(grid._whole & (first > last))).size:
            i = int(none[0])
            raise ValueError(
                f"grid has no point within the bounds of coordinate {i}, {grid.box.lower[i]:g} to "
                f"{grid.box.upper[i]:g}: its step is {grid.steps[i]:g}; widen the bounds or take a finer step"
            )
        nearest = grid.report(start)
        off = np.flatnonzero(grid._whole & (np.abs(start - nearest) > _ON_GRID * grid._divisor))
        if off.size:
            i = int(off[0])
            step = f"{grid.steps[i]:.10g}"
            raise ValueError(
                f"grid: x0[{i}] = {start[i]:.10g} is on no step of {step} from {grid.origin[i]:g}: start at "
                f"{nearest[i]:.10g}, or give the pair ({step}, {start[i]:.10g}), {step}@{start[i]:.10g} in "
                "the shell, for the one through it"
            )
        return grid

    @property
    def given(self) -> list[Any]:
        pairs = zip(self.steps.tolist(), self.origin.tolist(), strict=True)
        return [None if step == 0 else [step, through] if through else step for step, through in pairs]

    @cached_property
    def _whole(self) -> np.ndarray:
        return self.steps > 0

    @cached_property
    def _divisor(self) -> np.ndarray:
        """A step for each coordinate to divide by."""
        return np.where(self._whole, self.steps, 1.0)

    @cached_property
    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last grid point within the bounds, counted from the origin."""
        low, high = ((side - self.origin) / self._divisor for side in (self.box.lower, self.box.upper))
        return np.ceil(low - _ON_GRID), np.floor(high + _ON_GRID)

    @cached_property
    def _decimals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step and origin as whole numbers over a power of ten, so that 7 · 0.05 is exactly 0.35."""
        powers = np.array(
            [10.0 ** max(map(_digits, p)) for p in zip(self._divisor, self.origin, strict=True)]
        )
        return np.rint(self._divisor * powers), np.rint(self.origin * powers), powers

    def _values(self, counts: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The decisions `counts` steps from the origin; continuous coordinates are those of the points."""
        step, origin, power = self._decimals
        whole = counts * step + origin
        exact = (np.abs(whole) < _EXACT) & (power <= 1e15)
        values = np.where(exact, whole / power, self.origin + counts * self.steps)
        return np.where(self._whole, np.clip(values, self.box.lower, self.box.upper), points)

    def _rounded(self, points: np.ndarray, shift: Any) -> np.ndarray:
        """⌊x + shift⌋ on the grid, within the bounds: shift ½ is to the nearest, uniform the right mean."""
        counts = (points - self.origin) / self._divisor
        near = np.rint(counts)
        counts = np.where(np.abs(counts - near) <= _ON_GRID, near, np.floor(counts + shift))
        return self._values(np.clip(counts, *self._range), points)

    def deploy(self, points: np.ndarray, draw: Sequence[int] = ()) -> np.ndarray:
        """The points rounded at random; between the first and last grid point in bounds, E = the point.

        All points of a draw are shifted by the same amount, so that rounding changes a pair's difference
        least. If constraints refuse a rounding, the next is tried; if they refuse all, the result is the
        nearest grid point that keeps them, measured from the shifted point.
        """
        shifts = np.random.default_rng([*draw, _STREAM]).random((_TRIES, points.shape[-1]))
        return self._kept(points, shifts)

    def legal(self, decisions: np.ndarray, centre: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rounded at random; where few roundings keep the constraints, the nearest grid points that do."""
        rounded = self._rounded(decisions, rng.random(decisions.shape))
        if self.constraints is None:
            return rounded
        kept = rounded[self.constraints.allows(rounded)]
        if len(kept) >= min(_TRIES, len(decisions)):
            return kept
        return np.vstack([kept, *(self.report(one)[None] for one in decisions[:_TRIES])])

    def report(self, point: np.ndarray) -> np.ndarray:
        """The nearest grid point that keeps bounds and constraints."""
        return self._kept(point, np.full((1, point.shape[-1]), 0.5))

    def _kept(self, points: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """The first of the roundings that keeps the constraints; else the nearest grid point that does."""
        decisions = self._rounded(points, shifts[0])
        if self.constraints is None:
            return decisions
        flat = points.reshape(-1, points.shape[-1])
        found = np.array(decisions).reshape(flat.shape)
        for i in np.flatnonzero(~np.ravel(self.constraints.allows(decisions))):
            tries = (self._completed(one) for one in self._rounded(flat[i], shifts))
            kept = next((one for one in tries if self.constraints.allows(one)), None)
            found[i] = self._nearest_kept(flat[i], shifts[0]) if kept is None else kept
        return found.reshape(points.shape)

    def _completed(self, decision: np.ndarray) -> np.ndarray:
        """The decision with its continuous coordinates moved as little as the constraints need."""
        free = ~self._whole
        if self.constraints is None or not free.any():
            return decision
        rest = self.constraints.given_others(free, decision).deploy(decision[free])
        whole = decision.copy()
        whole[free] = rest
        return whole

    def _nearest_kept(self, point: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """The grid point that keeps bounds and constraints with the least Σ |x − target|/units.

        The target is the point shifted, as rounding shifts it. A mixed-integer program in (k, t): x = origin
        + k · scale, |x − target| ≤ t · units; k is whole on the grid.
        """
        assert self.constraints is not None
        rules, dim, unit = self.constraints, point.size, np.eye(point.size)
        target = point + np.where(self._whole, (shift - 0.5) * self.steps, 0)
        origin, scale = (
            np.where(self._whole, self.origin, target),
            np.where(self._whole, self.steps, self.sizes),
        )
        first, last = self._range
        ends = [(side - origin) / scale for side in (self.box.lower, self.box.upper)]
        first, last = np.where(self._whole, first, ends[0]), np.where(self._whole, last, ends[1])
        away, offset = np.diag(scale / self.sizes), (origin - target) / self.sizes
        rows = np.block([[rules.matrix * scale, 0 * rules.matrix], [away, -unit], [-away, -unit]])
        sides = (side - rules.matrix @ origin for side in (rules.lower, rules.upper))
        ends = [np.full(2 * dim, -np.inf), np.append(-offset, offset)]
        within: list[Any] = [np.append(first, np.zeros(dim)), np.append(last, np.full(dim, np.inf))]
        limits: list[Any] = [np.append(*both) for both in zip(sides, ends, strict=True)]
        from scipy.optimize import Bounds as Sides  # loaded only for a grid with constraints
        from scipy.optimize import LinearConstraint, milp

        solved = milp(
            np.append(np.zeros(dim), np.ones(dim)),
            integrality=np.append(self._whole, np.zeros(dim)),
            bounds=Sides(*within),
            constraints=LinearConstraint(rows, *limits),
        )
        assert solved.x is not None, "the start is on the grid and keeps the constraints"
        counts = solved.x[:dim]
        found = self._completed(self._values(np.rint(counts), origin + counts * scale))
        return found if rules.allows(found) else rules.start  # the solver has a tolerance

    def alone(self, start: np.ndarray) -> bool:
        """True if every coordinate is on the grid, and bounds and constraints leave one point of it.

        With constraints, the farthest points in a random direction and in the opposite one are then the
        start. If the solver runs out of time, there may be another point.
        """
        first, last = self._range
        if not self._whole.all() or self.constraints is None:
            return bool(self._whole.all() and (first == last).all())
        from scipy.optimize import Bounds as Sides
        from scipy.optimize import LinearConstraint, milp

        rules, counts = self.constraints, np.rint((start - self.origin) / self.steps)
        sides: list[Any] = [side - rules.matrix @ self.origin for side in (rules.lower, rules.upper)]
        within: list[Any] = [first, last]
        kept, across = LinearConstraint(rules.matrix * self.steps, *sides), np.random.default_rng(0)
        how: dict[str, Any] = {"bounds": Sides(*within), "constraints": kept, "integrality": self._whole}
        for cost in across.standard_normal(start.size) * np.array([[1.0], [-1.0]]):
            found = milp(cost, **how, options={"mip_rel_gap": 0.0, "time_limit": 1.0})
            if found.status != 0 or (np.rint(found.x) != counts).any():
                return False
        return True

    def toward(self, here: np.ndarray, point: np.ndarray) -> np.ndarray:
        """`here` after the whole steps that fit into the move of each coordinate."""
        moves = (point - here) / self._divisor
        near = np.rint(moves)
        whole = np.where(np.abs(moves - near) <= _ON_GRID, near, np.trunc(moves))
        return self._values(np.rint((here - self.origin) / self._divisor) + whole, point)

    def detour(self, here: np.ndarray, there: np.ndarray, point: np.ndarray) -> np.ndarray | None:
        """`here` after the moves that only give slack, if whole steps to `point` break a constraint."""
        if self.constraints is None or self.constraints.allows(point):
            return None
        return self.constraints.freeing(here, there)

    def settled(self, asked: np.ndarray, deployed: np.ndarray) -> np.ndarray:
        """The deployed decision; a coordinate within half a step of the asked grid point is on it."""
        same = np.abs(deployed - asked) <= self.steps / 2 * (1 + _ON_GRID)
        return np.where(self._whole & same, asked, deployed)

    @property
    def stride(self) -> Any:
        """A step; infinite if single steps may break the constraints."""
        return self.steps if self.constraints is None or self.constraints.one_way else np.inf

    @property
    def slack(self) -> Any:
        """A step; infinite with constraints: the next grid point that keeps them may be anywhere."""
        return self.steps if self.constraints is None else np.inf


def _pair(given: Any) -> tuple[float, float]:
    if given is None:
        return 0.0, 0.0
    step, through = given if isinstance(given, list | tuple) and len(given) == 2 else (given, 0.0)
    return checks.one_positive("grid", step), float(checks.finite("grid", through))


def _digits(number: float) -> int:
    """The number of decimals that a number is written with.

    >>> _digits(0.05), _digits(1e-7), _digits(250.0)
    (2, 7, 0)
    """
    exponent = Decimal(repr(float(number))).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
