"""Instances of one Problem as the source of a sweep: each task is some tiles of one compiled program."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

import jax
import numpy as np

from driftopt.drivers.plan import any_batch
from driftopt.drivers.simulation import simulate, simulate_lanes
from driftopt.drivers.stack import Stack, stack
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Outside
from driftopt.problem import Problem
from driftopt.rng.seeds import as_key, lane_seed
from driftopt.runtime.executable_cache import traced
from driftopt.runtime.fingerprint import digest_of, hashed
from driftopt.runtime.identity import Identity, of_trace, ours
from driftopt.sweep.outside_runs import OutsideRuns, SimulatedTarget, searches
from driftopt.sweep.tasks import (
    LARGEST,
    Arrays,
    Block,
    Indices,
    RunSettings,
    Source,
    Task,
    Tile,
    run_tiles,
    tile_of,
)

MEMORY = 1 << 26  # bytes for the exact evaluation of one seed, over all lanes that run together
MEASURED = 32  # decisions whose metrics one call computes


class Simulated(Source):
    """Instances of one Problem class and shape."""

    worth = 1_000_000  # starting a compiled program costs a second or two

    def __init__(self, problems: Sequence[Problem], names: Sequence[str]):
        self.names = tuple(names)
        self.problems = [jax.tree.map(np.asarray, problem) for problem in problems]
        self.stacked = stack(list(problems)).on_host()
        self.dim = int(jax.eval_shape(lambda p: p.x0, self.problems[0]).shape[0])
        self._codes: dict[Any, Identity] = {}

    def task(
        self,
        grid: Grid,
        configurations: Sequence[Sequence[int]],
        instances: Sequence[int],
        seeds: Sequence[int],
        settings: RunSettings,
        tile: Tile,
    ) -> Task:
        # Instance k has the random numbers of the k-th lane, whichever instances share its part.
        own = tuple(tuple(lane_seed(seed, k) for seed in seeds) for k in instances)
        if isinstance(grid.candidate(configurations[0][0]), Outside):
            targets = tuple(SimulatedTarget(self.problems[k], settings.x0) for k in instances)
            return OutsideRuns(searches(grid, configurations), targets, own, settings)
        stacked = {some: jax.tree.map(np.asarray, grid.stacked(some)) for some in map(tuple, configurations)}
        each = [stacked[tuple(some)] for some in configurations]
        method: Any = jax.tree.map(lambda *leaves: np.stack(leaves), *each)
        first = grid.method(configurations[0][0])
        if tile.one_batch and is_dataclass(first) and any(f.name == "batch" for f in fields(first)):
            # A scalar batch for all lanes lets them share their noise.
            method = replace(method, batch=int(np.asarray(each[0].batch)[0]))
        # Runs of different batches share a program where many configurations hide its cost, and where chosen
        # configurations differ in batch: otherwise some of them would need a second program.
        shared = tile.configurations > 1 or not tile.one_batch
        others = shared and any(p.get("batch", 1) != 1 for p in grid.configurations)
        problems = self.stacked.take(instances)
        return Simulation(method, problems, own, settings, self._code(first, settings), tile, others)

    def _code(self, method: Method, settings: RunSettings) -> Identity:
        """The hash of the code behind one run; empty for driftopt's own code, which every key covers."""
        problem = self.problems[0]
        if ours((method, problem)):
            return Identity("")
        kind = type(method) if ours(method) else jax.tree.structure(method)
        if (kind, settings) not in self._codes:
            hashes = [of_trace(traced(lambda: simulate(method, problem, **settings.arguments())))]
            if settings.metrics:
                hashes.append(of_trace(jax.make_jaxpr(lambda p: p.metrics(p.x0))(problem)))
            unknown = tuple(name for one in hashes for name in one.unknown)
            self._codes[kind, settings] = Identity(hashed(*(one.digest for one in hashes)).hex(), unknown)
        return self._codes[kind, settings]

    def tile(self, lanes: tuple[int, int, int], settings: RunSettings) -> Tile:
        # For one seed at a time, an exact evaluation may need a temporary as large as the instance's data.
        data = sum(leaf.nbytes for leaf in jax.tree.leaves(self.problems[0]))
        accelerator = jax.default_backend() != "cpu"
        memory = (16 if accelerator else 1) * MEMORY // max(data, 4096)
        return tile_of(lanes, settings.budget, memory, accelerator=accelerator)

    def largest(self, seeds: int) -> int:
        return LARGEST

    def checksums(self) -> dict[str, str]:
        return {n: digest_of(p)[:16] for n, p in zip(self.names, self.problems, strict=True)}


@dataclass(frozen=True)
class Simulation(Task):
    """Runs of a Problem inside one compiled program."""

    method: Method
    problems: Stack
    seeds: tuple[tuple[int, ...], ...]  # several for each instance
    settings: RunSettings
    code: Identity
    tile: Tile
    any_batch: bool = False  # whether parts with other batches use the same program

    def part(self, block: Block) -> Task:
        (k, k_end), (s, s_end), (c, c_end) = block
        method = jax.tree.map(lambda leaf: leaf[k:k_end, c:c_end] if np.ndim(leaf) else leaf, self.method)
        seeds = tuple(row[s:s_end] for row in self.seeds[k:k_end])
        return replace(self, method=method, problems=self.problems.take(range(k, k_end)), seeds=seeds)

    @property
    def key(self) -> str:
        s = self.settings
        # The numbers that these two return enter the program as data, so no trace shows them.
        planned = self.method.for_budget(s.budget // s.settle).in_numbers()
        layout = (self.tile, self.any_batch)
        return digest_of(self.method, planned, self.problems, self.seeds, s, self.code.digest, layout)

    @property
    def unseen(self) -> tuple[str, ...]:
        return self.code.unknown if self.settings.version is None else ()

    @property
    def program(self) -> Any:
        shared = tuple(np.ndim(leaf) == 0 for leaf in jax.tree.leaves(self.method))  # by all lanes
        return jax.tree.structure(self.method.in_numbers()), shared, self.tile

    @property
    def effort(self) -> int:
        """The number of arrays in the method's state, which grows with what it computes."""
        return _state_size(jax.tree.structure(self.method.for_budget(self.settings.budget)))

    def run(self) -> Arrays:
        wide = max((np.shape(leaf)[-1] for leaf in jax.tree.leaves(self.method) if np.ndim(leaf)), default=1)
        return run_tiles((len(self.problems), len(self.seeds[0]), wide), self.tile, self._run_tile)

    def _run_tile(self, at: Indices) -> dict[str, np.ndarray]:
        """The results of the runs at these indices."""
        s, (instances, seeds, configurations) = self.settings, at
        problems = self.problems.take(instances.tolist())
        method = jax.tree.map(
            lambda leaf: leaf[np.ix_(instances, configurations)] if np.ndim(leaf) else leaf, self.method
        )
        accelerator = jax.default_backend() != "cpu"
        before = any_batch.set(self.any_batch)
        try:
            trace = simulate_lanes(
                method,
                problems,
                seeds=[[self.seeds[k][i] for i in seeds] for k in instances],
                devices=jax.local_device_count() if accelerator else 1,
                times=self.tile.count,
                code=self.code.digest,
                **s.arguments(),
            )
        finally:
            any_batch.reset(before)
        result = {
            "x": np.asarray(trace.x, np.float32),
            "objective": np.asarray(trace.fun, np.float64),
            "queries": np.asarray(trace.queries, np.int64),
        }
        if s.evaluate_every is not None:
            # Lanes of different batch are evaluated at different counts.
            result["curve_at"] = np.asarray(trace.evaluated_at[:, 0], np.int64)
            result["curve"] = np.asarray(trace.objective, np.float32)
        if s.metrics:
            measured = _metrics(problems.together, trace.x, self.code.digest)
            result |= {f"metric_{name}": value for name, value in measured.items()}
        return result


@cache
def _state_size(structure: Any) -> int:
    with suppress(Exception):  # the run itself reports a method's mistake
        method = jax.tree.unflatten(structure, [np.float32(1)] * structure.num_leaves)
        zero = jax.ShapeDtypeStruct((2,), np.float32)
        return len(jax.tree.leaves(jax.eval_shape(method.init, as_key(0), zero)))
    return 0


@cache
def _measure(code: str) -> Any:
    """A function for the metrics of several decisions, compiled once for each version of its code."""
    return jax.jit(jax.vmap(lambda problem, x: problem.metrics(x), (None, 0)))


def _metrics(problems: Any, x: np.ndarray, code: str) -> dict[str, np.ndarray]:
    """The metrics (K, S, C) of decisions (K, S, C, d), in calls of one size: parts share a program."""
    count, lanes = x.shape[1] * x.shape[2], x.shape[:3]
    rows = x.reshape(len(x), count, -1)
    whole = np.pad(rows, ((0, 0), (0, -count % MEASURED), (0, 0)), mode="edge")
    measured = [
        _measure(code)(jax.tree.map(lambda leaf, k=k: leaf[k], problems), whole[k, first : first + MEASURED])
        for k in range(len(x))
        for first in range(0, count, MEASURED)
    ]
    joined = jax.tree.map(
        lambda *pieces: np.concatenate(pieces).reshape(whole.shape[:2])[:, :count].reshape(lanes), *measured
    )
    return {name: np.asarray(value, np.float64) for name, value in joined._asdict().items()}


@jax.jit
def objective_at(problem: Problem, x: Any) -> jax.Array:
    """The exact objective as one program, since operation by operation there are forty to compile."""
    return problem.objective(x)
