"""`Method.reach`, `Method.reach_in`: how far the iterate can move in one iteration, whatever is told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt import methods

WITH_A_LIMIT = [name for name in methods.names() if "max_radius" in methods.entry(name).parameters]


def wild(method, iterations, dim):
    """Values of every size."""
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.integers(-3, 6, (iterations, 1))
    return rng.standard_cauchy((iterations, method.points(dim))) * sizes


def longest_move(method, values, dim=3, slope=0.0):
    """The longest step of the iterate over a run that is told these values, on a slope."""
    state = method.init(jax.random.key(0), jnp.zeros(dim))
    ask, tell = jax.jit(method.ask), jax.jit(method.tell)
    walk = [state.x]
    for row in values.astype(np.float32):
        state = tell(state, row + (slope * ask(state).sum(axis=1) if slope else 0))
        walk.append(state.x)
    return float(np.linalg.norm(np.diff(np.array(walk), axis=0), axis=1).max())


def test_the_iterate_keeps_its_reach_and_uses_it(method):
    if method.reach is None:
        pytest.skip("this method promises no limit")
    farthest = longest_move(method, wild(method, 60, 3))
    assert method.reach_in(3) == method.reach
    assert farthest <= float(method.reach) * (1 + 1e-6)
    assert farthest > 0.9 * float(method.reach)  # a promise of a tenth less would be broken


@pytest.mark.parametrize(
    ("budget", "directions", "dim", "used"), [(90, 1, 1, 0.9), (12, 3, 3, 0), (90, 3, 20, 0.2)]
)
@pytest.mark.parametrize("name", WITH_A_LIMIT)
def test_a_largest_radius_limits_the_moves_too(name, budget, directions, dim, used):
    """Calm pairs, of which one is as far out as counts: that one moves the iterate farthest.

    Farthest of all on a slope that is sure, since steps wait for evidence.
    """
    method = methods.get(name, radius=0.2, max_radius=0.2, budget=budget, directions=directions)
    pairs = budget // 2 // directions
    calm = np.random.default_rng(1).standard_normal((pairs, method.points(dim)))
    calm[pairs // 2] = 1e6 * np.tile([1.0, -1.0], directions)
    moves = [longest_move(method, values, dim) for values in (calm, wild(method, pairs, dim))]
    moves.append(longest_move(method, calm, dim, slope=1000.0))
    reach = float(method.reach_in(dim))
    assert used * reach <= max(moves) <= reach * (1 + 1e-6)


def test_without_a_largest_radius_nothing_is_promised():
    for name in WITH_A_LIMIT:
        assert methods.get(name, radius=0.2, budget=40).reach_in(3) is None
