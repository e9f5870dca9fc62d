"""ZO-O2NC, Algorithm 2 of the paper (and Algorithm 3 of its appendix for Option II).

Δ_1 = 0 in every block of M iterations;  D = δ/M
y_t = x_{t−1} + s_t Δ_t,  s_t ~ Unif[0, 1];   x_t = x_{t−1} + Δ_t
g_t ≈ ∇f_δ(y_t) from noisy values;            Δ_{t+1} = the learner's choice, ‖Δ‖ ≤ D
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt.method import Method
from driftopt.methods import output_rules
from driftopt.methods.entry import Entry
from driftopt.methods.estimators import Estimator, Residual, TwoPoint
from driftopt.methods.learners import OGD, AdaGradNorm, Learner, Round
from driftopt.pytree import module, static
from driftopt.shapes import Decision, Directions, Number, Points, Values


class Noise(NamedTuple):
    directions: Directions
    mix: Number  # s_t
    pick: Any  # the reservoir's draw, or ()


class State(NamedTuple):
    key: Array
    told: Array  # iterations so far
    x: Decision
    increment: Decision
    position: Array  # iterations of the running block
    learner: Any
    previous: Number  # h_{t−1}, for the residual estimator
    blocks: Any


@module
class O2NC(Method):
    """Online-to-nonconvex conversion with any estimator and any online learner."""

    broadcasts: ClassVar[bool] = True

    radius: ArrayLike  # δ
    block: ArrayLike  # M, the iterations of one block
    batch: ArrayLike  # m, samples averaged at each point
    learner: Learner  # gives the next increment
    estimator: Estimator  # makes the gradient of values
    output: str = static(default="final")  # the decision to report: "final", "last-block" or "random-block"

    @property
    def warmup(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.estimator.warmup

    @property
    def reach(self) -> ArrayLike:
        """D = δ/M, the largest length of an increment."""
        return self.radius / self.block  # pyright: ignore[reportOperatorIssue]  numbers or arrays of them

    def points(self, dim: int) -> int:
        return self.estimator.points(dim)

    def init(self, key: Array, x0: Decision) -> State:
        zero = jnp.zeros_like(x0)
        nothing = jnp.zeros((), jnp.int32)
        learner = self.learner.init(x0)
        return State(key, nothing, x0, zero, nothing, learner, zero[0], output_rules.init(self.output, x0))

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Noise:
        key = jax.random.fold_in(key, count)
        mix, pick = jax.random.uniform(jax.random.fold_in(key, 1), (2,), jnp.float32)
        directions = self.estimator.directions(jax.random.fold_in(key, 0), dim)
        return Noise(directions, mix, pick if self.output == "random-block" else ())

    def ask(self, state: State, noise: Noise | None = None) -> Points:
        drawn: Noise = self.drawn(state, noise)
        y = state.x + drawn.mix * state.increment
        return self.estimator.queries(y, drawn.directions, jnp.asarray(self.radius))

    def tell(self, state: State, values: Values, noise: Noise | None = None) -> State:
        drawn: Noise = self.drawn(state, noise)
        started = state.told >= self.warmup
        y = state.x + drawn.mix * state.increment
        radius = jnp.asarray(self.radius)
        gradient = self.estimator.gradient(values, drawn.directions, radius, state.previous)
        if self.warmup:
            gradient = jnp.where(started, gradient, 0)
        position = state.position + started.astype(jnp.int32)
        ends = position == self.block
        told = Round(gradient, jnp.asarray(self.reach), ends)
        learner, increment = self.learner.update(state.learner, state.increment, told)
        return State(
            state.key,
            state.told + 1,
            state.x + state.increment,
            self._carried(state, ends, increment),
            jnp.where(ends, 0, position),
            learner,
            _mean(values),
            output_rules.update(self.output, state.blocks, y, started, ends, drawn.pick),
        )

    def _carried(self, state: State, ends: Array, increment: Decision) -> Decision:
        """The increment of the next iteration: every block begins with Δ_1 = 0."""
        return jnp.where(ends, 0, increment)

    def recommend(self, state: State) -> Decision:
        return output_rules.report(self.output, state.blocks, state.x)


def _mean(values: Values) -> Number:
    """The mean of the p values; the sum of huge ones is cut at the largest number."""
    largest = np.finfo(values.dtype).max
    return jnp.clip(jnp.sum(values, axis=0), -largest, largest) / values.shape[0]


def _with(estimator: Callable[..., Estimator]) -> Callable[..., O2NC]:
    def build(
        radius: Any,
        step: Any = None,
        block: Any = 10,
        batch: Any = 1,
        output: str = "final",
        directions: Any = 1,
    ) -> O2NC:
        """ZO-O2NC on one estimator.

        Args:
            step: step size of the online learner, the paper's η. None: no step is needed, each step is
                D/(G√M) with G estimated from the gradients seen so far (AdaGrad-norm).
            block: iterations in a block, the paper's M (T in its experiments). The increment starts again
                from 0 in every block, and no increment is longer than radius/block. `minimize` and `Study`
                take T^(2/3) of T iterations when neither `block` nor `step` is given.
        """
        learner = AdaGradNorm() if step is None else OGD(step)
        return O2NC(radius, block, batch, learner, estimator(count=directions), output)

    return build


ENTRIES = {
    "zo-o2nc-2pt": Entry(_with(TwoPoint), "ZO-O2NC, Option I: two points on the sphere"),
    "zo-o2nc-1pt": Entry(_with(Residual), "ZO-O2NC, Option II: one-point residual"),
}
