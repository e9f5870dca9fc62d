"""A walk that needs no tuning: `radius` is a first guess of how far trials should go, and may be wrong.

With N = budget // 2 pairs of queries, pair t = 1 … N, τ = t/N, and δ = radius at the start,

    a, m = F(x + δu) − F(x − δu), their mean     u runs through orthonormal bases, each drawn afresh
    v    the mean square of a; s² the same for pairs asked at x itself, pairs 1, 4 and every eighth
    w    how many times louder the noise is at distance δ than at x, at least 1; q = s²/v, the share of noise
    C    what trials cost: the mean value around x less the value at x

    x  ← x − λ [a/√v] u,       λ = δ/√N · (1 + (0.8 + 1/(1 + (N/6d)²)) (1 − C/θ)₊) · stride(τ, d, q)
    δ  ← δ · exp(−τ^0.45 E/(t + 1)),  δ ≤ max_radius, at most twice what it was

A wide radius sees slopes through the noise, but blurs f by about C. It is worth its cost while C is below

    θ = ((0.47 d (d/10)^¼ + 1.5) s/√t + 0.9 g₊)/(w ŵ^(9k/(k + 300)))

the noise that t pairs leave in what is known of f near x, and the fall g over one radius along the slope by
which the walk still comes down; both count less where the noise grows with the radius, and far less where
that is beyond doubt: ŵ ≥ 1 is w from all k pairs at x so far, divided by 1 + 3√(2/k). So the radius grows
while C < θ, E = (5.5 + 4q) max(C/θ − 1, −1), and shrinks otherwise, E = 1.4 min(C/θ − 1, 3). It grows no
faster than C can be seen: τ^0.45 E ≥ −2.5/√e with e = min(d/10, 1), so at most as t^(2.5/√e). Steps begin and
end a little shorter than in the middle, and are shorter where noise is all there is and pairs are few,

    stride = τ^0.8/(τ + 0.13) · (d/10)^⅛ · (1 + 0.75 (1 − q))/(1 + 6 q d/N) · (1 − β (1 − κ'))

The last factor waits for evidence: κ' = (1 − (1 + √(1/2d)) V/|x − x0|²)₊ is what the walk has beyond one of
noise alone (V below; κ' = 1 at x0), and β = 0.9 d/(d + 3)/(1 + (16 d/N)²).
[a/√v] is a/√v, but no more than max(2.5, N/350) either way: where answers are heavy-tailed, single ones would
lead the walk astray, and it takes many pairs for the tails to average out to what they have to tell. C, g and
V know the whole answer.

Two things more look at the walk as a whole. Where f is found to be a bowl (`auto_evenness.py`, 0 ≤ bowl ≤ 1),
wide trials do not mislead: θ is e^(1.4 bowl) times as large, and p below is 14 (1/7)^bowl. And where values
at x are surely higher than at the start (`auto_retreat.py`) and κ' < 0.9, the walk begins again there, with a
quarter of its radius and no more than the first guess: C, g, V, x̄ and K_late begin anew, and f there is taken
to be what it was at the start. Not so where `max_radius` is promised: it promises small steps.

No answer counts for more than max(0.3√N, 1.5) times √v, and v is the median of three running means fed in
turn, so that one wild answer steers nothing; `auto_wild.py` says which are wild. Of a wild pair at x the
other answer counts, of trials neither. A value at x that is 20 √v off what was expected counts only if the
last pair of trials is less than that away from it, and C begins anew then.

The decision reported is x0 + κ (x̄ − x0), where x̄ is the mean of the x_t with weights that grow as t^p,
p = 14, and κ what is left of the walk after all doubt (`auto_doubt.py`): 1 where pairs are many for the
dimension. In κ' each step counts as noise for what was known when it was made, V = Σ q |step|².

With several `directions` so many pairs are asked around one x, to be deployed at once, and taken in one after
the other: each moves x, and x̄ counts every such x. What they say of f is said of where they were asked.

Where answers are taken back a pair says nothing: it is counted, and numbers stay. Running means of squares
begin with the first pair that is there, C waits for a value at x, and v is the largest of the three means
where pair 2 or 3 is the one that is missing. Up to edition 8 what was not told counted as 0.

Studies go on with the edition of the rule that they began with. Up to edition 9 a fall of the values at x
took no doubt away. Up to edition 7 the 1/(1 + (N/6d)²) was
missing. Steps were as long as answers were high in edition 6, which began again sooner, if κ' < 0.8, and in
edition 5, which began again only if κ' < ½ and values at x had risen by what is much for trials, which are
louder than x. Edition 4 had no κ' and no bowl, never began again, and grew as fast as E says: where answers
are heavy-tailed, its trials ran away before it had seen what they cost.

Longer than 300 lines: one rule, with the formula and the reasons for its constants beside it.
"""

from dataclasses import replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.method import Method
from driftopt.methods import auto_doubt, auto_retreat, auto_wild, directions
from driftopt.methods.auto_evenness import Evenness
from driftopt.methods.auto_retreat import Level
from driftopt.methods.auto_spread import PRIOR, Spread, bounded, median
from driftopt.methods.auto_state import CENTRE, State, asked_at_x, at_centre, middle_of
from driftopt.methods.entry import Entry
from driftopt.pytree import module, static

BOOST = 0.8  # longer steps where trials cost nothing yet,
EARLY, PAIRS_EACH = 1.0, 6.0  # and longer still where each dimension has not PAIRS_EACH pairs
SIGNAL = 0.75  # and where a is more than noise
RAMP, FADE = 0.13, 0.2  # steps grow as τ/(τ + RAMP) and fall as τ^-FADE
HUMBLE = 6.0  # shorter steps where noise is all there is and pairs are few for the dimension
PER_DIMENSION, ALONE = 0.47, 1.5  # θ's share of the noise
SLOPE = 0.9  # θ's share of the fall
RECENT = 4.0  # running means of C and the fall look back over about t/RECENT pairs
ROUGH = 11.0  # and that of the noise around x over t/ROUGH
MEMORY = 110.0  # and those of squares over N/MEMORY at the least
CLEAR, SLOWLY = 9.0, 300.0  # the power of ŵ, and after how many pairs at x it is half of that
DOUBT = 3.0  # standard errors by which trials must be louder than x before that counts
GROWTH, NOISY_GROWTH, SHRINKAGE = 5.5, 4.0, 1.4
PACE = 0.45  # the radius changes as τ^PACE/t
FASTEST = 2.5  # and grows no faster than t^FASTEST, or somewhat faster in few dimensions
WIDER, LONGEST = 1.4, 2.0  # on a bowl θ is e^WIDER times as large, and the mean's weights grow as t^LONGEST
BELIEF = 0.9  # of a step waits until the walk is longer than one of noise alone,
LOW, PLENTY = 3.0, 16.0  # less in LOW dimensions, and where there are not PLENTY of pairs for each
ASTRAY = 0.9  # a walk of which less than that goes beyond noise alone can be lost,
ASTRAY_6, ASTRAY_5 = 0.8, 0.5  # in editions 6 and 5
RETREAT = 0.25  # and goes back with so much of its radius
SEVERAL = 2.5  # deviations that a value at x may be off for that
OUTLIER, LEAST = 0.3, 1.5  # an answer counts for at most max(OUTLIER √N, LEAST) deviations
SHORT, TAIL = 2.5, 350.0  # and moves x as one of max(SHORT, N/TAIL) deviations does, at most
WILD = 20.0  # a value at x that is so many deviations away from all that is known of it is not believed
AGAIN = 8.0  # a wild difference counts as √AGAIN usual ones, so that what comes again is soon believed
EDITION = 10  # of the rule
POWER = 14.0  # of the weights of the mean


@module
class Auto(Method):
    """The method for a live system, where nobody can spend budgets to choose a step size.

    `budget` counts the queries of the whole run; answers beyond it change nothing. Where it is None the
    driver fills it in. `max_radius` is a promise: no trial is farther than that from the current decision.
    `directions` pairs are asked at once. `edition` is that of the rule: a study goes on with its own.
    """

    broadcasts: ClassVar[bool] = True
    finds_radius: ClassVar[bool] = True
    batch: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]

    radius: ArrayLike  # δ₁, the first guess of how far trials are from the decision
    max_radius: ArrayLike | None = None
    budget: ArrayLike | None = None
    directions: int = static(default=1)
    edition: ArrayLike = EDITION

    def for_budget(self, budget: int) -> "Auto":
        planned = self.budget is not None
        return self if planned else replace(self, budget=budget)

    def points(self, dim: int) -> int:
        return 2 * self.directions

    def reach_in(self, dim: int) -> ArrayLike | None:
        """λ |a|/√v with every factor at its largest; None without `max_radius`, since δ may then grow.

        τ^(1−FADE)/(τ + RAMP) is largest at τ = RAMP (1 − FADE)/FADE. A larger budget only lowers it.
        """
        if self.max_radius is None or self.budget is None:
            return None
        pairs = np.maximum(1, np.asarray(self.budget) // (2 * self.directions) * self.directions)
        peak = min(RAMP * (1 - FADE) / FADE, 1.0)
        stride = peak ** (1 - FADE) / (peak + RAMP) * (dim / 10) ** 0.125 * (1 + SIGNAL)
        deviations = np.maximum(OUTLIER * np.sqrt(pairs), LEAST)
        step = np.asarray(self.max_radius) / np.sqrt(pairs) * (1 + BOOST + _early(pairs, dim)) * stride
        return self.directions * step * deviations

    def init(self, key: Array, x0: Array) -> State:
        if self.budget is None:
            raise ValueError("auto plans its walk for a budget: give budget=…, the queries of the whole run")
        zero = jnp.zeros((), x0.dtype)
        spread = Spread(*[zero] * 6)
        return State(
            key,
            jnp.zeros((), jnp.int32),
            zero,
            x0,
            x0,
            x0,
            zero,
            zero,
            self._allowed(zero + self.radius),
            spread,
            *[zero] * 7,
            evenness=Evenness(*[zero] * 5),
            level=Level(*[zero] * 3),
        )

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        """The direction of the pair, (d,); with several the directions of all of them, (directions, d)."""
        if self.directions == 1:
            return _direction(key, count, dim)
        numbers = jnp.asarray(count) * self.directions + jnp.arange(self.directions)
        return jax.vmap(lambda number: _direction(key, number, dim))(numbers)

    def at_iterate(self, counts: np.ndarray, dim: int) -> np.ndarray:
        numbers = np.asarray(counts)[:, None] * self.directions + np.arange(self.directions)
        return np.repeat(np.asarray(at_centre(numbers)), 2, axis=1)

    def ask(self, state: State, noise: Any = None) -> Array:
        drawn = self.drawn(state, noise)

        def pair(number: ArrayLike, direction: Array) -> Array:
            centre = at_centre(state.told * self.directions + number)
            apart = jnp.where(centre, 0, state.radius) * direction
            return jnp.stack([state.x + apart, state.x - apart])

        if self.directions == 1:
            return pair(0, drawn)
        pairs = jax.vmap(pair)(jnp.arange(self.directions), drawn)
        return pairs.reshape(2 * self.directions, *pairs.shape[2:])

    def tell(self, state: State, values: Array, noise: Any = None) -> State:
        drawn = self.drawn(state, noise)
        if self.directions == 1:
            return self._tell_pair(state, values, drawn, state.radius)
        pairs = values.reshape(self.directions, 2, *values.shape[1:])

        def take(carried: tuple[State, Array], pair: tuple[Array, Array]) -> tuple[tuple[State, Array], None]:
            before, fallen = carried
            after, centre = self._tell_pair(before, *pair, state.radius), at_centre(before.told)
            # All pairs saw f at one x, however far x has moved since: the fall is counted after the last.
            passed = centre | self._wild(before, pair[0], jnp.ones_like(before.cost))
            fell = jnp.where(passed, 0, after.gained)
            kept = after._replace(
                fallen=jnp.where(centre, 0, before.fallen), gained=jnp.where(passed, before.gained, 0)
            )
            retreated = (before.level.since > 0) & (after.level.since == 0)
            return (kept, jnp.where(retreated, 0, fallen + fell)), None

        begun = state._replace(told=state.told * self.directions)
        (last, fallen), _ = jax.lax.scan(take, (begun, jnp.zeros_like(state.fallen)), (pairs, drawn))
        return last._replace(told=state.told + 1, fallen=last.fallen + fallen, gained=last.gained + fallen)

    def _tell_pair(self, state: State, values: Array, direction: Array, asked_radius: Array) -> State:
        """The state after one pair more, asked at `asked_radius`; `state.told` counts pairs here."""
        dim = state.x.shape[0]
        pairs, count = self._pairs(state), (state.told + 1).astype(state.x.dtype)
        centre, radius, live = at_centre(state.told), state.radius, count <= pairs
        elapsed = jnp.minimum(count / pairs, 1)
        asked = asked_at_x(count)
        missed, blind = self._missed(state.told, state), self._blind(state)
        wild, slip = self._wild(state, values, asked), auto_wild.slipped(state, values, self.edition)
        middle = auto_wild.middle(state, values, wild)
        ignored = wild & ~centre

        squares = self._squares(state, values[0] - values[1], slip, wild)
        square = Spread(*squares, *state.spread[3:]).usual(count, missed)
        unit = jnp.where(square > 0, square, 1)
        deviation = jnp.sqrt(unit)
        bound = self._limit(state) * deviation
        difference = jnp.clip(values[0] - values[1], -bound, bound)
        lately = jnp.minimum(MEMORY * CENTRE / pairs, 0.3)
        calm = self._at_x(state, state.spread.still, jnp.maximum(1 / asked, lately), difference, slip, wild)
        quiet = self._at_x(state, state.spread.quiet, 1 / asked, difference, slip, wild)
        rough = jnp.where(ignored, state.spread.rough, self._around(state, middle, square))
        spread = Spread(*squares, calm, rough, quiet)
        # What is recommended depends on them, and answers beyond the budget change nothing.
        counts = live | ~self._from_edition(8)
        kept = (jnp.where(counts, new, old) for new, old in zip(spread, state.spread, strict=True))

        still = spread.at_x(square, asked)
        around = jnp.minimum(spread.rough, square)
        louder = jnp.where(around > square / 2, jnp.maximum(around / still, 1), 1)
        share = still / unit

        above = jnp.where(blind, 0, jnp.clip(middle - state.here + state.fallen, -bound, bound))
        passed = ignored | ~(live | ~self._from_edition(10))
        cost, fall, width = self._running(state, above, difference, direction, asked_radius, passed)
        times = jnp.minimum(asked_radius / jnp.asarray(self.radius), 1e6)  # whose fourth power is finite
        evenness = state.evenness.after(above, times, count, ~centre & ~ignored, still, around)
        # A value at x is believed if it fits the last one, less the fall since; or else the last pair, and
        # then it was the last value at x that misled, and all costs that were measured from it.
        expected = state.here - state.fallen
        fits = jnp.abs(middle - expected) <= WILD * deviation
        misled = centre & ~fits & (jnp.abs(middle - state.last) <= WILD * deviation)
        here = jnp.where(fits | misled | (state.told == 0) | blind, middle, expected)
        here = jnp.where(slip, middle, here)
        cost = jnp.where(misled & (state.told > 0) | slip, 0, cost)
        # Both are brought from the radii they were measured with to the present one.
        present = radius / jnp.where(width > 0, width, 1)

        unsure = jnp.sqrt(still / count)
        seen = jnp.minimum(dim, count)
        worth = (PER_DIMENSION * seen * (seen / 10) ** 0.25 + ALONE) * unsure
        worth = (worth + SLOPE * jnp.maximum(fall, 0) * present) / louder
        worth = worth / self._clearly_louder(around, square, quiet, asked)
        bowl = jnp.where(self._from_edition(5), evenness.bowl, 0)
        worth = worth * jnp.exp(WIDER * bowl)
        excess = cost * present / worth - 1
        shrink = SHRINKAGE * jnp.clip(excess, 0, 3)
        grow = (GROWTH + NOISY_GROWTH * share) * jnp.clip(excess, -1, 0)
        fastest = jnp.where(self._from_edition(5), FASTEST * max(auto_doubt.MANY / dim, 1) ** 0.5, jnp.inf)
        change = jnp.exp(-jnp.maximum(elapsed**PACE * (shrink + grow), -fastest) / (count + 1))
        next_radius = jnp.where(live & ~centre & ~ignored, radius * change, radius)
        # Where trials became longer, a wild pair may be what they see there: they go no farther for now.
        calmer = jnp.where(self._from_edition(5) & (state.width > 0), state.width, jnp.inf)
        next_radius = jnp.where(live & ignored, jnp.minimum(radius, calmer), next_radius)
        next_radius = jnp.where(slip, jnp.minimum(radius, jnp.multiply(2, self.radius)), next_radius)
        next_radius = self._allowed(jnp.minimum(next_radius, 2 * asked_radius))

        stride = elapsed ** (1 - FADE) / (elapsed + RAMP) * (dim / 10) ** 0.125
        stride = stride * (1 + SIGNAL * (1 - share)) / (1 + HUMBLE * dim / pairs * share)
        stride = stride * self._belief(state, pairs)
        boost = BOOST + jnp.where(self._from_edition(8), _early(pairs, dim), 0)
        step = next_radius / jnp.sqrt(pairs) * (1 + boost * jnp.clip(-excess, 0, 1)) * stride
        step = jnp.where(live & ~centre & ~ignored, step / deviation, 0)
        gained = step * (difference**2 - jnp.maximum(still, around)) / (2 * asked_radius)
        gained = jnp.where((square > 0) | ~self._from_edition(8), gained, 0)
        tail = jnp.where(self._from_edition(7), jnp.maximum(SHORT, pairs / TAIL), jnp.inf) * deviation
        x = state.x - step * jnp.clip(difference, -tail, tail) * direction
        # A bowl pulls what noise has walked back again: f's curvature is 2C/δ², as far as C is sure.
        curved = jnp.maximum(cost - unsure, 0) / jnp.where(width > 0, width, 1)
        pull = jnp.where(step > 0, jnp.minimum(4 * step * present * curved / dim, 1), 0)
        walked = step * jnp.abs(difference) * jnp.sqrt(jnp.maximum(still, around) / unit)
        drift = jnp.hypot(state.drift * (1 - pull), walked)
        # While all answers are equal nothing moves, and there is no unit yet.
        per_unit = jnp.hypot(state.per_unit * (1 - pull), jnp.where(square > 0, step, 0))
        power = POWER * (LONGEST / POWER) ** bowl
        mean = state.mean + jnp.where(live, (power + 1) / (count + power), 0) * (x - state.mean)
        after = State(
            state.key,
            state.told + 1,
            state.taken + 1,
            x,
            state.begun,
            mean,
            drift,
            per_unit,
            next_radius,
            Spread(*kept),
            jnp.where(centre & counts, here, state.here),
            jnp.where(centre & counts, 0, state.fallen + gained),
            jnp.where(centre | ignored, state.last, middle),
            jnp.where(centre | ignored, state.gained, gained),
            cost,
            fall,
            width,
            evenness,
            state.level,
        )
        loudest = jnp.maximum(jnp.maximum(still, around), square)
        # A wild answer counts in part after the first ones: where several come, they are no slips.
        most = SEVERAL * jnp.sqrt(loudest)
        value = expected + jnp.clip(middle_of(values) - expected, -most, most)
        value = jnp.where((state.told <= 3) | blind, here, value)
        measured = jnp.minimum(jnp.maximum(calm, quiet), loudest)
        at_late = jnp.where(self._from_edition(6), measured, loudest)
        return self._unless_lost(state, after, value, at_late, jnp.maximum(still, quiet), asked, live, slip)

    def _belief(self, state: State, pairs: Array) -> Array:
        """What is left of a step: all of it, or less as the walk is no longer than one of noise alone."""
        dim = state.x.shape[0]
        weight = BELIEF * dim / (dim + LOW) / (1 + (PLENTY * dim / pairs) ** 2)
        return 1 - jnp.where(self._from_edition(5), weight, 0) * (1 - self._beyond_noise(state))

    def _beyond_noise(self, state: State) -> Array:
        """κ': what the walk so far has beyond one of noise alone, of 1."""
        dim, walked = state.x.shape[0], _length(state.x - state.begun)
        noise = jnp.where(walked > 0, state.drift / jnp.where(walked > 0, walked, 1), 0)
        return jnp.clip(1 - (1 + (0.5 / dim) ** 0.5) * jnp.minimum(noise, 2) ** 2, 0, 1)

    def _unless_lost(
        self,
        state: State,
        after: State,
        value: Array,
        at_late: Array,
        noise: Array,
        asked: Array,
        live: Array,
        slip: Array,
    ) -> State:
        """The state after a pair; back at the start, with shorter trials, if values at x have surely risen.

        A promised radius also promises how far apart two deployments are: such a walk never jumps back.
        """
        # A walk that has found a slope is not lost: where values rise all the same, the world has moved.
        most = jnp.where(self._from_edition(6), jnp.where(self._from_edition(7), ASTRAY, ASTRAY_6), ASTRAY_5)
        astray = self._beyond_noise(state) < most
        may_go_back = live & astray & self._from_edition(5) & (self.max_radius is None)
        at_x = at_centre(state.told) & (live | ~self._from_edition(8))
        errors = jnp.where(jnp.asarray(self.edition) == 6, auto_retreat.ERRORS_6, auto_retreat.ERRORS)
        level, lost = state.level.after(value, state.told, at_x, asked, at_late, noise, may_go_back, errors)
        # Where one of the first two answers was wild, the values at x begin with this pair.
        begun = Level(value, value, jnp.ones_like(level.since))
        level = Level(*(jnp.where(slip, one, other) for one, other in zip(begun, level, strict=True)))
        return after._replace(
            level=level,
            x=jnp.where(lost, state.begun, after.x),
            mean=jnp.where(lost, state.begun, after.mean),
            drift=jnp.where(lost, 0, after.drift),
            per_unit=jnp.where(lost, 0, after.per_unit),
            radius=jnp.where(lost, jnp.minimum(RETREAT * after.radius, self.radius), after.radius),
            here=jnp.where(lost, level.first, after.here),
            cost=jnp.where(lost, 0, after.cost),
            fall=jnp.where(lost, 0, after.fall),
            evenness=after.evenness._replace(late_cost=jnp.where(lost, 0, after.evenness.late_cost)),
        )

    def _from_edition(self, number: int) -> Array:
        return jnp.asarray(self.edition) >= number

    def _missed(self, told: Array, state: State) -> Array:
        """Whether some of `told` pairs said nothing, because an answer was taken back."""
        return (told.astype(state.taken.dtype) > state.taken) & self._from_edition(9)

    def _blind(self, state: State) -> Array:
        """Whether no value at x is known yet, because those that were asked for were taken back."""
        unknown = (state.level.since == 0) & (state.spread.quiet == 0)
        return unknown & self._missed(state.told, state)

    def _clearly_louder(self, around: Array, square: Array, quiet: Array, asked: Array) -> Array:
        """A high power of how many times louder trials are than x, as far as that is beyond doubt."""
        noise = square + asked / (asked + PRIOR) * (jnp.minimum(quiet, square) - square)
        noise = jnp.where(square > 0, noise, 1) * (1 + DOUBT * jnp.sqrt(2 / asked))
        clear = jnp.where(around > square / 2, jnp.maximum(around / noise, 1), 1)
        return clear ** jnp.where(jnp.asarray(self.edition) >= 4, CLEAR * asked / (asked + SLOWLY), 0)

    def _running(
        self,
        state: State,
        above: Array,
        difference: Array,
        direction: Array,
        asked_radius: Array,
        passed: Array,
    ) -> tuple[Array, Array, Array]:
        """Running means of what trials cost, of the fall over one radius, and of the radius itself."""
        count, dim = (state.told + 1).astype(state.x.dtype), state.x.shape[0]
        recent = jnp.where(at_centre(state.told) | passed, 0, jnp.minimum(1, RECENT / count))
        # The slope of f towards where the walk comes from: d/(2δ) a u is the gradient's estimate.
        back = state.mean - state.x
        length = jnp.sqrt(jnp.sum(back * back, axis=0))
        uphill = jnp.sum(back * direction, axis=0) / jnp.where(length > 0, length, 1)
        return (
            state.cost + recent * (above - state.cost),
            state.fall + recent * (dim / 2 * difference * uphill - state.fall),
            state.width + recent * (asked_radius - state.width),
        )

    def recommend(self, state: State) -> Array:
        dim, walked, edition = state.x.shape[0], state.mean - state.begun, jnp.asarray(self.edition)
        doubt = auto_doubt.weight(self._pairs(state), dim, edition)
        count = jnp.minimum((state.told * self.directions).astype(state.x.dtype), self._pairs(state))
        usual = state.spread.usual(count, self._missed(state.told * self.directions, state))
        at_x = state.spread.at_x(usual, asked_at_x(count))
        in_hindsight = state.per_unit * auto_doubt.noise_of_trials(state.spread, usual, at_x)
        noise = jnp.where(edition >= 8, in_hindsight, state.drift)
        beyond = 1 + jnp.where(edition >= 8, (0.5 / dim) ** 0.5, (2 / dim) ** 0.5)
        longest = jnp.max(jnp.abs(walked), axis=0)  # the unit in which no square overflows
        unit = jnp.where(longest > 0, longest, 1)
        square = jnp.where(longest > 0, jnp.sum((walked / unit) ** 2, axis=0), 1)
        noise = jnp.minimum(noise / unit, dim) ** 2
        share = jnp.clip(1 - doubt * beyond * noise / square, 0, 1)
        known = (state.level.since >= 2) & (edition >= 8)
        at_both = state.level.first, state.here, usual, at_x
        rise = auto_doubt.rise(*at_both)
        share = share * (1 - jnp.where(known, doubt * dim / (dim + auto_doubt.LOW) * rise, 0))
        fall = auto_doubt.fall(*at_both, state.spread, state.cost, noise / square)
        share = share + (1 - share) * jnp.where(known & (edition >= 10), fall, 0)
        share = jnp.where(jnp.isfinite(share), share, 0)
        return jnp.where(doubt > 0, state.begun + share * walked, state.mean)

    def _wild(self, state: State, values: Array, asked: Array) -> Array:
        found = auto_wild.wild(state, values, asked, self._limit(state), self.edition)
        return found & ~self._blind(state)

    def _squares(
        self, state: State, difference: Array, slip: Array, wild: Array
    ) -> tuple[Array, Array, Array]:
        """The three running means of a², one of them fed; a² counts up to `limit`² times their median."""
        old, count = state.spread, (state.told + 1).astype(state.x.dtype)
        missed = self._missed(state.told, state)
        middle = median(old.first, old.second, old.third)
        known = jnp.where(count > 3, jnp.where(missed, old.usual(count, missed), middle), 0)
        square = bounded(difference**2, known, self._limit(state))
        square = jnp.where(wild, AGAIN * old.largest(), square)
        rate = jnp.maximum(1 / jnp.ceil(count / 3), jnp.minimum(3 * MEMORY / self._pairs(state), 0.3))
        change = jnp.where(at_centre(state.told) & (count > 1), 0, rate)

        def fed(turn: int, mean: Array) -> Array:
            most = jnp.where(missed & (mean == 0) & (change > 0), 1, change)
            return mean + jnp.where(state.told % 3 == turn, most, 0) * (square - mean)

        first = fed(0, old.first)
        first = jnp.where(slip, jnp.minimum((old.second + old.third) / 2, first), first)
        return first, fed(1, old.second), fed(2, old.third)

    def _at_x(
        self, state: State, mean: Array, rate: Array, difference: Array, slip: Array, wild: Array
    ) -> Array:
        """A running mean of a² over the pairs at x."""
        # The very first pair has nothing to be bounded by: the second replaces it where it was wild.
        again = (state.told == 3) & (mean > (WILD * difference) ** 2) | slip
        square = bounded(difference**2, mean, self._limit(state))
        rate = jnp.where(self._missed(state.told, state) & (mean == 0), 1, rate)
        after = mean + jnp.where(at_centre(state.told), jnp.where(again, 1, rate), 0) * (square - mean)
        tame = jnp.minimum(after, (1 + (AGAIN - 1) * rate) * mean)
        return jnp.where(wild & (jnp.asarray(self.edition) >= 4), tame, after)

    def _around(self, state: State, middle: Array, square: Array) -> Array:
        """The noise of trials, from how m changes beyond the walk's own fall: twice its mean square."""
        mean, count = state.spread.rough, (state.told + 1).astype(state.x.dtype)
        limit = self._limit(state)
        jump = bounded(2 * (middle - state.last + state.gained) ** 2, mean, limit)
        rate = jnp.maximum(jnp.minimum(1, ROUGH / count), jnp.minimum(MEMORY / self._pairs(state), 0.1))
        rate = jnp.where(mean > 0, rate, 1)
        alone = self._missed(state.told, state) & (state.width == 0)  # no m is known to have changed
        fed = jnp.where(at_centre(state.told) | (count <= 3) | alone, 0, rate)
        return mean + fed * (jnp.minimum(jump, limit**2 * square) - mean)

    def _pairs(self, state: State) -> Array:
        """N, in the precision of the walk."""
        pairs = jnp.asarray(self.budget) // (2 * self.directions) * self.directions
        return jnp.maximum(1, pairs).astype(state.x.dtype)

    def _limit(self, state: State) -> Array:
        """An answer counts for at most so many deviations."""
        return jnp.maximum(OUTLIER * jnp.sqrt(self._pairs(state)), LEAST)

    def _allowed(self, radius: Array) -> Array:
        return radius if self.max_radius is None else jnp.minimum(radius, self.max_radius)


def _direction(key: Array, pair: ArrayLike, dim: int) -> Array:
    """The direction of the pair after so many: pairs at x use up none."""
    pair = jnp.asarray(pair)
    at_x = pair // CENTRE + jnp.where(pair > 0, 1, 0) + jnp.where(pair > 3, 1, 0)
    return directions.orthonormal(key, pair - at_x, dim)


def _early(pairs: Any, dim: int) -> Any:
    """What few pairs for the dimension add to BOOST."""
    return EARLY / (1 + (pairs / (PAIRS_EACH * dim)) ** 2)


def _length(vector: Array) -> Array:
    """Its Euclidean length, in a unit in which no square overflows."""
    longest = jnp.max(jnp.abs(vector), axis=0)
    unit = jnp.where(longest > 0, longest, 1)
    return longest * jnp.sqrt(jnp.sum((vector / unit) ** 2, axis=0))


def _auto(
    radius: Any,
    max_radius: Any = None,
    budget: int | None = None,
    directions: Any = 1,
    edition: Any = EDITION,
) -> Method:
    """The walk that needs no tuning.

    Args:
        radius: a first guess of how far from the current decision a trial should be, in the units of x. The
            method makes its trials smaller where large ones cost too much, and larger where small ones tell
            too little, so a wrong guess costs little.
        max_radius: a promise: no trial is farther than this from the current decision. None: the method
            may go as far as it finds worth while, within the bounds.
        directions: pairs of trials asked at once, around one decision; `parallel` of a study sets it.
            It sets a shape, so it is one number for a method.
        edition: of the rule: 10, or 9, which doubted walks that had surely come down, or 8, which lost its
            scale where one of the first answers was taken back, or 7, which after few deployments recommended
            less of its walk than it could have, or 6, which single answers of a heavy tail could lead astray,
            or 5, which also noticed late that it was lost where noise grows with the radius, or 4, whose
            trials could run away where answers are heavy-tailed, or 3, which often took tidy answers for wild
            ones, or 2, which noticed a wild one among the first two late. A study writes it down and goes on
            with it; leave it out elsewhere.
    """
    if checks.shape("edition", edition) not in range(2, EDITION + 1):
        raise ValueError(f"edition must be 2 to {EDITION}, got {checks.brief(edition)}")
    return Auto(radius, max_radius, budget, directions, checks.shape("edition", edition))


ENTRIES = {
    "auto": Entry(
        _auto,
        "two points, no tuning: a first guess of a length, and the budget",
        {"radius": 0.5, "budget": 200},
        {"max_radius": checks.positive},
        pinned={"edition": EDITION},
    )
}
