"""The grid: every decision on it, rounding with the right mean, decimals as people write them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt.space import Space

FAST = settings(max_examples=60, deadline=None, derandomize=True)
STEP = st.sampled_from([0.05, 0.1, 0.25, 1.0, 2.5, 1e-3, 1 / 3, 7e5])


def on_grid(decisions, steps, through=0.0):
    counts = (decisions - through) / steps
    return np.abs(counts - np.rint(counts)) <= 1e-9 * np.maximum(1, np.abs(counts))


@FAST
@given(st.lists(STEP, min_size=3, max_size=3), st.integers(0, 2**32), st.floats(0.01, 100))
def test_every_decision_is_on_the_grid_in_the_bounds_and_less_than_a_step_away(steps, seed, scale):
    rng = np.random.default_rng(seed)
    start = np.rint(rng.normal(size=3) * 20) * steps
    low, high = start - rng.exponential(size=3) * steps, start + rng.exponential(size=3) * 9 * np.array(steps)
    space = Space.build(start, bounds=list(zip(low, high, strict=True)), grid=steps)
    points = start + rng.normal(size=(40, 3)) * scale
    for decisions in (space.deploy(points, (seed, 1)), np.array([space.report(p) for p in points])):
        assert on_grid(decisions, steps).all()
        assert ((decisions >= low) & (decisions <= high)).all()
        folded = Space.build(start, bounds=list(zip(low, high, strict=True))).deploy(points)
        assert (np.abs(decisions - folded) < np.array(steps) * (1 + 1e-9)).all()
        assert np.array([space.report(d) for d in decisions]).tobytes() == decisions.tobytes()
    assert space.deploy(points, (seed, 1)).tobytes() == space.deploy(points, (seed, 1)).tobytes()


def z_score(shift, runs=4000):
    """Of the mean of roundings against the point itself, the largest over three coordinates."""
    space = Space.build([0.0, 0.0, 9.99], bounds=[(-9, 9)] * 2 + [(0, 20)], grid=[0.05, 1, (0.5, 9.99)])
    point = np.array([0.137, -2.3, 8.4])
    decisions = np.array([space.deploy(point, (5, k)) for k in range(runs)])
    error = decisions.std(axis=0, ddof=1) / np.sqrt(runs)
    return np.abs((decisions.mean(axis=0) - point - shift) / error).max()


def test_the_mean_of_roundings_is_the_point():
    assert z_score(0) < 5.1  # a false alarm in a million runs, three coordinates
    assert z_score(np.array([0.0, 0.1, 0.0])) > 8  # a tenth of a step would be seen


def test_points_of_a_draw_are_shifted_alike():
    """Two points are never farther apart than their distance and one step; the same point is one decision."""
    space = Space.build([0.0] * 4, grid=0.5)
    points = np.array([[0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], [1.1, 0.2, -0.3, 0.6]])
    for k in range(50):
        decisions = space.deploy(points, (k,))
        assert decisions[0].tolist() == decisions[1].tolist()
        assert decisions[2, 0] - decisions[0, 0] == 1.0
        assert (
            space.distance(decisions[0], decisions[2]) <= space.distance(points[0], points[2]) + space.slack
        )
    assert space.slack == 1.0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("a", "grid"),
        (0, "grid"),
        ([0.1, -1], "grid"),
        ([0.1], "2 of them"),
        ([(0.1, np.nan), 1], "grid"),
        ([(1, 2, 3), 1], "grid"),
        (0.3, r"x0\[0\] = 1.25 is on no step of 0.3 from 0: start at 1.2, or give the pair \(0.3, 1.25\)"),
    ],
)
def test_what_is_no_grid_is_said_at_the_door(wrong, words):
    with pytest.raises(ValueError, match=words):
        Space.build([1.25, 3.0], grid=wrong)


@FAST
@given(st.integers(0, 2**32))
def test_constraints_hold_on_the_grid(seed):
    """Roundings that keep the rows; where none is found, the nearest grid point that does."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 6))
    steps = np.where(rng.random(dim) < 0.3, 0, 0.5)
    start = np.rint(rng.normal(size=dim) * 4) * 0.5
    rows = np.concatenate([np.ones((1, dim)), rng.integers(-1, 2, size=(1, dim)) + np.eye(dim)[:1] * 0.5])
    sums = rows @ start
    high = sums + np.array([0, 0.7])
    low = np.array([sums[0] if seed % 2 else -np.inf, -np.inf])
    space = Space.build(
        start,
        bounds=[(s - 3, s + 3) for s in start],
        constraints={
            "A": rows.tolist(),
            "lb": [None if np.isinf(v) else v for v in low],
            "ub": high.tolist(),
        },
        grid=[step or None for step in steps],
    )
    points = start + rng.normal(size=(4, dim)) * 2
    for decisions in (space.deploy(points, (seed,)), np.array([space.report(p) for p in points])):
        assert on_grid(decisions, np.where(steps > 0, steps, 1))[:, steps > 0].all()
        sums, room = decisions @ rows.T, 1e-9 * (np.abs(decisions) @ np.abs(rows.T) + 1)
        assert ((sums >= low - room) & (sums <= high + room)).all()
        assert (np.abs(decisions - start) <= 3).all()


def test_a_decision_within_half_a_step_is_the_asked_one():
    space = Space.build([1.0, 2.0, 3.0], grid=[0.5, 1, None], units=[0.5, 0.5, 2.0])
    asked = np.array([1.5, 2.0, 3.0])
    assert space.astray(np.array([1.25, 2.5, 3.0]), asked) == 0
    assert space.astray(np.array([1.25, 2.5, 3.2]), asked) == pytest.approx(0.1)
    assert space.astray(np.array([1.0, 2.0, 3.0]), asked) == pytest.approx(1.0)


@pytest.mark.parametrize("start", [5.5, 6.0])
def test_bounds_between_two_grid_points_are_refused(start):
    with pytest.raises(ValueError, match=r"no point within the bounds of coordinate 1, 5.5 to 7.*step is 5"):
        Space.build([0.0, start], grid=5, bounds=[(-10, 10), (5.5, 7)])
    Space.build([0.0, 5.0], grid=5, bounds=[(-10, 10), (5, 7)])  # one point is a decision that is fixed
