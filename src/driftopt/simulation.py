"""Many runs at once, inside one compiled program: the driver for problems written in JAX.

Lanes are runs: problem instances × seeds × configurations, laid out (…, K, S, C) so that the fastest axis
is the one XLA vectorises. One step of the loop draws one sample at every queried point of every lane (a
"row") and tells a lane's method when its `repeats` rows are in. Random numbers belong to (instance, seed)
and are shared by all configurations of a seed: common random numbers, drawn in bulk for many rows, and
exactly those that each run would draw alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from driftopt import checks
from driftopt.host import with_precision
from driftopt.method import Method
from driftopt.problem import Problem
from driftopt.rng import as_keys, as_seed, lane_seed, query_key, run_keys

ROWS = 64  # rows of random numbers drawn at once: enough to hide the cost of drawing, few enough for caches
DRAWS = 512  # and no more than so many queries of one lane, where a query has many points


@dataclass(frozen=True)
class Trace:
    """What runs leave behind. Leading axes of every array are the lanes; a single run has none."""

    x: np.ndarray  # the reported decision
    fun: np.ndarray  # its exact objective; +inf for a run that diverged
    queries: np.ndarray  # values of F drawn
    evaluated_at: np.ndarray  # (…, E) queries spent at each evaluation along the run
    objective: np.ndarray  # (…, E) the exact objective there


def stack(problems: Sequence[Problem]) -> Problem:
    """Instances of one kind and shape as one problem with a leading instance axis, for `simulate_many`."""
    kinds = {(jax.tree.structure(p), str(jax.tree.map(jnp.shape, p))) for p in problems}
    if len(kinds) != 1:
        raise ValueError(f"only problems of one kind and shape can be stacked; got {len(kinds)} kinds")
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *problems)


def simulate(
    method: Method,
    problem: Problem,
    *,
    budget: int,
    x0: Any = None,
    rng: Any = 0,
    evaluate_every: int | None = None,
) -> Trace:
    """One run of `method` on `problem` with `budget` queries.

    The run stops before the iteration that would pass the budget. `evaluate_every` asks for the exact
    objective along the run, about every so many queries; evaluations are not counted.
    """
    seeds = [as_seed(rng)]
    trace = simulate_many(
        method, stack([problem]), budget=budget, seeds=seeds, x0=x0, evaluate_every=evaluate_every
    )
    return Trace(**{name: value[0, 0, 0] for name, value in vars(trace).items()})


def simulate_many(
    method: Method,
    problems: Problem,
    *,
    budget: int,
    seeds: Sequence[int],
    x0: Any = None,
    evaluate_every: int | None = None,
) -> Trace:
    """All runs of stacked instances × seeds × configurations; the lanes of the trace are (K, S, C).

    `problems` comes from `stack`. A number of `method` may be an array of shape (C,), one value for each
    configuration, or (K, C), other values for each instance. Run (k, s, c) is the single run of
    configuration c on instance k with `rng=lane_seed(seeds[s], k)`.
    """
    instances = jax.tree.leaves(problems)[0].shape[0]
    method, width = _lanes(method.for_budget(int(checks.count("budget", budget))), instances)
    dim = jax.eval_shape(lambda p: jax.vmap(lambda q: q.x0)(p), problems).shape[1]
    points, batch = method.points(dim), np.asarray(method.batch)
    budget = checks.budget(budget, points * int(batch.max()), 1 + method.warmup)
    rows = budget // points
    start = None if x0 is None else jnp.asarray(checks.vector("x0", x0, dim), jnp.float32)
    keys = as_keys(np.array([[lane_seed(as_seed(s), k) for s in seeds] for k in range(instances)], np.uint64))
    plan = _Plan.make(dim, points, rows, evaluate_every, width)
    x, curve = _program(method, problems, keys, start, plan)

    lanes = (instances, len(seeds), width)
    batch = np.broadcast_to(batch, (instances, width))[:, None, :, None]
    seen = np.minimum(np.arange(1, plan.segments + 1) * plan.segment, rows)
    at = np.broadcast_to(seen // batch * batch * points, (*lanes, plan.segments))
    curve = np.moveaxis(np.asarray(curve), 0, -1)
    return Trace(np.moveaxis(np.asarray(x), 0, -1), curve[..., -1], at[..., -1], at, curve)


def _lanes(method: Method, instances: int) -> tuple[Method, int]:
    """Numbers as arrays: scalars stay scalars, all others become (K, C)."""
    method = with_precision(method, jnp.float32)
    sizes = {leaf.shape[-1] for leaf in jax.tree.leaves(method) if leaf.ndim}
    if len(sizes) > 1:
        raise ValueError(
            f"arrays of parameters must have one length, the number of configurations; got {sizes}"
        )
    width = sizes.pop() if sizes else 1

    def spread(leaf: Array) -> Array:
        return leaf if leaf.ndim == 0 else jnp.broadcast_to(leaf, (instances, width))

    return jax.tree.map(spread, method), width


@dataclass(frozen=True)
class _Plan:
    """The shapes of a program: what, when changed, compiles anew."""

    dim: int
    points: int
    rows: int
    segment: int  # rows between evaluations
    segments: int
    chunk: int  # rows of random numbers drawn at once; divides the segment
    width: int

    @classmethod
    def make(cls, dim: int, points: int, rows: int, evaluate_every: int | None, width: int) -> "_Plan":
        chunk = max(1, min(ROWS, DRAWS // points))
        every = (
            rows * points if evaluate_every is None else int(checks.count("evaluate_every", evaluate_every))
        )
        segment = min(max(1, every // points), rows)
        chunk = min(chunk, segment)
        segment = -(-segment // chunk) * chunk
        return cls(dim, points, rows, segment, -(-rows // segment), chunk, width)


@partial(jax.jit, static_argnames="plan")
def _program(method: Method, problems: Problem, keys: Array, start: Any, plan: _Plan) -> tuple[Array, Array]:
    """The compiled run of all lanes: x as (d, K, S, C) and the objective along the way as (E, K, S, C)."""
    # A lane whose batch differs from its neighbours' is at another iteration, so it needs its own noise.
    mixed = jnp.ndim(method.batch) > 0
    numbers = jax.tree.map(lambda leaf: -1 if jnp.ndim(leaf) else None, method)

    def over_lanes(fun: Any, *kinds: str) -> Any:
        """fun(method, problem, …) over (K, S, C), lanes last; each further argument has one of these kinds:

        "lane": its own for every lane · "key": for every (instance, seed) · "all": one for all.
        """
        axis = {"all": (None, None, None), "key": (-1, -1, None), "lane": (-1, -1, -1)}
        instance, seed, configuration = zip(*(axis[kind] for kind in kinds), strict=True)
        fun = jax.vmap(fun, (numbers, 0, *instance), -1)
        fun = jax.vmap(fun, (None, None, *seed), -1)
        return jax.vmap(fun, (numbers, None, *configuration), -1, axis_size=plan.width)

    def over_keys(fun: Any) -> Any:
        """fun(problem, key, row) over (K, S)."""
        return jax.vmap(jax.vmap(fun, (0, -1, None), -1), (None, -1, None), -1)

    method_keys, oracle_keys = jax.vmap(jax.vmap(run_keys))(keys)

    def begin(method: Method, problem: Problem, key: Array) -> Any:
        return method.init(key, problem.x0.astype(jnp.float32) if start is None else start)

    def oracle_noise(problem: Problem, key: Array, row: Array) -> Any:
        queries = row * plan.points + jnp.arange(plan.points)
        return jax.vmap(lambda query: problem.noise(query_key(key, query)))(queries)

    def method_noise(method: Method, _: Problem, key: Array, row: Array) -> Any:
        return method.noise(key, row // method.batch, plan.dim)

    def shared_noise(_: Problem, key: Array, row: Array) -> Any:
        return method.noise(key, row // method.batch, plan.dim)

    def draw(row: Array) -> Any:
        answered = over_keys(oracle_noise)(problems, oracle_keys, row)
        if mixed:
            return over_lanes(method_noise, "key", "all")(method, problems, method_keys, row), answered
        return over_keys(shared_noise)(problems, method_keys, row), answered

    def advance(
        method: Method, problem: Problem, carry: Any, row: Array, asked: Any, answered: Any
    ) -> tuple[Any, Array]:
        state, total = carry
        _, query = method.ask(state, asked)
        total = total + jax.vmap(problem.observe)(answered, query.points)
        told = method.tell(state, total / query.repeats, asked)
        complete = ((row + 1) % query.repeats == 0) & (row < plan.rows)
        after = (told, jnp.zeros_like(total))
        return jax.tree.map(lambda new, old: jnp.where(complete, new, old), after, (state, total))

    if method.broadcasts and problems.broadcasts:
        # One call for all lanes: numbers (K, 1, C), the problem's leaves (…, K, 1, 1), noise (…, K, S, 1).
        wide_method = jax.tree.map(lambda leaf: leaf[:, None] if leaf.ndim else leaf, method)
        wide_problems = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1)[..., None, None], problems)

        def step(carry: Any, row: Array, asked: Any, answered: Any) -> Any:
            answered = jax.tree.map(lambda leaf: leaf[..., None], answered)
            asked = asked if mixed else jax.tree.map(lambda leaf: leaf[..., None], asked)
            return advance(wide_method, wide_problems, carry, row, asked, answered)

    else:
        vmapped = over_lanes(advance, "lane", "all", "lane" if mixed else "key", "key")
        step = partial(vmapped, method, problems)

    def one_row(carry: Any, row_noise: Any) -> tuple[Any, None]:
        row, (asked, answered) = row_noise
        return step(carry, row, asked, answered), None

    def one_chunk(first: Array, carry: Any) -> Any:
        rows = first + jnp.arange(plan.chunk)
        return lax.scan(one_row, carry, (rows, jax.vmap(draw)(rows)))[0]

    def recommend(method: Method, _: Problem, state: Any) -> Array:
        return method.recommend(state)

    def evaluate(x: Array) -> Array:
        """f at (d, K, S, C), one seed at a time to bound the memory."""

        def exact(problem: Problem, x: Array) -> Array:
            value = problem.objective(x)
            return jnp.where(jnp.isfinite(value) & jnp.isfinite(x).all(), value, jnp.inf)

        by_seed = jax.vmap(jax.vmap(exact, (0, -1), -1), (None, -1), -1)
        return jnp.moveaxis(lax.map(lambda x: by_seed(problems, x), jnp.moveaxis(x, 2, 0)), 0, 1)

    def one_segment(carry: Any, index: Array) -> tuple[Any, Array]:
        first = index * plan.segment
        chunks = plan.segment // plan.chunk
        carry = lax.fori_loop(0, chunks, lambda i, c: one_chunk(first + i * plan.chunk, c), carry)
        return carry, evaluate(over_lanes(recommend, "lane")(method, problems, carry[0]))

    state = over_lanes(begin, "key")(method, problems, method_keys)
    total = jnp.zeros((plan.points, *keys.shape, plan.width), jnp.float32)
    (state, _), curve = lax.scan(one_segment, (state, total), jnp.arange(plan.segments))
    return over_lanes(recommend, "lane")(method, problems, state), curve
