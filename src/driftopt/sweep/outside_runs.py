"""Runs of optimisers that others wrote: queries counted alike, judged at their own recommendation."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from driftopt.drivers.host import farthest
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Answer, Diverged, Outside, Spent, World, libraries_of
from driftopt.problem import Problem
from driftopt.rng.seeds import as_key, query_key, run_keys
from driftopt.runtime.fingerprint import digest_of
from driftopt.runtime.identity import Identity, of_python, of_trace, ours
from driftopt.sweep.kept_parts import Arrays
from driftopt.sweep.task import RunSettings, Task

BLOCK = 16  # queries answered in one call: a dispatch costs more than a query
BEGIN = np.uint32(2**32 - 1)  # the number of the world's own key: no query has it


class SearchPlace(ABC):
    """Where a search runs: what answers it, and what judges it."""

    @property
    @abstractmethod
    def x0(self) -> np.ndarray:
        """Where a search starts."""

    @property
    def sides(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The bounds of all coordinates, infinite where a side is open; None where there are none."""
        return None

    @abstractmethod
    def answer(self, seed: int, settle: int) -> Answer:
        """The oracle of one run: a fresh value at each point, held for `settle` deployments."""

    @abstractmethod
    def judge(self, seed: int, x: np.ndarray) -> np.ndarray:
        """What the decisions (n, d) are worth, (n,); +inf where that is not finite."""

    @property
    @abstractmethod
    def code(self) -> Identity:
        """The hash of what the answers depend on."""

    @property
    def boxed(self) -> bool:
        """Whether every coordinate has two finite bounds."""
        return self.sides is not None and bool(np.isfinite(self.sides).all())

    def report(self, x: np.ndarray) -> np.ndarray:
        """The decision that a recommendation stands for."""
        return x


@dataclass(frozen=True, eq=False)
class SimulatedPlace(SearchPlace):
    """A Problem, with the noise that its queries have in a simulated run of the same seed."""

    problem: Problem
    start: tuple[float, ...] | None

    @property
    def x0(self) -> np.ndarray:
        return np.asarray(self.problem.x0 if self.start is None else self.start, float)

    def answer(self, seed: int, settle: int) -> Answer:
        problem = jax.tree.map(jnp.asarray, self.problem)
        program, _ = _programs(self.code.digest)
        _, oracle = run_keys(as_key(seed))
        world, spent = problem.begin(query_key(oracle, BEGIN)), 0

        def values(points: np.ndarray) -> np.ndarray:
            nonlocal world, spent
            found: list[np.ndarray] = []
            for block in np.split(points, range(BLOCK, len(points), BLOCK)):
                with np.errstate(over="ignore"):  # a search that diverges may ask anywhere
                    padded = np.resize(block, (BLOCK, points.shape[1])).astype(np.float32)
                world, answers = program(problem, world, oracle, spent, padded, len(block), settle)
                found.append(np.asarray(answers)[: len(block)])
                spent += settle * len(block)
            return np.concatenate(found).astype(float)

        return values

    def judge(self, seed: int, x: np.ndarray) -> np.ndarray:
        _, objectives = _programs(self.code.digest)
        with np.errstate(over="ignore"):
            values = np.asarray(objectives(self.problem, x.astype(np.float32)), float)
        sound = (np.abs(x) <= farthest(jnp.float32)).all(axis=1) & np.isfinite(values)
        return np.where(sound, values, np.inf)

    @property
    def code(self) -> Identity:
        return self._code

    @cached_property
    def _code(self) -> Identity:
        if ours(self.problem):
            return Identity("")
        points = jnp.zeros((BLOCK, self.x0.size), jnp.float32)

        def all_of_it(problem: Problem, oracle: Array) -> Any:
            world = problem.begin(query_key(oracle, BEGIN))
            return world, _answers(problem, world, oracle, 0, points, BLOCK, 1), _objectives(problem, points)

        return of_trace(jax.make_jaxpr(all_of_it)(self.problem, run_keys(as_key(0))[1]))


@cache
def _programs(code: str) -> tuple[Any, Any]:
    """The compiled answers and objectives: traced again where the code behind a problem is another."""
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
        kept = jax.tree.map(lambda a, b: jnp.where(row < count, a, b), after, world)
        return kept, problem.value(points[row], xi)

    return lax.scan(deploy, world, jnp.arange(BLOCK))


def _objectives(problem: Problem, x: Array) -> Array:
    return jax.vmap(problem.objective)(x)


def searches(grid: Grid, configurations: Sequence[Sequence[int]]) -> tuple[tuple[Outside, ...], ...]:
    """A grid's outside optimisers, a row for each instance."""
    built = [[grid.candidate(index) for index in row] for row in configurations]
    return tuple(tuple(one for one in row if isinstance(one, Outside)) for row in built)


@dataclass(frozen=True)
class OutsideRuns(Task):
    """Runs of searches at several places, one after the other."""

    searches: tuple[tuple[Outside, ...], ...]  # a row for each place
    places: tuple[SearchPlace, ...]
    seeds: tuple[tuple[int, ...], ...]  # a row for each place
    settings: RunSettings

    def __post_init__(self) -> None:
        for row, place in zip(self.searches, self.places, strict=True):
            for search in row:
                search.check(place.x0.size, self._points(search), place.boxed)

    @property
    def key(self) -> str:
        data = [place.problem for place in self.places if isinstance(place, SimulatedPlace)]
        return digest_of(self._code.digest, data, self.seeds, self.settings, self.libraries)

    @property
    def libraries(self) -> dict[str, str]:
        return libraries_of(one for row in self.searches for one in row)

    @property
    def unseen(self) -> tuple[str, ...]:
        return self._code.unknown if self.settings.version is None else ()

    @cached_property
    def _code(self) -> Identity:
        found = [of_python(self.searches), *(place.code for place in self.places)]
        unknown = dict.fromkeys(name for one in found for name in one.unknown)
        return Identity("".join(one.digest for one in found), tuple(unknown))

    def run(self) -> Arrays:
        dim, s = self.places[0].x0.size, self.settings
        shape = (len(self.places), len(self.seeds[0]), len(self.searches[0]))
        marks = () if s.evaluate_every is None else _marks(s.budget, s.evaluate_every)
        x, queries = np.full((*shape, dim), np.nan, np.float32), np.zeros(shape, np.int64)
        curve = np.full((*shape, len(marks) + 1), np.inf)
        for at in np.ndindex(*shape):
            k, run, c = at
            search, place, seed = self.searches[k][c], self.places[k], self.seeds[k][run]
            looks, asked, sound = self._one(search, place, seed, marks)
            x[at], queries[at] = looks[-1], asked * search.batch * s.settle
            judged = place.judge(seed, looks)
            curve[at] = judged if sound else [*judged[:-1], np.inf]
        found = {"x": x, "objective": curve[..., -1], "queries": queries}
        if marks:
            found["curve_at"] = np.broadcast_to(marks, (shape[0], shape[2], len(marks)))
            found["curve"] = curve[..., :-1].astype(np.float32)
        return found

    def _points(self, search: Outside) -> int:
        return self.settings.budget // (search.batch * self.settings.settle)

    def _one(
        self, search: Outside, place: SearchPlace, seed: int, marks: Sequence[int]
    ) -> tuple[np.ndarray, int, bool]:
        """What was recommended at the marks and at the end, the points asked for, and whether all was finite.

        A recommendation that is not finite is the last one that was.
        """
        settle = self.settings.settle
        world = World(
            place.answer(seed, settle),
            place.x0,
            points=self._points(search),
            seed=seed,
            sides=place.sides,
            batch=search.batch,
            marks=[mark // (search.batch * settle) for mark in marks],
        )
        sound = True
        try:
            search.run(world)
        except Spent:
            pass
        except Diverged:
            sound = False
        looks = [place.report(look) for look in world.finish()]
        for i, look in enumerate(looks):
            if not np.isfinite(look).all():
                looks[i], sound = looks[i - 1] if i else place.x0, False
        return np.array(looks), world.asked, sound


def _marks(budget: int, every: int) -> tuple[int, ...]:
    """Where curves are looked at, as in a simulated run."""
    return tuple(min((i + 1) * every, budget) for i in range(-(-budget // every)))
