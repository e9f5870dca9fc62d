"""The shapes of a compiled run: a change of any of them compiles the program again."""

import math
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from driftopt import checks
from driftopt.method import Method
from driftopt.problem import Problem

ROWS = 64  # rows of random numbers drawn at once: enough to hide the cost of drawing, few enough for caches
DRAWS = 512  # an upper limit on the queries of one lane drawn at once, where a query has many points
# Numbers in a CPU's vector: a remainder of the fastest axis costs as much as the vectors before it.
VECTOR = 8
# Runs that handle fewer numbers than this take less time than better code for them takes to compile. Without
# XLA's newer emitters compiling takes half to two thirds of the time, and running at most a third longer
# where a query handles some ten numbers, two to four times as long where it handles a hundred.
QUICK = 64_000_000
# Whether the batch is a number of a CPU's program even where it is 1 in all lanes. Runs that differ in their
# batch then share a program, which at batch 1 is up to a third slower than one made for it. The same bits.
any_batch: ContextVar[bool] = ContextVar("any_batch", default=False)


@dataclass(frozen=True)
class RunPlan:
    """The shapes of a program; a change of any of them compiles it again."""

    dim: int
    points: int
    rows: int
    segment: int  # rows between evaluations
    segments: int
    chunk: int  # rows of random numbers drawn at once; divides the segment
    lanes: tuple[int, int, int]  # K, S, C, where C may be more than was asked for
    split: int | None  # the axis of the lanes that is divided among the devices
    devices: int
    single: bool  # whether every lane's batch is 1, and the program is made for that
    cpu: bool
    quick: bool  # whether the runs are so short that compiling takes longer
    code: str = ""  # the hash of code that others have written, if known: another hash is traced again

    @classmethod
    def make(
        cls,
        method: Method,
        problems: Problem,
        rows: int,
        evaluate_every: int | None,
        dim: int,
        lanes: tuple[int, int, int],
        devices: int,
        times: int,
    ) -> "RunPlan":
        points, cpu = method.points(dim), jax.default_backend() == "cpu"
        chunk = max(1, min(ROWS, DRAWS // points))
        every = (
            rows if evaluate_every is None else checks.one_count("evaluate_every", evaluate_every) // points
        )
        segment = min(max(1, every), rows)
        chunk = min(chunk, segment)
        segment = -(-segment // chunk) * chunk
        if cpu and method.broadcasts and problems.broadcasts:
            lanes = (*lanes[:2], padded(lanes[2]))
        split, devices = share(lanes, devices)
        number = cpu and any_batch.get()
        single = bool(np.all(np.asarray(method.batch) == 1)) and not number
        segments = -(-rows // segment)
        quick = cpu and times * rows * points * math.prod(lanes) * numbers_of_a_query(problems) < QUICK
        return cls(dim, points, rows, segment, segments, chunk, lanes, split, devices, single, cpu, quick)


@dataclass(frozen=True)
class ObservedPlan:
    """The shapes of a program of the second loop, `observed_loop`."""

    dim: int
    points: int
    most: int  # samples at a point, the largest batch of any lane and iteration
    budget: int
    every: int  # queries between evaluations
    settle: int  # deployments that stand behind one answer
    quick: bool = False  # whether the runs are so short that compiling takes longer
    devices: int = 1
    code: str = ""  # as in RunPlan

    @property
    def segments(self) -> int:
        """Evaluations along a run."""
        return -(-self.budget // self.every)


def numbers_of_a_query(problems: Problem) -> int:
    """The length of a stacked problem's decision, of its noise or of ξ, whichever is the longest.

    It says roughly how much work a query is: one that counts 120 buyers costs ten times as much as one that
    looks at one person.
    """
    leaves, structure = jax.tree.flatten(problems)
    shapes = tuple(jax.ShapeDtypeStruct(np.shape(leaf)[1:], leaf.dtype) for leaf in leaves)
    return _numbers_of_a_query(structure, shapes)


@lru_cache(maxsize=512)
def _numbers_of_a_query(structure: Any, shapes: tuple[Any, ...]) -> int:
    """By shapes alone, once for each: a sweep asks thousands of times."""

    def query(problem: Problem) -> Any:
        x, noise = problem.x0.astype(np.float32), problem.noise(jax.random.key(0))
        return x, noise, problem.respond(noise, x)

    sizes = jax.eval_shape(query, jax.tree.unflatten(structure, shapes))
    return max(sum(leaf.size for leaf in jax.tree.leaves(part)) for part in sizes)


def padded(width: int) -> int:
    """The number of configurations to run: whole vectors, where that adds no more than a quarter.

    >>> [padded(width) for width in (1, 3, 15, 20, 36, 64)]
    [1, 3, 16, 24, 40, 64]
    """
    whole = -(-width // VECTOR) * VECTOR
    return whole if 4 * whole <= 5 * width else width


def share(lanes: tuple[int, int, int], devices: int) -> tuple[int | None, int]:
    """The axis to divide evenly among devices, and the number of these, as large as possible.

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


class Affordable(NamedTuple):
    """The cost of the whole iterations within a budget."""

    iterations: int
    queries: int
    most: int  # the largest batch among them


def affordable(method: Method, dim: int, budget: int) -> Affordable:
    """The whole iterations that `budget` queries pay for; `method` has one number for each of its parameters.

    >>> from driftopt import methods
    >>> affordable(methods.get("zo-sph", radius=1, step=1, batch=3), dim=2, budget=20)
    Affordable(iterations=3, queries=18, most=3)
    """
    if not method.scheduled:
        cost, batch = _of_each(method, dim)
        return Affordable(budget // cost, budget // cost * cost, batch)
    iterations = queries = most = 0
    while True:
        samples = np.asarray(method.samples(iterations, dim))
        cost = int(samples.sum())
        if cost < 1:
            raise ValueError(f"{type(method).__name__} asks for no sample in iteration {iterations}")
        if queries + cost > budget:
            return Affordable(iterations, queries, most)
        iterations, queries, most = iterations + 1, queries + cost, max(most, int(samples.max()))


def first_step(method: Method, dim: int) -> int:
    """The queries of the iterations up to the first that can move the iterate."""
    if not method.scheduled:
        return (1 + method.warmup) * _of_each(method, dim)[0]
    return sum(int(np.sum(method.samples(count, dim))) for count in range(1 + method.warmup))


def _of_each(method: Method, dim: int) -> tuple[int, int]:
    """The queries of every iteration of a method with one batch, and the samples at each point."""
    batch = int(np.asarray(method.batch))
    return method.points(dim) * batch, batch
