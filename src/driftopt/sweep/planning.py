"""The cost of a sweep before it starts: runs, queries, time and disk space, from a pilot of a second or two.

print(sweep.plan(grids, problems, budget=1000, seeds=range(20)))
10,000 runs, 10 million queries in 4 parts: about 2 minutes here, 2.1 MB of results

A large sweep can be confirmed before it starts: the plan, and a question on a terminal.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from driftopt import checks
from driftopt.drivers.plan import affordable, first_step
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.problem import Problem
from driftopt.sweep.cutting import feasible, tile_of_group
from driftopt.sweep.progress import duration
from driftopt.sweep.settings import SweepSettings
from driftopt.sweep.simulated import Simulated
from driftopt.sweep.task import Source
from driftopt.sweep.tiles import division

PILOT = 400_000  # queries of a pilot over all its runs
PILOT_RUNS = 64  # at most
PILOTS = 8  # programs that are timed, the largest first; the others are assumed to be as fast
BYTES = 200  # of a run in the table, without its decision and its curve
LONG = 600.0  # seconds from which a sweep is large
LARGE = 1e9  # bytes of results from which a sweep is large
MANY = 1e9  # queries from which a sweep is large where its time is not known; below, no pilot is run


class NotConfirmed(ValueError):
    """A large sweep was not started; the message says what it would take and how to start it."""


@dataclass(frozen=True)
class SweepPlan:
    """The cost of a sweep."""

    runs: int  # how many
    queries: int  # of all runs together
    parts: int  # the fewest that it can be cut into
    workers: int  # for which the time is estimated
    seconds: float | None  # None where it cannot be known: outside optimisers, Python functions
    result_bytes: int  # of the results on disk

    def __str__(self) -> str:
        parts = f"{self.parts:,} part{'s' * (self.parts != 1)}"
        took = "unknown time" if self.seconds is None else f"about {duration(self.seconds)}"
        where = "here" if self.workers == 1 else f"with {self.workers:,} workers like this machine"
        size = f"{self.result_bytes} bytes"
        for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
            if self.result_bytes >= unit:
                size = f"{self.result_bytes / unit:.3g} {name}"
                break
        queries = f"{self.queries:,}"
        for number, name in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
            if self.queries >= number:
                queries = f"{self.queries / number:.3g} {name}"
                break
        return f"{self.runs:,} runs, {queries} queries in {parts}: {took} {where}, {size} of results"

    def __add__(self, other: "SweepPlan") -> "SweepPlan":
        """The plan of one sweep after the other."""
        times = (self.seconds, other.seconds)
        return SweepPlan(
            self.runs + other.runs,
            self.queries + other.queries,
            self.parts + other.parts,
            self.workers,
            None if None in times else sum(one or 0.0 for one in times),
            self.result_bytes + other.result_bytes,
        )

    @property
    def large(self) -> bool:
        """Whether you should be asked first: it takes long, or needs much space, or has very many queries."""
        long = self.queries >= MANY if self.seconds is None else self.seconds >= LONG
        return long or self.result_bytes >= LARGE


@dataclass(frozen=True)
class Group:
    """Configurations that share a program."""

    grid: Grid
    members: tuple[int, ...]
    queries: int  # of one run of each of them, together


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
    """The cost of `run` with the same arguments; a pilot of each program is timed on this machine.

    Args:
        grids: methods with the configurations to try.
        problems: the instances.
        budget: queries a run.
        seeds: one run a seed.
        names: the instances' names.
        x0: the start of all runs.
        evaluate_every: queries between two points of a curve.
        settle: deployments for one value.
        workers: machines like this one that share the work.
        pilot: whether to estimate the time; counting alone needs no pilot.

    Returns:
        the numbers; `print` it for a sentence.
    """
    checked = SweepSettings.check(
        grids, problems, budget=budget, seeds=seeds, names=names, x0=x0, settle=settle
    )
    if evaluate_every is not None:
        every = checks.one_count("evaluate_every", evaluate_every)
        checked = replace(checked, runs=replace(checked.runs, evaluate_every=every))
    return plan_of(checked, checks.one_count("workers", workers), pilot=pilot)


def plan_of(settings: SweepSettings, workers: int, *, pilot: bool = True) -> SweepPlan:
    """The cost of a sweep with these settings."""
    source, runs, seeds = settings.source, settings.runs, len(settings.seeds)
    points = 0 if runs.evaluate_every is None else -(-runs.budget // runs.evaluate_every)
    each = len(source.names) * seeds
    groups = [group for one in settings.grids for group in _groups(one, settings)]
    parts = 0
    for group in groups:
        lanes = (len(source.names), seeds, len(group.members))
        tile = tile_of_group(source, group.grid.candidate(group.members[0]), lanes, runs)
        parts += sum(1 for _ in division(lanes, tile, source.largest(seeds)))
    count = sum(len(one) for one in settings.grids) * each
    return SweepPlan(
        count,
        sum(group.queries for group in groups) * each,
        parts,
        workers,
        _seconds(groups, settings, workers) if pilot else None,
        count * (BYTES + 4 * source.dim + 12 * points),
    )


def _groups(grid: Grid, settings: SweepSettings) -> list[Group]:
    """The grid's feasible configurations, by program."""
    dim, budget, settle = settings.source.dim, settings.runs.budget, settings.runs.settle
    groups: dict[Any, list[tuple[int, int]]] = {}
    for member in range(len(grid)):
        method = grid.candidate(member)
        if not feasible(method, dim, budget, settle):
            continue
        if isinstance(method, Method):
            batch = int(np.asarray(method.batch))
            iterations = affordable(method.for_budget(budget // settle), dim, budget // settle)
            key = jax.tree.structure(method), batch
            groups.setdefault(key, []).append((member, iterations.queries * settle))
        else:
            groups.setdefault(member, []).append((member, budget))
    return [Group(grid, tuple(m for m, _ in few), sum(n for _, n in few)) for few in groups.values()]


def _seconds(groups: Sequence[Group], settings: SweepSettings, workers: int) -> float | None:
    """The time that the groups take on these workers, from a pilot of the largest; None if it is unknown."""
    methods = all(isinstance(group.grid.candidate(group.members[0]), Method) for group in groups)
    if not isinstance(settings.source, Simulated) or not methods:
        return None
    largest = sorted(groups, key=lambda group: -group.queries)[:PILOTS]
    if not largest:
        return 0.0
    timed = [(group, *time_pilot(group, settings)) for group in largest]
    each = len(settings.source.names) * len(settings.seeds)
    computing = sum(group.queries * each / rate for group, rate, _ in timed)
    share = sum(group.queries for group in largest) / max(sum(group.queries for group in groups), 1)
    compiling = sum(seconds for _, _, seconds in timed) * len(groups) / len(timed)
    return compiling + computing / share / workers


def time_pilot(group: Group, settings: SweepSettings) -> tuple[float, float]:
    """The queries per second of a few runs of a group, and the seconds that compiling its program takes."""
    source, runs = settings.source, settings.runs
    few = group.members[:PILOT_RUNS]
    each = [group.grid.method(member) for member in few]
    least = max(first_step(one.for_budget(runs.budget), source.dim) for one in each) * runs.settle
    budget = min(runs.budget, max(4 * least, PILOT // len(few)))
    short = replace(runs, budget=budget, evaluate_every=None, metrics=False, version=None)
    tile = source.tile((1, 1, len(few)), short)
    task = source.task(group.grid, (few,), (0,), (settings.seeds[0],), short, tile)
    began = time.perf_counter()
    queries = int(task.run()["queries"].sum())
    compiled = time.perf_counter()
    task.run()
    took = max(time.perf_counter() - compiled, 1e-6)
    return queries / took, max(compiled - began - took, 0.0)


def confirm_sweep(settings: SweepSettings, workers: int) -> None:
    """Return if the sweep is small or you agree to start it; a pilot is run only for many queries."""
    if plan_of(settings, workers, pilot=False).large:
        confirm(plan_of(settings, workers), "leave out confirm=True to start it")


def confirm(plan: SweepPlan, how: str) -> None:
    """Return if a sweep may start: it is not large, or you say so at a terminal.

    Without a terminal it never waits.

    Args:
        plan: the sweep's cost.
        how: an advice how to start it without the question.

    Raises:
        NotConfirmed: the answer was no, or a terminal is missing.
    """
    if not plan.large:
        return
    if not sys.stdin.isatty():
        raise NotConfirmed(f"nothing was started: {plan}. There is no terminal to ask at; {how}")
    if not ask_to_start(plan):
        raise NotConfirmed(f"nothing was started: the answer was no; {how}")


def ask_to_start(plan: SweepPlan) -> bool:
    """Print the cost of a sweep, ask whether to start it, and return whether the answer is yes."""
    print(f"{plan}\nStart? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
