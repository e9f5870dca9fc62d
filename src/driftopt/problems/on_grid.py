"""Any problem with decisions on a grid: what `grid=` does in `minimize` and `Study`, for simulated runs.

    compare(OnGrid(problem, 0.05), methods, budget=5000)

Each query rounds the decision at random with the right mean, so that methods see E F(rounded x; ξ); a
decision is judged at the nearest grid point.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt.problem import Problem, decision
from driftopt.pytree import module


@module
class OnGrid(Problem):
    """A problem whose decisions are multiples of a step.

    >>> from driftopt.problems import kink
    >>> inner = kink(2, rng=0)
    >>> asked, deployed = jnp.array([0.6, -1.3]), jnp.array([0.5, -1.5])
    >>> float(OnGrid(inner, 0.5).objective(asked)) == float(inner.objective(deployed))
    True
    """

    problem: Problem  # the one whose decisions are rounded
    step: ArrayLike  # one for all coordinates, or one for each

    @property
    def dim(self) -> int:
        return self.problem.dim

    @property
    def label(self) -> str:
        return f"{self.problem.label} on a grid"

    @property
    def x0(self) -> Array:
        return self._nearest(self.problem.x0)

    def noise(self, key: Array) -> Any:
        inner, own = jax.random.split(key)
        return self.problem.noise(inner), jax.random.uniform(own, (self.dim,))

    def respond(self, noise: Any, x: Array) -> Any:
        deployed = self._rounded(noise, x)
        return deployed, self.problem.respond(noise[0], deployed)

    def value(self, x: Array, xi: Any) -> Array:
        deployed, inner = xi
        return self.problem.value(deployed, inner)

    def objective(self, x: ArrayLike) -> Array:
        return self.problem.objective(self._nearest(decision(x)))

    @property
    def remembers(self) -> bool:
        return self.problem.remembers

    def begin(self, key: Array) -> Any:
        return self.problem.begin(key)

    def advance(self, world: Any, noise: Any, x: Array) -> tuple[Any, Any]:
        deployed = self._rounded(noise, x)
        world, inner = self.problem.advance(world, noise[0], deployed)
        return world, (deployed, inner)

    def _rounded(self, noise: Any, x: Array) -> Array:
        """⌊x/step + u⌋ · step, u uniform: its mean is x."""
        return jnp.floor(x / self.step + noise[1]) * self.step

    def _nearest(self, x: Array) -> Array:
        return jnp.floor(x / self.step + 0.5) * self.step
