"""Functions written down as plain operations before they are mapped over lanes.

Every operator of `jax.numpy` is a small jitted function. Under `vmap` each of them is written down again for
every axis that is mapped, and the loops map four or five; those that stay within the program are lowered one
by one. Traced first for a single lane, where JAX knows most of these functions from programs before, what is
mapped is the bare operations. XLA sees the same ones either way.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import Jaxpr, Literal

CALLS = ("jit", "pjit")  # what versions of JAX call a jitted function within another


def plain(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of arrays, as the operations that it comes to."""

    def written_down(*args: Any) -> Any:
        closed, shapes = jax.make_jaxpr(fun, return_shape=True)(*args)
        found = _carried_out(closed.jaxpr, closed.consts, jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    return written_down


def _carried_out(jaxpr: Jaxpr, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """The results of a jaxpr; jitted functions within it are carried out step by step, too."""
    known: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *arguments), strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else known[atom]

    for step in jaxpr.eqns:
        given = [read(atom) for atom in step.invars]
        if step.primitive.name in CALLS:
            inner = step.params["jaxpr"]
            found = _carried_out(inner.jaxpr, inner.consts, given)
        else:
            with step.ctx.manager:
                found = _one_step(step, given)
        known.update(zip(step.outvars, found, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _one_step(step: Any, given: Sequence[Any]) -> Sequence[Any]:
    params, functions = step.primitive.get_bind_params(step.params), ()
    if isinstance(params, tuple):  # older versions of JAX hand functions on as arguments
        functions, params = params
    found = step.primitive.bind(*functions, *given, **params)
    return found if step.primitive.multiple_results else [found]
