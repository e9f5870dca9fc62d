"""ZO-OGVR: the Gaussian one-point estimate with a control value made from past observations.

Hikima and Takeda, "Zeroth-order methods for nonconvex stochastic problems with decision-dependent
distributions", AAAI 2025, Algorithm 1.

    z_k ~ N(0, I);   g_k = (F̄(x_k + μ_k z_k; m_k) − c_k)/μ_k · z_k
    x_{k+1} = x_k − β_k g_k;   μ_{k+1} = max(γ μ_k, μ_min);   β_k = β 0.95^{k+1},  m_k = 30 + 2k
    b_i = M‖x_{k+1} − (x_i + μ_i z_i)‖² + 1/m_i over the last s_max iterations i,   a_i = b_i⁻¹ / Σ_j b_j⁻¹
    c_{k+1} = Σ_i a_i · mean_j F(x_{k+1}; ξ_i^j)

c_0 is the mean of a few values at x_0, which count. The recorded ξ say, through the known formula F, what the
new decision would have cost under them: near x_{k+1} that is almost f(x_{k+1}), for no query at all.

`Recorded` is our variant for those who see values alone: it puts the recorded mean values F̄(x_i + μ_i z_i;
m_i) in the place of F(x_{k+1}; ξ_i^j).
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt.method import Method
from driftopt.methods import directions
from driftopt.oracle import Observed, Sight, mean_formula
from driftopt.pytree import module, static


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    control: Array  # c_k
    points: Array  # (s_max, d), x_i + μ_i z_i of the last iterations
    sizes: Array  # (s_max,), m_i; 0 where there has been none yet
    past: Any  # what was seen there: (ξ, taken) for OGVR, the mean values for Recorded


@module
class OGVR(Method):
    """The first answer is c_0; the k-th iteration of the paper is told as answer k + 1."""

    sees: ClassVar[Sight] = Sight.OBSERVATIONS
    warmup: ClassVar[int] = 1

    radius: ArrayLike  # μ_0
    step: ArrayLike  # β
    decay: ArrayLike  # of the step, in every iteration
    shrink: ArrayLike  # γ
    smallest: ArrayLike  # μ_min
    batch: ArrayLike  # m_0
    growth: ArrayLike  # m_{k+1} − m_k
    first: ArrayLike  # values for c_0
    trust: ArrayLike  # M: how much worse an old observation is for having been made elsewhere
    window: int = static()  # s_max

    def points(self, dim: int) -> int:
        return 1

    def queries(self, dim: int) -> Any:
        return self.first

    def samples(self, count: ArrayLike, dim: int) -> Any:
        k: Any = count
        grown = self.batch + self.growth * (k - 1)
        return np.ones(1, np.int32) * ((k > 0) * grown + (k == 0) * self.first)

    def init(self, key: Array, x0: Array, like: Observed | None = None) -> State:
        points = jnp.zeros((self.window, *x0.shape), x0.dtype)
        sizes = jnp.zeros(self.window, jnp.int32)
        return State(
            key, jnp.zeros((), jnp.int32), x0, jnp.zeros((), x0.dtype), points, sizes, self._room(x0, like)
        )

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        return directions.gaussian(jax.random.fold_in(key, count), 1, dim)

    def ask(self, state: State, noise: Array | None = None) -> Array:
        drawn: Array = self.drawn(state, noise)
        return state.x[None] + jnp.where(state.told > 0, self._radius(state), 0) * drawn

    def tell(self, state: State, values: Any, noise: Array | None = None) -> State:
        drawn: Array = self.drawn(state, noise)
        told, value = self._taken(values)
        begun = state.told > 0
        k = state.told - 1
        point = self.ask(state, drawn)[0]
        gradient = (value - state.control) / self._radius(state) * drawn[0]
        x = jnp.where(
            begun, state.x - self.step * self.decay ** (k + 1).astype(value.dtype) * gradient, state.x
        )
        at = jnp.where(begun, k % self.window, self.window)  # out of range: c_0 leaves no record
        points = state.points.at[at].set(point, mode="drop")
        sizes = state.sizes.at[at].set(jnp.asarray(self.samples(state.told, 0)[0], jnp.int32), mode="drop")
        past = jax.tree.map(lambda old, new: old.at[at].set(new, mode="drop"), state.past, told)
        seen = sizes > 0
        b = self.trust * jnp.sum((x - points) ** 2, axis=1) + 1 / jnp.maximum(sizes, 1).astype(x.dtype)
        weights = jnp.where(seen, 1 / b, 0)
        each = jnp.where(seen, self._losses(x, past, values), 0)
        control = jnp.sum(weights * each) / jnp.maximum(jnp.sum(weights), jnp.finfo(x.dtype).tiny)
        return State(state.key, state.told + 1, x, jnp.where(begun, control, value), points, sizes, past)

    def recommend(self, state: State) -> Array:
        return state.x

    def _radius(self, state: State) -> Array:
        """μ_k = max(γᵏ μ_0, μ_min)."""
        k = jnp.maximum(state.told - 1, 0).astype(state.x.dtype)
        return jnp.maximum(self.radius * self.shrink**k, self.smallest)

    def _room(self, x0: Array, like: Observed | None) -> Any:
        assert like is not None
        one = jax.tree.map(lambda leaf: leaf[0], (like.xi, like.taken))
        return jax.tree.map(lambda leaf: jnp.zeros((self.window, *leaf.shape), leaf.dtype), one)

    def _taken(self, seen: Any) -> tuple[Any, Array]:
        """What to keep of an iteration, and its mean value."""
        return jax.tree.map(lambda leaf: leaf[0], (seen.xi, seen.taken)), seen.values[0]

    def _losses(self, x: Array, past: Any, seen: Any) -> Array:
        """(s_max,) what x would have cost under each iteration's ξ."""
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
