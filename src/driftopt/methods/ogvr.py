"""ZO-OGVR: the Gaussian one-point estimate with a control value made from past observations.

Hikima and Takeda, "Zeroth-order methods for nonconvex stochastic problems with decision-dependent
distributions", AAAI 2025. Algorithm 1:

    z_k ~ N(0, I);   g_k = (F̄(x_k + μ_k z_k; m_k) − c_k)/μ_k · z_k
    x_{k+1} = x_k − β_k g_k;   μ_{k+1} = max(γ μ_k, μ_min);   β_k = β ϱ^{k+1},  m_k = m_0 + g k
    b_i = M‖x_{k+1} − (x_i + μ_i z_i)‖² + 1/m_i over the last s_max iterations i,   a_i = b_i⁻¹ / Σ_j b_j⁻¹
    c_{k+1} = Σ_i a_i · mean_j F(x_{k+1}; ξ_i^j)

c_0 is the mean of a few values at x_0, which count. The known formula F gives the cost of the new decision
under the recorded ξ: near x_{k+1} that is almost f(x_{k+1}), without a query.

`Recorded` is our variant that sees values alone: it puts the recorded mean values
F̄(x_i + μ_i z_i; m_i) in the place of F(x_{k+1}; ξ_i^j). `TwoPointScheduled` is the companion, Algorithm 2:
zo-ga with one direction and the same μ, β, m; both of its 2 m_k samples count.
"""

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
from driftopt.methods.estimators import TwoPoint
from driftopt.oracle import Observed, Sight, mean_formula
from driftopt.pytree import module, static


@module
class Scheduled(Method):
    """A radius that shrinks to a smallest one, a step that decays, a batch that grows.

    μ_k = max(γᵏ μ_0, μ_min),   β_k = β ϱᵏ,   m_k = m_0 + g k
    """

    radius: ArrayLike = 0.19  # μ_0
    step: ArrayLike = 1e-3  # β
    decay: ArrayLike = 0.95  # ϱ
    shrink: ArrayLike = 0.95  # γ
    smallest: ArrayLike = 1e-4  # μ_min
    batch: ArrayLike = 30  # m_0
    growth: ArrayLike = 2  # g

    def radius_at(self, k: Array, like: Array) -> Array:
        """μ_k, in the precision of `like`."""
        return jnp.maximum(self.radius * self.shrink ** k.astype(like.dtype), self.smallest)

    def step_at(self, k: Array, like: Array) -> Array:
        """β_k."""
        return jnp.asarray(self.step * self.decay ** k.astype(like.dtype))

    def batch_at(self, k: Any) -> Any:
        """m_k."""
        return self.batch + self.growth * k

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        return directions.gaussian(jax.random.fold_in(key, count), 1, dim)


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    control: Array  # c_k
    points: Array  # (s_max, d), x_i + μ_i z_i of the last iterations
    sizes: Array  # (s_max,), m_i; 0 for iterations to come
    past: Any  # the records of them: (ξ, taken) for OGVR, the mean values for Recorded


@module
class OGVR(Scheduled):
    """The first iteration gives c_0; iteration k + 1 is the paper's k-th.

    Args:
        first: values at the start that make the first control value; they count.
        trust: the loss of weight of an old observation with the distance to its point: the paper's M, in
            theory L_ξ²α²/σ².
    """

    sees: ClassVar[Sight] = Sight.OBSERVATIONS
    warmup: ClassVar[int] = 1

    first: ArrayLike = 20  # values for c_0
    trust: ArrayLike = 0.1  # M: how fast an old observation loses weight with the distance to its point
    window: int = static(default=10)  # s_max

    def points(self, dim: int) -> int:
        return 1

    def queries(self, dim: int) -> Any:
        return self.first

    def samples(self, count: ArrayLike, dim: int) -> Any:
        k: Any = count
        return np.ones(1, np.int32) * ((k > 0) * self.batch_at(k - 1) + (k == 0) * self.first)

    def init(self, key: Array, x0: Array, like: Observed | None = None) -> State:
        nothing, control = jnp.zeros((), jnp.int32), jnp.zeros((), x0.dtype)
        points, sizes = jnp.zeros((self.window, *x0.shape), x0.dtype), jnp.zeros(self.window, jnp.int32)
        return State(key, nothing, x0, control, points, sizes, self._room(x0, like))

    def ask(self, state: State, noise: Array | None = None) -> Array:
        drawn: Array = self.drawn(state, noise)
        return state.x[None] + jnp.where(state.told > 0, self._radius(state), 0) * drawn

    def tell(self, state: State, values: Any, noise: Array | None = None) -> State:
        drawn: Array = self.drawn(state, noise)
        kept, mean = self._taken(values)
        begun, k = state.told > 0, state.told - 1
        gradient = (mean - state.control) / self._radius(state) * drawn[0]
        x = jnp.where(begun, state.x - self.step_at(k + 1, state.x) * gradient, state.x)
        at = jnp.where(begun, k % self.window, self.window)  # out of range: c_0 leaves no record
        size = jnp.asarray(self.samples(state.told, 0)[0], jnp.int32)
        points, sizes, past = jax.tree.map(
            lambda old, new: old.at[at].set(new, mode="drop"),
            (state.points, state.sizes, state.past),
            (self.ask(state, drawn)[0], size, kept),
        )
        seen = sizes > 0
        b = self.trust * jnp.sum((x - points) ** 2, axis=1) + 1 / jnp.maximum(sizes, 1).astype(x.dtype)
        weights = jnp.where(seen, 1 / b, 0)
        losses = jnp.where(seen, self._losses(x, past, values), 0)
        control = jnp.sum(weights * losses) / jnp.maximum(jnp.sum(weights), jnp.finfo(x.dtype).tiny)
        return State(state.key, state.told + 1, x, jnp.where(begun, control, mean), points, sizes, past)

    def _radius(self, state: State) -> Array:
        return self.radius_at(jnp.maximum(state.told - 1, 0), state.x)

    def _room(self, x0: Array, like: Observed | None) -> Any:
        assert like is not None
        one = jax.tree.map(lambda leaf: leaf[0], (like.xi, like.taken))
        return jax.tree.map(lambda leaf: jnp.zeros((self.window, *leaf.shape), leaf.dtype), one)

    def _taken(self, seen: Any) -> tuple[Any, Array]:
        """The record of an iteration, and its mean value."""
        return jax.tree.map(lambda leaf: leaf[0], (seen.xi, seen.taken)), seen.values[0]

    def _losses(self, x: Array, past: Any, seen: Any) -> Array:
        """(s_max,) the cost of x under each iteration's ξ."""
        return jax.vmap(lambda xi, taken: mean_formula(seen.loss, x, xi, taken))(*past)


@module
class Recorded(OGVR):
    """The variant for values alone: c_{k+1} = Σ_i a_i F̄(x_i + μ_i z_i; m_i)."""

    sees: ClassVar[Sight] = Sight.VALUES

    def _room(self, x0: Array, like: Observed | None) -> Any:
        return jnp.zeros(self.window, x0.dtype)

    def _taken(self, seen: Any) -> tuple[Any, Array]:
        return seen[0], seen[0]

    def _losses(self, x: Array, past: Any, seen: Any) -> Array:
        return past


class Pair(NamedTuple):
    key: Array
    told: Array
    x: Array


@module
class TwoPointScheduled(Scheduled):
    """g_k = 1/(2μ_k) (F̄(x_k + μ_k z_k; m_k) − F̄(x_k − μ_k z_k; m_k)) z_k, Algorithm 2."""

    def points(self, dim: int) -> int:
        return 2

    def samples(self, count: ArrayLike, dim: int) -> Any:
        return np.ones(2, np.int32) * self.batch_at(count)

    def init(self, key: Array, x0: Array) -> Pair:
        return Pair(key, jnp.zeros((), jnp.int32), x0)

    def ask(self, state: Pair, noise: Array | None = None) -> Array:
        return TwoPoint(law="gaussian").queries(state.x, self.drawn(state, noise), self._radius(state))

    def tell(self, state: Pair, values: Array, noise: Array | None = None) -> Pair:
        drawn, radius = self.drawn(state, noise), self._radius(state)
        gradient = TwoPoint(law="gaussian").gradient(values, drawn, radius, values[0])
        # As in Algorithm 1 the step has decayed once before it is first taken.
        step = self.step_at(state.told + 1, state.x)
        return Pair(state.key, state.told + 1, state.x - step * gradient)

    def _radius(self, state: Pair) -> Array:
        return self.radius_at(state.told, state.x)


# Small batches, so that a short run has steps.
EXAMPLE = {"radius": 0.5, "step": 0.01, "batch": 3, "growth": 1}

ENTRIES = {
    "zo-ogvr": Entry(
        OGVR,
        "one point with a control value from past ξ (Hikima and Takeda 2025)",
        {**EXAMPLE, "first": 2, "window": 3},
        {"first": checks.count, "trust": checks.positive},
    ),
    "zo-ogvr-v": Entry(
        Recorded,
        "zo-ogvr from past values alone (our variant)",
        {**EXAMPLE, "first": 2, "window": 3},
        {"first": checks.count, "trust": checks.positive},
    ),
    "zo-ga-scheduled": Entry(
        TwoPointScheduled,
        "SGD on two points, Gaussian, with the schedule of zo-ogvr (its companion)",
        EXAMPLE,
    ),
}
