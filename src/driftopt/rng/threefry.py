"""Random numbers for hot loops: JAX's default generator and a normal law, in forms that CPUs vectorise.

JAX compiles Threefry-2x32 on CPUs as a loop over rounds whose rotations are data, and such a loop makes one
number at a time. Written out with constant rotations it is one vectorised pass that gives the same numbers.
Keys of this kind work with all of `jax.random`.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend.core import Primitive
from jax.extend.mlir.dialects import stablehlo
from jax.extend.random import define_prng_impl
from jax.interpreters import batching, mlir

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)


def hashed(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Threefry-2x32 with 20 rounds: the words (high, low) of a counter under the two words of a key.

    On arrays of NumPy; of JAX, these operations are one primitive.
    """
    if isinstance(high, Array) or isinstance(low, Array) or isinstance(key, Array):
        return tuple(HASH.bind(*jnp.broadcast_arrays(key[0], key[1], high, low)))
    return _hashed(key[0], key[1], high, low)


def _hashed(first: Any, second: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """The twenty rounds, on whatever adds, shifts and has bits: the key is (first, second)."""
    words = (first, second, first ^ second ^ PARITY)
    x, y = high + words[0], low + words[1]
    for group in range(5):
        for turn in ROTATIONS[group % 2]:
            x = x + y
            y = x ^ ((y << np.uint32(turn)) | (y >> np.uint32(32 - turn)))
        x = x + words[(group + 1) % 3]
        y = y + words[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


# A hash is 150 operations, and every program has some ten. As one primitive it is traced and batched as one
# operation, and written down without JAX's own steps for each; XLA sees the same operations either way.
HASH = Primitive("driftopt_threefry2x32")
HASH.multiple_results = True
HASH.def_impl(jax.jit(_hashed))


def _batched(words: Sequence[Array], axes: Sequence[int | None]) -> tuple[list[Array], list[int]]:
    """The hashes of all words along one axis: that of the first which has one."""
    axis, size = next((a, word.shape[a]) for word, a in zip(words, axes, strict=True) if a is not None)

    def along(word: Array, at: int | None) -> Array:
        if at is not None:
            return jnp.moveaxis(word, at, axis)
        return jnp.broadcast_to(jnp.expand_dims(word, axis), (*word.shape[:axis], size, *word.shape[axis:]))

    return HASH.bind(*map(along, words, axes)), [axis, axis]


batching.primitive_batchers[HASH] = _batched


@HASH.def_abstract_eval
def _shapes(first: Any, second: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Two arrays like the words, which are of one shape."""
    return low, low


class _Word:
    """A value of the program that is being written down, with the operators that `_hashed` needs."""

    def __init__(self, value: Any):
        self.value = value

    def __add__(self, other: Any) -> "_Word":
        return _Word(stablehlo.add(self.value, self._like(other)))

    def __xor__(self, other: Any) -> "_Word":
        return _Word(stablehlo.xor(self.value, self._like(other)))

    def __or__(self, other: Any) -> "_Word":
        return _Word(stablehlo.or_(self.value, self._like(other)))

    def __lshift__(self, other: Any) -> "_Word":
        return _Word(stablehlo.shift_left(self.value, self._like(other)))

    def __rshift__(self, other: Any) -> "_Word":
        return _Word(stablehlo.shift_right_logical(self.value, self._like(other)))

    def _like(self, other: Any) -> Any:
        if isinstance(other, _Word):
            return other.value
        kind = self.value.type
        number = mlir.ir.IntegerAttr.get(kind.element_type, int(other))
        return stablehlo.constant(mlir.ir.DenseElementsAttr.get_splat(kind, number))


def _written_down(context: Any, *operands: Any) -> Sequence[Any]:
    """The operations of a hash in StableHLO, the language that XLA compiles."""
    if not operands[0].type.has_static_shape:  # an export for any size, whose constants need a size
        return mlir.lower_fun(_hashed)(context, *operands)
    return [word.value for word in _hashed(*map(_Word, operands))]


mlir.register_lowering(HASH, _written_down)


def _counted(key: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The hashes of 0, 1, 2, … in an array of this shape."""
    size = math.prod(shape)
    if size >= 2**32:
        raise NotImplementedError(f"{size} random numbers from one key: split the key first")
    count = jnp.arange(size, dtype=jnp.uint32).reshape(shape)
    return hashed(key, jnp.zeros_like(count), count)


@partial(jax.jit, static_argnums=(1, 2), inline=True)
def _bits(key: Array, width: int, shape: tuple[int, ...]) -> Array:
    x, y = _counted(key, shape)
    if width == 64:
        return x.astype(jnp.uint64) << jnp.uint64(32) | y.astype(jnp.uint64)
    return (x ^ y).astype({8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32}[width])


@partial(jax.jit, static_argnums=1, inline=True)
def _split(key: Array, shape: tuple[int, ...]) -> Array:
    return jnp.stack(_counted(key, shape), axis=-1)


@partial(jax.jit, inline=True)
def _fold_in(key: Array, data: Any) -> Array:
    return jnp.stack(hashed(key, jnp.uint32(0), jnp.asarray(data).astype(jnp.uint32)))


def _seed(seed: Array) -> Array:
    high = seed >> 32 if seed.dtype.itemsize == 8 else jnp.zeros_like(seed)
    return jnp.stack([high.astype(jnp.uint32), seed.astype(jnp.uint32)])


THREEFRY = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_bits,
    fold_in=_fold_in,
    name="driftopt_threefry2x32",
    tag="dtf",
)

# erf⁻¹(x)/x as polynomials in w − 2.5 and √w − 3, highest power first.
# Giles, "Approximating the erfinv function" (2010), single precision.
CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


@partial(jax.jit, static_argnums=1, inline=True)
def normal(key: Array, shape: tuple[int, ...]) -> Array:
    """Standard normal numbers, float32: the quantiles of 2²³ equally likely cells, at their middles.

    z = √2 erf⁻¹(x), |x| < 1. The logarithm w = −log(1 − x²) is the only function in it: CPUs vectorise that
    one, and not the log1p of `jax.random.normal`, which takes four times as long.
    """
    cells = (jax.random.bits(key, shape, jnp.uint32) >> 9).astype(jnp.float32)
    x = (cells + 0.5) * jnp.float32(2.0**-22) - 1
    w = -jnp.log((1 - x) * (1 + x))
    ratio = jnp.where(w < 5, _polynomial(CENTRAL, w - 2.5), _polynomial(TAIL, jnp.sqrt(w) - 3))
    return np.float32(math.sqrt(2)) * x * ratio


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    total = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + np.float32(coefficient)
    return total
