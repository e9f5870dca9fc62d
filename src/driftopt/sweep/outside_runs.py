"""Runs of outside optimisers: their queries count as ours do, and their own recommendation is judged."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from driftopt.drivers.host import farthest
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Diverged, Oracle, Outside, Spent, World, libraries_of
from driftopt.problem import Problem
from driftopt.rng.seeds import as_key, query_key, run_keys
from driftopt.runtime.fingerprint import digest_of
from driftopt.runtime.identity import Identity, of_python, of_trace, ours
from driftopt.sweep.tasks import Arrays, Block, RunSettings, Task

BLOCK = 16  # queries answered in one call: a dispatch costs more than a query
BEGIN = np.uint32(2**32 - 1)  # the number of the key that starts a problem's world; no query has it


class SearchTarget(ABC):
    """The function that a search minimises: it answers queries and judges recommendations."""

    x0: np.ndarray  # the start of a search
    sides: tuple[np.ndarray, np.ndarray] | None = None  # bounds of all coordinates, infinite on open sides
    code: Identity  # the hash of everything that the values depend on

    @abstractmethod
    def oracle(self, seed: int, settle: int) -> Oracle:
        """A function for one run that gives a fresh value at each point after `settle` deployments."""

    @abstractmethod
    def judge(self, seed: int, x: np.ndarray) -> np.ndarray:
        """The objectives (n,) of decisions (n, d); +inf where one is not finite."""

    def report(self, x: np.ndarray) -> np.ndarray:
        """The decision that a recommendation means."""
        return x


class SimulatedTarget(SearchTarget):
    """A Problem, with the same noise as a simulated run of the same seed."""

    def __init__(self, problem: Problem, start: Sequence[float] | None = None):
        self.problem, self.x0 = problem, np.asarray(problem.x0 if start is None else start, float)
        self.code, points = Identity(""), jnp.zeros((BLOCK, self.x0.size), jnp.float32)
        if not ours(problem):

            def everything(problem: Problem, oracle: Array) -> Any:
                world = problem.begin(query_key(oracle, BEGIN))
                answers = _answers(problem, world, oracle, 0, points, BLOCK, 1)
                return world, answers, _objectives(problem, points)

            self.code = of_trace(jax.make_jaxpr(everything)(problem, run_keys(as_key(0))[1]))

    def oracle(self, seed: int, settle: int) -> Oracle:
        problem = jax.tree.map(jnp.asarray, self.problem)
        program, _ = _programs(self.code.digest)
        _, key = run_keys(as_key(seed))
        world, spent = problem.begin(query_key(key, BEGIN)), 0

        def values(points: np.ndarray) -> np.ndarray:
            nonlocal world, spent
            blocks: list[np.ndarray] = []
            for block in np.split(points, range(BLOCK, len(points), BLOCK)):
                with np.errstate(over="ignore"):  # a search that diverges may ask anywhere
                    padded = np.resize(block, (BLOCK, points.shape[1])).astype(np.float32)
                world, answers = program(problem, world, key, spent, padded, len(block), settle)
                blocks.append(np.asarray(answers)[: len(block)])
                spent += settle * len(block)
            return np.concatenate(blocks).astype(float)

        return values

    def judge(self, seed: int, x: np.ndarray) -> np.ndarray:
        _, objectives = _programs(self.code.digest)
        with np.errstate(over="ignore"):
            values = np.asarray(objectives(self.problem, x.astype(np.float32)), float)
        finite = (np.abs(x) <= farthest(jnp.float32)).all(axis=1) & np.isfinite(values)
        return np.where(finite, values, np.inf)


@cache
def _programs(code: str) -> tuple[Any, Any]:
    """The compiled answers and objectives, traced again for each version of the code behind a problem."""
    return jax.jit(partial(_answers), static_argnames="settle"), jax.jit(partial(_objectives))


def _answers(
    problem: Problem, world: Any, oracle: Array, first: Any, points: Array, count: Any, settle: int
) -> tuple[Any, Array]:
    """The world after the first `count` points, each held for `settle` deployments, and the last values."""
    numbers = first + settle * jnp.arange(BLOCK)

    def noise(number: Any) -> Any:
        return problem.noise(query_key(oracle, number))

    if not problem.remembers:
        return world, jax.vmap(problem.observe)(jax.vmap(noise)(numbers + settle - 1), points)

    def deploy(world: Any, row: Array) -> tuple[Any, Array]:
        def once(later: Any, carry: Any) -> Any:
            return problem.advance(carry[0], noise(numbers[row] + later), points[row])

        after = once(0, (world, None))
        after, xi = lax.fori_loop(1, settle, once, after)
        world = jax.tree.map(lambda a, b: jnp.where(row < count, a, b), after, world)
        return world, problem.value(points[row], xi)

    return lax.scan(deploy, world, jnp.arange(BLOCK))


def _objectives(problem: Problem, x: Array) -> Array:
    return jax.vmap(problem.objective)(x)


def searches(grid: Grid, configurations: Sequence[Sequence[int]]) -> tuple[tuple[Outside, ...], ...]:
    """A grid's outside optimisers, several for each instance."""
    built = [[grid.candidate(index) for index in some] for some in configurations]
    return tuple(tuple(one for one in some if isinstance(one, Outside)) for some in built)


@dataclass(frozen=True)
class OutsideRuns(Task):
    """Runs of searches on several targets, one after the other."""

    searches: tuple[tuple[Outside, ...], ...]  # several for each target
    targets: tuple[SearchTarget, ...]
    seeds: tuple[tuple[int, ...], ...]  # several for each target
    settings: RunSettings

    def __post_init__(self) -> None:
        for some, target in zip(self.searches, self.targets, strict=True):
            for search in some:
                boxed = target.sides is not None and bool(np.isfinite(target.sides).all())
                search.check(target.x0.size, self._points(search), boxed)

    def part(self, block: Block) -> Task:
        (k, k_end), (s, s_end), (c, c_end) = block
        searches = tuple(some[c:c_end] for some in self.searches[k:k_end])
        seeds = tuple(row[s:s_end] for row in self.seeds[k:k_end])
        return replace(self, searches=searches, targets=self.targets[k:k_end], seeds=seeds)

    @property
    def program(self) -> Any:
        return tuple(type(search).__qualname__ for search in self.searches[0])  # each is timed early

    @property
    def key(self) -> str:
        data = [one.problem for one in self.targets if isinstance(one, SimulatedTarget)]
        return digest_of(self._code.digest, data, self.seeds, self.settings, self.libraries)

    @property
    def libraries(self) -> dict[str, str]:
        return libraries_of(one for some in self.searches for one in some)

    @property
    def unseen(self) -> tuple[str, ...]:
        return self._code.unknown if self.settings.version is None else ()

    @cached_property
    def _code(self) -> Identity:
        codes = [of_python(self.searches), *(target.code for target in self.targets)]
        unknown = dict.fromkeys(name for one in codes for name in one.unknown)
        return Identity("".join(one.digest for one in codes), tuple(unknown))

    def run(self) -> Arrays:
        dim, s = self.targets[0].x0.size, self.settings
        shape = (len(self.targets), len(self.seeds[0]), len(self.searches[0]))
        marks: tuple[int, ...] = ()  # the query counts of a curve's points, as in a simulated run
        if (every := s.evaluate_every) is not None:
            marks = tuple(min((i + 1) * every, s.budget) for i in range(-(-s.budget // every)))
        x, queries = np.full((*shape, dim), np.nan, np.float32), np.zeros(shape, np.int64)
        curve = np.full((*shape, len(marks) + 1), np.inf)
        for at in np.ndindex(*shape):
            k, i, c = at
            search, target, seed = self.searches[k][c], self.targets[k], self.seeds[k][i]
            recommended, asked, finite = self._search(search, target, seed, marks)
            x[at], queries[at] = recommended[-1], asked * search.batch * s.settle
            judged = target.judge(seed, recommended)
            curve[at] = judged if finite else [*judged[:-1], np.inf]
        arrays = {"x": x, "objective": curve[..., -1], "queries": queries}
        if marks:
            arrays["curve_at"] = np.broadcast_to(marks, (shape[0], shape[2], len(marks)))
            arrays["curve"] = curve[..., :-1].astype(np.float32)
        return arrays

    def _points(self, search: Outside) -> int:
        return self.settings.budget // (search.batch * self.settings.settle)

    def _search(
        self, search: Outside, target: SearchTarget, seed: int, marks: Sequence[int]
    ) -> tuple[np.ndarray, int, bool]:
        """The recommendations at the marks and at the end, the points asked for, and whether all were finite.

        A recommendation that is not finite is replaced by the last finite one.
        """
        settle, finite = self.settings.settle, True
        world = World(
            target.oracle(seed, settle),
            target.x0,
            points=self._points(search),
            seed=seed,
            sides=target.sides,
            batch=search.batch,
            marks=[mark // (search.batch * settle) for mark in marks],
        )
        try:
            search.run(world)
        except Spent:
            pass
        except Diverged:
            finite = False
        recommended = [target.report(x) for x in world.finish()]
        for i, x in enumerate(recommended):
            if not np.isfinite(x).all():
                recommended[i], finite = recommended[i - 1] if i else target.x0, False
        return np.array(recommended), world.asked, finite
