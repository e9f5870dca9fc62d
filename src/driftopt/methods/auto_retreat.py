"""When a walk has surely led to worse decisions than the start, it goes back.

The value at x is asked for every now and then anyway. `first` is the mean of what the first two such pairs
said, `late` a running mean of what n of them said, both since the start or since the walk last went back: in
`late` each counts for r = 0.35, or 1/n where that is more. From the fourth pair at x on, and with n ≥ 3, a
walk that has found no slope (κ' < 0.9 in `auto.py`; of one that has, the world has moved) is lost when

    late − first > (2.5 + log k) √(max(r/(2 − r), 1/n) s²/4 + s'²/8),    k pairs at x so far,

s² and s'² being mean squares of the difference of two answers at x: as measured, and the larger one that
also reckons with how few there were. So a loud world must be far worse before anything happens, and the more
often it is looked at, the more so. After the first four pairs, what one says of x counts up to 2.5 √v away
from what was expected of it, v being the largest mean square of a difference that is known: one wild answer
loses no walk, and where several come, they are no slips.

Edition 6 had 1.5 in place of 2.5 and 0.8 in place of 0.9, edition 5 v in place of s² and ½ in place of 0.9.
Where noise grows with the radius, v is that of far trials and hides any rise at x: such walks were lost, and
went on.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

LATELY = 0.35  # the weight of the last value at x in the running mean
ERRORS, EACH = 2.5, 1.0  # standard errors that a rise must have, and more for the logarithm of the looks
ERRORS_6 = 1.5  # in edition 6, which sent one tidy walk in forty back
LEAST = 3  # values at x since the start, or since the last retreat


class Level(NamedTuple):
    """Values at x: at the start, lately, and how many there were since the start or the last retreat."""

    first: Array
    late: Array
    since: Array

    def after(
        self,
        value: Array,
        told: Array,
        at_x: Array,
        asked: Array,
        at_late: Array,
        noise: Array,
        may_go_back: Array,
        errors: Array,
    ) -> tuple["Level", Array]:
        """With the value that the pair after `told` others said of x, where it was `at_x`; and if x is lost.

        Args:
            value: the mean of the pair.
            told: pairs before it.
            at_x: whether it was asked at x.
            asked: pairs asked at x so far.
            at_late: the mean square of the difference of two late answers at x.
            noise: the same, where it also reckons with how few there were.
            may_go_back: whether the walk can be lost at all; editions up to 4 cannot.
            errors: standard errors that a rise must have at the first look, ERRORS.
        """
        since = self.since + jnp.where(at_x, 1, 0)
        mean = self.first + (value - self.first) / jnp.maximum(since, 1)
        first = jnp.where(at_x & (since <= 2), mean, self.first)
        share = jnp.maximum(LATELY, 1 / jnp.maximum(since, 1))
        late = jnp.where(at_x, self.late + share * (value - self.late), self.late)
        error = at_late / 4 * jnp.maximum(LATELY / (2 - LATELY), 1 / jnp.maximum(since, 1)) + noise / 8
        bar = (errors + EACH * jnp.log(asked)) * jnp.sqrt(error)
        lost = may_go_back & at_x & (since >= LEAST) & (told > 8) & (late - first > bar)
        return Level(first, jnp.where(lost, 0, late), jnp.where(lost, 0, since)), lost
