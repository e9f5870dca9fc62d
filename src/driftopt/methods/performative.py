"""PerfGD: the whole gradient of f, with the part through Ξ estimated from how the data has moved so far.

Izzo, Ying and Zou, "How to learn when data reacts to your model: performative gradient descent", ICML 2021.

    φ̂_t = the mean of the ξ at x_t;   ∂φ/∂x ≈ ΔΦ ΔX⁺ from the last H differences to the newest
    g = mean ∇ₓF(x_t; ξ) + (ΔΦ ΔX⁺)ᵀ mean[F(x_t; ξ) Σ⁻¹(ξ − φ̂_t)];   x ← Π(x − η g)

The first d steps are retraining's, because differences need past decisions. Σ is the batch's covariance:
the family is N(φ(x), Σ).
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.methods.entry import Entry
from driftopt.methods.models import flattened, steadied
from driftopt.methods.repeated import Retraining
from driftopt.oracle import Observed, Sight, mean_formula, mean_over
from driftopt.pytree import module, static

CUT = 1e-3  # singular values below this share of the largest are taken as 0


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    decisions: Array  # (H + 1, d), newest first
    means: Array  # (H + 1, k), φ̂ at them


@module
class PerfGD(Retraining):
    """Newest first: row 0 of the memory is where the newest batch was drawn.

    Args:
        batch: samples at each decision; they also give the data's mean and covariance, so at least 2.
        window: H, past decisions whose data shows how the mean moves. Near the end decisions lie close
            together and their differences are mostly noise, so a window that still holds the first ones is
            steadier: a window of as many decisions as there are coordinates does not arrive.
    """

    sees: ClassVar[Sight] = Sight.GRADIENTS

    step: ArrayLike
    batch: ArrayLike = 50
    window: int = static(default=50)  # H
    low: ArrayLike | None = None
    high: ArrayLike | None = None

    def init(self, key: Array, x0: Array, like: Observed | None = None) -> State:  # pyright: ignore
        assert like is not None
        rows = 1 + self.window
        width = flattened(jax.tree.map(lambda leaf: leaf[0], like.xi)).shape[1]
        nothing = jnp.zeros((), jnp.int32)
        decisions = jnp.zeros((rows, len(x0)), x0.dtype)
        return State(key, nothing, x0, decisions, jnp.zeros((rows, width), x0.dtype))

    def tell(self, state: State, values: Observed, noise: object = None) -> State:
        xi, taken = jax.tree.map(lambda leaf: leaf[0], values.xi), values.taken[0]
        flat = jnp.where(taken[:, None], flattened(xi).astype(state.x.dtype), 0)
        mean = mean_over(taken, flat)
        decisions = jnp.concatenate([state.x[None], state.decisions[:-1]])
        means = jnp.concatenate([mean[None], state.means[:-1]])
        known = (jnp.arange(len(means)) <= state.told)[:, None]
        moved = jnp.where(known, decisions - decisions[0], 0)[1:].T  # ΔX, (d, H)
        shifted = jnp.where(known, means - means[0], 0)[1:].T  # ΔΦ, (k, H)
        slope = shifted @ jnp.linalg.pinv(moved, rtol=CUT)  # ∂φ/∂x, (k, d)
        away = jnp.where(taken[:, None], flat - mean, 0)
        covariance = away.T @ away / jnp.maximum(jnp.sum(taken), 1)
        losses = jax.vmap(lambda one: values.loss(state.x, one))(xi)
        weighted = mean_over(taken, losses[:, None] * away)
        through = slope.T @ jnp.linalg.solve(steadied(covariance), weighted)
        gradient = mean_formula(values.gradient, state.x, xi, taken)
        gradient = gradient + jnp.where(state.told >= len(state.x), through, 0)
        x = jnp.clip(state.x - self.step * gradient, self.low, self.high)
        return State(state.key, state.told + 1, x, decisions, means)


def _at_least_two(name: str, value: Any) -> Any:
    count = checks.count(name, value)
    if np.min(count) < 2:
        raise ValueError(f"{name} must be at least 2, for a covariance; got {checks.brief(value)}")
    return count


ENTRIES = {
    "perfgd": Entry(
        PerfGD,
        "gradient descent with the part through Ξ from past data (Izzo, Ying and Zou 2021)",
        {"step": 0.1, "batch": 25, "window": 8},
        {"batch": _at_least_two},
    )
}
