"""Minimise a known function of a few coordinates inside a compiled loop."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

SHORTER = 30  # halvings of a step before the search gives up
ENOUGH = 1e-4  # the share of the predicted fall that a step must bring


def descend(fun: Callable[[Array], Array], start: Array, iterations: int) -> Array:
    """An approximate minimiser of `fun`, by BFGS with step halving.

    Armijo's condition holds for every step, so the value never rises; the search stops if no step lowers it.
    A start that is not finite is returned unchanged.

    >>> descend(lambda x: jnp.sum((x - 1) ** 4 + (x - 1) ** 2), jnp.zeros(2), 30).round(3).tolist()
    [1.0, 1.0]
    """
    both = jax.value_and_grad(fun)

    def iterate(_: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        x, value, slope, inverse = carry
        move = -inverse @ slope
        promised = jnp.sum(move * slope)
        downhill = promised < 0
        move = jnp.where(downhill, move, -slope)
        promised = jnp.where(downhill, promised, -jnp.sum(slope * slope))

        def tried(length: Array, halvings: Any) -> tuple[Array, Any, Array]:
            worse = ~(fun(x + length * move) <= value + ENOUGH * length * promised)
            return length, halvings, worse & (halvings < SHORTER)

        # The loop's condition is carried: a loop mapped over runs evaluates its condition twice, and two
        # compiled copies of `fun` may differ in their last bit, which decides the search near a minimum.
        length, halvings, _ = lax.while_loop(
            lambda s: s[2], lambda s: tried(s[0] / 2, s[1] + 1), tried(jnp.ones_like(value), 0)
        )
        step = jnp.where(halvings < SHORTER, length, 0) * move
        after, rise = both(x + step)
        change = rise - slope
        along = jnp.sum(step * change)
        keep = along > jnp.finfo(x.dtype).eps * jnp.sum(step * step)  # else curvature says nothing
        scale = 1 / jnp.where(keep, along, 1)
        left = jnp.eye(len(x), dtype=x.dtype) - scale * jnp.outer(step, change)
        updated = left @ inverse @ left.T + scale * jnp.outer(step, step)
        return x + step, after, rise, jnp.where(keep, updated, inverse)

    first = (start, *both(start), jnp.eye(len(start), dtype=start.dtype))
    found = lax.fori_loop(0, iterations, iterate, first)[0]
    return jnp.where(jnp.isfinite(found).all(), found, start)
