"""Online learners that choose the increment Δ inside the ball of radius D (`reach`).

O2NC plays Δ_t, pays ⟨g_t, Δ_t⟩, and starts again at Δ = 0 with every block.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt.pytree import module
from driftopt.shapes import Decision, Number


class Round(NamedTuple):
    """The outcome of one play."""

    gradient: Decision
    reach: Number  # D
    ends: Array  # true in the last round of a block


class Learner(ABC):
    @abstractmethod
    def init(self, x0: Decision) -> Any:
        """The learner's own memory, in the precision of x0."""

    @abstractmethod
    def update(self, memory: Any, increment: Decision, told: Round) -> tuple[Any, Decision]:
        """The next increment within a block."""


def project(vector: Decision, reach: Number) -> Decision:
    """Π onto the ball of radius `reach` around 0."""
    norm = jnp.sqrt(jnp.sum(vector * vector, axis=0))
    # An overflowing norm is inf: the scale is then 0, never NaN, while the vector itself is finite.
    return vector * jnp.where(norm > reach, reach / norm, 1)


@module
class OGD(Learner):
    """Projected online gradient descent, Algorithm 1: Δ_{t+1} = Π_{B(0,D)}(Δ_t − η g_t)."""

    step: ArrayLike

    def init(self, x0: Decision) -> Any:
        return ()

    def update(self, memory: Any, increment: Decision, told: Round) -> tuple[Any, Decision]:
        return memory, project(increment - self.step * told.gradient, told.reach)


@module
class AdaGradNorm(Learner):
    """Scale-free: no step size and no bound on ‖g‖ is needed.

        Δ_{t+1} = Π_{B(0,D)}(Δ_t − D √k / √(Σ_{s≤t} ‖g_s‖²) · g_t)      in block k

    In the first block this is AdaGrad-norm; later blocks share the accumulator, averaged over blocks, so
    that each block's steps are D/(G√M) with G² the mean ‖g‖² so far: the paper's η with G estimated.
    """

    def init(self, x0: Decision) -> Any:
        return jnp.zeros((), x0.dtype), jnp.ones((), x0.dtype)

    def update(self, memory: Any, increment: Decision, told: Round) -> tuple[Any, Decision]:
        total, block = memory
        # Squares of huge estimates overflow; the largest number in their place still means short steps.
        largest = np.finfo(total.dtype).max
        total = jnp.minimum(total + jnp.sum(told.gradient * told.gradient, axis=0), largest)
        known = total > 0
        step = jnp.where(known, told.reach * jnp.sqrt(block / jnp.where(known, total, 1)), 0)
        after = block + jnp.asarray(told.ends, block.dtype)
        return (total, after), project(increment - step * told.gradient, told.reach)
