"""The search for a minimum inside a compiled loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt.methods import solvers


def steep(x):
    """Curvatures from 1 to 2e6: the first step must be halved twenty times."""
    return jnp.sum(jnp.array([1.0, 1e3, 1e6]) * (x - 1) ** 2)


def bent(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


@pytest.mark.parametrize(("fun", "start"), [(steep, [0.0, 2.0, 3.0]), (bent, [-1.2, 1.0])])
def test_the_minimum_is_found(fun, start):
    with jax.enable_x64(True):
        found = solvers.descend(fun, jnp.array(start, jnp.float64), 80)
    np.testing.assert_allclose(found, 1, atol=1e-6)


def test_where_nothing_falls_the_search_stays():
    start = jnp.array([0.5, -2.0])
    np.testing.assert_array_equal(solvers.descend(lambda x: 0 * x[0], start, 5), start)
    # No step along the slope brings this down: its slope points the wrong way.
    wrong = jax.custom_jvp(lambda x: jnp.sum(x * x))
    wrong.defjvp(lambda primals, tangents: (wrong(*primals), -jnp.sum(2 * primals[0] * tangents[0])))
    np.testing.assert_array_equal(solvers.descend(wrong, start, 5), start)


def test_a_start_that_is_not_finite_is_given_back():
    start = jnp.array([jnp.inf, 0.0])
    np.testing.assert_array_equal(solvers.descend(lambda x: jnp.sum(x * x), start, 3), start)
