"""A sweep on a cluster of processes: what a part costs its scheduler, and how time falls with workers."""

import os
import tempfile
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.rows import check, row
from driftopt import sweep
from driftopt.problems import kink
from driftopt.runtime.jax_settings import cores
from driftopt.sweep import grid, tasks

STEPS = np.geomspace(1e-4, 1e-1, 256).tolist()
LANES = 256  # a unit of the work that is scaled
BUDGET = 50_000


def rows() -> Iterator[dict[str, Any]]:
    """Parts a second, then strong and weak scaling on 1, 2, 4, … workers of one core each."""
    yield _scheduler()
    workers = [1]
    while 2 * workers[-1] <= cores():
        workers.append(2 * workers[-1])
    for what, seeds in (("strong", lambda _: 4 * workers[-1]), ("weak", lambda count: 4 * count)):
        alone = None
        for count in workers:
            seconds, queries, parts = _timed(count, seeds(count))
            alone = seconds if alone is None else alone
            ideal = alone / count if what == "strong" else alone
            yield row(
                f"{what} scaling: {parts} parts on {count} process{'es' * (count > 1)}",
                f"{seconds:.2f} s, {queries / seconds / 1e6:.0f} M/s",
                f"ideal {ideal:.2f} s",
                ideal / seconds,
                "",
                None,
            )


class Instant(Executor):
    """Gives every part the answer of the first: what remains is the scheduler's own work."""

    workers = 1000

    def __init__(self) -> None:
        self.answer: Any = None

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        if self.answer is None:
            self.answer = fn(*args, **kwargs)
        future: Future[Any] = Future()
        future.set_result(self.answer)
        return future


def _scheduler() -> dict[str, Any]:
    """Cutting, naming, handing out, keeping in a folder and putting into the table, a part of eight runs."""
    with _tiles_of(8), tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        runs = sweep.run(
            [grid("zo-sph", step=STEPS, radius=1.0)],
            [kink(5)],
            budget=64,
            seeds=range(64),
            parts=10**6,
            folder=folder,
            executor=Instant(),
            progress=False,
        )
        seconds = time.perf_counter() - began
    parts = runs.manifest["parts"]
    check(parts == 64 * 256 // 8, f"{parts} parts")
    return row(
        "a scheduler's parts a second, kept on a disk",
        f"{parts / seconds:,.0f}/s",
        f"{1e3 * seconds / parts:.2f} ms a part",
        None,
        ">= 200/s",
        parts / seconds >= 200,
    )


@contextmanager
def _tiles_of(lanes: int) -> Generator[None]:
    before = tasks.WIDE, tasks.NARROW, tasks.QUERIES
    tasks.WIDE, tasks.NARROW, tasks.QUERIES = lanes, lanes, 1
    try:
        yield
    finally:
        tasks.WIDE, tasks.NARROW, tasks.QUERIES = before


def _timed(workers: int, seeds: int) -> tuple[float, int, int]:
    """Seconds, queries and parts of a sweep of so many units, once every worker has its program."""
    context = get_context("spawn")
    places = context.Queue()
    for core in sorted(os.sched_getaffinity(0))[:workers]:
        places.put(core)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_pin, initargs=(places,)) as pool:
        _sweep(pool, 4 * workers, first=10**6)
        began = time.perf_counter()
        runs = _sweep(pool, seeds)
        seconds = time.perf_counter() - began
    check(np.isfinite(runs.columns["objective"]).all(), "a run diverged")
    return seconds, runs.manifest["queries"], runs.manifest["parts"]


def _sweep(pool: Executor, seeds: int, first: int = 0) -> sweep.Runs:
    return sweep.run(
        [grid("zo-sph", step=STEPS, radius=1.0)],
        [kink(5)],
        budget=BUDGET,
        seeds=range(first, first + seeds),
        parts=seeds,
        executor=pool,
        progress=False,
    )


def _pin(places: Any) -> None:
    """One core for each worker, as a cluster's scheduler would give it."""
    os.sched_setaffinity(0, {places.get()})
