"""What a run reports: its final iterate, its last block's mean, or a uniformly drawn block's mean.

The paper returns ȳ of a uniformly drawn block. A reservoir draw needs one vector of memory however long
the run: after block k the draw is replaced with probability 1/k.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

RULES = ("final", "last-block", "random-block")


class Blocks(NamedTuple):
    total: Array  # Σ y over the running block
    chosen: Array  # the mean to report


def init(rule: str, x0: Array) -> Any:
    """No memory at all for the final iterate."""
    return () if rule == "final" else Blocks(jnp.zeros_like(x0), x0)


def update(rule: str, blocks: Any, y: Array, index: Array, block: ArrayLike, pick: Any) -> Any:
    """Take in y_t, t = index = 0, 1, …; `pick` ~ Unif[0, 1) decides the reservoir draw. t < 0 is a warm-up."""
    if rule == "final":
        return blocks
    started = index >= 0
    total = jnp.where(index % block == 0, 0, blocks.total) + y
    ends = started & ((index + 1) % block == 0)
    if rule == "random-block":
        finished = (index + 1) // block
        ends = ends & (pick * finished < 1)
    chosen = jnp.where(ends, total / block, blocks.chosen)
    return Blocks(jnp.where(started, total, 0), chosen)


def report(rule: str, blocks: Any, x: Array) -> Array:
    """The decision that the rule reports; before the first block ends, that is the start."""
    return x if rule == "final" else blocks.chosen
