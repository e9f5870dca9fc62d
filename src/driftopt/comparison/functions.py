"""A plain Python function as the source of a sweep: its runs are calls of `minimize`, one after the other."""

import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.drivers.function_run import MinimizeError, NotFinite
from driftopt.drivers.minimization import minimize
from driftopt.method import Method
from driftopt.methods import registry
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Oracle, Outside
from driftopt.plugins import OWN
from driftopt.runtime.fingerprint import digest_of
from driftopt.runtime.identity import Identity, of_python
from driftopt.space import Space
from driftopt.space.bounds import Bounds
from driftopt.sweep.outside_runs import OutsideRuns, SearchTarget, searches
from driftopt.sweep.tasks import Arrays, Block, RunSettings, Source, Task, Tile


@dataclass(frozen=True)
class FunctionTask(Task):
    """Runs of a method on a noisy function, each judged by fresh values at its reported decision."""

    fun: Callable[..., Any]
    code: Identity  # of the function
    label: str
    methods: tuple[str | Method, ...]  # one a configuration: a name of the registry, or the Method itself
    parameters: tuple[dict[str, Any], ...]
    space: Space
    evaluations: int
    seeds: tuple[int, ...]
    budget: int
    settle: int
    version: str | None

    def part(self, block: Block) -> Task:
        _, (s, s_end), (c, c_end) = block
        return replace(
            self,
            methods=self.methods[c:c_end],
            parameters=self.parameters[c:c_end],
            seeds=self.seeds[s:s_end],
        )

    @property
    def key(self) -> str:
        numbers = (self.evaluations, self.seeds, self.budget, self.settle, self.version)
        return digest_of(self.code.digest, self._rest.digest, *numbers)

    @property
    def unseen(self) -> tuple[str, ...]:
        return (*self.code.unknown, *self._rest.unknown) if self.version is None else ()

    @cached_property
    def _rest(self) -> Identity:
        # The functions that build methods of other providers; every key covers driftopt's own code.
        lines = [registry.entry(name) for name in self.methods if isinstance(name, str)]
        builders = tuple(line.build for line in lines if line.provider != OWN)
        return of_python(self.methods, builders, self.parameters, self.space)

    def run(self) -> Arrays:
        shape = (1, len(self.seeds), len(self.parameters))
        x = np.full((*shape, self.space.dim), np.nan, np.float32)
        objective, queries = np.full(shape, np.inf), np.zeros(shape, np.int64)
        for s, seed in enumerate(self.seeds):
            for c in range(len(self.parameters)):
                at = (0, s, c)
                x[at], objective[at], queries[at] = self._run(seed, c)
        return {"x": x, "objective": objective, "queries": queries}

    def _run(self, seed: int, configuration: int) -> tuple[np.ndarray, float, int]:
        numbers = self.parameters[configuration]
        method = self.methods[configuration]
        try:
            result = minimize(
                self.fun,
                self.space,
                budget=self.budget,
                method=method,
                params=numbers if isinstance(method, str) else None,
                rng=seed,
                settle=self.settle,
                args=_generator(self.fun, seed, 0),
            )
        except NotFinite as error:
            return error.result.x, np.inf, error.result.nfev
        except MinimizeError as error:  # the function raised, or returned no number
            raise ValueError(f"{self.label} with {numbers}, seed {seed}: {error}") from error
        value = _judged(self.fun, result.x, seed, self.evaluations, f"{self.label} with {numbers}")
        return result.x, value, result.nfev


def _generator(fun: Callable[..., Any], seed: int, purpose: int) -> tuple[Any, ...]:
    """The generator of a run, for a function that takes one: purpose 0 for its queries, 1 for its judge."""
    try:
        takes_rng = "rng" in inspect.signature(fun).parameters
    except ValueError:  # a function written in C may have no signature
        takes_rng = False
    return (np.random.default_rng([seed, purpose]),) if takes_rng else ()


def _judged(fun: Callable[..., Any], x: np.ndarray, seed: int, evaluations: int, label: str) -> float:
    """The mean of fresh values at the reported decision."""
    judge = _generator(fun, seed, 1)
    return float(np.mean([_value(fun, x, judge, f"{label}, seed {seed}") for _ in range(evaluations)]))


def _value(fun: Callable[..., Any], x: np.ndarray, arguments: tuple[Any, ...], run: str) -> float:
    """A value of the function, possibly NaN or infinite; other things than numbers are refused."""
    try:
        returned = fun(x.copy(), *arguments)
    except Exception as error:
        raise ValueError(f"{run}: the function raised {type(error).__name__}: {error}") from error
    value = checks.numbers_of(f"{run}: what the function returns", returned, "iufb")
    if value.size != 1:
        raise ValueError(f"{run}: what the function returns must be one number, got {checks.brief(returned)}")
    return float(value.ravel()[0])


class FunctionTarget(SearchTarget):
    """A noisy function for outside optimisers; every point they ask for becomes a decision of its space."""

    def __init__(self, label: str, fun: Callable[..., Any], space: Space, evaluations: int):
        self.label, self.fun, self.space, self.evaluations = label, fun, space, evaluations
        bounds = next((step for step in space.steps if isinstance(step, Bounds)), None)
        self.x0, self.sides = space.start, None if bounds is None else (bounds.lower, bounds.upper)
        self.code = of_python(fun, space, evaluations)

    def oracle(self, seed: int, settle: int) -> Oracle:
        arguments, batches = _generator(self.fun, seed, 0), itertools.count()

        def values(points: np.ndarray) -> np.ndarray:
            decisions = self.space.deploy(self.space.lift(points), (seed, next(batches)))
            run = f"{self.label}, seed {seed}"
            each = [[_value(self.fun, x, arguments, run) for _ in range(settle)] for x in decisions]
            return np.array([values[-1] for values in each])

        return values

    def judge(self, seed: int, x: np.ndarray) -> np.ndarray:
        values = [_judged(self.fun, one, seed, self.evaluations, self.label) for one in x]
        return np.where(np.isfinite(values), values, np.inf)

    def report(self, x: np.ndarray) -> np.ndarray:
        return self.space.report(self.space.lift(x))


class FunctionSource(Source):
    """One noisy function with its start and its feasible set."""

    worth = 1_000  # a Python function needs no compilation

    def __init__(self, fun: Callable[..., Any], space: Space, evaluations: int):
        self.fun, self.space, self.evaluations = fun, space, evaluations
        self.names = (getattr(fun, "__name__", "function"),)
        self.dim = self.space.dim
        self.code = of_python(fun)

    def task(
        self,
        grid: Grid,
        configurations: Sequence[Sequence[int]],
        instances: Sequence[int],
        seeds: Sequence[int],
        settings: RunSettings,
        tile: Tile,
    ) -> Task:
        numbers = tuple(dict(grid.configurations[i]) for i in configurations[0])
        space = self.space
        if settings.x0 is not None:
            space = Space.build(settings.x0, names=space.names, **space.given)
        if isinstance(grid.candidate(configurations[0][0]), Outside):
            target = FunctionTarget(grid.label, self.fun, space, self.evaluations)
            return OutsideRuns(searches(grid, configurations), (target,), (tuple(seeds),), settings)
        return FunctionTask(
            self.fun,
            self.code,
            grid.label,
            tuple(grid.build if isinstance(grid.build, str) else grid.method(i) for i in configurations[0]),
            numbers,
            space,
            self.evaluations,
            tuple(seeds),
            settings.budget,
            settings.settle,
            settings.version,
        )

    def largest(self, seeds: int) -> int:
        return 8 * seeds  # few runs a part, so that an interruption costs little

    def checksums(self) -> dict[str, str]:
        return {self.names[0]: self.code.digest[:16]}
