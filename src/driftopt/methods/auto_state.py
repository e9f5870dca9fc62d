"""The state of `auto`, which keeps no pair, and which of its pairs are asked at x itself."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from driftopt.methods.auto_evenness import Evenness
from driftopt.methods.auto_retreat import Level
from driftopt.methods.auto_spread import Spread

CENTRE = 8  # every so many pairs one is asked at x itself


class State(NamedTuple):
    key: Array
    told: Array
    taken: Array  # of those pairs, how many said something: answers may be taken back
    x: Array
    begun: Array  # x0
    mean: Array
    drift: Array  # how far noise alone would have walked, as each step was judged when it was made
    per_unit: Array  # √Σ ℓ², a step being −ℓ a u: how far noise of 1 alone would have walked
    radius: Array  # δ
    spread: Spread
    here: Array  # the value at x, when last asked
    fallen: Array  # how far the walk has come down since then, as far as is known
    last: Array  # m, and the fall since
    gained: Array
    cost: Array  # running means, each over the same pairs: C,
    fall: Array  # g,
    width: Array  # and δ, by which both are brought to the present radius
    evenness: Evenness
    level: Level


def asked_at_x(count: Array) -> Array:
    """How many of the first `count` pairs are asked at x itself."""
    return jnp.floor(count / CENTRE) + 1 + jnp.where(count >= 4, 1, 0)


def at_centre(pair: Any) -> Any:
    """Whether the pair after so many is asked at x itself."""
    return (pair % CENTRE == CENTRE - 1) | (pair == 0) | (pair == 3)


def middle_of(values: Array) -> Array:
    """The mean of two answers."""
    return (values[0] + values[1]) / 2
