"""What JAX traced, as one hash: every operation with its parameters, constants and shapes.

Whatever Python did to get there (globals, closures, files read on the way) is in the trace as a number or an
operation, so that two programs of one hash compute the same. Only a callback leaves the trace: what it can
reach is hashed as Python code.
"""

import enum
from typing import Any

import jax
import numpy as np
from jax.extend import core

from driftopt.runtime.hashing import hashed
from driftopt.runtime.reachable_code import Reached, reach

_NAMES = ("name", "debug_info", "ctx_mesh", "sharding_ctx")  # what an operation is called, or where it runs
# The rules for derivatives were used while tracing, or not at all.
_DERIVATIVES = {
    "custom_jvp_call": ("jvp_jaxpr_fun", "jvp_jaxpr_thunk"),
    "custom_vjp_call": ("fwd_jaxpr_thunk", "bwd", "out_trees"),
    "custom_vjp_call_jaxpr": ("fwd_jaxpr_thunk", "bwd", "out_trees"),
    "custom_lin": ("bwd", "out_avals"),
}


def trace_hash(traced: Any) -> Reached:
    """The hash of what `jax.make_jaxpr(fun)(…)` gave, and what it calls that cannot be seen."""
    unseen: list[str] = []
    return Reached(_closed(traced, unseen).hex(), tuple(dict.fromkeys(unseen)))


def _closed(closed: Any, unseen: list[str]) -> bytes:
    return hashed(_program(closed.jaxpr, unseen), *(_value(const, unseen) for const in closed.consts))


def _program(jaxpr: Any, unseen: list[str]) -> bytes:
    """Variables count by the order in which they appear, not by their names."""
    numbers: dict[Any, int] = {}

    def define(variables: Any) -> str:
        for variable in variables:
            numbers[variable] = len(numbers)
        return " ".join(str(variable.aval) for variable in variables)

    def use(atom: Any) -> bytes:
        if isinstance(atom, core.Literal):
            return hashed("literal", str(atom.aval), _value(atom.val, unseen))
        return str(numbers[atom]).encode()

    parts: list[str | bytes] = [define(jaxpr.constvars), define(jaxpr.invars)]
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        silent = (*_NAMES, *_DERIVATIVES.get(name, ()))
        parts += [name, *map(use, equation.invars)]
        for key, value in sorted(equation.params.items()):
            if key not in silent:
                parts += [key, _value(value, unseen)]
        parts.append(define(equation.outvars))
    return hashed(*parts, *map(use, jaxpr.outvars))


def _value(value: Any, unseen: list[str]) -> bytes:
    """A parameter or a constant of an operation."""
    if isinstance(value, core.ClosedJaxpr):
        return _closed(value, unseen)
    if isinstance(value, core.Jaxpr):
        return _program(value, unseen)
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return bytes.fromhex(reach(value).digest)
    if isinstance(value, tuple | list):
        return hashed(type(value).__name__, *(_value(one, unseen) for one in value))
    if isinstance(value, dict):
        return hashed("dict", *(_value(part, unseen) for pair in sorted(value.items()) for part in pair))
    if _of_jax(value):  # such as the functions of a generator, which older versions hand on one by one
        return hashed("jax", jax.__version__, value.__module__, value.__qualname__)
    text = str(value) if isinstance(value, enum.Enum) else repr(value)
    if " at 0x" not in text:
        return hashed(type(value).__qualname__, text)
    found = reach(value)
    unseen += found.unseen
    return hashed("python", found.digest)


def _of_jax(value: Any) -> bool:
    """Whether a function is one that JAX's modules define by name, so that name and version say it all."""
    module, name = getattr(value, "__module__", None) or "", getattr(value, "__qualname__", "")
    return callable(value) and module.split(".")[0] in ("jax", "jaxlib") and bool(name) and "<" not in name
