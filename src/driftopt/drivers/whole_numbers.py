"""The whole numbers of a program, computed by NumPy: exact everywhere, and none of them left to compile.

A method's noise is whole numbers first: counters, keys, the hashes of Threefry, of which each is 150
operations for XLA to compile. They come out the same whoever computes them. What depends on rounding stays
one program that XLA compiles.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from driftopt.drivers.plain_operations import CALLS
from driftopt.rng import threefry
from driftopt.rng.seeds import wrapped


class _Operation(NamedTuple):
    """One operation; values are known by their numbers."""

    operation: Any  # an equation of JAX
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class SplitProgram:
    """A traced program in two parts: its whole numbers, which NumPy can compute, and the rest, for XLA.

    Args:
        traced: what `jax.make_jaxpr(fun)(…)` gives.
        given: how many arguments, the last of them, the whole numbers are computed of.
    """

    def __init__(self, traced: Any, given: int):
        self._program = traced.jaxpr
        self._kinds, self._constants = list[Any](), dict[int, Any]()
        arguments = [self._new(variable.aval) for variable in traced.jaxpr.invars]
        steps, self._outputs = self._flatten(traced, arguments)
        self._others, self._given = arguments[: len(arguments) - given], arguments[len(arguments) - given :]
        fixed = set(self._constants)  # what comes of constants alone: each part has it
        known = fixed | {number for number in self._given if _whole(self._kinds[number])}
        self._ours, self._theirs = list[_Operation](), list[_Operation]()
        for step in steps:
            exact = self._exact(step)
            if exact and known.issuperset(step.inputs):
                self._ours.append(step)
                known.update(step.outputs)
            if exact and fixed.issuperset(step.inputs):
                fixed.update(step.outputs)
            if not known.issuperset(step.outputs) or fixed.issuperset(step.outputs):
                self._theirs.append(step)
        self._theirs = _needed(self._theirs, self._outputs)
        used = [*(number for step in self._theirs for number in step.inputs), *self._outputs]
        ready = {*self._given, *known} - fixed
        self._handed = [number for number in dict.fromkeys(used) if number in ready]
        self._ours = _needed(self._ours, self._handed)

    def whole(self, *given: Any) -> list[np.ndarray]:
        """The whole numbers that the rest needs, by NumPy; keys as their two words."""
        constants = {one: value for one, value in self._constants.items() if _whole(self._kinds[one])}
        values = {number: self._in_numpy(number, value) for number, value in constants.items()}
        for number, value in zip(self._given, given, strict=True):
            values[number] = self._in_numpy(number, value) if self._is_key(number) else value
        with np.errstate(all="ignore"):  # whole numbers wrap around, as XLA's do
            for operation, inputs, (output,) in self._ours:
                found = EXACT[operation.primitive.name](*(values[one] for one in inputs), **operation.params)
                values[output] = np.asarray(found)
        return [
            np.stack(_words(values[number]), axis=-1) if self._is_key(number) else values[number]
            for number in self._handed
        ]

    def whole_compiled(self, *given: Any) -> list[Any]:
        """The same for XLA: the same numbers, for they are exact."""
        values = self._constants | dict(zip(self._given, given, strict=True))
        self._compute(self._ours, values)
        return [
            jax.random.key_data(values[number]) if self._is_key(number) else values[number]
            for number in self._handed
        ]

    def rest(self, *others_and_whole: Any) -> list[Any]:
        """The outputs of the program, of its other arguments and of the whole numbers."""
        values = dict(self._constants)
        for number, value in zip([*self._others, *self._handed], others_and_whole, strict=True):
            values[number] = wrapped(value) if self._is_key(number) and number in self._handed else value
        self._compute(self._theirs, values)
        return [jnp.asarray(values[number]) for number in self._outputs]

    def _compute(self, steps: Sequence[_Operation], values: dict[int, Any]) -> None:
        """Do JAX's operations on the values that are there, and write down what comes."""
        for operation, inputs, outputs in steps:
            pairs = zip(operation.invars, inputs, strict=True)
            needed = {atom: values[one] for atom, one in pairs if not isinstance(atom, core.Literal)}
            alone = self._program.replace(
                constvars=[], invars=[*needed], outvars=operation.outvars, eqns=[operation]
            )
            found = core.jaxpr_as_fun(core.ClosedJaxpr(alone, ()))(*needed.values())
            values |= zip(outputs, found, strict=True)

    def _is_key(self, number: int) -> bool:
        return _is_key(self._kinds[number])

    def _in_numpy(self, number: int, value: Any) -> np.ndarray:
        return packed(jax.random.key_data(value)) if self._is_key(number) else np.asarray(value)

    def _new(self, kind: Any) -> int:
        self._kinds.append(kind)
        return len(self._kinds) - 1

    def _constant(self, value: Any, kind: Any) -> int:
        number = self._new(kind)
        self._constants[number] = np.asarray(value, kind.dtype) if _whole(kind, keys=False) else value
        return number

    def _flatten(self, closed: Any, arguments: Sequence[int]) -> tuple[list[_Operation], list[int]]:
        """All operations, those within calls too, and the numbers of the outputs."""
        program, numbers, steps = closed.jaxpr, dict[Any, int](), list[_Operation]()
        for variable, value in zip(program.constvars, closed.consts, strict=True):
            numbers[variable] = self._constant(value, variable.aval)
        numbers |= zip(program.invars, arguments, strict=True)

        def number(atom: Any) -> int:
            return self._constant(atom.val, atom.aval) if isinstance(atom, core.Literal) else numbers[atom]

        for equation in program.eqns:
            inputs = tuple(map(number, equation.invars))
            if equation.primitive.name in CALLS:
                within, outputs = self._flatten(equation.params["jaxpr"], inputs)
                steps += within
            else:
                outputs = [self._new(variable.aval) for variable in equation.outvars]
                steps.append(_Operation(equation, inputs, tuple(outputs)))
            numbers |= zip(equation.outvars, outputs, strict=True)
        return steps, [number(atom) for atom in program.outvars]

    def _exact(self, step: _Operation) -> bool:
        kinds = [self._kinds[number] for number in (*step.inputs, *step.outputs)]
        return step.operation.primitive.name in EXACT and all(map(_whole, kinds))


def _needed(steps: Sequence[_Operation], wanted: Sequence[int]) -> list[_Operation]:
    """Those of the steps that lead to what is wanted."""
    needed, kept = set(wanted), list[_Operation]()
    for step in reversed(steps):
        if needed.intersection(step.outputs) or step.operation.effects:
            needed.update(step.inputs)
            kept.append(step)
    return kept[::-1]


def _is_key(kind: Any) -> bool:
    return jnp.issubdtype(kind.dtype, jax.dtypes.prng_key)


def _whole(kind: Any, keys: bool = True) -> bool:
    """Whether an array is of whole numbers, of truths, or of keys of our generator."""
    if _is_key(kind):
        return keys and kind.dtype == _key_type()
    return np.dtype(kind.dtype).kind in "iub"


@cache
def _key_type() -> Any:
    return jax.eval_shape(lambda: wrapped(jnp.zeros(2, jnp.uint32))).dtype


# What follows is each operation in NumPy, named as JAX names it. A key is one number of 64 bits here, so that
# whatever moves numbers about moves keys too.


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


def _folded(keys: np.ndarray, data: np.ndarray) -> np.ndarray:
    return packed(np.stack(_hashes(keys, data), axis=-1))


def _broadcast(x: np.ndarray, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_: Any) -> Any:
    sizes = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, x.shape, strict=True):
        sizes[axis] = size
    return np.broadcast_to(x.reshape(sizes), shape)


def _slice(
    x: np.ndarray, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Any
) -> np.ndarray:
    steps = strides or [1] * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, steps))]


def _reshaped(x: np.ndarray, *, new_sizes: Sequence[int], dimensions: Any = None, **_: Any) -> np.ndarray:
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


def _select(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    return np.choose(np.broadcast_to(which, cases[0].shape).astype(np.intp), cases)


def _divided(x: np.ndarray, y: np.ndarray) -> Any:
    """Towards zero; by zero all bits, as in XLA."""
    by = np.where(y == 0, y.dtype.type(1), y)
    towards_zero = (x - np.fmod(x, by)) // by
    return np.where(y == 0, ~np.zeros_like(x), towards_zero)


def _remainder(x: np.ndarray, y: np.ndarray) -> Any:
    """With the sign of x; by zero x itself, as in XLA."""
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, y.dtype.type(1), y)))


def _shifted_down(x: np.ndarray, by: np.ndarray) -> Any:
    """With zeros coming in, whatever the sign."""
    bare = f"uint{8 * x.dtype.itemsize}"
    return (x.view(bare) >> by.view(bare)).view(x.dtype)


def _plainly(fun: Callable[..., Any]) -> Callable[..., Any]:
    """An operation whose parameters say nothing that its operands do not."""
    return lambda *operands, **_: fun(*operands)


_TWO_OR_ONE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "sign": np.sign,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "div": _divided,
    "rem": _remainder,
    "shift_left": np.left_shift,
    "shift_right_logical": _shifted_down,
    "select_n": _select,
    "random_fold_in": _folded,
    "random_unwrap": lambda keys: np.stack(_words(keys), axis=-1),
}
EXACT: dict[str, Callable[..., Any]] = {
    **{name: _plainly(fun) for name, fun in _TWO_OR_ONE.items()},
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda *parts, dimension: np.concatenate(parts, dimension),
    "convert_element_type": lambda x, *, new_dtype, **_: x.astype(new_dtype),
    "iota": lambda *, dtype, shape, dimension, **_: _broadcast(
        np.arange(shape[dimension], dtype=dtype), shape=shape, broadcast_dimensions=(dimension,)
    ),
    "random_bits": _bits,
    "random_split": lambda keys, *, shape: packed(np.stack(_counted(keys, shape), axis=-1)),
    "random_wrap": lambda words, **_: packed(words),
    "reshape": _reshaped,
    "slice": _slice,
    "squeeze": lambda x, *, dimensions: np.squeeze(x, tuple(dimensions)),
    "transpose": lambda x, *, permutation: x.transpose(permutation),
}
