"""HLF-SZO: one-point descent with a high-pass filter on the values and a low-pass filter on the steps.

Chen, Tang and Li, "Improve single-point zeroth-order optimization using high-pass and low-pass filters",
ICML 2022, eq. (11).

    h_k = F(x_k + r u_k; ξ_k);   ζ_k = (1 − β) ζ_{k−1} + h_k − h_{k−1},  ζ_0 = 0
    x_{k+1} = x_k − η (d/r) ζ_k u_k + α (x_k − x_{k−1})

With β = 1 and α = 0 it is descent on the residual estimate, Option II's.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.method import Method
from driftopt.methods import directions
from driftopt.methods.entry import Entry
from driftopt.methods.parameters import number_with
from driftopt.pytree import module


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    before: Array  # x_{k−1}
    previous: Array  # h_{k−1}
    filtered: Array  # ζ_{k−1}


@module
class HLF(Method):
    """The first value is h_0 and moves nothing.

    Args:
        filter: β of the high-pass filter, between 0 and 2; 1 is the residual estimate.
        momentum: α of the low-pass filter, at least 0 and below 1.
    """

    warmup: ClassVar[int] = 1
    broadcasts: ClassVar[bool] = True

    radius: ArrayLike  # r
    step: ArrayLike  # η
    filter: ArrayLike = 1.0  # β
    momentum: ArrayLike = 0.9  # α
    batch: ArrayLike = 1

    def points(self, dim: int) -> int:
        return 1

    def init(self, key: Array, x0: Array) -> State:
        zero = jnp.zeros((), x0.dtype)
        return State(key, jnp.zeros((), jnp.int32), x0, x0, zero, zero)

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        return directions.sphere(jax.random.fold_in(key, count), 1, dim)

    def ask(self, state: State, noise: Array | None = None) -> Array:
        return state.x[None] + self.radius * self.drawn(state, noise)

    def tell(self, state: State, values: Array, noise: Array | None = None) -> State:
        direction = self.drawn(state, noise)[0]
        begun = state.told > 0
        filtered = jnp.where(begun, (1 - self.filter) * state.filtered + values[0] - state.previous, 0)
        slope = state.x.shape[0] / self.radius * filtered
        x = state.x - self.step * slope * direction + self.momentum * (state.x - state.before)
        return State(state.key, state.told + 1, x, state.x, values[0], filtered)


ENTRIES = {
    "hlf-szo": Entry(
        HLF,
        "one-point residual with high-pass and low-pass filters (Chen, Tang and Li 2022)",
        checks={
            "filter": checks.positive,
            "momentum": number_with("at least 0 and below 1", lambda share: (share >= 0) & (share < 1)),
        },
    )
}
