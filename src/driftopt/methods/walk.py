"""A walk that needs no tuning, for some 500 values and more: `radius` is a first guess, and may be wrong.

With N = budget // 2 pairs of queries, pair t = 1 … N, τ = t/N, and δ = radius at the start,

    a, m = F(x + δu) − F(x − δu), their mean     u runs through orthonormal bases, each drawn afresh
    v    the mean square of a; s² the same for pairs asked at x itself, every eighth
    C    what trials cost: the mean value around x less the value at x
    g    the fall over one radius along the slope by which x still comes down
    w    how many times louder trials are than x, as far as that is sure, by how m changes; at least 1

    x ← x − λ [a/√v] u,       λ = δ/√N · τ/(τ + RAMP) · (1 + (1 − C/θ)₊) · h
    δ ← δ exp(−τ^PACE E/t),   E = min(C/θ − 1, 4) where C > θ,  else  GROWTH max(C/θ − 1, −1)
    θ = (NOISE (d + 3) s/√t + SLOPE g₊)/w^LOUDER

A wide radius sees slopes through the noise, but blurs f by about C. It is worth its cost while C is below θ:
the noise that t pairs leave in what is known of f near x, and the fall that goes on.

N steps of pure noise lead about δ away: far enough on most functions. In a kinked valley wide trials cost
much, δ gets short, and x would stall on a slope. So h watches p, the mean of the last steps in units of λ: of
noise alone |p|² is about RECENT/2t. Where it is more, steps get longer,

    h ← h · exp(HASTE (min(z, 2) − 1)/t),   z = |p|² 2t/RECENT / (1 + √(2/d)),   1 ≤ h ≤ √N

Within bounds x and its trials are clipped. After a shortened pair nothing grows, and E rises by up to 4.
"""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.method import Method
from driftopt.methods import directions
from driftopt.methods.entry import Entry
from driftopt.pytree import module, static

CENTRE = 8  # every eighth pair is asked at x itself: the cost of trials is measured from there
RAMP = 0.13  # steps grow as τ/(τ + RAMP): little is known at first
NOISE = 0.47  # θ's share of the noise: near a minimum the best radius costs a fixed share of d s/√t
SLOPE = 0.9  # θ's share of the fall: large trials are right on a long slope
GROWTH = 5.0  # the radius grows faster than it shrinks: slopes that drown in noise are not seen again
PACE = 0.45  # and changes as τ^PACE/t: slowly while little is known of C
RECENT = 4.0  # running means look back over about t/RECENT pairs: C and slopes change along the way
LOUDER = 2.0  # θ falls by this power of w: where trials are louder than x, wider ones see no more
OUTLIER = 0.3  # a value counts for at most OUTLIER √N deviations: one lost decimal point steers nothing
TAIL = 2.5  # and moves x as one of so many deviations: single values of a heavy tail do not lead it
HASTE = 2.0  # h changes at most as t^HASTE: at √t or so, steps could not catch up with a slope seen late
POWER = 8.0  # the weights of the recommended mean grow as t^POWER: it is the last ninth of the walk, mostly


class State(NamedTuple):
    key: Array
    told: Array
    taken: Array  # pairs with known values
    x: Array
    mean: Array
    trend: Array  # p
    haste: Array  # h
    radius: Array  # δ
    square: Array  # v
    still: Array  # s²
    rough: Array  # r
    last: Array  # m of the last trial, and the fall of x since
    gained: Array
    here: Array  # the value at x when it was last asked
    fallen: Array  # how far x has come down since
    cost: Array  # running means, over the same pairs: C,
    fall: Array  # g,
    width: Array  # and δ, by which both are brought to the present radius


@module
class Walk(Method):
    """The method for many cheap values, where nobody chooses a step size.

    Drivers fill in `budget`, the queries of the whole run, and the bounds `low` and `high`. x and its trials
    are clipped to them, not reflected: reflected trials would all see one point where x is on a bound.
    """

    broadcasts: ClassVar[bool] = True
    finds_radius: ClassVar[bool] = True
    batch: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]

    radius: ArrayLike  # the first δ
    max_radius: ArrayLike | None = None  # the largest δ; None: no limit
    budget: ArrayLike | None = None
    directions: int = static(default=1)  # of one iteration, two points each
    low: ArrayLike | None = None
    high: ArrayLike | None = None

    def for_budget(self, budget: int) -> "Walk":
        return self if self.budget is not None else replace(self, budget=budget)

    def within(self, low: np.ndarray, high: np.ndarray) -> "Walk":
        return replace(self, low=np.maximum(low, -1e300), high=np.minimum(high, 1e300))

    def points(self, dim: int) -> int:
        return 2 * self.directions

    def reach_in(self, dim: int) -> ArrayLike | None:
        """The largest step; None without `max_radius`, since δ may then grow."""
        if self.max_radius is None or self.budget is None:
            return None
        pairs = np.maximum(1, np.asarray(self.budget) // (2 * self.directions) * self.directions)
        longest = np.asarray(self.max_radius) / np.sqrt(pairs) * 2 / (1 + RAMP)
        return self.directions * longest * TAIL

    def init(self, key: Array, x0: Array) -> State:
        if self.budget is None:
            raise ValueError("the walk is planned for a budget: give budget=…, the queries of the whole run")
        zero = jnp.zeros((), x0.dtype)
        first = zero + self.radius
        radius = first if self.max_radius is None else jnp.minimum(first, self.max_radius)
        return State(
            key, jnp.zeros((), jnp.int32), zero, x0, x0, jnp.zeros_like(x0), zero + 1, radius, *[zero] * 10
        )

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        """(directions, d): the directions of this iteration's pairs; those asked at x use up none."""
        pair = jnp.asarray(count) * self.directions + jnp.arange(self.directions)
        return jax.vmap(lambda t: directions.orthonormal(key, t - (t + CENTRE - 1) // CENTRE, dim))(pair)

    def at_iterate(self, counts: np.ndarray, dim: int) -> np.ndarray:
        pair = np.asarray(counts)[:, None] * self.directions + np.arange(self.directions)
        return np.repeat(pair % CENTRE == 0, 2, axis=1)

    def ask(self, state: State, noise: Any = None) -> Array:
        def pair(number: Array, direction: Array) -> Array:
            centre = (state.told * self.directions + number) % CENTRE == 0
            apart = jnp.where(centre, 0, state.radius) * direction
            return jnp.stack([self._inside(state.x + apart), self._inside(state.x - apart)])

        pairs = jax.vmap(pair)(jnp.arange(self.directions), self.drawn(state, noise))
        return pairs.reshape(2 * self.directions, *pairs.shape[2:])

    def tell(self, state: State, values: Array, noise: Any = None) -> State:
        pairs = values.reshape(self.directions, 2, *values.shape[1:]), self.drawn(state, noise)
        # All pairs saw f at one x: what x falls meanwhile counts from the next iteration on.
        begun = state._replace(told=state.told * self.directions), jnp.zeros_like(state.fallen)
        take = partial(self._take, state.x, state.radius)
        if self.directions == 1:
            (after, fell), _ = take(begun, (pairs[0][0], pairs[1][0]))
        else:
            (after, fell), _ = jax.lax.scan(take, begun, pairs)
        return after._replace(told=state.told + 1, fallen=after.fallen + fell)

    def _take(
        self, around: Array, asked: Array, carry: tuple[State, Array], pair: tuple[Array, Array]
    ) -> tuple[tuple[State, Array], None]:
        """The state after a pair at `around` ± `asked` · direction, and x's fall in this iteration so far."""
        (state, fell), (values, direction) = carry, pair
        dim, dtype = direction.shape[0], state.x.dtype
        pairs = jnp.maximum(1, jnp.asarray(self.budget) // (2 * self.directions) * self.directions)
        pairs, count = pairs.astype(dtype), state.taken + 1
        elapsed = (state.told + 1).astype(dtype) / pairs
        centre, live = state.told % CENTRE == 0, elapsed <= 1
        trial = live & ~centre

        a, m = values[0] - values[1], (values[0] + values[1]) / 2
        # By how much bounds shortened the pair: f may be level between its points and lower in the middle.
        apart = self._inside(around + asked * direction) - self._inside(around - asked * direction)
        clipped = 0 if self.low is None else 1 - jnp.sum((apart / (2 * asked)) ** 2, axis=0)
        most = jnp.maximum(OUTLIER * jnp.sqrt(pairs), TAIL)
        looks = jnp.ceil(count / CENTRE)  # pairs asked at x
        seen = jnp.minimum(1, RECENT / count)
        recent = jnp.where(trial, seen, 0)

        def fed(mean: Array, rate: Array) -> Array:
            square = jnp.where(mean > 0, jnp.minimum(a * a, most**2 * mean), a * a)
            return mean + jnp.where(mean > 0, rate, 1) * (square - mean)

        square = jnp.where(trial, fed(state.square, 2 / (count + 1)), state.square)
        still = jnp.where(live & centre, fed(state.still, 2 / (looks + 1)), state.still)
        jump = jnp.minimum(2 * (m - state.last + state.gained) ** 2, most**2 * square)
        rough = state.rough + jnp.where(count > 3, recent, 0) * (jump - state.rough)
        after = state._replace(told=state.told + 1, taken=count, square=square, still=still, rough=rough)
        deviation = jnp.sqrt(jnp.where(square > 0, square, jnp.where(still > 0, still, 1)))
        bound = most * deviation

        first = state.taken == 0  # usually at x; if that was taken back, the mean around x must do
        above = jnp.where(first, 0, jnp.clip(m - state.here + state.fallen, -bound, bound))
        here = jnp.where(first, m, state.here - state.fallen + above)
        back = state.mean - state.x
        # Where x cannot move, on a bound, it does not come down either, however steep f is there.
        length = jnp.maximum(jnp.sqrt(jnp.sum(back * back, axis=0)), asked / jnp.sqrt(pairs))
        uphill = jnp.sum(back * direction, axis=0) / length
        # d/(2δ) a u is an estimate of the gradient.
        fall = state.fall + recent * (dim / 2 * jnp.clip(a, -bound, bound) * uphill - state.fall)
        cost = state.cost + recent * (above - state.cost)
        width = state.width + recent * (asked - state.width)
        after = after._replace(fall=fall, cost=cost, width=width)
        present = state.radius / jnp.where(width > 0, width, 1)

        # One pair at x says little of the noise: it is mixed with v.
        noise = jnp.where(square > 0, (square + looks * jnp.minimum(still, square)) / (1 + looks), 1)
        worth = NOISE * (jnp.minimum(dim, count) + 3) * jnp.sqrt(noise / count)
        louder = jnp.minimum(rough, square) / (noise * (1 + 3 * jnp.sqrt(2 / looks)))
        worth = (worth + SLOPE * jnp.maximum(fall, 0) * present) / jnp.maximum(louder, 1) ** LOUDER
        worth = jnp.maximum(worth, 1e-6 * deviation)
        excess = cost * present / worth - 1
        change = jnp.clip(excess, 0, 4) + 4 * clipped + GROWTH * jnp.clip(excess, -1, 0) * (1 - clipped)
        change = jnp.exp(-(elapsed**PACE) * change / count)
        radius = jnp.minimum(state.radius * change, 2 * asked)
        if self.max_radius is not None:
            radius = jnp.minimum(radius, self.max_radius)
        if self.low is not None and self.high is not None:  # wider trials see the corners of the box alone
            radius = jnp.minimum(radius, jnp.max(jnp.asarray(self.high) - self.low) / 2 * dim**0.5)
        radius = jnp.where(trial, radius, state.radius)

        usual = seen / (2 - seen) * (1 + (2 / dim) ** 0.5)
        going = jnp.clip(jnp.sum(state.trend**2, axis=0) / usual, 0, 2) - 1
        haste = jnp.clip(state.haste * jnp.exp(HASTE * going / count), 1, jnp.sqrt(pairs))
        haste = jnp.where(trial & (self.max_radius is None), haste, state.haste)

        step = radius / jnp.sqrt(pairs) * elapsed / (elapsed + RAMP) * (1 + jnp.clip(-excess, 0, 1))
        step = jnp.where(trial, step * haste, 0)
        x = self._inside(state.x - step * jnp.clip(a / deviation, -TAIL, TAIL) * direction)
        moved = (state.x - x) / jnp.where(step > 0, step, 1)
        trend = state.trend + jnp.where(step > 0, seen, 0) * (moved - state.trend)
        slope = (a - jnp.minimum(still, square) / jnp.where(a == 0, 1, a)) / (2 * asked)
        gained = jnp.sum((state.x - x) * direction, axis=0) * slope
        mean = state.mean + jnp.where(live, (POWER + 1) / (count + POWER), 0) * (x - state.mean)
        centred = live & (centre | first)
        after = after._replace(x=x, mean=mean, trend=trend, haste=haste, radius=radius)
        after = after._replace(
            last=jnp.where(trial, m, state.last),
            gained=jnp.where(trial, gained, state.gained),
            here=jnp.where(centred, here, state.here),
            fallen=jnp.where(centred, 0, state.fallen),
        )
        return (after, fell + jnp.where(trial, gained, 0)), None

    def recommend(self, state: State) -> Array:
        return state.mean

    def settled(self, state: State, fall: float, away: float) -> bool:
        """False if the last steps still lead one way, or if trials got too short to see slopes.

        Of noise alone d |p|² 2t/RECENT is about χ² with d degrees of freedom; in one of a million runs it is
        beyond 4.75 deviations of its cube root, which is nearly normal. Trials are too short if they shrank
        to a twentieth and noise hides slopes as steep as the mean one from the start.
        """
        dim, seen = state.x.size, min(1, RECENT / max(1, int(state.taken)))
        spread, usual = 2 / (9 * dim), seen / (2 - seen)
        leads = (np.asarray(state.trend) ** 2).sum() > usual * (1 - spread + 4.75 * spread**0.5) ** 3
        noise = np.sqrt(np.minimum(state.still, state.square))  # of the difference of two values
        known = max(0.0, fall - 2.4 * noise)  # the fall, less 4.75 deviations of the first pair's mean
        hidden = dim / (2 * state.radius) * noise * usual**0.5
        blind = state.radius < np.asarray(self.radius) / 20 and hidden * away > known
        return not (leads or blind)

    def _inside(self, point: Array) -> Array:
        return point if self.low is None else jnp.clip(point, self.low, self.high)


def _walk(radius: Any, max_radius: Any = None, budget: int | None = None, directions: Any = 1) -> Method:
    """The walk that needs no tuning.

    Args:
        radius: a first guess of how far from the current decision a trial should be, in the units of x. The
            method corrects it, so a wrong guess costs little.
        max_radius: no trial is farther than this from the current decision. None: no limit but the bounds.
        directions: pairs of trials asked together, around one decision. It sets a shape.
    """
    return Walk(radius, max_radius, budget, directions)


ENTRIES = {
    "walk": Entry(
        _walk,
        "two points, no tuning: a first guess of a length, and the budget",
        {"radius": 0.5, "budget": 200},
        {"max_radius": checks.positive},
    )
}
