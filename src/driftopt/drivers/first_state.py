"""The state of a method before the first query: by NumPy, where nothing in it is rounded."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from driftopt.drivers import one_kernel
from driftopt.drivers.plain_operations import CALLS
from driftopt.drivers.whole_numbers import EXACT
from driftopt.method import Method

# Operations that come out the same to the last bit for real numbers too, whoever does them.
MOVING = frozenset(
    {
        *("add", "sub", "neg", "max", "min", "eq", "ne", "lt", "le", "gt", "ge", "select_n"),
        *("broadcast_in_dim", "concatenate", "reshape", "slice", "squeeze", "transpose"),
    }
)


class FirstState:
    """`init` of methods with this structure, traced once."""

    def __init__(self, method: Method, key: Any, x0: Any):
        init = jax.make_jaxpr(lambda method, *begun: method.init(*begun), return_shape=True)
        self._traced, self.shapes = init(method, key, x0)

    def of(self, method: Method, key: Any, x0: Any) -> Any:
        """The state; None where it takes operations that round, which must be XLA's as they are later."""
        found = unrounded(self._traced, jax.tree.leaves((method, key, x0)))
        return None if found is None else jax.tree.unflatten(jax.tree.structure(self.shapes), found)


def first_state(method: Method, key: Any, x0: Any) -> FirstState:
    """The one for such arguments."""
    arguments = (method, key, x0)
    form = one_kernel.form(None, arguments)
    return one_kernel.remembered(_KEPT, form, lambda: FirstState(*arguments))


_KEPT = dict[Any, FirstState]()


def unrounded(traced: Any, arguments: Sequence[Any]) -> list[Any] | None:
    """The outputs of a traced program by NumPy, or None where an operation in it may round, or needs a key.

    What is only moved, compared, added once or chosen comes out the same whoever does it: no product is
    there that a compiler could join with a sum.
    """
    program = traced.jaxpr
    values = dict(zip(program.constvars, traced.consts, strict=True))
    values |= zip(program.invars, arguments, strict=True)
    for equation in program.eqns:
        atoms, name = equation.invars, equation.primitive.name
        inputs = [atom.val if isinstance(atom, core.Literal) else values[atom] for atom in atoms]
        if name in CALLS:
            found = unrounded(equation.params["jaxpr"], inputs)
        elif name in EXACT and _unrounded(name, [one.aval for one in (*atoms, *equation.outvars)]):
            operands = (np.asarray(one, atom.aval.dtype) for one, atom in zip(inputs, atoms, strict=True))
            found = [np.asarray(EXACT[name](*operands, **equation.params))]
        else:
            found = None
        if found is None:
            return None
        values |= zip(equation.outvars, found, strict=True)
    return [atom.val if isinstance(atom, core.Literal) else values[atom] for atom in program.outvars]


def _unrounded(name: str, kinds: Sequence[Any]) -> bool:
    if any(jnp.issubdtype(kind.dtype, jax.dtypes.prng_key) for kind in kinds):
        return False
    return name in MOVING or all(np.dtype(kind.dtype).kind in "iub" for kind in kinds)
