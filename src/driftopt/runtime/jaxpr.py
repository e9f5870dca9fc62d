"""The one way through a program that JAX has traced."""

from collections.abc import Callable, Sequence
from typing import Any

from jax.extend import core

CALLS = ("jit", "pjit")  # the names that versions of JAX give to a jitted function within another


def walk(closed: Any, arguments: Sequence[Any], rule: Callable[[Any, list[Any]], Sequence[Any]]) -> list[Any]:
    """The outputs of a traced program, where `rule(equation, inputs)` gives the outputs of each operation.

    Jitted functions within the program are walked through too.
    """
    program = closed.jaxpr
    values = dict(zip((*program.constvars, *program.invars), (*closed.consts, *arguments), strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else values[atom]

    for equation in program.eqns:
        inputs = list(map(value, equation.invars))
        call = equation.primitive.name in CALLS
        found = walk(equation.params["jaxpr"], inputs, rule) if call else rule(equation, inputs)
        values.update(zip(equation.outvars, found, strict=True))
    return list(map(value, program.outvars))
