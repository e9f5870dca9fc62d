"""Linear constraints: always kept, insiders untouched, and the projection is the nearest point."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds as Sides
from scipy.optimize import LinearConstraint, linprog

import driftopt
from driftopt.space import Space
from driftopt.space.constraints import Constraints

FAST = settings(max_examples=60, deadline=None, derandomize=True)


def polyhedron(seed):
    """A random one that the start keeps, some rows without room and some equalities, and points around it."""
    rng = np.random.default_rng(seed)
    dim, rows = int(rng.integers(1, 9)), int(rng.integers(1, 7))
    matrix = rng.normal(size=(rows, dim)).round(1) + 0.01
    start = rng.normal(size=dim) * 10.0 ** rng.integers(-3, 4)
    sums, room = matrix @ start, rng.exponential(size=(2, rows)) * rng.integers(0, 2, (2, rows))
    low = np.where(rng.random(rows) < 0.3, -np.inf, sums - room[0])
    high = np.where(rng.random(rows) < 0.3, np.inf, sums + room[1])
    equal = rng.random(rows) < 0.2
    low[equal] = high[equal] = sums[equal]
    sides = Sides(start - rng.exponential(size=dim), start + 1)
    units = None if rng.random() < 0.5 else rng.exponential(size=dim) + 0.1
    space = Space.build(start, units=units, bounds=sides, constraints=LinearConstraint(matrix, low, high))
    points = space.lift(start) + rng.normal(size=(6, dim)) * 10.0 ** rng.uniform(-2, 2)
    return space, matrix, low, high, points, rng


@FAST
@given(st.integers(0, 2**32))
def test_every_point_is_feasible_and_insiders_stay_as_they_are(seed):
    space, matrix, low, high, points, _ = polyhedron(seed)
    decisions = space.deploy(points)
    sums, room = decisions @ matrix.T, 1e-9 * np.abs(decisions) @ np.abs(matrix.T)
    assert ((sums >= low - room) & (sums <= high + room)).all()
    bounds = next(step for step in space.steps if step.name == "bounds")
    assert ((decisions >= bounds.lower) & (decisions <= bounds.upper)).all()
    step = next(step for step in space.steps if step.name == "constraints")
    assert step.deploy(decisions).tobytes() == decisions.tobytes()


@FAST
@given(st.integers(0, 2**32))
def test_no_feasible_point_is_nearer_and_no_distance_grows(seed):
    space, _, _, _, points, rng = polyhedron(seed)
    decisions = space.deploy(points)
    nearest = space.lift(decisions)
    others = space.lift(space.deploy(space.lift(space.start) + rng.normal(size=(20, space.dim))))
    apart = np.linalg.norm(points - nearest, axis=1)
    scale = 1e-9 * (1 + np.abs(points).max() + np.abs(nearest).max())
    assert (np.linalg.norm(points[:, None] - others, axis=-1) >= apart[:, None] - scale).all()
    between = np.linalg.norm(points[:, None] - points, axis=-1)
    assert (np.linalg.norm(nearest[:, None] - nearest, axis=-1) <= between + scale).all()


def test_the_simplex_against_its_formula():
    """P(x) = (x − θ)₊ with θ such that the sum is 1, from sorting."""
    space = Space.build([0.25] * 4, bounds=[(0, None)] * 4, constraints={"A": [[1] * 4], "lb": 1, "ub": 1})
    points = np.random.default_rng(0).normal(size=(50, 4))
    falling = -np.sort(-points, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1) / np.arange(1, 5)
    last = (falling > excess).sum(axis=1) - 1
    exact = np.maximum(points - excess[np.arange(50), last][:, None], 0)
    assert space.deploy(points) == pytest.approx(exact, abs=1e-14)


def test_tables_lists_and_sparse_matrices_are_the_same():
    rows = [[1.0, 1.0], [1.0, -1.0]]
    start = np.array([0.5, 0.2])
    forms = [
        LinearConstraint(rows, [-np.inf, 0], [1, np.inf]),
        LinearConstraint(scipy.sparse.csr_array(rows), [-np.inf, 0], [1, np.inf]),
        {"A": rows, "lb": [None, 0], "ub": [1, None]},
        [{"A": [rows[0]], "ub": 1}, {"A": rows[1:], "lb": [0]}],
    ]
    assert [Constraints.parse(form, start).given for form in forms] == [forms[2]] * 4
    assert Constraints.parse((), start) is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (3, "constraints"),
        ({"A": [[1, 2, 3]], "ub": 1}, "a column for each of the 2"),
        ({"A": [[1, np.nan]], "ub": 1}, "constraints: A must be finite"),
        ({"A": [[0, 0]], "ub": 1}, "all zeros"),
        ({"A": [[1, 1]], "ub": [1, 2]}, "for each of the 1 rows"),
        ({"A": [[1, 1]], "lb": 2, "ub": 1}, "lb 2 above ub 1"),
        ({"A": [[1, 1]], "upper": 1}, "got a table of A, upper"),
        ({"A": [[1, 0], [1, 1]], "ub": [9, 1]}, r"x0 breaks row 1: \[1.0, 1.0\] · x0 = 1.5"),
        ([{"A": [[1, 1]], "ub": 0}, {"A": [[1, 1]], "lb": 1}], "no decision keeps all of them"),
    ],
)
def test_what_cannot_be_kept_is_said_at_the_door(wrong, words):
    with pytest.raises(ValueError, match=words):
        Space.build([1.0, 0.5], bounds=[(0, 2), (0, 2)], constraints=wrong)


def test_minimize_keeps_them_and_finds_the_constrained_optimum():
    """A budget that sums: min ‖x − 2‖₁-like on the simplex, the optimum is the best corner."""
    noise = np.random.default_rng(0)

    def fun(x):
        assert x.min() >= 0
        assert abs(x.sum() - 1) <= 1e-9
        return float(x @ [3.0, 1.0, 2.0]) + 0.1 * noise.standard_normal()

    simplex = LinearConstraint(np.ones((1, 3)), 1, 1)
    result = driftopt.minimize(
        fun,
        [0.4, 0.3, 0.3],
        budget=600,
        radius=0.2,
        bounds=[(0, 1)] * 3,
        constraints=simplex,
        rng=1,
        method="walk",
    )
    assert result.x == pytest.approx([0, 1, 0], abs=0.05)


def test_before_the_first_step_the_start_is_reported_to_the_bit():
    space = Space.build([0.1, 0.2, 0.7], constraints={"A": [[1, 1, 1]], "lb": 1, "ub": 1}, units=[3, 0.7, 9])
    begun = space.begin(1.0)
    assert space.report(begun, begun).tolist() == [0.1, 0.2, 0.7]
    moved = begun + np.array([0.0, 0.1, 0.0])
    assert space.report(moved, begun).sum() == pytest.approx(1, abs=1e-12)


FIXED = [
    {"constraints": {"A": [[1, 1]], "ub": 2}, "bounds": [(1, None), (1, None)]},
    {"constraints": {"A": [[1, 1], [1, -1]], "lb": [2, 0], "ub": [2, 0]}},
    {"constraints": {"A": [[1, 1]], "lb": 2, "ub": 2}, "bounds": [(1, 5), (1, 9)]},
    {"constraints": {"A": [[1, 2], [-1, 1], [0, -1]], "ub": [3, 0, -1]}},
    {"constraints": {"A": [[1, 1]], "ub": 0}, "bounds": [(0, 9), (0, 9)], "x0": [0.0, 0.0]},
    {"constraints": {"A": [[1, 1]], "ub": 2e6}, "bounds": [(1e6, None)] * 2, "x0": [1e6, 1e6]},
    {"constraints": {"A": [[1, 1]], "lb": 2, "ub": 2}, "bounds": [(0.1, 1.9)] * 2, "grid": 1},
    {"grid": 1, "bounds": [(0.1, 1.9), (0.5, 1.5)]},
]
ROOM = [
    {"constraints": {"A": [[1, 1]], "lb": 2, "ub": 2}, "bounds": [(0, None), (0, None)]},
    {"constraints": {"A": [[1, 1]], "ub": 2 + 1e-6}, "bounds": [(1, None), (1, None)]},
    {"constraints": {"A": [[1, 0]], "lb": 1, "ub": 1}, "bounds": [(0, 2), (0, 2)]},
    {"constraints": {"A": [[1, -1]], "lb": 0, "ub": 0}},
    {"constraints": {"A": [[1, 1]], "ub": 3e-8}, "bounds": [(1e-8, 2e-8)] * 2, "x0": [1e-8, 1e-8]},
    {"constraints": {"A": [[1, 1]], "ub": 2.001e6}, "bounds": [(1e6, None)] * 2, "x0": [1e6, 1e6]},
    {
        "constraints": {"A": [[1, -1]], "lb": -1, "ub": 1},
        "bounds": [(1.7e9 - 0.5, 1.7e9 + 0.5)] * 2,
        "x0": [1.7e9, 1.7e9],
    },
    {"constraints": {"A": [[1, 1]], "lb": 2, "ub": 2}, "bounds": [(0, 2)] * 2, "grid": 1},
    {"constraints": {"A": [[1, 1]], "lb": 2, "ub": 2}, "bounds": [(0.5, 1.5)] * 2, "grid": [None, 0.5]},
    {"grid": 1, "bounds": [(0.1, 1.9), (0.5, 2.5)]},
]


def placed(x0=(1.0, 1.0), **given):
    return Space.build(list(x0), **given)


@pytest.mark.parametrize("units", [None, [0.01, 300.0]])
def test_where_x0_is_the_only_decision_it_is_said_at_the_door(units):
    """Also where equalities leave one point; but a simplex, a line or a narrow band has room."""
    for fixed in FIXED:
        space = placed(units=units, **fixed)
        with pytest.raises(ValueError, match="the only decision that is left"):
            space.check_trials(None)
    for open_to_change in ROOM:
        placed(units=units, **open_to_change).check_trials(None)


def test_every_door_says_so():
    alone = {"x0": [1.0, 1.0]} | FIXED[0]
    with pytest.raises(ValueError, match="constraints: x0 is the only decision that is left with the bounds"):
        driftopt.minimize(lambda x: float(x @ x), budget=60, radius=0.1, **alone, method="walk")
    with pytest.raises(ValueError, match="so there is nothing to try"):
        driftopt.Study.create("sqlite://", "a", budget=60, radius=0.1, **alone)


@FAST
@given(st.integers(0, 2**32))
def test_no_polyhedron_with_room_is_refused(seed):
    """Against linear programs: one is refused if and only if no coordinate can move."""
    space, matrix, low, high, _, _ = polyhedron(seed)
    step = next(step for step in space.steps if step.name == "constraints")
    stacked, limits = np.concatenate([matrix, -matrix]), np.concatenate([high, -low])
    finite = np.isfinite(limits)
    room = limits[finite] - stacked[finite] @ space.start
    sides = np.stack([step.box.lower - space.start, step.box.upper - space.start], axis=1)
    wide = max(
        abs(linprog(sign * unit, stacked[finite], np.maximum(room, 0), bounds=sides).fun)
        for unit in np.eye(space.dim)
        for sign in (1, -1)
    )
    if step.alone(space.start):
        assert wide <= 1e-5
    elif wide < 1e-9:
        # No room at all by the solver's own tolerance: what is left must be rounding.
        assert np.ptp(space.deploy(space.lift(space.start) + np.eye(space.dim)), axis=0).max() <= 1e-6
