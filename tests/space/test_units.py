"""Units: every coordinate in its own, and nothing else changes."""

import numpy as np
import pytest

import driftopt
from driftopt.space import Space

SIZES = np.array([0.05, 1.0, 40.0])


def test_a_point_and_the_decision_it_stands_for():
    space = Space.build([0.1, 2.0, 30.0], units=SIZES)
    points = np.random.default_rng(0).normal(size=(20, 3))
    decisions = space.deploy(points)
    assert space.lift(decisions) == pytest.approx(points, rel=1e-15)
    away = space.distance(decisions[0], decisions[1])
    assert away == pytest.approx(np.linalg.norm(points[0] - points[1]), rel=1e-12)


def test_a_walk_begins_at_the_start_or_half_a_trial_inside_in_every_unit():
    space = Space.build([0.0, 2.0, 30.0], units=SIZES, bounds=[(0, 1), (0, 9), (None, 30)])
    begun = space.begin(1.0) * SIZES
    half = SIZES / (2 * np.sqrt(3))
    assert begun == pytest.approx([half[0], 2.0, 30 - half[2]])
    assert space.report(space.begin(1.0), space.begin(1.0)).tolist() == [0.0, 2.0, 30.0]


@pytest.mark.parametrize("method", ["walk", "zo-o2nc-2pt"])
def test_a_run_in_other_units_is_the_same_run(method):
    """Multiplying by a power of two rounds nothing, so every query is the same to the bit."""
    sizes = np.array([0.25, 1.0, 32.0])

    def fun(x):
        return float(np.abs(x - [1, 2, 3]).sum())

    plain = driftopt.minimize(fun, [0.0, 0.0, 0.0], budget=300, radius=1.0, method=method, rng=3)
    scaled = driftopt.minimize(
        lambda x: fun(x / sizes), [0.0, 0.0, 0.0], budget=300, radius=sizes, method=method, rng=3
    )
    assert (scaled.history["x"] / sizes).tobytes() == plain.history["x"].tobytes()
    assert (scaled.x / sizes).tobytes() == plain.x.tobytes()
    assert scaled.params["units"] == sizes.tolist()
    assert "units" not in plain.params


def test_equal_widths_are_one_radius_and_unequal_ones_are_units():
    def fun(x):
        return float(np.abs(x).sum())

    same = driftopt.minimize(fun, [1.0, 1.0], budget=40, bounds=[(0, 2), (-1, 1)], rng=0, method="walk")
    given = driftopt.minimize(
        fun, [1.0, 1.0], budget=40, bounds=[(0, 2), (-1, 1)], radius=2**0.5 / 5, rng=0, method="walk"
    )
    assert same.history["x"].tobytes() == given.history["x"].tobytes()
    apart = driftopt.minimize(fun, [1.0, 50.0], budget=40, bounds=[(0, 2), (0, 100)], rng=0, method="walk")
    moved = np.abs(apart.history["x"] - [1.0, 50.0]).max(axis=0)
    assert 10 < moved[1] / moved[0] < 250
