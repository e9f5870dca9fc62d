"""How many of many buyers choose each option: an exact multinomial draw, arranged for lanes on the last axis.

One uniform number a buyer; a buyer takes the option between whose cumulative probabilities the number falls.
So the count of option i is #{u < C_i} − #{u < C_{i−1}}, and the numbers can be shared by many lanes. Of
the exact designs measured (30 options, 120 buyers, lanes as in `simulate_many`: 4 instances × 3 seeds × 180
configurations; million draws for each second of one busy core, the value of F included) short sums win:

    compare all pairs in short fused sums, lanes broadcast          3.3
    the same, lanes vmapped                                         1.4
    compare all pairs by one reduction                              0.3
    sorted numbers, a table of their ranks, corrections             0.5, and 44 µs to prepare the numbers
    two numbers packed in each of 2,048 cells of a table            1.1, and 200 µs
    conditional binomials by inversion                              0.3

The short sums are passes of a loop: unrolled, XLA fused them for one-point methods, at a third of the rate.
"""

import jax
import jax.numpy as jnp
from jax import Array, lax

FUSED = 12  # comparisons summed in one pass over the lanes
UNROLLED = 64  # options whose cumulative sum is unrolled


def uniforms(key: Array, size: int) -> Array:
    """Uniform numbers, each in the middle of one of 2²³ cells: P(u < c) is c to the nearest cell."""
    cells = jax.random.bits(key, (size,), jnp.uint32) >> 9
    return (cells.astype(jnp.float32) + 0.5) * jnp.float32(2.0**-23)


def counts(numbers: Array, weights: Array, outside: Array) -> Array:
    """How many of the uniform `numbers` choose each option, which has the given weight, rather than none."""
    edges = cumulative(weights)
    below = count_below(numbers.astype(weights.dtype), edges / (edges[-1] + outside))
    return below - jnp.concatenate([jnp.zeros_like(below[:1]), below[:-1]])


def cumulative(weights: Array) -> Array:
    """Running sums, added strictly in order: so they never fall, and no count is ever negative.

    (A parallel prefix sum rounds each entry differently, and may fall.)
    """
    if weights.shape[0] > UNROLLED:
        return lax.scan(lambda total, w: (total + w, total + w), jnp.zeros_like(weights[0]), weights)[1]
    sums = [weights[0]]
    for i in range(1, weights.shape[0]):
        sums.append(sums[-1] + weights[i])
    return jnp.stack(sums)


def count_below(numbers: Array, edges: Array) -> Array:
    """#{j : numbers_j < edges_i} for every i, in the precision of the edges."""
    # Not `lax.platform_dependent`: under vmap it moves the lanes to the first axis.
    return _in_passes(numbers, edges) if jax.default_backend() == "cpu" else _at_once(numbers, edges)


def _in_passes(numbers: Array, edges: Array) -> Array:
    # A loop, because XLA may fuse unrolled passes into one, which is then no longer vectorised.
    passes = -(-numbers.shape[0] // FUSED)
    # 2 is above every edge: padding is never counted.
    filling = jnp.full_like(numbers, 2, shape=(passes * FUSED - numbers.shape[0], *numbers.shape[1:]))
    rows = jnp.concatenate([numbers, filling]).reshape(passes, FUSED, *numbers.shape[1:])

    def one(total: Array, row: Array) -> tuple[Array, None]:
        part = (row[0] < edges).astype(edges.dtype)
        for buyer in range(1, FUSED):
            part = part + (row[buyer] < edges).astype(edges.dtype)
        return total + part, None

    return lax.scan(one, jnp.zeros_like(edges), rows)[0]


def _at_once(numbers: Array, edges: Array) -> Array:
    return jnp.sum(numbers[None, :] < edges[:, None], axis=1, dtype=edges.dtype)
