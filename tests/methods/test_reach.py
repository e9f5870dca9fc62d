"""`Method.reach`: how far the iterate can move in one iteration, whatever is told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def longest_move(method, iterations=60):
    """The longest step of the iterate over a run that is told values of every size."""
    rng = np.random.default_rng(0)
    values = rng.standard_cauchy((iterations, method.points(3))) * 10.0 ** rng.integers(
        -3, 6, (iterations, 1)
    )
    state = method.init(jax.random.key(0), jnp.zeros(3))
    tell = jax.jit(method.tell)
    walk = [state.x]
    for row in values.astype(np.float32):
        state = tell(state, row)
        walk.append(state.x)
    return float(np.linalg.norm(np.diff(np.array(walk), axis=0), axis=1).max())


def test_the_iterate_keeps_its_reach_and_uses_it(method):
    if method.reach is None:
        pytest.skip("this method promises no limit")
    farthest = longest_move(method)
    assert farthest <= float(method.reach) * (1 + 1e-6)
    assert farthest > 0.9 * float(method.reach)  # a promise of a tenth less would be broken
