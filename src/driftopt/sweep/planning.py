"""What a sweep will take, before it starts: runs, queries, time and room, from a pilot of a second or two.

print(sweep.plan(grids, problems, budget=1000, seeds=range(20)))
10,000 runs, 10 million queries in 4 parts: about 2 minutes here, 2.1 MB of results
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from driftopt import checks
from driftopt.drivers.plan import affordable, first_step
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.problem import Problem
from driftopt.runtime.forks import refuse_after_fork
from driftopt.sweep.arguments import check_grids, check_seeds, check_source
from driftopt.sweep.cutting import feasible, unit_of_group
from driftopt.sweep.parts import Simulated, Source
from driftopt.sweep.progress import duration
from driftopt.sweep.task import RunSettings
from driftopt.sweep.units import division

PILOT = 400_000  # queries of a pilot, all its lanes together
LANES = 64  # at most
PILOTS = 8  # programs that are tried, the largest first; the others are taken to be as quick
ROW = 200  # bytes of a run in the table, but for its decision and its curve


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep will take."""

    runs: int  # how many
    queries: int  # of all runs together
    parts: int  # the fewest that it can be cut into
    workers: int  # on which the time is reckoned
    seconds: float | None  # None where it cannot be known: optimisers of others, Python functions
    result_bytes: int  # of the results on disk

    def __str__(self) -> str:
        parts = f"{self.parts:,} part{'s' * (self.parts != 1)}"
        time = "unknown time" if self.seconds is None else f"about {duration(self.seconds)}"
        place = "here" if self.workers == 1 else f"with {self.workers:,} workers like this machine"
        return (
            f"{self.runs:,} runs, {_many(self.queries)} queries in {parts}: {time} {place}, "
            f"{_room(self.result_bytes)} of results"
        )

    def __add__(self, other: "SweepPlan") -> "SweepPlan":
        """One after the other."""
        times = (self.seconds, other.seconds)
        return SweepPlan(
            self.runs + other.runs,
            self.queries + other.queries,
            self.parts + other.parts,
            self.workers,
            None if None in times else sum(one or 0.0 for one in times),
            self.result_bytes + other.result_bytes,
        )


@dataclass(frozen=True)
class _Group:
    """Configurations that share a program."""

    grid: Grid
    members: tuple[int, ...]
    spent: int  # queries of one run of each of them, all together

    def parts(self, source: Source, seeds: int, settings: RunSettings, largest: int) -> int:
        """The fewest that they are cut into."""
        lanes = (len(source.names), seeds, len(self.members))
        unit = unit_of_group(source, self.grid.candidate(self.members[0]), lanes, settings)
        return sum(1 for _ in division(lanes, unit, largest))


def plan(
    grids: Sequence[Grid | Method],
    problems: Sequence[Problem] | Source,
    *,
    budget: int,
    seeds: Sequence[int],
    names: Sequence[str] | None = None,
    x0: Any = None,
    evaluate_every: int | None = None,
    settle: int = 1,
    workers: int = 1,
    pilot: bool = True,
) -> SweepPlan:
    """What `run` with the same arguments will take; a pilot of each program is timed on this machine.

    Args:
        grids: as for `run`.
        problems: as for `run`.
        budget: queries a run.
        seeds: as for `run`.
        names: the instances' names.
        x0: where runs start.
        evaluate_every: queries between two points of a curve.
        settle: deployments that stand behind one answer.
        workers: machines like this one that share the work.
        pilot: whether to find out the time; counting alone takes no pilot.

    Returns:
        the numbers; `print` it for a sentence.
    """
    refuse_after_fork()
    source, grids, seeds = check_source(problems, names), check_grids(grids), check_seeds("seeds", seeds)
    start = None if x0 is None else tuple(checks.single_precision("x0", x0, source.dim).tolist())
    queries, held = checks.one_count("budget", budget), checks.shape("settle", settle)
    settings, crew = RunSettings(queries, start, None, False, held), checks.one_count("workers", workers)
    every = queries if evaluate_every is None else checks.one_count("evaluate_every", evaluate_every)
    points = 0 if evaluate_every is None else -(-queries // every)
    places = len(source.names) * len(seeds)
    groups = [group for one in grids for group in _groups(one, source, settings)]
    runs = sum(len(one) for one in grids) * places
    largest = source.largest(len(seeds))
    return SweepPlan(
        runs,
        sum(group.spent for group in groups) * places,
        sum(group.parts(source, len(seeds), settings, largest) for group in groups),
        crew,
        _seconds(groups, source, settings, seeds, places, crew) if pilot else None,
        runs * (ROW + 4 * source.dim + 12 * points),
    )


def _groups(grid: Grid, source: Source, settings: RunSettings) -> list[_Group]:
    found: dict[Any, list[tuple[int, int]]] = {}
    budget = settings.budget // settings.settle
    for member in range(len(grid)):
        method = grid.candidate(member)
        if not feasible(method, source.dim, settings.budget, settings.settle):
            continue
        batch = int(np.asarray(method.batch))
        if isinstance(method, Method):
            spent = affordable(method.for_budget(budget), source.dim, budget).queries * settings.settle
            found.setdefault((jax.tree.structure(method), batch), []).append((member, spent))
        else:
            found.setdefault(member, []).append((member, settings.budget))
    return [_Group(grid, tuple(m for m, _ in few), sum(spent for _, spent in few)) for few in found.values()]


def _seconds(
    groups: Sequence[_Group],
    source: Source,
    settings: RunSettings,
    seeds: Sequence[int],
    places: int,
    workers: int,
) -> float | None:
    ours = all(isinstance(group.grid.candidate(group.members[0]), Method) for group in groups)
    if not isinstance(source, Simulated) or not ours:
        return None
    largest = sorted(groups, key=lambda group: -group.spent)
    tried = [(group, *_pilot(group, source, settings, seeds[0])) for group in largest[:PILOTS]]
    if not tried:
        return 0.0
    computing = sum(group.spent * places / rate for group, rate, _ in tried)
    share = sum(group.spent for group, _, _ in tried) / max(sum(group.spent for group in groups), 1)
    compiling = sum(first for _, _, first in tried) * len(groups) / len(tried)
    return compiling + computing / share / workers


def _pilot(group: _Group, source: Source, settings: RunSettings, seed: int) -> tuple[float, float]:
    """Queries per second of a few runs of a group, and the seconds that its program takes to be made."""
    few = group.members[:LANES]
    each = [group.grid.method(member) for member in few]
    least = max(first_step(one.for_budget(settings.budget), source.dim) for one in each) * settings.settle
    budget = min(settings.budget, max(4 * least, PILOT // len(few)))
    short = RunSettings(budget, settings.x0, None, False, settings.settle)
    unit = source.unit((1, 1, len(few)), short)
    task = source.task(group.grid, (few,), (0,), (seed,), short, unit)
    began = time.perf_counter()
    spent = int(task.run()["queries"].sum())
    compiled = time.perf_counter()
    task.run()
    took = max(time.perf_counter() - compiled, 1e-6)
    return spent / took, max(compiled - began - took, 0.0)


def _many(count: int) -> str:
    """A number of queries in words.

    >>> _many(36_000_000), _many(2_500)
    ('36 million', '2,500')
    """
    for size, name in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:,}"


def _room(count: float) -> str:
    """Bytes in words.

    >>> _room(25e9), _room(900)
    ('25 GB', '900 bytes')
    """
    for size, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:.0f} bytes"
