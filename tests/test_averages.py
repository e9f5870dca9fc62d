"""Means and standard errors: NumPy's to the bit, and finite where NumPy's are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftopt import averages

HUGE = np.finfo(float).max
ordinary = st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=9).map(np.array)
extreme = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=9).map(np.array)


@given(ordinary)
def test_ordinary_values_are_averaged_as_ever(values):
    assert averages.mean(values) == np.add.reduce(values) / len(values)
    assert averages.standard_error(values) == values.std(ddof=1) / np.sqrt(len(values))


@given(extreme)
def test_every_mean_of_finite_values_is_finite_and_among_them(values):
    largest, below = np.abs(values).max(), 1 - 1e-12
    assert below * abs(averages.mean(values)) <= largest
    assert 0 <= below * averages.standard_error(values) <= largest


def test_huge_values():
    rows = np.array([[HUGE, 1.0, -HUGE], [HUGE, 3.0, HUGE], [HUGE, 5.0, -HUGE]])
    np.testing.assert_allclose(averages.mean(rows), [HUGE, 3.0, -HUGE / 3], rtol=1e-12)
    assert averages.standard_error(np.array([1e308, -1e308, 0.0])) == pytest.approx(1e308 / np.sqrt(3))
