"""Running a sweep: checked settings, parts on any executor, each part kept the moment it is finished.

A finished part is a file in the results folder; started again after an interruption, the sweep reads it and
goes on. Any `concurrent.futures.Executor` can run the parts.
"""

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

import driftopt
from driftopt import checks
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Outside, libraries_of
from driftopt.problem import Problem
from driftopt.runtime.jax_settings import cores
from driftopt.sweep.cutting import feasible, recorded_division, wanted_parts, workers_of
from driftopt.sweep.kept_parts import RowStore, Store, StoredRuns
from driftopt.sweep.planning import confirm_sweep
from driftopt.sweep.progress import SweepProgress, report_reuse
from driftopt.sweep.same_code import origin, run_task
from driftopt.sweep.settings import SweepOptions, SweepSettings
from driftopt.sweep.table import Runs, assemble
from driftopt.sweep.task import Arrays, Part, Source

IN_FLIGHT = 64  # parts submitted to an executor at a time, or two for each worker where that is more


def run(
    grids: Sequence[Grid | Method],
    problems: Sequence[Problem] | Source,
    *,
    budget: int,
    seeds: Sequence[int],
    names: Sequence[str] | None = None,
    x0: Any = None,
    evaluate_every: int | None = None,
    metrics: bool = False,
    folder: str | Path | None = None,
    fresh: bool = False,
    executor: Executor | None = None,
    progress: bool = True,
    title: str = "sweep",
    chosen: Mapping[tuple[str, str], int] | None = None,
    version: str | None = None,
    settle: int = 1,
    parts: int | None = None,
    confirm: bool = False,
) -> Runs:
    """A table with one row for every configuration × seed × instance.

    With `chosen` only one configuration runs for each method and instance. A configuration whose first step
    costs more than the budget is a row with the objective +inf.

    `executor` is any of `concurrent.futures`, of Dask or, through `sweep.JobQueue`, of submitit. By default
    the work is cut into the fewest parts, which is quickest on one machine; for executors other than threads
    it is cut into four parts a worker where that pays. The division never changes a result: the shape of what
    is computed together depends on the sweep alone. The folder records how a sweep was cut, so that it
    continues with other workers.

    Finished parts are reused if everything they depend on is unchanged, your own code included. For what code
    does not show, such as a file or a service, give a `version` and change it when that changes.

    Args:
        grids: methods with the configurations to try, each from `grid`; a Method is one configuration.
        problems: the instances, all of one shape.
        budget: queries a run.
        seeds: one run a seed, for every configuration and instance.
        names: the instances' names in the table; numbers by default.
        x0: the start of all runs; by default each problem's own.
        evaluate_every: queries between two exact evaluations of the objective along each run.
        metrics: add the problem's `metrics(x)` of the reported decisions.
        folder: keeps finished parts: the same call with the same folder continues where it stopped.
        fresh: compute every part again, whatever the folder holds.
        executor: runs the parts; by default this process.
        progress: show the progress.
        title: the name of the progress.
        chosen: a configuration's number for each (method, instance), to run these alone.
        version: a text that names what the code does not show.
        settle: hold every decision for this many deployments and use the last value, for worlds with
            carry-over; each deployment counts as a query.
        parts: how many parts to make, or a few more; there are never more than tiles.
        confirm: if the sweep takes over ten minutes or a gigabyte, print its cost first and ask on a
            terminal; without a terminal it does not start.

    Raises:
        NotConfirmed: the answer was no, or a terminal is missing.
    """
    settings = SweepSettings.check(
        grids,
        problems,
        budget=budget,
        seeds=seeds,
        chosen=chosen,
        names=names,
        x0=x0,
        evaluate_every=evaluate_every,
        metrics=metrics,
        fresh=fresh,
        executor=executor,
        progress=progress,
        title=title,
        version=version,
        settle=settle,
        parts=parts,
    )
    if checks.flag("confirm", confirm):
        confirm_sweep(settings, workers_of(executor) or 1)
    done, results, manifest = _carry_out(settings, partial(Store, folder))
    runs = assemble(settings.grids, settings.source, settings.seeds, chosen, done, results)
    return Runs(
        runs.columns, runs.x, runs.curves, {**manifest, "queries": int(runs.columns["queries"].sum())}
    )


def stream(
    grids: Sequence[Grid | Method],
    problems: Sequence[Problem] | Source,
    *,
    budget: int,
    seeds: Sequence[int],
    folder: str | Path,
    confirm: bool = False,
    **options: Unpack[SweepOptions],
) -> StoredRuns:
    """`run` for results larger than memory: each part becomes a Parquet file and leaves memory.

    Started again with the same folder, it continues from the files that are there.

    Args:
        grids: methods with the configurations to try.
        problems: the instances.
        budget: queries a run.
        seeds: one run a seed, for every configuration and instance.
        folder: the files go under `runs` there; an address such as s3://bucket/results is possible, too.
        confirm: ask before a large sweep, as `run` does.
        options: the other options of `run`. Without `version`, results that may depend on what no code shows
            are refused.

    Returns:
        a table that is read from the files when you use it; `select` takes it, too.
    """
    settings = SweepSettings.check(grids, problems, budget=budget, seeds=seeds, **options)
    if checks.flag("confirm", confirm):
        confirm_sweep(settings, workers_of(settings.executor) or 1)
    if folder is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise ValueError("folder must say where the files go: stream keeps nothing in memory")
    stores: list[RowStore] = []

    def open_store(warn: Callable[[str], None], *, fresh: bool) -> RowStore:
        stores.append(RowStore(folder, warn, fresh=fresh))
        return stores[0]

    done, _, manifest = _carry_out(settings, open_store)
    keys = [part.task.key for part in done]
    return StoredRuns(stores[0], keys, {**manifest, "queries": sum(part.queries for part in done)})


def _carry_out(
    settings: SweepSettings, open_store: Callable[..., Store]
) -> tuple[list[Part], list[Arrays], dict[str, Any]]:
    """Run every part that is not finished; return the parts, their results, and the sweep's manifest."""
    parts = settings.cut(settings.parts)
    with SweepProgress(
        settings.title,
        sum(part.queries for part in parts),
        show=settings.progress,
        workers=partial(workers_of, settings.executor),
    ) as shown:
        began, store = time.monotonic(), open_store(shown.note, fresh=settings.fresh)
        if settings.parts is None:
            wanted = wanted_parts(parts, settings.source, settings.executor)
            wanted = recorded_division(parts, wanted, store, fresh=settings.fresh)
            parts = parts if wanted is None else settings.cut(wanted)
        if isinstance(store, RowStore):
            store.expect(settings.grids, settings.source, parts)
        results, reused = execute(parts, store, settings.executor, shown)
        seconds = time.monotonic() - began
    manifest = describe(settings) | {
        "queries_run_now": int(shown.done),
        "duration_s": round(seconds, 3),
        "parts": len(parts),
        "parts_found_finished": reused,
    }
    return parts, results, manifest


def describe(settings: SweepSettings) -> dict[str, Any]:
    """A sweep's definition and the machine it ran on, for its manifest."""
    import jax

    runs, dim = settings.runs, settings.source.dim
    methods = [one.candidate(i) for one in settings.grids for i in range(len(one))]
    return {
        "versions": {
            "driftopt": driftopt.__version__,
            "jax": jax.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            **libraries_of(one for one in methods if isinstance(one, Outside)),
        },
        "machine": f"{platform.system()} {platform.machine()}",
        "devices": [f"{device.platform} {device.id}" for device in jax.local_devices()],
        "budget": runs.budget,
        "settle": runs.settle,
        "seeds": list(settings.seeds),
        "data_checksums": settings.source.checksums(),
        "grids": {one.label: [dict(c) for c in one.configurations] for one in settings.grids},
        "infeasible": {
            one.label: [
                dict(one.configurations[i])
                for i in range(len(one))
                if not feasible(one.candidate(i), dim, runs.budget, runs.settle)
            ]
            for one in settings.grids
        },
    }


def execute(
    parts: Sequence[Part], store: Store, executor: Executor | None, shown: SweepProgress
) -> tuple[list[Arrays], int]:
    """The results of the parts in order, and how many of them were reused."""
    keys = _keys(parts, store, shown)
    results: list[Arrays | None] = [None] * len(parts)

    def reuse(i: int) -> bool:
        """Take the result of a part from the store, if it is there."""
        key = keys[i]
        results[i] = None if key is None else store.get(key, parts[i].check)
        if results[i] is not None:
            shown.skip(parts[i].queries)
        return results[i] is not None

    missing = [i for i in range(len(parts)) if not reuse(i)]
    reused = len(parts) - len(missing)
    if reused and report_reuse.get():  # also where progress is hidden: old results must not pass for new ones
        shown.note(f"{reused} of {len(parts)} parts were finished before and are reused from {store.folder}")

    def finish(i: int, arrays: Arrays) -> None:
        key = keys[i]
        results[i] = arrays if key is None else store.put(key, arrays)
        shown.advance(parts[i].queries)

    def finished_elsewhere(i: int) -> bool:
        """Whether another scheduler has finished the part in the same folder meanwhile."""
        nonlocal reused
        reused += (found := reuse(i))
        return found

    try:
        if executor is None:
            # Threads: one compiles while another computes.
            with ThreadPoolExecutor(max(2, min(cores(), 16))) as pool:
                _submit(pool, compilations_first(parts, missing), finish, finished_elsewhere)
        elif isinstance(executor, ThreadPoolExecutor):
            _submit(executor, compilations_first(parts, missing), finish, finished_elsewhere)
        else:
            _submit(executor, [(i, parts[i].task) for i in missing], finish, finished_elsewhere)
    except KeyboardInterrupt:
        done = [key for key, arrays in zip(keys, results, strict=True) if arrays is not None]
        if store.folder is None:
            fate = "lost: no results folder was given"
        elif None in done:
            fate = "lost: they may depend on what cannot be seen, and were given no version"
        else:
            fate = f"safe in {store.folder}; give the same command again to go on from there"
        shown.note(f"interrupted: {len(done)} of {len(keys)} parts are finished and are {fate}")
        raise
    return [arrays for arrays in results if arrays is not None], reused


def _keys(parts: Sequence[Part], store: Store, shown: SweepProgress) -> list[str | None]:
    """The name of each part's result; None where it is not kept, or may depend on what cannot be seen."""
    if store.folder is None:
        return [None] * len(parts)
    if unseen := list(dict.fromkeys(sentence for part in parts for sentence in part.task.unseen)):
        if not store.in_memory:
            raise ValueError(
                f"results may depend on {'; on '.join(unseen[:3])}: give version=… (any text, changed "
                "whenever that changes), by which files are found again"
            )
        shown.note(
            f"results are neither kept nor reused: they may depend on {'; on '.join(unseen[:3])}. "
            "Give version=… (any text, changed whenever that changes) to keep them"
        )
    return [None if part.task.unseen else part.task.key for part in parts]


def compilations_first(parts: Sequence[Part], missing: Sequence[int]) -> list[tuple[int, Any]]:
    """One task of every program before the second of any, so that no two threads compile the same.

    The longest compilation comes first: begun last, it would keep one core busy and the others waiting.
    """
    seen: dict[Any, int] = {}
    efforts: dict[Any, int] = {}
    order: list[tuple[int, int, int]] = []
    for i in missing:
        task = parts[i].task
        program = task.program
        if program not in seen:
            seen[program], efforts[program] = 0, task.effort
        order.append((seen[program], -efforts[program], i))
        seen[program] += 1
    return [(i, parts[i].task) for *_, i in sorted(order)]


def _submit(
    executor: Executor,
    tasks: Sequence[tuple[int, Any]],
    finish: Callable[[int, Arrays], None],
    finished_elsewhere: Callable[[int], bool],
) -> None:
    """Keep a window of tasks running on the executor, and keep results as they come."""
    waiting = list(reversed(tasks))
    running: dict[Future[Arrays], int] = {}
    processes = not isinstance(executor, ThreadPoolExecutor)  # threads share our code
    try:
        while waiting or running:
            window = max(IN_FLIGHT, 2 * (workers_of(executor) or 0))
            while waiting and len(running) < window:
                i, task = waiting.pop()
                if not finished_elsewhere(i):
                    running[executor.submit(run_task, task, origin(task) if processes else None)] = i
            for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                finish(running[future], future.result())
                del running[future]
    except BaseException:
        # Results that workers have finished meanwhile, or that threads here are finishing, are kept.
        begun = [future for future in running if not future.cancel()]
        if isinstance(executor, ThreadPoolExecutor):
            wait(begun)
        for future in begun:
            # A second failure, of the same full disk for example, must not hide the first.
            with suppress(Exception):
                if future.done() and not future.cancelled() and future.exception() is None:
                    finish(running[future], future.result())
        raise
