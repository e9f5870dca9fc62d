"""Linear constraints by projection: a method moves freely, and the nearest decision that keeps them is
deployed.

f(P(x)) is as Lipschitz as f, whatever the polyhedron, and every queried point lies in it. The projection

    P(x) = argmin ‖(y − x)/units‖   over   lb ≤ A y ≤ ub and the bounds

is Lawson and Hanson's least-distance problem: its dual is a least-squares problem with non-negative
unknowns, which scipy.optimize.nnls solves to rounding in finitely many pivots. Interior-point and splitting
solvers stop at a tolerance, and would be another dependency.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from driftopt import checks
from driftopt.space import units
from driftopt.space.bounds import Bounds
from driftopt.space.step import SpaceStep

FEASIBLE = 1e-10  # of the sum of sizes in a row
_FORM = (
    "constraints must be scipy's LinearConstraint, a table {'A': rows, 'lb': …, 'ub': …}, or a list of them"
)


class _Sides(NamedTuple):
    """rows · w ≤ limit, and the plane w = origin + basis · t in which equalities leave w free."""

    rows: np.ndarray  # (k, r), of length 1, in the coordinates t
    limit: np.ndarray
    origin: np.ndarray
    basis: np.ndarray


@dataclass(frozen=True, eq=False)
class Constraints(SpaceStep):
    """lower ≤ matrix · x ≤ upper, within the bounds; lower = upper is an equality."""

    name: ClassVar[str] = "constraints"
    instead_of: ClassVar[tuple[str, ...]] = ("bounds",)
    by_coordinate: ClassVar[bool] = False

    matrix: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray
    sizes: np.ndarray  # the units
    box: Bounds

    @classmethod
    def parse(cls, given: Any, start: np.ndarray, before: Sequence[SpaceStep] = ()) -> Self | None:
        """From scipy's LinearConstraint, a table {A, lb, ub}, or a list of these."""
        if given is None or (isinstance(given, list | tuple) and not given):
            return None
        listed = given if isinstance(given, list | tuple) else [given]
        parts = zip(*(_rows(one, start.size) for one in listed), strict=True)
        matrix, lower, upper = (np.concatenate(part) for part in parts)
        wide = np.full(start.size, np.inf)
        box = next((step for step in before if isinstance(step, Bounds)), Bounds(-wide, wide))
        sizes = np.broadcast_to(np.asarray(units.of(before), float), start.shape)
        constraints = cls(matrix, lower, upper, start, sizes, box)
        constraints._check_start()
        return constraints

    @property
    def given(self) -> dict[str, Any]:
        sides = ([s if np.isfinite(s) else None for s in side.tolist()] for side in (self.lower, self.upper))
        return {"A": self.matrix.tolist(), **dict(zip(("lb", "ub"), sides, strict=True))}

    def allows(self, decisions: np.ndarray) -> Any:
        """(…), true for decisions (…, d) that keep the bounds exactly and every row to rounding."""
        within = (decisions >= self.box.lower) & (decisions <= self.box.upper)
        return within.all(axis=-1) & (self._excess(decisions) <= 0).all(axis=-1)

    def _excess(self, decisions: np.ndarray) -> np.ndarray:
        """(…, m), the excess of each row beyond its sides and rounding; at most 0 for a row that holds."""
        with np.errstate(over="ignore", invalid="ignore"):
            sums = decisions @ self.matrix.T
            rounding = FEASIBLE * (np.abs(decisions) @ np.abs(self.matrix).T) + self._least
            excess = np.maximum(self.lower - sums, sums - self.upper) - rounding
        return np.where(np.isnan(excess), np.inf, excess)

    @cached_property
    def _least(self) -> np.ndarray:
        """The rounding allowed for a decision of zeros."""
        return 1e-14 * np.abs(self.matrix) @ self.sizes

    def deploy(self, points: np.ndarray, draw: Sequence[int] = ()) -> np.ndarray:
        """The nearest decisions; a point that keeps the constraints is unchanged.

        >>> half = Constraints.parse({"A": [[1, 1]], "ub": [1]}, np.zeros(2))
        >>> half.deploy(np.array([[1.0, 2.0], [0, 0.5]])).round(12)
        array([[0. , 1. ],
               [0. , 0.5]])
        """
        inside = self.allows(points)
        if inside.all():
            return points
        flat, kept = points.reshape(-1, points.shape[-1]).copy(), np.ravel(inside)
        for i in np.flatnonzero(~kept):
            flat[i] = self._projected(flat[i])
        return flat.reshape(points.shape)

    def legal(self, decisions: np.ndarray, centre: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Within the bounds, and drawn back towards the centre as far as each row asks."""
        away = np.clip(decisions, self.box.lower, self.box.upper) - centre
        sums, slope = self.matrix @ centre, away @ self.matrix.T
        with np.errstate(divide="ignore", invalid="ignore"):
            until = np.where(slope > 0, (self.upper - sums) / slope, (self.lower - sums) / slope)
        share = np.where(slope == 0, 1.0, until).min(axis=1).clip(0, 1)
        nearer = centre + share[:, None] * away
        return nearer[self.allows(nearer)]

    def along(self, rays: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Along all equalities; every second one also along the rows that hold the centre back."""
        sums = self.matrix @ centre
        near = 1e-9 * (np.abs(self.matrix) @ np.abs(centre)) + self._least
        equal = self.lower == self.upper
        active = equal | (sums <= self.lower + near) | (sums >= self.upper - near)
        turned = rays.copy()
        turned[::2] = _within(turned[::2], self.matrix[equal], self.sizes)
        turned[1::2] = _within(turned[1::2], self.matrix[active], self.sizes)
        return turned

    def alone(self, start: np.ndarray) -> bool:
        """True if the polyhedron is one point: two far points in opposite directions are projected onto it.

        If it held another point y, with c · (y − start) > 0, then y would be nearer to start + t c than the
        start is for a large t. A direction c drawn at random is across every other y.
        """
        here = start / self.sizes
        far = (1 + np.abs(here).max()) * np.random.default_rng(0).standard_normal(start.size)
        one, other = self.deploy((here + far) * self.sizes), self.deploy((here - far) * self.sizes)
        # Little more than a solver's error: a narrow region far from zero has decisions too.
        return bool((np.abs(one - other) <= 1e-10 * np.abs(start) + 1e-12 * self.sizes.max()).all())

    def toward(self, here: np.ndarray, point: np.ndarray) -> np.ndarray:
        return self.deploy(self.box.toward(here, point))

    @cached_property
    def _tightens(self) -> np.ndarray:
        """A row for each finite side: its loss of slack for a growth of each coordinate."""
        return np.concatenate([self.matrix[np.isfinite(self.upper)], -self.matrix[np.isfinite(self.lower)]])

    @property
    def one_way(self) -> bool:
        """True if every move of one coordinate takes slack from all sides that it touches, or gives to all.

        Then there is a path between any two decisions, one coordinate at a time: first the moves that give
        slack, then the moves that take it.
        """
        return bool(((self._tightens >= 0).all(axis=0) | (self._tightens <= 0).all(axis=0)).all())

    def freeing(self, here: np.ndarray, there: np.ndarray) -> np.ndarray:
        """`here` after only those moves towards `there` that take slack from no side."""
        return np.where((self._tightens * (there - here) <= 0).all(axis=0), there, here)

    def given_others(self, free: np.ndarray, decision: np.ndarray) -> "Constraints":
        """The constraints on the `free` coordinates, with the others fixed as in the decision."""
        taken = self.matrix[:, ~free] @ decision[~free]
        box = Bounds(self.box.lower[free], self.box.upper[free])
        sides = self.lower - taken, self.upper - taken
        return Constraints(self.matrix[:, free], *sides, decision[free], self.sizes[free], box)

    @cached_property
    def _sides(self) -> _Sides:
        """The parts that do not depend on the point, in w = x / units."""
        dim, scaled = self.start.size, self.matrix * self.sizes
        equal = self.lower == self.upper
        origin, basis = self.start / self.sizes, np.eye(dim)
        if equal.any():
            from scipy.linalg import null_space  # SciPy's solvers load only with constraints

            basis = null_space(scaled[equal])
            missing = self.lower[equal] - scaled[equal] @ origin  # rounding, unless the start was a guess
            origin = origin + np.linalg.lstsq(scaled[equal], missing, rcond=None)[0]
        rows = [scaled[~equal], -scaled[~equal], np.eye(dim), -np.eye(dim)]
        box = self.box.upper / self.sizes, -self.box.lower / self.sizes
        limits = [self.upper[~equal], -self.lower[~equal], *box]
        row, limit = np.concatenate(rows), np.concatenate(limits)
        closed = np.isfinite(limit)
        row, limit = row[closed], limit[closed]
        free, limit = row @ basis, limit - row @ origin
        length = np.linalg.norm(free, axis=1)
        turned = length > 1e-12 * np.linalg.norm(row, axis=1)  # the others are fixed by the equalities
        return _Sides(free[turned] / length[turned, None], limit[turned] / length[turned], origin, basis)

    def _projected(self, point: np.ndarray) -> np.ndarray:
        """argmin ‖(y − point)/units‖ over the polyhedron.

        From far away the rounding error exceeds a decision's own digits; the result is then projected again.
        """
        sides, low, high = self._sides, self.box.lower, self.box.upper
        for _ in range(4):
            here = sides.basis.T @ (point / self.sizes - sides.origin)
            room = sides.limit - sides.rows @ here
            if room.size and room.min() < 0:
                here = here + _least_distance(sides.rows, room)
            point = np.clip((sides.origin + sides.basis @ here) * self.sizes, low, high)
            if self.allows(point):
                return point
        # Outside by rounding alone: moved towards the start as little as needed.
        for share in 2.0 ** np.arange(-40, 0):
            nearer = np.clip(point + share * (self.start - point), low, high)
            if self.allows(nearer):
                return nearer
        return self.start

    def _check_start(self) -> None:
        excess = self._excess(self.start)
        if not (excess > 0).any():
            return
        row = int(np.argmax(excess))
        sides = [[low, high] for low, high in zip(self.box.lower, self.box.upper, strict=True)]
        stacked = np.concatenate([self.matrix, -self.matrix])
        limits = np.concatenate([self.upper, -self.lower])
        closed = np.isfinite(limits)
        from scipy.optimize import linprog

        found = linprog(np.zeros(self.start.size), stacked[closed], limits[closed], bounds=sides)
        if found.status == 2:
            raise ValueError("constraints: no decision keeps all of them and the bounds; relax one")
        example = "" if found.x is None else f"; {np.round(found.x, 6).tolist()} keeps all of them"
        raise ValueError(
            f"constraints: x0 breaks row {row}: {self.matrix[row].tolist()} · x0 = "
            f"{float(self.matrix[row] @ self.start):.6g}, which must be from {self.lower[row]:.6g} to "
            f"{self.upper[row]:.6g}; start at a decision that keeps it{example}"
        )


def _within(rays: np.ndarray, rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The part of some directions along which rows · x does not change, shortest in units of the space."""
    if not len(rows):
        return rays
    scaled = rays / sizes
    across, singular, _ = np.linalg.svd((rows * sizes).T, full_matrices=False)
    across = across[:, singular > 1e-12 * singular.max()]
    return (scaled - scaled @ across @ across.T) * sizes


def _least_distance(rows: np.ndarray, room: np.ndarray) -> np.ndarray:
    """The shortest y with rows · y ≤ room, if there is one.

    With E = −[rowsᵀ; roomᵀ] and f = (0, …, 0, 1), u = argmin ‖E u − f‖ over u ≥ 0 and r = E u − f:
    y = −r_{1…d}/r_{d+1}, and the rows with u > 0 are active (Lawson and Hanson, chapter 23).
    """
    from scipy.optimize import nnls

    scale = -room.min()  # rows have length 1: no y is shorter than that
    room = room / scale
    dual, _ = nnls(
        -np.vstack([rows.T, room]), np.append(np.zeros(rows.shape[1]), 1.0), maxiter=100 * len(room)
    )
    active = dual > 0
    # With the active rows known, a small linear system gives the last digits.
    step = np.linalg.lstsq(rows[active], room[active], rcond=None)[0]
    return scale * step


def _rows(given: Any, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if isinstance(given, dict):
        table: dict[str, Any] = checks.table("constraints", given)
        if "A" not in table or set(table) - {"A", "lb", "ub"}:
            raise ValueError(f"{_FORM}; got a table of {', '.join(table) or 'nothing'}")
        rows, low, high = table["A"], table.get("lb"), table.get("ub")
    elif hasattr(given, "A") and hasattr(given, "lb"):  # scipy's, which we need not import to recognise
        rows, low, high = given.A, given.lb, given.ub
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
    else:
        raise ValueError(f"{_FORM}; got {checks.brief(given)}")
    matrix = np.atleast_2d(checks.finite("constraints: A", rows))
    if matrix.ndim != 2 or matrix.shape[1] != dim:
        raise ValueError(
            f"constraints: A must have a column for each of the {dim} coordinates of x0; got {matrix.shape}"
        )
    lower, upper = _side("lb", low, -np.inf, len(matrix)), _side("ub", high, np.inf, len(matrix))
    if not (lower <= upper).all():
        row = int(np.argmin(lower <= upper))
        raise ValueError(f"constraints: row {row} has lb {lower[row]:g} above ub {upper[row]:g}")
    if not (np.abs(matrix).max(axis=1) > 0).all():
        raise ValueError("constraints: a row of A is all zeros; leave it out")
    return matrix, lower, upper


def _side(name: str, given: Any, open_side: float, count: int) -> np.ndarray:
    """lb or ub as a number for each row; None, for all or for a row, leaves that side open."""
    listed = given.tolist() if isinstance(given, np.ndarray) else given
    listed = listed if isinstance(listed, list | tuple) else [listed] * count
    limits = [open_side if one is None else checks.number(f"constraints: {name}", one) for one in listed]
    array = np.array(limits, float)
    if array.shape != (count,) or np.isnan(array).any() or (array == -open_side).any():
        raise ValueError(
            f"constraints: {name} must have a number, or None, for each of the {count} rows of A; "
            f"got {checks.brief(given)}"
        )
    return array
