"""How much of its walk `auto` recommends: what noise alone does not explain, and more if values have fallen.

While pairs are few for the dimension, a walk of noise alone looks like one that has found something, and its
end is worse than the start. So x0 + κ (x̄ − x0) is recommended,

    κ = κ₀ + (1 − κ₀) φ,   κ₀ = (1 − b (1 + √(1/2d)) V/|x̄ − x0|²)₊ · (1 − b d/(d + 3) r)
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
in, and no measure of noise says so. Or the last one is z standard errors below, and then the walk has come
down whatever its length says,

    φ = (z − 2)/4 · C/s · (3 − 2V/|x̄ − x0|²) · (2 − v₃/4v),   each factor within 0 and 1.

C, what trials cost, is measured from the last value at x less what the walk has come down since. It is above
0 wherever f is not concave; where it is not, values fall without the walk, and the world has moved. The last
two factors are for heavy tails. There the usual answer falls where the mean of all answers rises, because the
rare high ones are not among the few at x; but the walk is shorter than one of noise alone, or single answers
make one of the three means.

Up to edition 9 there was no φ. Up to edition 7 each step was judged by what was known when it was made, by
the larger of s² and c; the first factor had √(2/d), and there was no second one.
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
# Standard errors of a fall, V/|x̄ − x0|² and v₃/v: from where to where it counts.
FALL, CERTAIN = 2.0, 6.0
LONGER, SHORTER = 1.0, 1.5
ONE_LAW, TAILED = 4.0, 8.0
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
    tails = jnp.clip(_loudest(spread) / unit / APART, 1, TAILS)
    square = still * jnp.maximum(changes / still, 1) ** counts * tails
    return jnp.sqrt(unit) * jnp.sqrt(square)


def rise(first: Array, last: Array, usual: Array, at_x: Array) -> Array:
    """r, from the first values at x and the last one."""
    return jnp.clip((_errors(last - first, usual, at_x) - RISE) / (SURELY - RISE), 0, 1)


def fall(
    first: Array, last: Array, usual: Array, at_x: Array, spread: Spread, cost: Array, by_noise: Array
) -> Array:
    """φ, from the same, and from the share of the walk's length, squared, that noise alone explains."""
    sure = jnp.clip((_errors(first - last, usual, at_x) - FALL) / (CERTAIN - FALL), 0, 1)
    unit = jnp.where(usual > 0, usual, 1)
    costly = jnp.clip(cost / jnp.sqrt(unit) / jnp.sqrt(jnp.maximum(at_x / unit, LEAST)), 0, 1)
    long = jnp.clip((SHORTER - by_noise) / (SHORTER - LONGER), 0, 1)
    one_law = jnp.clip((TAILED - _loudest(spread) / unit) / (TAILED - ONE_LAW), 0, 1)
    return sure * costly * long * one_law


def _errors(change: Array, usual: Array, at_x: Array) -> Array:
    """A change of the value at x, in its standard errors."""
    unit = jnp.where(usual > 0, usual, 1)
    return change / jnp.sqrt(unit) / jnp.sqrt(0.375 * jnp.maximum(at_x / unit, LEAST))


def _loudest(spread: Spread) -> Array:
    """v₃, the largest of the three means of a²."""
    return jnp.maximum(jnp.maximum(spread.first, spread.second), spread.third)
