"""The number of buyers who choose each option: an exact multinomial draw, with lanes on the last axis.

One uniform number a buyer, who takes the option between whose cumulative probabilities C_i the number falls.
So the count of option i is #{u < C_i} − #{u < C_{i−1}}, and the numbers can be shared by many lanes.

The numbers are 15 bits wide, because CPUs compare twice as many 16-bit numbers per instruction as floats, and
the edges are dithered: with b uniform on 0 … N − 1 and v uniform on [0, 1),

    P(b < ⌊C_i N + v⌋) = E⌊C_i N + v⌋ / N = C_i.

Every buyer's law is exact, to float32. Two buyers share v, so their choices covary by at most 1/(4N²) = 2⁻³²:
the variance of a count of 120 buyers is right to one part in a million.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

CELLS = 1 << 15  # N
SHORT = 24  # buyers counted in one sum on accelerators: fewer than the 32 threads of a warp
SUMS = 64  # such sums at most; of more buyers there is one, of them all
FUSED = 20  # comparisons summed in one pass over the lanes
UNROLLED = 64  # options whose cumulative sum is unrolled on accelerators, which are slow at short steps


class Numbers(NamedTuple):
    """Everything random about the choices of all buyers."""

    buyers: Array  # int16, uniform on 0 … N − 1
    dither: Array  # float32, v


def numbers(key: Array, size: int) -> Numbers:
    """The random numbers of `size` buyers, two from each random word, and of the dither.

    They are the upper 15 bits of a word's halves, in no order that matters: buyers are counted. (Joined as
    two arrays, XLA would hash each word twice, and one at a time.)
    """
    half = -(-size // 2)
    words = jax.random.bits(key, (half + 1,), jnp.uint32)
    pairs = (words[:half] >> 1) & jnp.uint32(0x7FFF7FFF)
    if size % 2:  # of the last word the upper half is taken
        pairs = (pairs << 16) | (pairs >> 16)
    buyers = lax.bitcast_convert_type(pairs, jnp.int16).reshape(2 * half)[:size]
    # C N + v has 8 bits behind the point in float32, so v has no more.
    dither = ((words[half] >> 24).astype(jnp.float32) + 0.5) / 256
    return Numbers(buyers, dither)


def counts(drawn: Numbers, weights: Array, outside: Array) -> Array:
    """The number of buyers who choose each option; `weights` are the options', `outside` that of none."""
    below = count_up_to(drawn.buyers, last_cells(drawn.dither, weights, outside))
    return (below - jnp.concatenate([jnp.zeros_like(below[:1]), below[:-1]])).astype(weights.dtype)


def last_cells(dither: Array, weights: Array, outside: Array) -> Array:
    """⌊C_i N + v⌋ − 1, the last cell whose buyers choose option i or one before it, as 16 bits."""
    sums = cumulative(weights)
    edges = jnp.floor(sums / (sums[-1] + outside) * CELLS + dither.astype(weights.dtype))
    # C N + v may round up to N + 1. XLA's conversion happens to saturate; nothing promises it.
    return (jnp.minimum(edges, CELLS) - 1).astype(jnp.int16)


def cumulative(weights: Array) -> Array:
    """Running sums, added strictly in order: so they never fall, and no count is ever negative.

    (A parallel prefix sum rounds each entry differently, and may fall.)
    """
    if jax.default_backend() == "cpu" or weights.shape[0] > UNROLLED:
        return lax.scan(lambda total, w: (total + w, total + w), jnp.zeros_like(weights[0]), weights)[1]
    sums = [weights[0]]
    for i in range(1, weights.shape[0]):
        sums.append(sums[-1] + weights[i])
    return jnp.stack(sums)


def count_up_to(buyers: Array, edges: Array) -> Array:
    """#{j : buyers_j ≤ edges_i} for every i."""
    # 16 bits also for the counts, where they are enough: wider ones would halve the vectors again.
    whole = jnp.int16 if buyers.shape[0] < CELLS else jnp.int32
    # Not `lax.platform_dependent`: under vmap it moves the lanes to the first axis.
    if jax.default_backend() != "cpu":
        # Short sums, which GPUs take within the steps around them: a long one is a step of its own, in which
        # the threads of a warp share out each lane's buyers.
        several = -(-buyers.shape[0] // SHORT)
        some = [buyers] if several > SUMS else jnp.array_split(buyers, several)
        sums = [jnp.sum(few[None, :] <= edges[:, None], axis=1, dtype=whole) for few in some]
        return sum(sums[1:], sums[0])
    # Short sums, each a pass of a loop: unrolled, XLA may fuse them into one that is no longer vectorised.
    rest = buyers.shape[0] % FUSED
    rows = buyers[rest:].reshape(-1, FUSED, *buyers.shape[1:])

    def add(total: Array, row: Array) -> Array:
        for buyer in range(row.shape[0]):
            total = total + (row[buyer] <= edges).astype(whole)
        return total

    first = add(jnp.zeros_like(edges, whole), buyers[:rest])
    return lax.scan(lambda total, row: (add(total, row), None), first, rows)[0]
