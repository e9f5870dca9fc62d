"""The compiled loop behind `simulate`: thousands of runs side by side, sharded over the local devices.

Lanes are runs: problem instances × seeds × configurations, laid out (…, K, S, C) so that the fastest axis
is the one XLA vectorises. One step of the loop draws one sample at every queried point of every lane (a
"row") and tells a lane's method when its `repeats` rows are in. Random numbers belong to (instance, seed)
and are shared by all configurations of a seed: common random numbers, drawn in bulk for many rows, and
exactly those that each run would draw alone.
"""

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, PartitionSpec

from driftopt import checks
from driftopt.method import Method
from driftopt.problem import Problem
from driftopt.rng import query_key, run_keys

ROWS = 64  # rows of random numbers drawn at once: enough to hide the cost of drawing, few enough for caches
EVALUATED = 512  # exact evaluations at once: each may need a temporary as large as the problem's data
DRAWS = 512  # and no more than so many queries of one lane, where a query has many points


@dataclass(frozen=True)
class Plan:
    """The shapes of a program: what, when changed, compiles anew."""

    dim: int
    points: int
    rows: int
    segment: int  # rows between evaluations
    segments: int
    chunk: int  # rows of random numbers drawn at once; divides the segment
    lanes: tuple[int, int, int]  # K, S, C
    split: int | None  # the axis of the lanes that is divided among the devices
    devices: int

    @classmethod
    def make(
        cls, dim: int, points: int, rows: int, evaluate_every: int | None, lanes: tuple[int, int, int]
    ) -> "Plan":
        chunk = max(1, min(ROWS, DRAWS // points))
        every = (
            rows if evaluate_every is None else int(checks.count("evaluate_every", evaluate_every)) // points
        )
        segment = min(max(1, every), rows)
        chunk = min(chunk, segment)
        segment = -(-segment // chunk) * chunk
        split, devices = share(lanes, jax.local_device_count())
        return cls(
            dim,
            points,
            rows,
            segment,
            -(-rows // segment),
            chunk,
            lanes,
            split,
            devices,
        )


def share(lanes: tuple[int, int, int], devices: int) -> tuple[int | None, int]:
    """The axis to divide among as many of the devices as divide one evenly, and how many these are.

    Instances or seeds first: each device then draws its own random numbers and no other's, and keeps the
    whole of the axis that is vectorised.

    >>> share((4, 3, 180), 2), share((4, 5, 180), 8), share((1, 1, 1), 8)
    ((0, 2), (2, 6), (None, 1))
    """
    for used in range(devices, 1, -1):
        for axis in (0, 1, 2):
            if lanes[axis] % used == 0:
                return axis, used
    return None, 1


def program(method: Method, problems: Problem, keys: Array, start: Any, plan: Plan) -> tuple[Array, Array]:
    """All lanes' runs: x as (d, K, S, C) and the objective along the way as (E, K, S, C)."""
    return compiled(jax.default_backend())(method, problems, keys, start, plan)


@cache
def compiled(backend: str) -> Any:
    """The jitted program. On CPUs LLVM's first level is enough: higher ones unroll these short loops until
    they are slower (measured: 13 against 23 million queries a second), and compile four times longer.
    """
    # On GPUs trying out matrix products costs seconds, and only the rare exact evaluation has one.
    options: Any = {"cpu": {"xla_backend_optimization_level": 1}, "gpu": {"xla_gpu_autotune_level": 0}}.get(
        backend
    )
    return jax.jit(_program, static_argnames="plan", compiler_options=options)


def _program(method: Method, problems: Problem, keys: Array, start: Any, plan: Plan) -> tuple[Array, Array]:
    if plan.split is None:
        return _Lanes(method, problems, keys, start, plan).run()

    def axes(*lane_axes: int) -> PartitionSpec:
        """The layout of an array whose axes are these lane axes (−1: none of them)."""
        return PartitionSpec(*("lanes" if axis == plan.split else None for axis in lane_axes))

    local = list(plan.lanes)
    local[plan.split] //= plan.devices
    own = replace(plan, lanes=tuple(local), split=None)
    layout = (
        jax.tree.map(lambda leaf: axes(0, 2) if jnp.ndim(leaf) else axes(), method),
        jax.tree.map(lambda _: axes(0), problems),
        axes(0, 1),
        axes(),
    )
    return jax.shard_map(
        lambda method, problems, keys, start: _Lanes(method, problems, keys, start, own).run(),
        mesh=Mesh(np.array(jax.local_devices()[: plan.devices]), ("lanes",)),
        in_specs=layout,
        out_specs=(axes(-1, 0, 1, 2), axes(-1, 0, 1, 2)),
        check_vma=False,
    )(method, problems, keys, start)


class _Lanes:
    """One device's lanes. Numbers of the method are scalars or (K, C); the problems' leaves begin with K."""

    def __init__(self, method: Method, problems: Problem, keys: Array, start: Any, plan: Plan):
        self.method, self.problems, self.start, self.plan = method, problems, start, plan
        self.method_keys, self.oracle_keys = jax.vmap(jax.vmap(run_keys))(keys)
        # A lane whose batch differs from its neighbours' is at another iteration, so it needs its own noise.
        self.mixed = jnp.ndim(method.batch) > 0
        self.numbers = jax.tree.map(lambda leaf: -1 if jnp.ndim(leaf) else None, method)
        self.step = (
            self._broadcast_step() if method.broadcasts and problems.broadcasts else self._vmapped_step()
        )

    def run(self) -> tuple[Array, Array]:
        plan = self.plan
        state = self._over_lanes(self._begin, "key")(self.method, self.problems, self.method_keys)
        total = jnp.zeros((plan.points, *plan.lanes), jnp.float32)
        (state, _), curve = lax.scan(self._segment, (state, total), jnp.arange(plan.segments))
        return self._recommend(state), curve

    def _segment(self, carry: Any, index: Array) -> tuple[Any, Array]:
        """Run to the next evaluation."""
        first, chunk = index * self.plan.segment, self.plan.chunk
        chunks = self.plan.segment // chunk
        carry = lax.fori_loop(0, chunks, lambda i, c: self._chunk(first + i * chunk, c), carry)
        return carry, self._evaluate(self._recommend(carry[0]))

    def _chunk(self, first: Array, carry: Any) -> Any:
        """Draw the noise of several rows, then walk through them."""
        rows = first + jnp.arange(self.plan.chunk)
        noise = jax.vmap(self._draw)(rows)
        return lax.scan(lambda c, row: (self.step(c, *row), None), carry, (rows, *noise))[0]

    def _draw(self, row: Array) -> tuple[Any, Any]:
        """One row's noise: the method's (…, K, S), where mixed (…, K, S, C), and the oracle's (…, K, S)."""

        def asked(method: Method, _: Problem, key: Array, row: Array) -> Any:
            return method.noise(key, row // method.batch, self.plan.dim)

        def answered(problem: Problem, key: Array, row: Array) -> Any:
            queries = row * self.plan.points + jnp.arange(self.plan.points)
            return jax.vmap(lambda query: problem.noise(query_key(key, query)))(queries)

        def over_keys(fun: Any) -> Any:
            return jax.vmap(jax.vmap(fun, (0, -1, None), -1), (None, -1, None), -1)

        if self.mixed:
            own = self._over_lanes(asked, "key", "all")(self.method, self.problems, self.method_keys, row)
        else:
            own = over_keys(partial(asked, self.method))(self.problems, self.method_keys, row)
        return own, over_keys(answered)(self.problems, self.oracle_keys, row)

    def _advance(
        self, method: Method, problem: Problem, carry: Any, row: Array, asked: Any, answered: Any
    ) -> tuple[Any, Array]:
        """One row: a sample at every point, and the tell where the last of its repeats is in."""
        state, total = carry
        _, query = method.ask(state, asked)
        values = jax.vmap(problem.observe)(answered, query.points)
        paid = row < self.plan.rows  # the last segment may be longer than the budget
        if isinstance(query.repeats, int) and query.repeats == 1:
            # Known when compiling: nothing to add up, and no guard where segments end with the budget.
            told = method.tell(state, values, asked)
            if self.plan.rows % self.plan.segment:
                told = jax.tree.map(lambda new, old: jnp.where(paid, new, old), told, state)
            return told, total
        total = total + values
        told = (method.tell(state, total / query.repeats, asked), jnp.zeros_like(total))
        complete = ((row + 1) % query.repeats == 0) & paid
        return jax.tree.map(lambda new, old: jnp.where(complete, new, old), told, (state, total))

    def _broadcast_step(self) -> Any:
        """One call for all lanes: numbers (K, 1, C), leaves of problems (…, K, 1, 1), noise (…, K, S, 1)."""
        method = jax.tree.map(lambda leaf: leaf[:, None] if leaf.ndim else leaf, self.method)
        problems = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1)[..., None, None], self.problems)

        def shared(noise: Any) -> Any:
            return jax.tree.map(lambda leaf: leaf[..., None], noise)

        def step(carry: Any, row: Array, asked: Any, answered: Any) -> Any:
            return self._advance(
                method, problems, carry, row, asked if self.mixed else shared(asked), shared(answered)
            )

        return step

    def _vmapped_step(self) -> Any:
        step = self._over_lanes(self._advance, "lane", "all", "lane" if self.mixed else "key", "key")
        return partial(step, self.method, self.problems)

    def _over_lanes(self, fun: Any, *kinds: str) -> Any:
        """fun(method, problem, …) over (K, S, C), lanes last; each further argument has one of these kinds:

        "lane": its own for every lane · "key": for every (instance, seed) · "all": one for all.
        """
        axis = {"all": (None, None, None), "key": (-1, -1, None), "lane": (-1, -1, -1)}
        instance, seed, configuration = zip(*(axis[kind] for kind in kinds), strict=True)
        fun = jax.vmap(fun, (self.numbers, 0, *instance), -1)
        fun = jax.vmap(fun, (None, None, *seed), -1)
        return jax.vmap(fun, (self.numbers, None, *configuration), -1, axis_size=self.plan.lanes[2])

    def _begin(self, method: Method, problem: Problem, key: Array) -> Any:
        return method.init(key, problem.x0.astype(jnp.float32) if self.start is None else self.start)

    def _recommend(self, state: Any) -> Array:
        """(d, K, S, C)."""
        return self._over_lanes(lambda m, _, s: m.recommend(s), "lane")(self.method, self.problems, state)

    def _evaluate(self, x: Array) -> Array:
        """f at (d, K, S, C), some seeds at a time to bound the memory; a diverged run is infinitely bad."""

        def exact(problem: Problem, x: Array) -> Array:
            value = problem.objective(x)
            return jnp.where(jnp.isfinite(value) & jnp.isfinite(x).all(), value, jnp.inf)

        by_seed = jax.vmap(jax.vmap(exact, (0, -1), -1), (None, -1), -1)
        several = max(1, EVALUATED // (self.plan.lanes[0] * self.plan.lanes[2]))
        values = lax.map(lambda x: by_seed(self.problems, x), jnp.moveaxis(x, 2, 0), batch_size=several)
        return jnp.moveaxis(values, 0, 1)
