"""Which answers of `auto` are wild: a lost decimal point must not steer a walk.

One of two answers is wild if they differ 12 times as much as any before (the largest of the three running
means of a², and of s²), or 5 times at x, and if their mean is off by half of that (to a quarter). With one
difference known it must be 400 times as large, with two 20 times. Longer trials differ more: where δ is above
its running mean δ̄ a difference must be (δ/δ̄)⁴ times larger yet, and δ goes back to δ̄ if it is.

Nothing is known of the first two answers: pair 4, at x again, looks back. If their difference is 3 times as
large as those of pairs 2, 3 and 4, and pairs 3 and 4 say that their mean is off by half of it, one was wild:
δ is then at most twice what it began with, v is what pairs 2 and 3 say, and C and s² begin anew. One tidy run
in a hundred is taken for wild.

In edition 3 a difference was measured by a single other one, which is small by chance in one run of five; in
edition 2 all were averaged.
"""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt.methods.auto_state import State, at_centre, middle_of

APART, APART_AT_X = 12.0, 5.0  # of two answers that differ so many times more than any before, one is wild,
RARE = 400.0  # or RARE times where one difference is known, and √RARE where two are
FIRST = 3.0  # the first two are, if they differ so many times more than those of pairs 2, 3 and 4
NEAR = 4.0  # and if the mean of the two is off by half their difference, to a NEARth of it
SLIP = 4.0  # edition 3's measure of all this


def middle(state: State, values: Array, wild: Array) -> Array:
    """The mean of a pair; at x, where one of the two is wild, the one that was expected."""
    expected = state.here - state.fallen
    nearer = jnp.abs(values[0] - expected) <= jnp.abs(values[1] - expected)
    alone = at_centre(state.told) & wild
    return jnp.where(alone, jnp.where(nearer, values[0], values[1]), middle_of(values))


def wild(state: State, values: Array, asked: Array, limit: Array, edition: ArrayLike) -> Array:
    """Whether one of two answers is wild: they differ far too much, their mean is off by half of it."""
    apart, centre = jnp.abs(values[0] - values[1]), at_centre(state.told)
    known = jnp.clip(state.told, 1, 3).astype(apart.dtype)
    at_trials = jnp.maximum(jnp.maximum(RARE ** (1 / known), APART), limit)
    # Longer trials differ more.
    grown = state.radius / jnp.where(state.width > 0, state.width, state.radius)
    grown = jnp.where(jnp.asarray(edition) >= 5, jnp.maximum(grown, 1), 1)
    most = jnp.where(centre, APART_AT_X, at_trials * grown**4) * jnp.sqrt(state.spread.largest())
    off = jnp.abs(middle_of(values) - state.here + state.fallen)
    found = (state.told > 0) & (most > 0) & (apart > most) & (jnp.abs(off - apart / 2) < apart / NEAR)

    usual = jnp.sqrt(state.spread.still)
    before = SLIP * (1 + 2 / jnp.maximum(asked - 1, 1)) * usual  # edition 3: the noise at x alone
    before = centre & (usual > 0) & (apart > before)
    edition = jnp.asarray(edition)
    return jnp.where(edition >= 4, found, before & (edition == 3))


def slipped(state: State, values: Array, edition: ArrayLike) -> Array:
    """Whether one of the first two answers was wild, as pair 4 shows, which is at x again."""
    first, second = jnp.sqrt(state.spread.still), jnp.abs(values[0] - values[1])
    off = middle_of(values) - state.here + state.fallen
    near = jnp.abs(jnp.abs(off) - first / 2) < first / NEAR
    before = near & (first > SLIP * second)  # edition 3

    # One difference may be small by chance, three are not; and pair 3 must say what pair 4 says.
    others = jnp.maximum(second, jnp.sqrt(jnp.maximum(state.spread.second, state.spread.third)))
    third = jnp.sign(off) * (state.last - state.here + state.fallen - state.gained)
    wild = near & (first > FIRST * others) & (jnp.abs(third - first / 2) < first / 3)
    edition = jnp.asarray(edition)
    return jnp.where(edition >= 4, wild, before & (edition == 3)) & (state.told == 3)
