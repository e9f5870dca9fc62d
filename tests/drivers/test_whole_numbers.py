"""Whole numbers by NumPy are XLA's to the bit; a program computes in two parts what it computes in one."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from driftopt.drivers import small_program
from driftopt.drivers.host import with_precision
from driftopt.drivers.traced import EXACT, SplitProgram
from driftopt.rng.seeds import method_key
from driftopt.rng.threefry import HASH

HASHES = (HASH.name, "random_bits", "random_fold_in", "random_split", "threefry2x32")


def split(fun, *arguments):
    return SplitProgram(fun, arguments, given=len(arguments))


def by_parts(fun, *arguments):
    """What `fun` gives, its whole numbers by NumPy; and how many operations are left to XLA."""
    parts = split(fun, *arguments)
    whole = parts.whole(*arguments)
    for ours, theirs in zip(whole, jax.jit(parts.whole_compiled)(*arguments), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_array_equal(ours, theirs)
    return parts.rest(*whole), len(parts._rest.jaxpr.eqns)


TWO = {
    "add": lax.add,
    "sub": lax.sub,
    "mul": lax.mul,
    "div": lax.div,
    "rem": lax.rem,
    "max": lax.max,
    "min": lax.min,
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "eq": lax.eq,
    "ne": lax.ne,
    "lt": lax.lt,
    "le": lax.le,
    "gt": lax.gt,
    "select_n": lambda x, y: lax.select_n(x > y, x, y),
}
SHIFTS = {"shift_right_logical": lax.shift_right_logical}
ONE = {
    "sign": lax.sign,
    "broadcast_in_dim": lambda x: lax.broadcast_in_dim(x, (3, len(x), 2), (1,)),
    "convert_element_type": lambda x: tuple(
        x.astype(t) for t in (jnp.uint8, jnp.int16, jnp.uint32, jnp.int64, bool)
    ),
    "iota": lambda x: x[:, None] + lax.broadcasted_iota(x.dtype, (len(x), 3), 1),
    "slice": lambda x: lax.slice(x, (1,), (len(x) - 1,), (2,)),
    "squeeze": lambda x: lax.squeeze(lax.broadcast_in_dim(x, (1, len(x)), (1,)), (0,)),
}


@pytest.mark.parametrize(("dtype", "axes"), [(np.int32, 2), (np.uint32, 0), (np.int64, 2)])
@pytest.mark.parametrize("name", [*TWO, *SHIFTS, *ONE])
def test_each_operation_gives_xlas_bits(name, dtype, axes):
    """On the numbers where they might part: zero, the ends of the range, all signs, both in all pairs.

    Iterations are drawn side by side, so that every array has axes more than the method gave it.
    """
    ends = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    signed = [-1, -2, -7, -100] if dtype != np.uint32 else [3, 5]
    some = np.array([0, 1, 2, 7, 100, 31, *ends, *signed], dtype)
    with jax.enable_x64(True):
        if name in ONE:
            fun, arguments = ONE[name], (some,)
        else:
            other = np.abs(some[:6]) % 40 if name in SHIFTS else some
            fun, pairs = {**TWO, **SHIFTS}[name], np.meshgrid(some, other)
            arguments = tuple(one.ravel().astype(dtype) for one in pairs)
        for size in range(2, 2 + axes):
            arguments = tuple(np.stack([np.roll(one, k, -1) for k in range(size)]) for one in arguments)
            fun = jax.vmap(fun)
        found, left = by_parts(fun, *arguments)
        expected = jax.tree.leaves(jax.jit(fun)(*arguments))
    assert left == 0
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def drawn(key, count):
    """Keys that are made, moved about and used up, as a generator's programs do."""
    keys = jax.vmap(lambda told: jax.random.fold_in(key, told))(count + jnp.arange(4))
    halves = jax.vmap(lambda one: jax.random.split(one, (2, 3)))(keys)
    used = [halves[1, 0], halves[3, 1]]
    return [jax.vmap(lambda one, w=w: jax.random.bits(one, (5,), w))(one) for one in used for w in WIDTHS]


WIDTHS = (jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64)


def test_keys_and_their_numbers_are_the_generators():
    with jax.enable_x64(True):
        key, count = method_key(2**40 + 1), np.int32(7)
        found, left = by_parts(drawn, key, count)
        expected = jax.tree.leaves(jax.jit(drawn)(key, count))
    assert left == 0
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_every_operation_in_the_table_is_tested():
    keys = {"random_bits", "random_fold_in", "random_split"}
    assert {*EXACT} == {*TWO, *SHIFTS, *ONE, *keys}


def test_what_depends_on_rounding_is_left_to_xla():
    """Also whole numbers that come of it, and a key that these make."""

    def noise(key, count):
        place = jnp.argmax(jax.random.normal(key, (50,)))
        return jax.random.bits(jax.random.fold_in(key, place), (3,)), count * 2, 7

    key, count = method_key(5), np.int32(3)
    found, left = by_parts(noise, key, count)
    assert left > 0
    for ours, theirs in zip(found, jax.jit(noise)(key, count), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dim", [3])
def test_noise_in_two_parts_is_the_noise_in_one(method, dim):
    """Whole numbers to the bit, the rest to rounding; and XLA is left no hash to compile."""
    with jax.enable_x64(True):
        held = with_precision(method, jnp.float64, small_program.place())
        arguments = (held, method_key(3, small_program.place()), np.int32(40))
        draw = partial(small_program.draw, dim, 9)
        parts = SplitProgram(draw, arguments, given=2)
        whole = parts.whole(*arguments[1:])
        for ours, theirs in zip(whole, jax.jit(parts.whole_compiled)(*arguments[1:]), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        found = small_program.noise_window(*arguments, dim, 9)
        together = jax.jit(draw)(*arguments)
    assert not [step for step in parts._rest.jaxpr.eqns if step.primitive.name in HASHES]
    assert jax.tree.structure(found) == jax.tree.structure(together)
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(together), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
