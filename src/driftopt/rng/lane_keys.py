"""Keys for programs with many lanes: the numbers of `threefry.THREEFRY`, lowered in a fraction of the time.

JAX maps a generator's functions again over every axis of an array of keys, in each program for each shape:
40 ms for one `fold_in` over the lanes of a simulation, a third of what lowering took. Here each is one
primitive, which takes an array of keys as it stands.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import Primitive
from jax.extend.random import define_prng_impl
from jax.interpreters import batching, mlir

from driftopt.rng import threefry

WIDTHS = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32, 64: jnp.uint64}


def wrapped(words: Array) -> Array:
    """Words (…, 2) as JAX keys."""
    return jax.random.wrap_key_data(words, impl=LANES)


def _both_words(keys: Array) -> tuple[Array, Array]:
    return lax.index_in_dim(keys, 0, -1, keepdims=False), lax.index_in_dim(keys, 1, -1, keepdims=False)


def _folded(keys: Array, data: Array) -> Array:
    """Keys (…, 2) and numbers (…) as keys (…, 2)."""
    first, second = _both_words(keys)
    found = threefry.HASH.bind(first, second, lax.full_like(data, 0), data)
    return lax.concatenate([lax.expand_dims(word, (word.ndim,)) for word in found], found[0].ndim)


def _drawn(keys: Array, *, width: int, shape: tuple[int, ...]) -> Array:
    """Keys (…, 2) as random bits (…, *shape)."""
    size = math.prod(shape)
    if size >= 2**32:
        raise NotImplementedError(f"{size} random numbers from one key: split the key first")
    lanes = keys.shape[:-1]
    whole, inner = (*lanes, *shape), tuple(range(len(lanes), len(lanes) + len(shape)))
    count = lax.reshape(lax.iota(jnp.uint32, size), shape)
    first, second = (lax.broadcast_in_dim(word, whole, range(len(lanes))) for word in _both_words(keys))
    x, y = threefry.HASH.bind(
        first, second, lax.full(whole, 0, jnp.uint32), lax.broadcast_in_dim(count, whole, inner)
    )
    if width == 64:
        return x.astype(jnp.uint64) << jnp.uint64(32) | y.astype(jnp.uint64)
    return lax.convert_element_type(lax.bitwise_xor(x, y), WIDTHS[width])


FOLD, DRAW = Primitive("driftopt_fold_in"), Primitive("driftopt_bits")
for primitive, written_out in ((FOLD, _folded), (DRAW, _drawn)):
    primitive.def_impl(jax.jit(written_out, static_argnames=("width", "shape") if primitive is DRAW else ()))
    mlir.register_lowering(primitive, mlir.lower_fun(written_out, multiple_results=False))


@FOLD.def_abstract_eval
def _keys_shape(keys: Any, data: Any) -> Any:
    return keys


@DRAW.def_abstract_eval
def _bits_shape(keys: Any, *, width: int, shape: tuple[int, ...]) -> Any:
    return keys.update(shape=(*keys.shape[:-1], *shape), dtype=jnp.dtype(WIDTHS[width]))


def _in_front(one: Array, axis: int) -> Array:
    return one if axis == 0 else jnp.moveaxis(one, axis, 0)


def _batched_fold(operands: Any, axes: Any) -> tuple[Array, int]:
    size = next(one.shape[axis] for one, axis in zip(operands, axes, strict=True) if axis is not None)
    keys, data = (
        lax.broadcast(one, (size,)) if axis is None else _in_front(one, axis)
        for one, axis in zip(operands, axes, strict=True)
    )
    return FOLD.bind(keys, data), 0


batching.primitive_batchers[FOLD] = _batched_fold
batching.primitive_batchers[DRAW] = lambda operands, axes, **how: (
    DRAW.bind(_in_front(operands[0], axes[0]), **how),
    0,
)


# Functions with names, by which `identity` knows them.
def _fold_in(key: Array, data: Any) -> Array:
    return FOLD.bind(key, lax.convert_element_type(data, jnp.uint32))


def _bits(key: Array, width: int, shape: tuple[int, ...]) -> Array:
    return DRAW.bind(key, width=width, shape=tuple(shape))


LANES = define_prng_impl(
    key_shape=(2,),
    seed=threefry._seed,  # pyright: ignore[reportPrivateUsage]
    split=threefry._split,  # pyright: ignore[reportPrivateUsage]
    random_bits=_bits,
    fold_in=_fold_in,
    name="driftopt_lanes_threefry2x32",
    tag="dln",
)
