"""Whether f is a bowl as far as trials have seen it: wide trials then blur f, but do not mislead.

Trials at distance δ from x cost c = (f(x + δu) + f(x − δu))/2 − f(x). On a bowl that is Kδ² with one K
everywhere, and the blurred f has its minimum where f has. Where f has kinks, wells or a curvature that
changes, K changes with δ and from place to place. So two least-squares estimates of K are compared, one of
late trials and one of all trials,

    K = Σ c δ²/Σ δ⁴,   ρ = log(K_late/K_all),   ε the relative standard error of K_late

    evenness = exp(−ρ²/(0.07² + ε²)) / (1 + (ε/0.07)²) · min(1, log(δ_all/δ_late)/0.4)₊

where δ⁴ is as each estimate's mean has it. The last factor lets K count only where it was measured at two
scales: by trials that have become shorter. The mean of two answers has a quarter of the mean square of their
difference, w at trials and s² ≤ w at x, and x is asked by every eighth pair only, so that of t pairs the late
ones leave

    ε = √((w + 8 s²)/(2t δ_late⁴))/K_late,   at most 10

Late trials are about the last t/4. Nothing is even where a K is not above 0, nor before pair 20; from there
to pair 40 the evenness counts more and more. `bowl` is its running mean over about the last t/8 pairs.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

LATE = 4.0  # late trials are about the last t/LATE
SAME = 0.07  # how far apart, as logarithms, two equal K are taken to be
SURE = 0.07  # the relative standard error at which a K counts for half
SCALES = 0.4  # the logarithm of how many times shorter late trials must be
BEGUN = 20.0  # pairs before anything counts; from twice as many on all does
MEMORY = 8.0  # the running mean looks back over about t/MEMORY pairs


class Evenness(NamedTuple):
    """Running means of c δ² and δ⁴, lately and always, and of the evenness; δ in units of the first guess."""

    late_cost: Array
    late_fourth: Array
    all_cost: Array
    all_fourth: Array
    bowl: Array

    def after(
        self, cost: Array, radius: Array, count: Array, counts: Array, still: Array, around: Array
    ) -> "Evenness":
        """With the cost of pair number `count` at that radius, where it `counts`.

        `still` and `around` are the mean squares of differences of two answers, at x and at trials.
        """
        lately, always = jnp.where(counts, jnp.minimum(1, LATE / count), 0), jnp.where(counts, 1 / count, 0)
        square = radius * radius
        late_cost = self.late_cost + lately * (cost * square - self.late_cost)
        late_fourth = self.late_fourth + lately * (square * square - self.late_fourth)
        all_cost = self.all_cost + always * (cost * square - self.all_cost)
        all_fourth = self.all_fourth + always * (square * square - self.all_fourth)

        known = (late_cost > 0) & (all_cost > 0) & (late_fourth > 0)
        late, fourth = jnp.where(known, late_cost, 1), jnp.where(known, late_fourth, 1)
        shorter = jnp.log(jnp.where(known, all_fourth, 1) / fourth)  # log (δ_all/δ_late)⁴
        apart = jnp.log(late / jnp.where(known, all_cost, 1)) + shorter  # ρ
        # The mean of two answers has a quarter of that mean square; x is asked by every eighth pair.
        noise = (jnp.maximum(still, around) + 8 * still) / 4 * LATE / (2 * count)
        unsure = jnp.minimum(jnp.sqrt(noise * fourth) / late, 10)
        even = jnp.exp(-(apart**2) / (SAME**2 + unsure**2)) / (1 + (unsure / SURE) ** 2)
        even = even * jnp.clip(shorter / 4 / SCALES, 0, 1) * jnp.clip(count / BEGUN - 1, 0, 1)
        even = jnp.where(known, even, 0)
        bowl = self.bowl + jnp.where(counts, jnp.minimum(1, MEMORY / count), 0) * (even - self.bowl)
        return Evenness(late_cost, late_fourth, all_cost, all_fourth, bowl)
