"""Directions: exact shapes and lengths, then the first two moments, each with a planted twin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from driftopt.methods import directions

COUNT, DIM = 200_000, 4
LAWS = {"sphere": (directions.sphere, 1 / DIM), "gaussian": (directions.gaussian, 1.0)}
every = pytest.mark.parametrize(("draw", "variance"), LAWS.values(), ids=LAWS.keys())


def worst(samples, mean):
    """The largest |z| of the columns' means, and what chance allows once in a million tests."""
    z = (samples.mean(axis=0) - mean) / (samples.std(axis=0) / np.sqrt(len(samples)))
    return np.max(np.abs(z)), norm.isf(0.5e-6 / samples.shape[1])


@every
def test_moments(draw, variance):
    """E u = 0 and E uuᵀ = variance·I; a shift of 0.02 deviations and a scale of 1.02 are seen."""
    u = np.asarray(draw(jax.random.key(7), COUNT, DIM), np.float64)
    z, limit = worst(u, 0)
    assert z < limit
    z, limit = worst(u + 0.02 * np.sqrt(variance), 0)
    assert z > limit
    rows, columns = np.triu_indices(DIM)
    target = np.where(rows == columns, variance, 0)
    z, limit = worst(u[:, rows] * u[:, columns], target)
    assert z < limit
    z, limit = worst(1.02 * u[:, rows] * u[:, columns], target)
    assert z > limit


def test_sphere_has_length_one():
    u = np.asarray(directions.sphere(jax.random.key(0), 1000, 3))
    np.testing.assert_allclose(np.sum(u * u, axis=1), 1, rtol=1e-6)


def test_coordinates_are_the_unit_vectors():
    np.testing.assert_array_equal(directions.coordinates(3), np.eye(3))


@pytest.mark.parametrize("draw", [directions.sphere, directions.gaussian])
def test_the_same_directions_in_either_precision(draw):
    single = draw(jax.random.key(1), 5, 3)
    with jax.enable_x64(True):
        double = draw(jax.random.key(1), 5, 3)
    assert single.dtype == double.dtype == jnp.float32
    np.testing.assert_array_equal(single, double)
