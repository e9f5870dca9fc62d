"""How much of its walk `auto` recommends: what noise alone does not explain, if values have not risen.

While pairs are few for the dimension, a walk of noise alone looks like one that has found something, and its
end is worse than the start. So x0 + κ (x̄ − x0) is recommended,

    κ = (1 − b (1 + √(1/2d)) V/|x̄ − x0|²)₊ · (1 − b d/(d + 3) r)
    b = 1 for N ≤ (4 + 8e)d, then falling, 0 from N = (20 + 16e)d on,   e = min(d/10, 1)

Noise alone would be about √V away. A step is −ℓ a u, so V = n² Σ ℓ², less what a bowl pulls back, where n² is
the mean square of what noise adds to a. It is judged in hindsight, by all that is known now: nothing was when
the first steps were made, and each of them would count as noise for ever. There are two measures of n². The
differences at x, s², are too small where noise grows with the distance. The changes of m from trial to
trial, c ≤ v, are too large where f is curved differently in different directions, and count where they are
most of v:

    n² = s² (max(c, s²)/s²)^ω · max(1, min(v₃/2v, 2)),   ω = (c/v − 0.5)/0.4 within 0 and 1

The last factor is for heavy tails: v is the median of three means of a², and v₃ the largest. The three are
close to each other unless single answers make them; and as one wild answer may, it counts twice at most.

Values at x are a second opinion: the last one is z standard errors above the first two, that error being
√(3s²/8), and r = (z − ½)/1.5 within 0 and 1. Where trials are far too long the walk leaves the bowl it began
in, and no measure of noise says so.

Up to edition 7 each step was judged by what was known when it was made, by the larger of s² and c; the first
factor had √(2/d), and there was no second one.
"""

import jax.numpy as jnp
from jax import Array

from driftopt.methods.auto_spread import Spread

FEW, ENOUGH = 4.0, 20.0  # pairs for each dimension: up to FEW all doubt counts, from ENOUGH on none
FEW_MORE, ENOUGH_MORE = 8.0, 16.0  # and so many more in MANY dimensions
MANY = 10.0
MOST, ALL = 0.5, 0.9  # shares of v from which on changes of m count as noise, and count alone
APART = 2.0  # times as large as the middle one of three means: from there on tails are heavy
TAILS = 2.0  # what they count for at most, because one wild answer makes such a mean too
# Standard errors of a rise: where it begins to count, and where nothing is left.
RISE, SURELY = 0.5, 2.0
LEAST = 1e-12  # of v: no noise is less, so that nothing is divided by 0
LOW = 3.0  # dimensions in which a rise counts half: two of them say little of what is noise


def weight(pairs: Array, dim: int, edition: Array) -> Array:
    """b: 1 where pairs are few for the dimension, 0 where there are enough."""
    many = jnp.where(edition >= 5, min(dim / MANY, 1), 0)
    few, enough = FEW + FEW_MORE * many, ENOUGH + ENOUGH_MORE * many
    return jnp.clip((enough - pairs / dim) / (enough - few), 0, 1)


def noise_of_trials(spread: Spread, usual: Array, at_x: Array) -> Array:
    """n, from v and s². All squares are shares of v: in the units of the values they might be too small."""
    unit = jnp.where(usual > 0, usual, 1)
    changes = jnp.minimum(spread.rough / unit, 1)
    counts = jnp.clip((changes - MOST) / (ALL - MOST), 0, 1)
    still = jnp.maximum(at_x / unit, LEAST)
    loudest = jnp.maximum(jnp.maximum(spread.first, spread.second), spread.third) / unit
    square = still * jnp.maximum(changes / still, 1) ** counts * jnp.clip(loudest / APART, 1, TAILS)
    return jnp.sqrt(unit) * jnp.sqrt(square)


def rise(first: Array, last: Array, usual: Array, at_x: Array) -> Array:
    """r, from the first values at x and the last one."""
    unit = jnp.where(usual > 0, usual, 1)
    errors = (last - first) / jnp.sqrt(unit) / jnp.sqrt(0.375 * jnp.maximum(at_x / unit, LEAST))
    return jnp.clip((errors - RISE) / (SURELY - RISE), 0, 1)
