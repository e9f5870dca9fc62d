"""Numbers that change from iteration to iteration, as Hikima and Takeda (AAAI 2025, ICML 2025) choose them.

μ_k = max(γᵏ μ_0, μ_min),   β_k = β ϱᵏ,   m_k = m_0 + g k
"""

from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.pytree import module


@module
class Schedule:
    """A radius that shrinks to a smallest one, a step that decays, a batch that grows."""

    radius: ArrayLike  # μ_0
    shrink: ArrayLike  # γ
    smallest: ArrayLike  # μ_min
    step: ArrayLike  # β
    decay: ArrayLike  # ϱ
    batch: ArrayLike  # m_0
    growth: ArrayLike  # g

    @classmethod
    def checked(
        cls, radius: Any, step: Any, decay: Any, shrink: Any, smallest: Any, batch: Any, growth: Any
    ) -> "Schedule":
        """From the user's numbers, in the order of PARAMETERS."""
        return cls(
            radius=checks.positive("radius", radius),
            shrink=checks.positive("shrink", shrink),
            smallest=checks.positive("smallest", smallest),
            step=checks.positive("step", step),
            decay=checks.positive("decay", decay),
            batch=checks.count("batch", batch),
            growth=checks.whole("growth", growth),
        )

    def radius_at(self, k: Array, like: Array) -> Array:
        """μ_k, in the precision of `like`."""
        return jnp.maximum(self.radius * self.shrink ** k.astype(like.dtype), self.smallest)

    def step_at(self, k: Array, like: Array) -> Array:
        """β_k."""
        return jnp.asarray(self.step * self.decay ** k.astype(like.dtype))

    def batch_at(self, k: Any) -> Any:
        """m_k."""
        return self.batch + self.growth * k


PARAMETERS = ("radius", "step", "decay", "shrink", "smallest", "batch", "growth")
