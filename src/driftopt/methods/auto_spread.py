"""What `auto` knows of how far answers differ, at x and at trials: running means of squares."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

PRIOR = 0.7  # pairs at x that the mean square of all differences stands in for, while there are few


class Spread(NamedTuple):
    """Running mean squares: of a, in three that are fed in turn; of late pairs at x; of changes of m; of all
    pairs at x.
    """

    first: Array
    second: Array
    third: Array
    still: Array
    rough: Array
    quiet: Array

    def usual(self, count: Array, missed: Array) -> Array:
        """v after `count` pairs: the median of the three means, or the largest while they have one pair each.

        So one wild answer, which is in one of the three, does not move it far. The first pair is asked at x:
        where pair 2 or 3 was `missed` the median would be the noise, and the largest stands for longer.
        """
        middle = median(self.first, self.second, self.third)
        most = jnp.maximum(jnp.maximum(self.first, self.second), self.third)
        alone = missed & (jnp.minimum(self.second, self.third) == 0)
        return jnp.where((middle > 0) & (count > 2) & ~alone, middle, most)

    def at_x(self, usual: Array, asked: Array) -> Array:
        """s² after `asked` pairs at x: their mean square, mixed with v while they are few; 1 where v is 0."""
        trust = asked / (asked + PRIOR)
        return jnp.where(usual > 0, usual + trust * (jnp.minimum(self.still, usual) - usual), 1)

    def largest(self) -> Array:
        """The largest of the means of a, which a wild answer has not got through to."""
        return jnp.maximum(jnp.maximum(self.first, self.second), jnp.maximum(self.third, self.still))


def median(one: Array, two: Array, three: Array) -> Array:
    """The middle one of three numbers."""
    return jnp.maximum(jnp.minimum(one, two), jnp.minimum(jnp.maximum(one, two), three))


def bounded(square: Array, mean: Array, limit: Array) -> Array:
    """A square, or `limit`² times the mean of those before where that is known and less."""
    return jnp.where(mean > 0, jnp.minimum(square, limit**2 * mean), square)
