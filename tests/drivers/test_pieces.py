"""A program in pieces computes what it computes whole; and it is cut."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt.drivers import small_program
from driftopt.drivers.traced import in_pieces


def chain(x, shift):
    """Some forty operations, whose first results are needed to the last."""
    first, y = jnp.sum(x * x), x
    for turn in range(10):
        y = jnp.where(y > turn, y - shift, y / (1 + first))
    return {"y": y, "first": first, "same": x, "three": 3}


@pytest.mark.parametrize("largest", [1, 8, 1000])
def test_the_numbers_are_those_of_the_whole(largest):
    x, shift = np.linspace(-3, 12, 7, dtype=np.float32), np.float32(0.3)
    whole, cut = (jax.jit(fun)(x, shift) for fun in (chain, in_pieces(chain, largest)))
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-6), whole, cut)


def test_a_program_of_several_pieces_is_one_kernel_still():
    x, shift = np.linspace(-3, 12, 7), np.float64(0.3)
    shapes = [jax.ShapeDtypeStruct(a.shape, np.float32, sharding=small_program.place()) for a in (x, shift)]
    program = small_program.lowered(in_pieces(chain, largest=8), *shapes)()
    assert program.as_text().count(" call(") > 3
    found = program(*(jax.device_put(a.astype(np.float32), small_program.place()) for a in (x, shift)))
    np.testing.assert_allclose(found["y"], chain(x.astype(np.float32), np.float32(0.3))["y"], rtol=1e-5)
