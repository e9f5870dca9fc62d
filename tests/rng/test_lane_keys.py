"""Keys of simulations give the numbers of the generator for single runs, however they are mapped."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt.rng import lane_keys
from driftopt.rng.threefry import THREEFRY, normal

WORDS = np.random.default_rng(0).integers(0, 2**32, (3, 4, 2), dtype=np.uint64).astype(np.uint32)


def both():
    return jax.random.wrap_key_data(WORDS, impl=THREEFRY), lane_keys.wrapped(jnp.asarray(WORDS))


def drawn(key, count):
    """Everything that methods and problems draw."""
    key = jax.random.fold_in(key, count)
    return (
        [jax.random.bits(key, shape, jnp.uint32) for shape in ((), (5,), (2, 3))],
        [jax.random.bits(key, (3,), dtype) for dtype in (jnp.uint8, jnp.uint16)],
        normal(key, (2, 3)),
        jax.random.uniform(key, (2,)),
        jax.random.randint(key, (), 0, 7),
        jax.random.key_data(jax.random.split(key)),
    )


@pytest.mark.parametrize("counts", [None, 0], ids=["one for all", "one for each"])
@pytest.mark.parametrize("axis", [0, -1])
def test_the_numbers_are_those_of_a_run_alone(axis, counts):
    many = jax.jit(
        jax.vmap(jax.vmap(drawn, (axis, None), axis), (axis, counts), axis)  # keys in either order
    )
    count = jnp.arange(WORDS.shape[axis - 1 if axis else 0]) if counts == 0 else jnp.int32(5)
    ours, theirs = (jax.tree.leaves(many(keys, count)) for keys in reversed(both()))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_wide_numbers_are_the_same():
    with jax.enable_x64(True):
        ours, theirs = (jax.random.bits(keys[0, 0], (5,), jnp.uint64) for keys in both())
    np.testing.assert_array_equal(ours, theirs)


def test_more_numbers_than_a_key_has_are_refused():
    with pytest.raises(NotImplementedError, match="split the key"):
        jax.eval_shape(lambda keys: lane_keys._drawn(keys, width=32, shape=(2**16, 2**16)), WORDS)
