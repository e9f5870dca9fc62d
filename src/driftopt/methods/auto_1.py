"""auto as it was before its radius could grow: kept for studies that began with it, whose state is a replay.

With N = budget // 2 pairs of queries, pair t = 1 … N, and r = 1 at the start,

    δ  = r R                                     the trial radius, never above R
    a  = F(x + δu) − F(x − δu)                   u runs through orthonormal bases, each drawn afresh
    v  ← running mean square of a                the noise, and so the unit of every length below
    x  ← x − (2δ/√N) (1 + (1 − C/θ)₊/2) (a/√v) u
    r  ← r · exp(−clip(C/θ − 1, −1, 1)/t),  r ≤ 1

where C is what trials cost: the mean value around x less the value at x, for which every eighth pair is asked
at x itself. A wide radius sees slopes through the noise, but blurs f by about C. It is worth its cost while
C is below

    θ = (d/10 + 1) √(v/t)  +  0.75 δ s₊

the noise that t pairs leave in what is known of f near x, and the fall over one radius along the slope s by
which the walk still comes down. The decision reported is the mean of the x_t with weights that grow as t⁸.
"""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt.method import Method
from driftopt.methods import directions
from driftopt.methods.entry import Entry
from driftopt.pytree import module, static

STEP = 2.0  # λ/δ: N steps of pure noise lead about this many radii away
BOOST = 0.5  # longer steps where trials cost nothing yet
CENTRE = 8  # every so many pairs one is asked at x itself
PER_DIMENSION, ALONE = 0.1, 1.0  # θ's share of the noise
SLOPE = 0.75  # θ's share of the slope
RECENT = 2.0  # running means of C and s look back over about t/RECENT pairs
MEMORY = 20.0  # and that of a² over N/MEMORY
POWER = 8.0  # of the weights of the mean


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    mean: Array
    square: Array  # v
    shrink: Array  # r
    around: Array  # the mean value around x since the last pair at x
    cost: Array  # C/δ
    slope: Array  # s


@module
class Auto1(Method):
    """The first rule of `auto`: `radius` is the farthest that a trial may go, and the radius only shrinks.

    `budget` counts the queries of the whole run; answers beyond it change nothing. Where it is None the
    driver fills it in.
    """

    broadcasts: ClassVar[bool] = True
    batch: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]

    radius: ArrayLike
    budget: int | None = static(default=None)

    def for_budget(self, budget: int) -> "Auto1":
        return self if self.budget is not None else Auto1(self.radius, budget=budget)

    def points(self, dim: int) -> int:
        return 2

    def init(self, key: Array, x0: Array) -> State:
        if self.budget is None:
            raise ValueError("auto plans its walk for a budget: give budget=…, the queries of the whole run")
        zero = jnp.zeros((), x0.dtype)
        return State(key, jnp.zeros((), jnp.int32), x0, x0, zero, zero + 1, zero, zero, zero)

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        pair = jnp.asarray(count)
        return directions.orthonormal(key, pair - pair // CENTRE, dim)  # pairs at x use up none

    def at_iterate(self, counts: np.ndarray, dim: int) -> np.ndarray:
        return np.repeat(counts[:, None] % CENTRE == CENTRE - 1, 2, axis=1)

    def ask(self, state: State, noise: Any = None) -> Array:
        direction = self.drawn(state, noise)
        apart = jnp.where(self._at_centre(state), 0, self._radius(state)) * direction
        return jnp.stack([state.x + apart, state.x - apart])

    def tell(self, state: State, values: Array, noise: Any = None) -> State:
        direction, dim = self.drawn(state, noise), state.x.shape[0]
        pairs, count = self._pairs, (state.told + 1).astype(state.x.dtype)
        radius, centre, place = self._radius(state), self._at_centre(state), state.told % CENTRE
        difference, middle = values[0] - values[1], (values[0] + values[1]) / 2

        rate = jnp.maximum(1 / count, min(MEMORY / pairs, 0.1))
        square = state.square + jnp.where(centre, 0, rate) * (difference**2 - state.square)
        deviation = jnp.sqrt(jnp.where(square > 0, square, 1))

        # C/δ rather than C is averaged, because δ changes meanwhile.
        around = state.around + jnp.where(centre, 0, (middle - state.around) / (place + 1))
        recent = jnp.where(centre, jnp.minimum(1, RECENT * CENTRE / count), 0)
        cost = state.cost + recent * ((state.around - middle) / radius - state.cost)

        # The slope of f towards where the walk comes from: d/(2δ) a u is the gradient's estimate.
        back = state.mean - state.x
        length = jnp.sqrt(jnp.sum(back * back, axis=0))
        uphill = jnp.sum(back * direction, axis=0) / jnp.where(length > 0, length, 1)
        recent = jnp.where(centre, 0, jnp.minimum(1, RECENT / count))
        slope = state.slope + recent * (dim / 2 * difference * uphill / radius - state.slope)

        worth = (PER_DIMENSION * dim + ALONE) * deviation / jnp.sqrt(count)
        worth = worth + SLOPE * radius * jnp.maximum(slope, 0)
        excess = cost * radius / worth - 1
        shrink = jnp.where(count > dim, jnp.exp(-jnp.clip(excess, -1, 1) / count), 1)
        step = STEP / pairs**0.5 * radius * (1 + BOOST * jnp.clip(-excess, 0, 1))
        x = state.x - jnp.where(centre, 0, step * difference / deviation) * direction
        # The first mean is x itself: a last bit between them would be a direction for the slope.
        mean = jnp.where(count == 1, x, state.mean + (POWER + 1) / (count + POWER) * (x - state.mean))
        after = State(
            state.key,
            state.told + 1,
            x,
            mean,
            square,
            jnp.minimum(state.shrink * shrink, 1),
            around,
            cost,
            slope,
        )
        live = state.told < pairs
        kept = (jnp.where(live, new, old) for new, old in zip(after[2:], state[2:], strict=True))
        return State(state.key, state.told + 1, *kept)

    def recommend(self, state: State) -> Array:
        return state.mean

    @property
    def _pairs(self) -> int:
        return max(1, (self.budget or 0) // 2)

    def _radius(self, state: State) -> Array:
        return state.shrink * jnp.asarray(self.radius)

    def _at_centre(self, state: State) -> Array:
        return state.told % CENTRE == CENTRE - 1


ENTRIES = {
    "auto-1": Entry(
        Auto1, "auto as older studies began it: its radius never grows", {"radius": 0.5, "budget": 200}
    )
}
