"""`simulate` and `simulate_many`: runs on problems written in JAX, in one compiled program."""

import warnings
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from driftopt import checks
from driftopt.drivers import observed_loop
from driftopt.drivers.compiled_loop import program
from driftopt.drivers.contract import check_points
from driftopt.drivers.host import with_precision
from driftopt.drivers.plan import RunPlan
from driftopt.drivers.stack import Stack, check_stack, stack
from driftopt.drivers.trace import Trace, joined
from driftopt.method import Method, check_method, check_spacing
from driftopt.methods.grids import Grid
from driftopt.problem import Problem, check_problem
from driftopt.rng.seeds import as_seed, lane_seed
from driftopt.runtime.forks import refuse_after_fork


def simulate(
    method: Method,
    problem: Problem,
    *,
    budget: int,
    x0: Any = None,
    rng: Any = 0,
    evaluate_every: int | None = None,
    settle: int = 1,
) -> Trace:
    """One run of `method` on `problem` with `budget` queries.

    The run stops before the iteration that would pass the budget.

    Args:
        method: what `methods.get` gives, or a Method of your own, with one value for each number.
        problem: a Problem.
        budget: how many queries the run may make.
        x0: the start; by default the problem's own.
        rng: a seed or a Generator.
        evaluate_every: evaluate the exact objective along the run, about every this many queries; evaluations
            are not counted. None: at the end alone.
        settle: hold every decision for this many deployments and use the last, which lets a world with
            memory come to rest; all of them are queries.

    Returns:
        the reported decision, its exact objective, the queries made, and the curve.
    """
    check_method(method)
    if isinstance(problem, Stack):
        raise ValueError("problem must be a single Problem; simulate_many takes what stack gives")
    check_problem(problem)
    if any(np.ndim(leaf) for leaf in jax.tree.leaves(method)):
        raise ValueError("an array of parameters makes several runs: simulate_many gives them all")
    seeds = [as_seed(rng)]
    trace = simulate_many(
        method,
        stack([problem]),
        budget=budget,
        seeds=seeds,
        x0=x0,
        evaluate_every=evaluate_every,
        settle=settle,
    )
    return trace.run()


def simulate_many(
    method: Method | Grid,
    problems: Stack,
    *,
    budget: int,
    seeds: Sequence[Any],
    x0: Any = None,
    evaluate_every: int | None = None,
    settle: int = 1,
) -> Trace:
    """All runs of stacked instances × seeds × configurations; the lanes of the trace are (K, S, C).

    Run (k, s, c) is the single run of configuration c on instance k with `rng=lane_seed(seeds[s], k)`.

    Args:
        method: a Method, whose numbers may be arrays of shape (C,), one value for each configuration, or
            (K, C), other values for each instance; or what `methods.grid` gives: every combination of lists,
            which the trace then names.
        problems: K instances, from `stack`.
        budget: how many queries each run may make.
        seeds: S seeds; given as (K, S) they stay as they are.
        x0: the start of all runs; by default each problem's own.
        evaluate_every: as in `simulate`.
        settle: as in `simulate`.

    Returns:
        decisions, exact objectives, queries and curves with the lanes (K, S, C) first.
    """
    refuse_after_fork()
    if isinstance(method, Grid):
        given: dict[str, Any] = {"budget": budget, "seeds": seeds, "x0": x0, "settle": settle}
        given["evaluate_every"] = evaluate_every
        groups = [(method.stacked(members), members) for members in method.groups()]
        traces = [(simulate_many(one, problems, **given), members) for one, members in groups]
        return joined(traces, method.configurations)
    return simulate_lanes(
        method,
        problems,
        budget=budget,
        seeds=seeds,
        x0=x0,
        evaluate_every=evaluate_every,
        settle=settle,
        devices=jax.local_device_count(),
    )


def simulate_lanes(
    method: Method,
    problems: Stack,
    *,
    budget: int,
    seeds: Sequence[Any],
    x0: Any,
    evaluate_every: int | None,
    settle: int,
    devices: int,
    times: int = 1,
    code: str = "",
) -> Trace:
    """The trace of `simulate_many` for a Method, on at most `devices` devices.

    Args:
        method: as in `simulate_many`; the others too, except these three.
        devices: the largest number of devices among which the lanes are divided.
        times: how often the program will be used: for many short calls, too, better code pays.
        code: the hash of code that others have written: under another one the program is traced again.
    """
    check_method(method)
    together, instances = check_stack(problems).together, problems.count
    settle, budget = checks.shape("settle", settle), checks.one_count("budget", budget)
    method, width = _lanes(method.for_budget(budget // settle), instances)
    dim = jax.eval_shape(lambda p: jax.vmap(lambda q: q.x0, axis_size=instances)(p), together).shape[1]
    check_points(method, dim)
    start = None if x0 is None else jnp.asarray(checks.single_precision("x0", x0, dim))
    begun = starts(problems) if x0 is None else np.asarray(start)[None]
    check_spacing(method, begun, np.float32)
    own = _lane_seeds(seeds, instances)
    runs_made = instances * own.shape[1] * width
    if observed_loop.needed(method, together, settle):
        every = budget if evaluate_every is None else checks.one_count("evaluate_every", evaluate_every)
        _check_memory(runs_made, -(-budget // every), dim)
        trace = Trace(
            *observed_loop.run(
                method, together, own, start, budget, evaluate_every, dim, settle, width, times, code
            )
        )
        _warn_of_standstill(method, begun, trace)
        return trace
    points, batch = method.points(dim), np.asarray(method.batch).astype(int)
    budget = checks.budget(budget, points * int(batch.max()), 1 + method.warmup)
    rows = budget // points
    lanes = (instances, own.shape[1], width)
    plan = RunPlan.make(method, together, rows, evaluate_every, dim, lanes, devices, times)
    _check_memory(runs_made, plan.segments, dim)
    plan = replace(plan, code=code)
    runs = program(method.in_numbers(), together, own, start, plan)
    x, curve = (np.asarray(a)[..., :width] for a in runs)

    batch = np.broadcast_to(batch, (instances, width))[:, None, :, None]
    seen = np.minimum(np.arange(1, plan.segments + 1) * plan.segment, rows)
    at = np.broadcast_to(seen // batch * batch * points, (*lanes, plan.segments))
    curve = np.moveaxis(curve, 0, -1)
    trace = Trace(np.moveaxis(x, 0, -1), curve[..., -1], at[..., -1], at, curve)
    _warn_of_standstill(method, begun, trace)
    return trace


def _check_memory(runs: int, evaluations: int, dim: int) -> None:
    """Refuse decisions and curves that memory cannot hold."""
    fewer = "simulate fewer runs at a time, or let driftopt.sweep divide them"
    checks.fits(f"the decisions of {runs:,} runs in {dim:,} dimensions", runs * dim, fewer)
    every = "raise evaluate_every, or simulate fewer runs at a time"
    checks.fits(
        f"evaluate_every asks for {evaluations:,} points on the curve of each run", runs * evaluations, every
    )


def starts(problems: Stack) -> np.ndarray:
    """The instances' own starts, (K, d)."""
    return np.asarray(jax.vmap(lambda problem: problem.x0, axis_size=problems.count)(problems.together))


def _warn_of_standstill(method: Method, begun: np.ndarray, trace: Trace) -> None:
    """Warn where no run of a configuration has left its start, and its step may be why.

    How far a step goes depends on the values, so nothing can be refused beforehand.
    """
    if "step" not in (field.name for field in fields(method)):  # pyright: ignore[reportArgumentType]
        return
    still = (trace.x == begun.astype(np.float32)[:, None, None]).all(axis=(0, 1, 3))
    still &= np.isfinite(trace.fun).all(axis=(0, 1))
    if still.any():
        warnings.warn(
            f"{type(method).__name__}: in {still.sum()} of {still.size} configurations every run ends "
            "exactly where it began. Either steps are too short for float32 at |x0| = "
            f"{np.abs(begun).max():.3g}, or all values are alike, or the run reports the mean "
            "of a block and no block has ended. Compare step times slope with 1e-7 |x0|; "
            "driftopt.minimize computes in float64",
            stacklevel=4,
        )


def _lane_seeds(seeds: Sequence[Any], instances: int) -> np.ndarray:
    """Seeds as (K, S): derived for each instance, or used as given."""
    given = checks.several("seeds", seeds)
    if given and all(isinstance(row, list | tuple | range | np.ndarray) for row in given):
        own = [[as_seed(seed, "seeds") for seed in checks.several("seeds", row)] for row in given]
    else:
        own = [[lane_seed(as_seed(seed, "seeds"), k) for seed in given] for k in range(instances)]
    if len(own) != instances or len({len(row) for row in own}) != 1 or not own[0]:
        raise ValueError(
            f"seeds must be one list, or one for each of {instances} instances; got {checks.brief(seeds)}"
        )
    return np.array(own, np.uint64)


def _lanes(method: Method, instances: int) -> tuple[Method, int]:
    """Numbers as arrays: scalars stay scalars, all others become (K, C)."""
    method = with_precision(method, jnp.float32)
    sizes = {leaf.shape[-1] for leaf in jax.tree.leaves(method) if leaf.ndim}
    if len(sizes) > 1:
        raise ValueError(
            f"arrays of parameters must have one length, the number of configurations; got {sizes}"
        )
    width = sizes.pop() if sizes else 1

    shapes = [leaf.shape for leaf in jax.tree.leaves(method)]
    if odd := [shape for shape in shapes if shape[:-1] not in ((), (1,), (instances,))]:
        raise ValueError(
            "an array of parameters must have the shape (configurations,) or (instances, configurations): "
            f"({width},) or ({instances}, {width}) here; got {odd[0]}"
        )

    def spread(leaf: Array) -> Array:
        return leaf if leaf.ndim == 0 else jnp.broadcast_to(leaf, (instances, width))

    return jax.tree.map(spread, method), width
