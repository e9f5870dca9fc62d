"""Gradient descent on zeroth-order estimates: the four baselines and mini-batch SGD on f_δ.

x_{t+1} = x_t − η g_t,   g_t ≈ ∇f_δ(x_t)
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt.method import Method
from driftopt.methods import output_rules
from driftopt.methods.entry import Entry
from driftopt.methods.estimators import Coordinate, Estimator, OnePoint, TwoPoint
from driftopt.pytree import module, static
from driftopt.shapes import Decision, Directions, Points, Values


class Noise(NamedTuple):
    directions: Directions
    pick: Any


class State(NamedTuple):
    key: Array
    told: Array  # iterations so far
    x: Decision
    position: Array  # iterates in the running block
    blocks: Any


@module
class SGD(Method):
    """Plain steps along any estimator without warm-up; `block` serves the output rule alone."""

    broadcasts: ClassVar[bool] = True

    radius: ArrayLike  # δ
    step: ArrayLike  # η
    block: ArrayLike  # iterates in a mean that the output rule may report
    batch: ArrayLike  # m, samples averaged at each point
    estimator: Estimator  # makes the gradient of values
    output: str = static(default="final")  # the decision to report: "final", "last-block" or "random-block"

    def in_numbers(self) -> "SGD":
        return replace(self, estimator=self.estimator.in_numbers())

    def points(self, dim: int) -> int:
        return self.estimator.points(dim)

    def init(self, key: Array, x0: Decision) -> State:
        nothing = jnp.zeros((), jnp.int32)
        return State(key, nothing, x0, nothing, output_rules.init(self.output, x0))

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Noise:
        key = jax.random.fold_in(key, count)
        directions = self.estimator.directions(jax.random.fold_in(key, 0), dim)
        draws = self.output == "random-block"
        return Noise(
            directions, jax.random.uniform(jax.random.fold_in(key, 1), (), jnp.float32) if draws else ()
        )

    def ask(self, state: State, noise: Noise | None = None) -> Points:
        drawn: Noise = self.drawn(state, noise)
        return self.estimator.queries(state.x, drawn.directions, jnp.asarray(self.radius))

    def tell(self, state: State, values: Values, noise: Noise | None = None) -> State:
        drawn: Noise = self.drawn(state, noise)
        radius = jnp.asarray(self.radius)
        gradient = self.estimator.gradient(values, drawn.directions, radius, values[0])
        position = state.position + 1
        ends = position == self.block
        return State(
            state.key,
            state.told + 1,
            state.x - self.step * gradient,
            jnp.where(ends, 0, position),
            output_rules.update(self.output, state.blocks, state.x, True, ends, drawn.pick),
        )

    def recommend(self, state: State) -> Decision:
        return output_rules.report(self.output, state.blocks, state.x)


def _batched(estimator: Estimator) -> Callable[..., SGD]:
    """SGD whose cost is set by `batch`, samples a point."""

    def build(radius: Any, step: Any, batch: Any = 1, block: Any = 1, output: str = "final") -> SGD:
        """Plain steps along one estimator.

        Args:
            block: iterates whose mean is one block's, for the output rules `last-block` and `random-block`;
                the steps do not depend on it.
        """
        return SGD(radius, step, block, batch, estimator, output)

    return build


def _directed(law: str, default_output: str = "final") -> Callable[..., SGD]:
    """SGD whose cost is set by `directions`, averaged in one estimate."""

    def build(
        radius: Any,
        step: Any,
        directions: Any = 1,
        batch: Any = 1,
        block: Any = 1,
        output: str = default_output,
    ) -> SGD:
        """Plain steps along a mean over directions.

        Args:
            block: iterates whose mean is one block's, for the output rules `last-block` and `random-block`;
                the steps do not depend on it.
        """
        return SGD(radius, step, block, batch, TwoPoint(directions, law), output)

    return build


ENTRIES = {
    "zo-co": Entry(_batched(Coordinate()), "SGD on coordinate differences"),
    "zo-sph": Entry(_directed("sphere"), "SGD on two points, sphere"),
    "zo-ga": Entry(_directed("gaussian"), "SGD on two points, Gaussian"),
    "zo-og": Entry(_batched(OnePoint()), "SGD on one point, sphere"),
    "zo-sgd": Entry(_directed("sphere", "random-block"), "mini-batch two-point SGD on f_δ, a random iterate"),
}
