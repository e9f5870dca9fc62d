"""Bounds by reflection: inside always, insiders untouched, no distance lengthened."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt.space.bounds import Bounds

HERE = np.array([0.5, 0.5])


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2))
@settings(max_examples=200, deadline=None)
def test_folding_stays_inside_keeps_insiders_and_never_stretches(low, width, xs):
    bounds = Bounds(np.array([low]), np.array([low + width]))
    a, b = (bounds.deploy(np.array([x])) for x in xs)
    assert low <= a[0] <= low + width
    assert abs(a - b)[0] <= abs(xs[0] - xs[1]) + 1e-6
    inside = np.array([low + 0.3 * width])
    assert bounds.deploy(inside).tobytes() == inside.tobytes()


def test_pairs_scipys_bounds_and_what_was_stored_are_the_same():
    pairs = [(0, None), (None, 2)]
    one = Bounds.parse(pairs, HERE)
    other = Bounds.parse(scipy.optimize.Bounds([0, -np.inf], [np.inf, 2]), HERE)
    again = Bounds.parse(one.given, HERE)
    assert one.given == other.given == again.given == [[0, None], [None, 2]]
    assert Bounds.parse(None, HERE) is None


@pytest.mark.parametrize(
    "wrong",
    [
        1,
        "ab",
        [(0, 1)],
        [(0, 1), 2],
        [(0, 1), ("a", 2)],
        [(0, 1), (np.nan, 2)],
        [(0, 1), (1, 0)],
        [(0, 1), (2, 3)],
    ],
)
def test_what_are_no_bounds_is_said(wrong):
    with pytest.raises(ValueError, match="bounds"):
        Bounds.parse(wrong, HERE)
