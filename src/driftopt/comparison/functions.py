"""A plain Python function as the problem of a sweep: runs go through `minimize`, one after the other."""

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt.drivers.minimization import MinimizeError, minimize
from driftopt.runtime.fingerprint import digest_of
from driftopt.space import Space
from driftopt.sweep.grids import Grid
from driftopt.sweep.kept_parts import Arrays
from driftopt.sweep.parts import Settings, Source, Task


@dataclass(frozen=True)
class FunctionTask(Task):
    """Runs of named methods on a noisy function, each judged by fresh values at its reported decision."""

    fun: Callable[..., Any]
    source: str  # the function's text, for the key
    method: str
    parameters: tuple[dict[str, Any], ...]
    space: Space
    evaluations: int
    seeds: tuple[int, ...]
    budget: int

    @property
    def key(self) -> str:
        parts = (self.source, self.method, repr(self.parameters), repr(self.space))
        return digest_of(*parts, self.evaluations, self.seeds, self.budget)

    def run(self) -> Arrays:
        shape = (1, len(self.seeds), len(self.parameters))
        x = np.full((*shape, self.space.dim), np.nan, np.float32)
        objective, queries = np.full(shape, np.inf), np.zeros(shape, np.int64)
        for s, seed in enumerate(self.seeds):
            for c, numbers in enumerate(self.parameters):
                found = self._one(seed, dict(numbers))
                at = (0, s, c)
                x[at], objective[at], queries[at] = found
        return {"x": x, "objective": objective, "queries": queries}

    def _one(self, seed: int, numbers: dict[str, Any]) -> tuple[np.ndarray, float, int]:
        takes_rng = "rng" in inspect.signature(self.fun).parameters

        def noise(purpose: int) -> tuple[Any, ...]:
            return (np.random.default_rng([seed, purpose]),) if takes_rng else ()

        try:
            result = minimize(
                self.fun,
                self.space,
                budget=self.budget,
                method=self.method,
                params=numbers,
                rng=seed,
                args=noise(0),
            )
        except MinimizeError as error:
            if error.__cause__ is not None:  # the function itself raised: that is the user's to mend
                raise ValueError(f"{self.method} with {numbers}, seed {seed}: {error}") from error
            return error.result.x, np.inf, error.result.nfev
        judge = noise(1)
        values = [float(self.fun(result.x.copy(), *judge)) for _ in range(self.evaluations)]
        return result.x, float(np.mean(values)), result.nfev


class FunctionSource(Source):
    """One noisy function with its start and bounds."""

    def __init__(self, fun: Callable[..., Any], x0: np.ndarray, bounds: Any, evaluations: int):
        self.fun, self.space, self.evaluations = fun, Space.build(x0, bounds=bounds), evaluations
        self.names = (getattr(fun, "__name__", "function"),)
        self.dim = self.space.dim
        try:
            self.text = inspect.getsource(inspect.getmodule(fun) or fun)  # pyright: ignore[reportArgumentType]
        except (OSError, TypeError):
            self.text = repr(self.names)

    def task(
        self,
        grid: Grid,
        configurations: Sequence[Sequence[int]],
        instances: Sequence[int],
        seeds: Sequence[int],
        settings: Settings,
    ) -> FunctionTask:
        if not isinstance(grid.build, str):
            raise ValueError(
                f"{grid.label}: with a Python function as the problem, a method is a name of the registry; "
                "write the problem as a driftopt.Problem to try a method of your own"
            )
        numbers = tuple(dict(grid.configurations[i]) for i in configurations[0])
        space = self.space
        if settings.x0 is not None:
            space = Space.build(settings.x0, names=space.names, **space.given)
        return FunctionTask(
            self.fun,
            self.text,
            grid.build,
            numbers,
            space,
            self.evaluations,
            tuple(seeds),
            settings.budget,
        )

    def width(self, instances: int, seeds: int) -> int:
        return 8  # a few runs a part: an interruption then costs little

    def checksums(self) -> dict[str, str]:
        return {self.names[0]: hashlib.sha256(self.text.encode()).hexdigest()[:16]}
