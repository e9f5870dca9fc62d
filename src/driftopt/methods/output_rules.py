"""The decision that a run reports: its final iterate, or the mean of its last or of a random block.

The paper returns ȳ of a uniformly drawn block. A reservoir draw needs one vector of memory however long
the run: after block k the draw is replaced with probability 1/k.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from driftopt.shapes import Decision, Number

RULES = ("final", "last-block", "random-block")


class Blocks(NamedTuple):
    total: Decision  # Σ y over the running block
    counted: Number  # the number of y in it: fewer than the block's if a value could not be used
    finished: Number  # blocks completed
    chosen: Decision  # the mean to report


def init(rule: str, x0: Decision) -> Any:
    """The memory of the rule before the first iterate; () for the final iterate."""
    nothing = jnp.zeros((), x0.dtype)
    return () if rule == "final" else Blocks(jnp.zeros_like(x0), nothing, nothing, x0)


def update(rule: str, blocks: Any, y: Decision, counts: Any, ends: Any, pick: Any) -> Any:
    """Take in y_t where `counts`; `ends` closes a block; `pick` ~ Unif[0, 1) decides the reservoir draw."""
    if rule == "final":
        return blocks
    total = blocks.total + jnp.where(counts, y, 0)
    finished = blocks.finished + jnp.asarray(ends, blocks.finished.dtype)
    taken = ends & (pick * finished < 1) if rule == "random-block" else ends
    counted = blocks.counted + jnp.asarray(counts, blocks.counted.dtype)
    chosen = jnp.where(taken, total / jnp.maximum(counted, 1), blocks.chosen)
    return Blocks(jnp.where(ends, 0, total), jnp.where(ends, 0, counted), finished, chosen)


def report(rule: str, blocks: Any, x: Decision) -> Decision:
    """The decision that the rule reports; before the first block ends, that is the start."""
    return x if rule == "final" else blocks.chosen
