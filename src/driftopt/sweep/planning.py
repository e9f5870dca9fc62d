"""The cost of a sweep before it starts: runs, queries, parts, time and disk space, from a short pilot.

print(sweep.plan(grids, problems, budget=1000, seeds=range(20)))
10,000 runs, 10 million queries in 4 parts: about 2 minutes here, 2.1 MB of results

A large sweep can be confirmed before it starts: the plan, and a question on a terminal.
"""

import copy
import math
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

from driftopt import checks
from driftopt.drivers.plan import first_step
from driftopt.sweep.cutting import Part, most_runs
from driftopt.sweep.progress import duration
from driftopt.sweep.settings import RunOptions, argument, takes
from driftopt.sweep.simulated import Simulated

PILOT = 400_000  # queries of a pilot over all its runs
PILOT_RUNS = 64  # at most
PILOTS = 8  # groups of a kind that are timed, the largest first; the others are assumed to be as fast
SECONDS = (
    0.3  # after which the pilot of a slow run, one that computes a query after the other, is not doubled
)
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
    parts: int  # that it would be cut into
    workers: int  # for which the time is estimated
    seconds: float | None  # None without a pilot
    result_bytes: int  # of the results on disk

    def __str__(self) -> str:
        took = "unknown time" if self.seconds is None else f"about {duration(self.seconds)}"
        where = "here" if self.workers == 1 else f"with {self.workers:,} workers like this machine"
        scales = ((1e12, "trillion", "TB"), (1e9, "billion", "GB"), (1e6, "million", "MB"), (1e3, "", "kB"))
        queries, size = f"{self.queries:,}", f"{self.result_bytes} bytes"
        for unit, word, letters in reversed(scales):
            queries = f"{self.queries / unit:.3g} {word}" if self.queries >= unit and word else queries
            size = f"{self.result_bytes / unit:.3g} {letters}" if self.result_bytes >= unit else size
        parts = f"{self.parts:,} part{'s' * (self.parts != 1)}"
        return f"{self.runs:,} runs, {queries} queries in {parts}: {took} {where}, {size} of results"

    def __add__(self, other: "SweepPlan") -> "SweepPlan":
        """The plan of one sweep after the other."""
        return SweepPlan(
            self.runs + other.runs,
            self.queries + other.queries,
            self.parts + other.parts,
            self.workers,
            None if self.seconds is None or other.seconds is None else self.seconds + other.seconds,
            self.result_bytes + other.result_bytes,
        )

    @property
    def large(self) -> bool:
        """Whether you should be asked first: it takes long, or needs much space, or has very many queries."""
        long = self.queries >= MANY if self.seconds is None else self.seconds >= LONG
        return long or self.result_bytes >= LARGE


class PlanOptions(RunOptions):
    """The arguments of `plan`."""

    workers: int = argument("machines like this one that share the work.", checks.one_count, default=1)
    pilot: bool = argument(
        "estimate the time, for which a few runs of each kind are timed here; a Python function is called "
        "some more times.",
        checks.flag,
        default=True,
    )


@takes(PlanOptions)
def plan(options: PlanOptions) -> SweepPlan:
    """The cost of `run` with the same arguments; `print` it for a sentence."""
    groups, runs, workers = options.groups(), options.runs, options.workers
    most = most_runs(groups, options.parts, None if workers == 1 else workers)
    parts = sum(1 for group in groups for _ in group.blocks(most))
    points = 0 if runs.evaluate_every is None else -(-runs.budget // runs.evaluate_every)
    tried = sum(1 if options.chosen is not None else len(one) for one in options.checked)
    count = tried * len(options.source.names) * len(options.seeds)
    seconds, kinds = None, dict[str, list[Part]]()  # slow runs are timed for every method, others together
    for group in sorted(groups, key=lambda group: -group.queries):
        slow = group.outside or not isinstance(group.source, Simulated)
        kinds.setdefault(group.grid.label if slow else "", []).append(group)
    for label, some in kinds.items() if options.pilot else ():
        few = some[: 1 if label else PILOTS]
        timed = [time_slow_run(group) if label else time_pilot(group) for group in few]
        computing = sum(group.queries / rate for group, (rate, _) in zip(few, timed, strict=True))
        share = sum(group.queries for group in few) / max(sum(group.queries for group in some), 1)
        compiling = sum(took for _, took in timed) * len(some) / len(few)
        seconds = (seconds or 0.0) + compiling + computing / share / min(workers, max(parts, 1))
    return SweepPlan(
        count,
        sum(group.queries for group in groups),
        parts,
        workers,
        0.0 if options.pilot and not kinds else seconds,
        count * (BYTES + 4 * options.source.dim + 12 * points),
    )


def time_pilot(group: Part) -> tuple[float, float]:
    """The queries per second of a few runs of a group, and the seconds that compiling its program takes."""
    source, runs = group.source, group.settings
    few = group.configurations[0][:PILOT_RUNS]
    each = [group.grid.method(member) for member in few]
    least = max(first_step(one.for_budget(runs.budget), source.dim) for one in each) * runs.settle
    budget = min(runs.budget, max(4 * least, PILOT // len(few)))
    short = replace(runs, budget=budget, evaluate_every=None, metrics=False, version=None)
    tile = source.tile((1, 1, len(few)), short)
    task = source.task(group.grid, (few,), group.instances[:1], group.seeds[:1], short, tile)
    began = time.perf_counter()
    queries = int(task.run()["queries"].sum())
    compiled = time.perf_counter()
    task.run()
    took = max(time.perf_counter() - compiled, 1e-6)
    return queries / took, max(compiled - began - took, 0.0)


def time_slow_run(group: Part) -> tuple[float, float]:
    """The queries per second of a run of an outside optimiser or on a Python function, and 0.

    Runs of a growing budget are timed. The last three give the power by which the time grows, since many
    models take longer for each further value.
    """
    runs, first, source = group.settings, group.configurations[0][:1], copy.copy(group.source)
    judging, source.evaluations = source.evaluations, min(1, source.evaluations)
    budget = min(runs.budget, max(8, 4 * int(np.asarray(group.grid.candidate(first[0]).batch))) * runs.settle)
    times: list[tuple[int, float]] = []

    def timed(budget: int) -> float:
        short = replace(runs, budget=budget, evaluate_every=None, version=None)
        task = source.task(group.grid, (first,), group.instances[:1], group.seeds[:1], short, group.tile)
        began = time.perf_counter()
        task.run()
        return time.perf_counter() - began

    took = timed(budget)
    if took < 10 * SECONDS:  # programs were compiled and modules loaded
        took = timed(budget)
    times.append((budget, took))
    while budget < runs.budget and (took < SECONDS or len(times) == 1) and took < 10 * SECONDS:
        budget = min(2 * budget, runs.budget)
        took = timed(budget)
        times.append((budget, took))
    each = times[0][1] / (times[0][0] + source.evaluations)
    whole, power = took * (runs.budget + judging) / (budget + source.evaluations), 1.0
    if len(times) > 1 and (later := took - times[-2][1]) > 0:
        before = times[-2][0]
        if len(times) > 2 and 2 * before == budget and (earlier := times[-2][1] - times[-3][1]) > 0:
            power = min(3.0, max(1.0, math.log2(later / earlier)))
        growth = ((runs.budget / budget) ** power - 1) / (1 - (before / budget) ** power)
        whole = took + later * growth + each * (judging - source.evaluations)
    return group.expected[first[0]] / max(whole, 1e-6), 0.0


def confirm(plan: SweepPlan, how: str) -> None:
    """Return if a sweep may start: it is not large, or you say so. Without a terminal it never waits.

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
