"""A part of a sweep: some units of one compiled program, whole on its own, and picklable."""

from abc import ABC, abstractmethod
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
from driftopt.runtime.fingerprint import digest_of
from driftopt.runtime.hashing import hashed
from driftopt.runtime.identity import Identity, of_trace, ours
from driftopt.sweep.kept_parts import Arrays
from driftopt.sweep.outside_runs import OutsideRuns, SimulatedPlace, searches
from driftopt.sweep.task import RunSettings, Task
from driftopt.sweep.units import LARGEST, Places, Unit, run_units, unit_of

MEMORY = 1 << 26  # bytes that the exact evaluation of one seed may take, of all lanes that run together
MEASURED = 32  # decisions whose metrics are computed at once


class Source(ABC):
    """The problem instances of a sweep, and how work on them is packed."""

    names: tuple[str, ...]
    dim: int

    @abstractmethod
    def task(
        self,
        grid: Grid,
        configurations: Sequence[Sequence[int]],
        instances: Sequence[int],
        seeds: Sequence[int],
        settings: RunSettings,
        unit: Unit,
    ) -> Task:
        """The runs of configurations that share their structure: a row of them for each instance."""

    def unit(self, lanes: tuple[int, int, int], settings: RunSettings) -> Unit:
        """The runs that are computed together, of so many instances × seeds × configurations: one by one."""
        return Unit(1, 1, 1, count=lanes[0] * lanes[1] * lanes[2])

    @abstractmethod
    def largest(self, seeds: int) -> int:
        """How many runs fit into one part."""

    @abstractmethod
    def checksums(self) -> dict[str, str]:
        """A checksum of each instance's data."""


@dataclass(frozen=True)
class Part:
    """Which runs a task does: rows of the final table."""

    label: str
    configurations: tuple[tuple[int, ...], ...]  # a row for each instance
    instances: tuple[int, ...]
    seeds: tuple[int, ...]
    queries: int  # as many as are expected
    most: int  # as many as can be paid for
    task: Task

    def check(self, arrays: Arrays) -> None:
        """Refuse arrays that cannot be this part's.

        Raises:
            ValueError: what is missing, of another shape or kind, or counted wrong.
        """
        lanes = (len(self.instances), len(self.seeds), len(self.configurations[0]))
        for name, kind in (("x", "f"), ("objective", "f"), ("queries", "i")):
            if name not in arrays:
                raise ValueError(f"it has no {name}")
            if arrays[name].shape[:3] != lanes or arrays[name].dtype.kind != kind:
                found = f"{arrays[name].dtype} {arrays[name].shape}"
                raise ValueError(f"its {name} is {found}, not one for each of {lanes} runs")
        spent = arrays["queries"]
        if (spent < 0).any() or spent.sum() > self.most:
            raise ValueError(f"it counts {spent.sum()} queries where {self.most} can be paid for")


class Simulated(Source):
    """Instances of one Problem class and shape."""

    def __init__(self, problems: Sequence[Problem], names: Sequence[str]):
        self.names = tuple(names)
        self.problems = [jax.tree.map(np.asarray, problem) for problem in problems]
        self.stacked = stack(list(problems)).on_host()
        self.dim = int(jax.eval_shape(lambda p: p.x0, self.problems[0]).shape[0])
        self._codes: dict[Any, Identity] = {}
        self._last: tuple[Grid, tuple[int, ...], Any] | None = None

    def task(
        self,
        grid: Grid,
        configurations: Sequence[Sequence[int]],
        instances: Sequence[int],
        seeds: Sequence[int],
        settings: RunSettings,
        unit: Unit,
    ) -> Task:
        # In whatever company, instance k has the random numbers of the k-th lane.
        own = tuple(tuple(lane_seed(seed, k) for seed in seeds) for k in instances)
        if isinstance(grid.candidate(configurations[0][0]), Outside):
            rows = searches(grid, configurations)
            places = tuple(SimulatedPlace(self.problems[k], settings.x0) for k in instances)
            return OutsideRuns(rows, places, own, settings)
        rows = [self._row(grid, tuple(row)) for row in configurations]
        method = jax.tree.map(lambda *leaves: np.stack(leaves), *rows)
        if "batch" in _fields(method) and unit.one_batch:
            # One batch for all lanes, as a scalar: they then share their noise.
            method = replace(method, batch=int(np.asarray(rows[0].batch)[0]))
        # Runs of other batches share their program: where many configurations hide what that costs, and where
        # the chosen ones differ in it, of which some would else have a second program to themselves.
        shared = unit.configurations > 1 or not unit.one_batch
        others = shared and any(p.get("batch", 1) != 1 for p in grid.configurations)
        problems = self.stacked.take(instances)
        first = grid.method(configurations[0][0])
        return Simulation(method, problems, own, settings, self._code(first, settings), unit, others)

    def _row(self, grid: Grid, row: tuple[int, ...]) -> Any:
        """Configurations as one method; most parts of a large sweep have the same ones."""
        if self._last is None or self._last[0] is not grid or self._last[1] != row:
            self._last = (grid, row, jax.tree.map(np.asarray, grid.stacked(row)))
        return self._last[2]

    def _code(self, method: Method, settings: RunSettings) -> Identity:
        """The code behind one run of the method; driftopt's own is in every key already."""
        problem = self.problems[0]
        if ours((method, problem)):
            return Identity("")
        kind = type(method) if ours(method) else jax.tree.structure(method)
        if (kind, settings) not in self._codes:
            self._codes[kind, settings] = _traced(method, problem, settings)
        return self._codes[kind, settings]

    def unit(self, lanes: tuple[int, int, int], settings: RunSettings) -> Unit:
        # An exact evaluation may need a temporary as large as the instance's data, for one seed at a time.
        data = sum(leaf.nbytes for leaf in jax.tree.leaves(self.problems[0]))
        accelerator = jax.default_backend() != "cpu"
        room = (16 if accelerator else 1) * MEMORY // max(data, 4096)
        return unit_of(lanes, settings.budget, room, accelerator=accelerator)

    def largest(self, seeds: int) -> int:
        return LARGEST

    def checksums(self) -> dict[str, str]:
        return {n: digest_of(p)[:16] for n, p in zip(self.names, self.problems, strict=True)}


@dataclass(frozen=True)
class Simulation(Task):
    """Runs of a Problem inside one compiled program."""

    method: Method
    problems: Stack
    seeds: tuple[tuple[int, ...], ...]  # a row for each instance
    settings: RunSettings
    code: Identity
    unit: Unit
    any_batch: bool = False  # whether parts of other batches use the same program

    @property
    def key(self) -> str:
        s = self.settings
        # What these two make of the numbers goes into the program as data: no trace shows it.
        planned = self.method.for_budget(s.budget // s.settle).in_numbers()
        layout = (self.unit, self.any_batch)
        return digest_of(self.method, planned, self.problems, self.seeds, s, self.code.digest, layout)

    @property
    def unseen(self) -> tuple[str, ...]:
        return self.code.unknown if self.settings.version is None else ()

    @property
    def program(self) -> Any:
        return jax.tree.structure(self.method.in_numbers()), _scalars(self.method), self.unit

    @property
    def effort(self) -> int:
        """How many arrays the method's state has: what keeps more computes more with it."""
        return _state_size(jax.tree.structure(self.method.for_budget(self.settings.budget)))

    def run(self) -> Arrays:
        wide = max((np.shape(leaf)[-1] for leaf in jax.tree.leaves(self.method) if np.ndim(leaf)), default=1)
        return run_units((len(self.problems), len(self.seeds[0]), wide), self.unit, self._run)

    def _run(self, at: Places) -> dict[str, np.ndarray]:
        """The runs of one unit."""
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
                times=self.unit.count,
                code=self.code.digest,
                **_given(s),
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
    with suppress(Exception):  # a method's mistake is the run's to report
        method = jax.tree.unflatten(structure, [np.float32(1)] * structure.num_leaves)
        zero = jax.ShapeDtypeStruct((2,), np.float32)
        return len(jax.tree.leaves(jax.eval_shape(method.init, as_key(0), zero)))
    return 0


def _traced(method: Method, problem: Problem, settings: RunSettings) -> Identity:
    """The hash of what a run of the method computes, and of what is measured at its end."""
    found = [of_trace(traced(lambda: simulate(method, problem, **_given(settings))))]
    if settings.metrics:
        found.append(of_trace(jax.make_jaxpr(lambda p: p.metrics(p.x0))(problem)))
    return Identity(
        hashed(*(one.digest for one in found)).hex(), tuple(name for one in found for name in one.unknown)
    )


def _given(settings: RunSettings) -> dict[str, Any]:
    s = settings
    return {"budget": s.budget, "x0": s.x0, "evaluate_every": s.evaluate_every, "settle": s.settle}


@cache
def _measure(code: str) -> Any:
    """The metrics of several decisions, compiled once for each version of the code behind them."""
    return jax.jit(jax.vmap(lambda problem, x: problem.metrics(x), (None, 0)))


def _metrics(problems: Any, x: np.ndarray, code: str) -> dict[str, np.ndarray]:
    """The metrics of decisions (K, S, C, d), each as (K, S, C).

    A fixed number of them at a time, so that all parts share a program.
    """
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


def _scalars(method: Any) -> tuple[bool, ...]:
    """Which numbers all lanes have in common."""
    return tuple(np.ndim(leaf) == 0 for leaf in jax.tree.leaves(method))


def _fields(method: Any) -> set[str]:
    return {field.name for field in fields(method)} if is_dataclass(method) else set()
