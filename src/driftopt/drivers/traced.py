"""Programs that JAX has traced: carried out operation by operation, cut into pieces, or shared with NumPy.

`walk` carries a program out by a rule for its operations. `plain` uses it to bind the bare operations of a
function, `unrounded` to compute with NumPy alone where nothing is rounded. `in_pieces` cuts a long program
into calls that XLA compiles faster. `SplitProgram` hands the whole numbers of a program to NumPy and leaves
the rest to XLA.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from driftopt.rng import threefry
from driftopt.rng.seeds import wrapped

CALLS = ("jit", "pjit")  # the names that versions of JAX give to a jitted function within another
LARGEST = 400  # operations in a piece


def walk(closed: Any, arguments: Sequence[Any], rule: Callable[[Any, list[Any]], Sequence[Any]]) -> list[Any]:
    """The outputs of a traced program, where `rule(equation, inputs)` gives the outputs of each operation.

    Jitted functions within the program are walked through too.
    """
    program = closed.jaxpr
    values = dict(zip((*program.constvars, *program.invars), (*closed.consts, *arguments), strict=True))
    for equation in program.eqns:
        inputs = [_value(atom, values) for atom in equation.invars]
        call = equation.primitive.name in CALLS
        found = walk(equation.params["jaxpr"], inputs, rule) if call else rule(equation, inputs)
        values.update(zip(equation.outvars, found, strict=True))
    return [_value(atom, values) for atom in program.outvars]


def _value(atom: Any, values: dict[Any, Any]) -> Any:
    return atom.val if isinstance(atom, core.Literal) else values[atom]


def _variables(equation: Any) -> list[Any]:
    """The inputs of an operation that are not literals."""
    return [atom for atom in equation.invars if not isinstance(atom, core.Literal)]


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
    """`fun` of arrays, computed in calls of about `largest` operations; equal except for rounding.

    XLA computes a number again wherever it is used, rather than keep it: in a long chain of arithmetic, such
    as a tell of `auto`, it compiles an operation four times on average, and ten times where the whole chain
    decides about each number. It does so within a function alone, so pieces of a few hundred operations limit
    that.
    """

    def cut(*arguments: Any) -> Any:
        traced, shapes = jax.make_jaxpr(fun, return_shape=True)(*arguments)
        found = _by_pieces(traced, jax.tree.leaves(arguments), largest)
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    return cut


def _by_pieces(closed: Any, arguments: Sequence[Any], largest: int) -> list[Any]:
    """The outputs of a traced program; each piece and each step of a loop is a call that XLA keeps as one."""
    from jax.experimental.xla_metadata import set_xla_metadata

    program = closed.jaxpr
    values = dict[Any, Any](
        zip((*program.constvars, *program.invars), (*closed.consts, *arguments), strict=True)
    )
    groups = list(_groups(program.eqns, largest))
    wanted = [{atom for atom in program.outvars if not isinstance(atom, core.Literal)}]
    for group in reversed(groups):
        wanted.append(wanted[-1] | {atom for equation in group for atom in _variables(equation)})
    for group, later in zip(groups, wanted[-2::-1], strict=True):
        if _is_loop(group[0]):
            (loop,) = group
            found = _looped(loop.params, [_value(atom, values) for atom in loop.invars], largest)
            values.update(zip(loop.outvars, found, strict=True))
            continue
        own = dict.fromkeys(variable for equation in group for variable in equation.outvars)
        made = [variable for variable in own if variable in later]
        used = dict.fromkeys(one for equation in group for one in _variables(equation) if one not in own)
        call, inputs = _part(program, used, made, group), [values[one] for one in used]
        found: Any = call(*inputs) if len(groups) == 1 else jax.jit(call, inline=False)(*inputs)
        if len(groups) > 1:
            found = set_xla_metadata(found, inlineable="false")
        values.update(zip(made, found, strict=True))
    return [_value(atom, values) for atom in program.outvars]


def _part(program: Any, inputs: Any, outputs: Sequence[Any], equations: Sequence[Any]) -> Callable[..., Any]:
    """Some operations of a program as a function of these variables that gives those."""
    part = program.replace(constvars=[], invars=[*inputs], outvars=[*outputs], eqns=[*equations])
    return core.jaxpr_as_fun(core.ClosedJaxpr(part, ()))


def _looped(params: Any, operands: Sequence[Any], largest: int) -> list[Any]:
    """The outputs of a loop whose every step is computed in pieces."""
    test = params["cond_nconsts"]
    body = test + params["body_nconsts"]
    for_test, for_body, carried = operands[:test], operands[test:body], operands[body:]

    def goes_on(run: Any) -> Any:
        return core.jaxpr_as_fun(params["cond_jaxpr"])(*for_test, *run)[0]

    def step(run: Any) -> Any:
        return _by_pieces(params["body_jaxpr"], [*for_body, *run], largest)

    return jax.lax.while_loop(goes_on, step, carried)


def _groups(equations: Sequence[Any], largest: int) -> Iterator[list[Any]]:
    """Operations in their order, `largest` or a few more in a group; a loop is a group of its own."""

    def operations(equation: Any) -> int:
        inner = equation.params.get("jaxpr")
        return 1 if inner is None else sum(map(operations, getattr(inner, "jaxpr", inner).eqns))

    group, size = list[Any](), 0
    for equation in equations:
        if group and (_is_loop(equation) or _is_loop(group[-1]) or size >= largest):
            yield group
            group, size = [], 0
        group.append(equation)
        size += operations(equation)
    if group:
        yield group


def _is_loop(equation: Any) -> bool:
    return equation.primitive.name == "while"


# Operations that give identical results for real numbers in NumPy and XLA.
MOVING = frozenset(
    {
        *("add", "sub", "neg", "max", "min", "eq", "ne", "lt", "le", "gt", "ge", "select_n"),
        *("broadcast_in_dim", "concatenate", "reshape", "slice", "squeeze", "transpose"),
    }
)


class _Rounds(Exception):
    """An operation that NumPy and XLA may round differently, or that needs a key."""


def unrounded(closed: Any, arguments: Sequence[Any]) -> list[Any] | None:
    """The outputs of a traced program by NumPy; None if an operation in it may round, or needs a key.

    Moving, comparing, adding once and choosing give identical results in NumPy and XLA: the program has no
    product that a compiler could join with a sum.
    """

    def exactly(equation: Any, inputs: list[Any]) -> list[Any]:
        name, atoms = equation.primitive.name, equation.invars
        kinds = [atom.aval for atom in (*atoms, *equation.outvars)]
        whole = all(_whole(kind, keys=False) for kind in kinds)
        if name not in EXACT or any(map(is_key, kinds)) or not (whole or name in MOVING):
            raise _Rounds
        operands = (np.asarray(one, atom.aval.dtype) for one, atom in zip(inputs, atoms, strict=True))
        return [np.asarray(EXACT[name](*operands, **equation.params))]

    try:
        return walk(closed, arguments, exactly)
    except _Rounds:
        return None


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
        self._program = program = traced.jaxpr
        self._constants = dict(zip(program.constvars, traced.consts, strict=True))
        first = len(program.invars) - given
        self._others, self._given = program.invars[:first], program.invars[first:]
        fixed = set(program.constvars)  # what comes of constants alone: each part has it
        known = fixed | {variable for variable in self._given if _whole(variable.aval)}
        ours, theirs = list[Any](), list[Any]()
        for equation in program.eqns:
            inputs, outputs = _variables(equation), equation.outvars
            kinds = [atom.aval for atom in (*equation.invars, *outputs)]
            exact = equation.primitive.name in EXACT and all(map(_whole, kinds))
            if exact and known.issuperset(inputs):
                ours.append(equation)
                known.update(outputs)
            if exact and fixed.issuperset(inputs):
                fixed.update(outputs)
            if not known.issuperset(outputs) or fixed.issuperset(outputs):
                theirs.append(equation)
        wanted = [atom for atom in program.outvars if not isinstance(atom, core.Literal)]
        self._theirs = _needed(theirs, wanted)
        used = [*(one for equation in self._theirs for one in _variables(equation)), *wanted]
        ready = {*self._given, *known} - fixed
        self._handed = [variable for variable in dict.fromkeys(used) if variable in ready]
        self._ours = _needed(ours, self._handed)

    def whole(self, *given: Any) -> list[np.ndarray]:
        """The whole numbers that the rest needs, by NumPy; keys as their two words."""
        values = dict[Any, Any]()
        for variable, value in (*self._constants.items(), *zip(self._given, given, strict=True)):
            if not _whole(variable.aval):
                values[variable] = value
            else:
                key = is_key(variable.aval)
                values[variable] = packed(jax.random.key_data(value)) if key else np.asarray(value)
        with np.errstate(all="ignore"):  # whole numbers wrap around, as XLA's do
            for equation in self._ours:
                operands = [
                    np.asarray(atom.val, atom.aval.dtype)  # pyright: ignore[reportAttributeAccessIssue]
                    if isinstance(atom, core.Literal)
                    else values[atom]
                    for atom in equation.invars
                ]
                found = EXACT[equation.primitive.name](*operands, **equation.params)
                values[equation.outvars[0]] = np.asarray(found)
        return [
            np.stack(_words(values[one]), axis=-1) if is_key(one.aval) else values[one]
            for one in self._handed
        ]

    def whole_compiled(self, *given: Any) -> list[Any]:
        """The same numbers, for XLA."""
        compute = _part(self._program, [*self._constants, *self._given], self._handed, self._ours)
        found = compute(*self._constants.values(), *given)
        pairs = zip(found, self._handed, strict=True)
        return [jax.random.key_data(value) if is_key(one.aval) else value for value, one in pairs]

    def rest(self, *others_and_whole: Any) -> list[Any]:
        """The outputs of the function, computed from its other arguments and the whole numbers."""
        inputs = [*self._constants, *self._others, *self._handed]
        compute, own = _part(self._program, inputs, self._program.outvars, self._theirs), len(self._others)
        handed = [
            wrapped(value) if is_key(one.aval) else value
            for one, value in zip(self._handed, others_and_whole[own:], strict=True)
        ]
        found = compute(*self._constants.values(), *others_and_whole[:own], *handed)
        return [jnp.asarray(value) for value in found]


def _needed(equations: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    """The operations, of these, that the wanted variables depend on."""
    needed, kept = set(wanted), list[Any]()
    for equation in reversed(equations):
        if needed.intersection(equation.outvars) or equation.effects:
            needed.update(_variables(equation))
            kept.append(equation)
    return kept[::-1]


def is_key(kind: Any) -> bool:
    """Whether an array is of JAX's keys."""
    return jnp.issubdtype(kind.dtype, jax.dtypes.prng_key)


def _whole(kind: Any, keys: bool = True) -> bool:
    """Whether an array is of whole numbers, of truths, or of keys of our generator."""
    if is_key(kind):
        return keys and kind.dtype == _key_type()
    return np.dtype(kind.dtype).kind in "iub"


@cache
def _key_type() -> Any:
    return jax.eval_shape(lambda: wrapped(jnp.zeros(2, jnp.uint32))).dtype


# Each operation in NumPy follows, by JAX's name. A key is one number of 64 bits here, so that operations that
# move numbers move keys too.


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
            # The sign is that of x; divided by zero, x itself remains, as in XLA.
            "rem": lambda x, y: np.where(y == 0, x, np.fmod(x, np.where(y == 0, y.dtype.type(1), y))),
            "shift_left": np.left_shift,
            # Zeros come in, whatever the sign.
            "shift_right_logical": lambda x, by: (x.view(f"u{x.itemsize}") >> by.view(f"u{x.itemsize}")).view(
                x.dtype
            ),
            "select_n": lambda which, *cases: np.choose(
                np.broadcast_to(which, cases[0].shape).astype(np.intp), cases
            ),
            "random_fold_in": lambda keys, data: packed(np.stack(_hashes(keys, data), axis=-1)),
            "random_unwrap": lambda keys: np.stack(_words(keys), axis=-1),
            "random_wrap": packed,
        }.items()
    },
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda *parts, dimension: np.concatenate(parts, dimension),
    "convert_element_type": lambda x, *, new_dtype, **_: x.astype(new_dtype),
    "iota": lambda *, dtype, shape, dimension, **_: _broadcast(
        np.arange(shape[dimension], dtype=dtype), shape=shape, broadcast_dimensions=(dimension,)
    ),
    "random_bits": _bits,
    "random_split": lambda keys, *, shape: packed(np.stack(_counted(keys, shape), axis=-1)),
    "reshape": lambda x, *, new_sizes, dimensions=None, **_: (
        x if dimensions is None else x.transpose(dimensions)
    ).reshape(new_sizes),
    "slice": lambda x, *, start_indices, limit_indices, strides: x[
        tuple(map(slice, start_indices, limit_indices, strides or [1] * x.ndim))
    ],
    "squeeze": lambda x, *, dimensions: np.squeeze(x, tuple(dimensions)),
    "transpose": lambda x, *, permutation: x.transpose(permutation),
}
