"""A program cut into pieces, each a call of its own within it: less code for the compiler to make.

XLA computes a number again wherever it is used, rather than keep it: in a long chain of arithmetic, such as a
tell of `auto`, an operation is then compiled four times on average, and ten times where what comes of it all
decides about each number. It does so within a function alone, so that pieces of a few hundred operations hold
that down.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
from jax.extend import core

LARGEST = 400  # operations in a piece


def in_pieces(fun: Callable[..., Any], largest: int = LARGEST) -> Callable[..., Any]:
    """`fun` of arrays, computed piece by piece; the same but for rounding."""

    def cut(*arguments: Any) -> Any:
        traced, shapes = jax.make_jaxpr(fun, return_shape=True)(*arguments)
        found = _computed(traced, jax.tree.leaves(arguments), largest)
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    return cut


def _computed(closed: Any, arguments: Sequence[Any], largest: int) -> list[Any]:
    program = closed.jaxpr
    values = dict(zip(program.constvars, closed.consts, strict=True))
    values |= zip(program.invars, arguments, strict=True)
    groups = list(_groups(program.eqns, largest))
    wanted = [{atom for atom in program.outvars if not isinstance(atom, core.Literal)}]
    for group in reversed(groups):
        wanted.append(wanted[-1] | {atom for equation in group for atom in _variables(equation)})
    for group, later in zip(groups, wanted[-2::-1], strict=True):
        if _is_loop(group[0]):
            (loop,) = group
            values |= zip(loop.outvars, _looped(loop, values, largest), strict=True)
            continue
        made = [variable for equation in group for variable in equation.outvars if variable in later]
        own = {variable for equation in group for variable in equation.outvars}
        used = dict.fromkeys(one for equation in group for one in _variables(equation) if one not in own)
        piece = program.replace(constvars=[], invars=[*used], outvars=made, eqns=group)
        call = core.jaxpr_as_fun(core.ClosedJaxpr(piece, ()))
        found = (_apart(call) if len(groups) > 1 else call)(*(values[one] for one in used))
        values |= zip(made, found, strict=True)
    return [atom.val if isinstance(atom, core.Literal) else values[atom] for atom in program.outvars]


def _apart(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a call that XLA leaves one."""
    from jax.experimental.xla_metadata import set_xla_metadata

    call = jax.jit(fun, inline=False)
    return lambda *arguments: set_xla_metadata(call(*arguments), inlineable="false")


def _groups(equations: Sequence[Any], largest: int) -> Iterator[list[Any]]:
    """Equations in their order, up to so many operations together; a loop stands alone."""
    group, size = list[Any](), 0
    for equation in equations:
        if group and (_is_loop(equation) or _is_loop(group[-1]) or size >= largest):
            yield group
            group, size = [], 0
        group.append(equation)
        size += _size(equation)
    if group:
        yield group


def _size(equation: Any) -> int:
    inner = equation.params.get("jaxpr")
    return 1 if inner is None else sum(map(_size, getattr(inner, "jaxpr", inner).eqns))


def _variables(equation: Any) -> list[Any]:
    return [atom for atom in equation.invars if not isinstance(atom, core.Literal)]


def _is_loop(equation: Any) -> bool:
    return equation.primitive.name == "while"


def _looped(loop: Any, values: Any, largest: int) -> list[Any]:
    """A loop, what it does in pieces."""
    operands = [atom.val if isinstance(atom, core.Literal) else values[atom] for atom in loop.invars]
    params, test = loop.params, loop.params["cond_nconsts"]
    body = test + params["body_nconsts"]
    for_test, for_body, carried = operands[:test], operands[test:body], operands[body:]

    def goes_on(run: Any) -> Any:
        return core.jaxpr_as_fun(params["cond_jaxpr"])(*for_test, *run)[0]

    def step(run: Any) -> Any:
        return _computed(params["body_jaxpr"], [*for_body, *run], largest)

    return jax.lax.while_loop(goes_on, step, carried)
