"""Performative confidence bounds: drop decisions whose risk must be higher, in at most three coordinates.

Jagadeesan, Zrnic and Mendler-Dünner, "Regret minimization with performative feedback", ICML 2022,
Algorithm 1.

    phase p         γ = γ_0 2^{−p};   net radius γ/(L_z ε);   n = ⌈(2C + 3√log T)²/(γ² m_0)⌉ batches of m_0 at
                    each point x′ of the net
    D̂PR(x′, x)     = mean F(x; ξ) over the ξ ~ Ξ(x′): what x would cost under the data of x′, for every x
    upper bound     min_x min_{x′} [D̂PR(x′, x) + L_z ε‖x − x′‖]
    lower bound     of x: max_{x′} [D̂PR(x′, x) − L_z ε‖x − x′‖];   x is dropped where it exceeds upper + 2γ

Decisions are the points of a regular grid. The net is built as it is deployed: its next point is drawn from
the active decisions that no point of this phase covers yet.
"""

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.method import Method
from driftopt.methods.entry import Entry
from driftopt.methods.parameters import number_with
from driftopt.oracle import Observed, Sight, mean_formula
from driftopt.pytree import module, static

LARGEST = 3  # coordinates


class State(NamedTuple):
    key: Array
    told: Array
    x: Array  # the decision now deployed
    phase: Array
    position: Array  # deployments of it so far
    total: Array  # (N,) Σ F(grid; ξ) over them
    active: Array  # (N,) bool
    covered: Array  # (N,) bool, by this phase's points
    lower: Array  # (N,) of this phase
    estimate: Array  # (N,) the smallest upper bound of each decision in this phase
    best: Array  # the decision to report


@module
class ConfidenceBounds(Method):
    """One point an iteration, held for n of them; F is computed at every point of the grid.

    Args:
        low: the smallest value of every coordinate.
        high: the largest.
        sensitivity: L_z ε: how far the mean of F moves, at most, when the data's decision moves by 1.
        complexity: C, a bound on the Rademacher complexity of F; 0 trusts that few values are enough.
        tolerance: γ of the first phase, in the units of F.
        grid: points of the grid in each coordinate.
    """

    sees: ClassVar[Sight] = Sight.OBSERVATIONS
    radius: ClassVar[float] = 0.0  # pyright: ignore[reportIncompatibleVariableOverride]  every query is at a decision

    low: ArrayLike
    high: ArrayLike
    sensitivity: ArrayLike
    complexity: ArrayLike = 0.0  # C
    tolerance: ArrayLike = 1.0  # γ of the first phase
    batch: ArrayLike = 10  # m_0
    grid: int = static(default=21)  # points of the grid in each coordinate
    budget: int | None = static(default=None)  # T

    def for_budget(self, budget: int) -> Method:
        return self if self.budget is not None else replace(self, budget=budget)

    def points(self, dim: int) -> int:
        if dim > LARGEST:
            raise ValueError(f"pcb looks at every point of a grid: at most {LARGEST} coordinates, not {dim}")
        return 1

    def decisions(self, dim: int, dtype: Any) -> Array:
        """(N, d), the grid."""
        share = jnp.linspace(0, 1, self.grid, dtype=dtype)
        low, high = jnp.asarray(self.low, dtype), jnp.asarray(self.high, dtype)
        axes = jnp.meshgrid(*[low + (high - low) * share] * dim, indexing="ij")
        return jnp.stack([axis.ravel() for axis in axes], axis=1)

    def init(self, key: Array, x0: Array, like: Observed | None = None) -> State:
        grid = self.decisions(len(x0), x0.dtype)
        nothing, none = jnp.zeros((), jnp.int32), jnp.zeros(len(grid), x0.dtype)
        every = jnp.ones(len(grid), bool)
        far = jnp.full_like(none, jnp.finfo(x0.dtype).max)
        nearest = grid[jnp.argmin(jnp.sum((grid - x0) ** 2, axis=1))]  # the first decision is the start's
        return State(key, nothing, nearest, nothing, nothing, none, every, ~every, -far, far, nearest)

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Array:
        return jax.random.uniform(jax.random.fold_in(key, count), (self.grid**dim,), jnp.float32)

    def ask(self, state: State, noise: Array | None = None) -> Array:
        return state.x[None]

    def tell(self, state: State, values: Observed, noise: Array | None = None) -> State:
        drawn = self.drawn(state, noise)
        grid = self.decisions(len(state.x), state.x.dtype)
        xi, taken = jax.tree.map(lambda leaf: leaf[0], values.xi), values.taken[0]
        total = state.total + jax.vmap(lambda x: mean_formula(values.loss, x, xi, taken))(grid)
        position = state.position + 1
        done = position >= self._deployments(self._tolerance(state))
        after = self._judged(state, total / position, grid, drawn)
        during = state._replace(position=position, total=total)
        chosen = jax.tree.map(
            lambda a, b: jnp.where(done, a, b),
            after._replace(key=(), told=()),
            during._replace(key=(), told=()),
        )
        return chosen._replace(key=state.key, told=state.told + 1)

    def _judged(self, state: State, risk: Array, grid: Array, drawn: Array) -> State:
        """The state after the deployments of x′ = `state.x`, with D̂PR(x′, ·) = `risk`."""
        distance = jnp.sqrt(jnp.sum((grid - state.x) ** 2, axis=1))
        slack, tolerance = self.sensitivity * distance, self._tolerance(state)
        estimate = jnp.minimum(state.estimate, risk + slack)
        lower = jnp.maximum(state.lower, risk - slack)
        best = jnp.argmin(jnp.where(state.active, estimate, jnp.inf))
        # The best stays, though a sensitivity that is too small can put its lower bound above its upper one.
        kept = (lower <= jnp.min(estimate) + 2 * tolerance) | (jnp.arange(len(grid)) == best)
        active = state.active & kept
        covered = state.covered | (slack <= tolerance)

        over = ~jnp.any(active & ~covered)  # this phase has looked everywhere
        covered = jnp.where(over, False, covered)
        far = jnp.full_like(lower, jnp.finfo(lower.dtype).max)
        return state._replace(
            x=grid[jnp.argmax(jnp.where(active & ~covered, drawn, -1))],
            phase=state.phase + over,
            position=jnp.zeros_like(state.position),
            total=jnp.zeros_like(state.total),
            active=active,
            covered=covered,
            lower=jnp.where(over, -far, lower),
            estimate=jnp.where(over, far, estimate),
            best=grid[best],
        )

    def recommend(self, state: State) -> Array:
        return state.best

    def _tolerance(self, state: State) -> Array:
        return jnp.asarray(self.tolerance, state.x.dtype) * 0.5 ** state.phase.astype(state.x.dtype)

    def _deployments(self, tolerance: Array) -> Array:
        horizon = jnp.log(jnp.asarray(max(self.budget or 2, 2), tolerance.dtype))
        return jnp.ceil((2 * self.complexity + 3 * jnp.sqrt(horizon)) ** 2 / (tolerance**2 * self.batch))


ENTRIES = {
    "pcb": Entry(
        ConfidenceBounds,
        "elimination by performative confidence bounds, d ≤ 3 (Jagadeesan et al. 2022)",
        {
            "low": -1.0,
            "high": 1.0,
            "sensitivity": 1.0,
            "tolerance": 4.0,
            "batch": 5,
            "grid": 5,
            "budget": 200,
        },
        {
            "sensitivity": checks.positive,
            "complexity": number_with("finite and >= 0", lambda number: number >= 0),
            "tolerance": checks.positive,
            "grid": checks.shape,
        },
    )
}
