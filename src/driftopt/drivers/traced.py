"""Programs that JAX has traced, each carried out by a rule for its operations.

`plain` binds the bare operations of a function. `in_pieces` cuts a long program into calls that XLA compiles
faster. `SplitProgram` hands the whole numbers of a program to NumPy and leaves the rest to XLA.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from driftopt.rng import threefry
from driftopt.rng.seeds import wrapped
from driftopt.runtime.jaxpr import walk

LARGEST = 400  # operations in a piece


def part(closed: Any, inputs: Sequence[Any], outputs: Sequence[Any], equations: Sequence[Any]) -> Any:
    """The operations, of these, that the outputs depend on, as a traced program of the inputs."""
    needed, kept = set(_variables(outputs)), list[Any]()
    for equation in reversed(equations):
        if needed.intersection(equation.outvars) or equation.effects:
            needed.update(_variables(equation.invars))
            kept.append(equation)
    program = closed.jaxpr.replace(invars=[*inputs], outvars=[*outputs], eqns=kept[::-1])
    return core.ClosedJaxpr(program, closed.consts)


def _variables(atoms: Sequence[Any]) -> list[Any]:
    """Those that are not literals."""
    return [atom for atom in atoms if not isinstance(atom, core.Literal)]


def plain(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of arrays, as its bare operations.

    Every operator of `jax.numpy` is a small jitted function. Under `vmap` each of them is traced again for
    every axis that is mapped, and the loops map four or five; the jitted functions that remain are lowered
    one by one. A function that is first traced for a single lane uses what JAX remembers of most of them, and
    `vmap` then maps bare operations. XLA sees the same operations either way.
    """

    def bind(equation: Any, inputs: list[Any]) -> Sequence[Any]:
        params, functions = equation.primitive.get_bind_params(equation.params), ()
        if isinstance(params, tuple):  # older versions of JAX hand functions on as arguments
            functions, params = params
        with equation.ctx.manager:
            found = equation.primitive.bind(*functions, *inputs, **params)
        return found if equation.primitive.multiple_results else [found]

    def written_down(*arguments: Any) -> Any:
        closed, shapes = jax.make_jaxpr(fun, return_shape=True)(*arguments)
        found = walk(closed, jax.tree.leaves(arguments), bind)
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    return written_down


def in_pieces(fun: Callable[..., Any], largest: int = LARGEST) -> Callable[..., Any]:
    """`fun` of arrays, computed in calls of `largest` operations; equal except for rounding.

    XLA computes a number again wherever it is used, rather than keep it: in a long chain of arithmetic, such
    as a tell of the walk, it compiles an operation four times on average, and ten times where the whole chain
    decides about each number. It does so within a function alone, so pieces of a few hundred operations limit
    that.
    """
    from jax.experimental.xla_metadata import set_xla_metadata

    def cut(*arguments: Any) -> Any:
        closed, shapes = jax.make_jaxpr(fun, return_shape=True)(*arguments)
        program, leaves = closed.jaxpr, jax.tree.leaves(arguments)
        found: Any = leaves
        if len(program.eqns) <= largest:
            found = core.jaxpr_as_fun(closed)(*leaves)
            return jax.tree.unflatten(jax.tree.structure(shapes), found)
        values = dict[Any, Any](zip(program.invars, leaves, strict=True))
        for first in range(0, len(program.eqns), largest):
            group, later = program.eqns[first : first + largest], program.eqns[first + largest :]
            wanted = {*_variables(program.outvars), *(v for one in later for v in _variables(one.invars))}
            made = [variable for one in group for variable in one.outvars if variable in wanted]
            used = [
                v for v in dict.fromkeys(v for one in group for v in _variables(one.invars)) if v in values
            ]
            piece = core.jaxpr_as_fun(part(closed, used, made, group))
            found = jax.jit(piece, inline=False)(*(values[one] for one in used))
            found = set_xla_metadata(found, inlineable="false")
            values.update(zip(made, found, strict=True))
        constants = dict(zip(program.constvars, closed.consts, strict=True)) | values
        found = [one.val if isinstance(one, core.Literal) else constants[one] for one in program.outvars]
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    return cut


class SplitProgram:
    """A function traced in two parts: its whole numbers, which NumPy can compute, and the rest, for XLA.

    A method's noise is whole numbers first: counters, keys, the hashes of Threefry, of which each is 150
    operations for XLA to compile. Whole numbers are exact, so NumPy and XLA give the same. Everything that
    depends on rounding stays one program that XLA compiles.

    Args:
        fun: a function of arrays.
        arguments: arrays of the shapes that it takes.
        given: the number of arguments, the last ones, of which the whole numbers are computed.
    """

    def __init__(self, fun: Callable[..., Any], arguments: Sequence[Any], given: int):
        traced, self.shapes = jax.make_jaxpr(plain(fun), return_shape=True)(*arguments)
        program = traced.jaxpr
        first = len(program.invars) - given
        others, last = program.invars[:first], program.invars[first:]
        fixed = set(program.constvars)  # what comes of constants alone: each part has it
        known = fixed | {variable for variable in last if _whole(variable.aval)}
        ours, theirs = list[Any](), list[Any]()
        for equation in program.eqns:
            inputs, outputs = _variables(equation.invars), equation.outvars
            exact = equation.primitive.name in EXACT and all(map(_whole, _kinds(equation)))
            if exact and known.issuperset(inputs):
                ours.append(equation)
                known.update(outputs)
            if exact and fixed.issuperset(inputs):
                fixed.update(outputs)
            if not known.issuperset(outputs) or fixed.issuperset(outputs):
                theirs.append(equation)
        theirs = part(traced, others, program.outvars, theirs).jaxpr.eqns
        used = [*(one for equation in theirs for one in _variables(equation.invars))]
        used += _variables(program.outvars)
        ready = {*last, *known} - fixed
        handed = [variable for variable in dict.fromkeys(used) if variable in ready]
        self._keys = [is_key(variable.aval) for variable in handed]
        self._whole, self._others = part(traced, last, handed, ours), len(others)
        self._rest = part(traced, [*others, *handed], program.outvars, theirs)

    def whole(self, *given: Any) -> list[Any]:
        """The whole numbers that the rest needs, by NumPy; keys as their two words."""
        with np.errstate(all="ignore"):  # whole numbers wrap around, as XLA's do
            found = walk(self._whole, given, _exactly)
        kinds = [variable.aval for variable in self._whole.jaxpr.outvars]
        numbers = [_operand(value, kind) for value, kind in zip(found, kinds, strict=True)]
        pairs = zip(numbers, self._keys, strict=True)
        return [np.stack(_words(value), axis=-1) if key else value for value, key in pairs]

    def whole_compiled(self, *given: Any) -> list[Any]:
        """The same numbers, for XLA."""
        pairs = zip(core.jaxpr_as_fun(self._whole)(*given), self._keys, strict=True)
        return [jax.random.key_data(value) if key else value for value, key in pairs]

    def rest(self, *others_and_whole: Any) -> list[Any]:
        """The outputs of the function, computed from its other arguments and the whole numbers."""
        others, whole = others_and_whole[: self._others], others_and_whole[self._others :]
        handed = [wrapped(one) if key else one for one, key in zip(whole, self._keys, strict=True)]
        return list(map(jnp.asarray, core.jaxpr_as_fun(self._rest)(*others, *handed)))


def _exactly(equation: Any, inputs: list[Any]) -> list[Any]:
    """An operation by NumPy."""
    pairs = zip(inputs, equation.invars, strict=True)
    operands = (_operand(one, atom.aval) for one, atom in pairs)
    return [np.asarray(EXACT[equation.primitive.name](*operands, **equation.params))]


def _operand(value: Any, kind: Any) -> np.ndarray:
    """A value as NumPy's array; a key as one number."""
    if not is_key(kind):
        return np.asarray(value, kind.dtype)
    return value if isinstance(value, np.ndarray) else packed(jax.random.key_data(value))


def _kinds(equation: Any) -> list[Any]:
    return [atom.aval for atom in (*equation.invars, *equation.outvars)]


def is_key(kind: Any) -> bool:
    """Whether an array is of JAX's keys."""
    return jnp.issubdtype(kind.dtype, jax.dtypes.prng_key)


def _whole(kind: Any) -> bool:
    """Whether an array is of whole numbers, of truths, or of keys of our generator."""
    if is_key(kind):
        return kind.dtype == _key_type()
    return np.dtype(kind.dtype).kind in "iub"


@cache
def _key_type() -> Any:
    return jax.eval_shape(lambda: wrapped(jnp.zeros(2, jnp.uint32))).dtype


# Each operation that driftopt's own methods use for their noise, in NumPy, by JAX's name. A key is one number
# of 64 bits here, so that operations that move numbers move keys too.


def packed(words: Any) -> np.ndarray:
    """Keys of two words each as one number each."""
    high, low = np.moveaxis(np.asarray(words).astype(np.uint64), -1, 0)
    return np.asarray(high << np.uint64(32) | low)


def _words(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)


def _hashes(keys: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of the counters (0, low) under the keys, both broadcast."""
    return threefry.hashed(_words(keys), np.zeros_like(low), low)


def _counted(keys: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of 0, 1, 2, … in an array of this shape, behind the axes of the keys."""
    count = np.arange(math.prod(shape), dtype=np.uint32).reshape(shape)
    return _hashes(keys.reshape(*keys.shape, *[1] * len(shape)), count)


def _bits(keys: np.ndarray, *, bit_width: int, shape: tuple[int, ...]) -> np.ndarray:
    high, low = _counted(keys, shape)
    if bit_width == 64:
        return high.astype(np.uint64) << np.uint64(32) | low
    return (high ^ low).astype(f"uint{bit_width}")


def _broadcast(x: np.ndarray, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_: Any) -> Any:
    sizes = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, x.shape, strict=True):
        sizes[axis] = size
    return np.broadcast_to(x.reshape(sizes), shape)


def _divided(x: np.ndarray, y: np.ndarray) -> Any:
    """The quotient, rounded towards zero; divided by zero, all bits set, as in XLA."""
    by = np.where(y == 0, y.dtype.type(1), y)
    return np.where(y == 0, ~np.zeros_like(x), (x - np.fmod(x, by)) // by)


def _by_operands(fun: Callable[..., Any]) -> Callable[..., Any]:
    """An operation whose parameters do not matter."""
    return lambda *operands, **_: fun(*operands)


EXACT: dict[str, Callable[..., Any]] = {
    **{
        name: _by_operands(fun)
        for name, fun in {
            "add": np.add,
            "sub": np.subtract,
            "mul": np.multiply,
            "sign": np.sign,
            "max": np.maximum,
            "min": np.minimum,
            "and": np.bitwise_and,
            "or": np.bitwise_or,
            "eq": np.equal,
            "ne": np.not_equal,
            "lt": np.less,
            "le": np.less_equal,
            "gt": np.greater,
            "div": _divided,
            # The sign is that of x; divided by zero, x itself remains, as in XLA.
            "rem": lambda x, y: np.where(y == 0, x, np.fmod(x, np.where(y == 0, y.dtype.type(1), y))),
            # Zeros come in, whatever the sign.
            "shift_right_logical": lambda x, by: (x.view(f"u{x.itemsize}") >> by.view(f"u{x.itemsize}")).view(
                x.dtype
            ),
            "select_n": lambda which, *cases: np.choose(
                np.broadcast_to(which, cases[0].shape).astype(np.intp), cases
            ),
            "random_fold_in": lambda keys, data: packed(np.stack(_hashes(keys, data), axis=-1)),
        }.items()
    },
    "broadcast_in_dim": _broadcast,
    "convert_element_type": lambda x, *, new_dtype, **_: x.astype(new_dtype),
    "iota": lambda *, dtype, shape, dimension, **_: _broadcast(
        np.arange(shape[dimension], dtype=dtype), shape=shape, broadcast_dimensions=(dimension,)
    ),
    "random_bits": _bits,
    "random_split": lambda keys, *, shape: packed(np.stack(_counted(keys, shape), axis=-1)),
    "slice": lambda x, *, start_indices, limit_indices, strides: x[
        tuple(map(slice, start_indices, limit_indices, strides or [1] * x.ndim))
    ],
    "squeeze": lambda x, *, dimensions: np.squeeze(x, tuple(dimensions)),
}
