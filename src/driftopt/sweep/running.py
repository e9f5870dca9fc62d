"""Running a sweep: parts on any executor, each part kept the moment it is finished.

A finished part is a file in the results folder; started again after an interruption, the sweep reads it and
goes on. Any `concurrent.futures.Executor` can run the parts.
"""

import json
import platform
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import numpy as np

import driftopt
from driftopt.outside.contract import Outside, libraries_of
from driftopt.runtime.jax_settings import cores
from driftopt.sweep import executors
from driftopt.sweep.cutting import Group, Part, cluster_of, feasible, most_runs, split, workers_of
from driftopt.sweep.planning import confirm_sweep
from driftopt.sweep.progress import SweepProgress
from driftopt.sweep.results import Runs, Store, assemble
from driftopt.sweep.settings import RunOptions, takes
from driftopt.sweep.tasks import Arrays


@takes(RunOptions)
def run(options: RunOptions) -> Runs:
    """A table with one row for every configuration × seed × instance.

    A configuration whose first step costs more than the budget is a row with the objective +inf.

    By default the work is cut into the fewest parts, which is quickest on one machine; for executors other
    than threads it is cut into four parts a worker where that pays. The division never changes a result: the
    shape of what is computed together depends on the sweep alone. A sweep continues from what the folder
    holds with any number of workers and parts.

    Finished parts are reused if everything they depend on is unchanged, your own code included. For what code
    does not show, such as a file or a service, give a `version` and change it when that changes.

    Raises:
        NotConfirmed: the answer was no, or a terminal is missing.
    """
    return run_with(options)


def run_with(options: RunOptions) -> Runs:
    """`run` with its arguments as a record."""
    parts, results, manifest = _carry_out(options, in_memory=True)
    arrays = [one for one in results if one is not None]
    runs = assemble(options.checked, options.source, options.seeds, options.chosen, parts, arrays)
    queries = int(runs.columns["queries"].sum())
    return Runs(runs.columns, runs.x, runs.curves, {**manifest, "queries": queries})


@takes(RunOptions)
def stream(options: RunOptions) -> Any:
    """`run` for results larger than memory: the rows of the folder's files as a polars LazyFrame.

    Each finished part becomes a Parquet file and leaves memory. The frame reads only the columns and rows
    that you collect, in no order; `select` takes it, too. Columns are those of `Runs`, x, and with
    `evaluate_every` curve_at and curve. Configurations that the budget could not start have no row. Results
    that may depend on what no code shows are refused without `version`. `sweep.json` in the folder says how
    the runs were made.
    """
    if options.folder is None:
        raise ValueError("folder must say where the files go: stream keeps nothing in memory")
    parts, _, manifest = _carry_out(options, in_memory=False)
    store = Store(options.folder)
    queries = sum(part.queries for part in parts)
    store.write("sweep.json", json.dumps({**manifest, "queries": queries}, indent=1).encode())
    return store.scan(parts)


def _carry_out(
    options: RunOptions, *, in_memory: bool
) -> tuple[list[Part], list[Arrays | None], dict[str, Any]]:
    """Run every part that is not finished; return the parts, their results, and the sweep's manifest."""
    if options.confirm:
        confirm_sweep(options, workers_of(options.executor) or 1)
    groups, workers = options.groups(), partial(workers_of, options.executor)
    with SweepProgress(options.title, show=options.progress, workers=workers) as shown:
        began = time.monotonic()
        store = None
        if options.folder is not None:
            store = Store(options.folder, shown.note, fresh=options.fresh)
            unseen = dict.fromkeys(sentence for group in groups for sentence in group.task.unseen)
            if unseen and not in_memory:
                raise ValueError(
                    f"results may depend on {'; on '.join([*unseen][:3])}: give version=… (any text, changed "
                    "whenever that changes), by which files are found again"
                )
            if unseen:
                shown.note(
                    f"results are neither kept nor reused: they may depend on {'; on '.join([*unseen][:3])}. "
                    "Give version=… (any text, changed whenever that changes) to keep them"
                )
        parts, finished = cut(options, groups, store)
        results, reused = execute(parts, finished, store, options.executor, shown, in_memory=in_memory)
        seconds = time.monotonic() - began
    manifest = describe(options) | {
        "queries_run_now": int(shown.done),
        "duration_s": round(seconds, 3),
        "parts": len(parts),
        "parts_found_finished": reused,
    }
    return parts, results, manifest


def cut(options: RunOptions, groups: Sequence[Group], store: Store | None) -> tuple[list[Part], set[int]]:
    """The parts of a sweep, and the indices of those that have files."""
    most, parts, finished = (
        most_runs(groups, options.parts, cluster_of(options.executor)),
        list[Part](),
        set[int](),
    )
    files = {} if store is None else store.blocks()
    for group in groups:
        kept, missing = split(group, files.get(group.key, []) if files else [], most)
        finished |= set(range(len(parts), len(parts) + len(kept)))
        parts += [Part(group, block) for block in (*kept, *missing)]
    return parts, finished


def describe(options: RunOptions) -> dict[str, Any]:
    """A sweep's definition and the machine it ran on, for its manifest."""
    grids, dim, budget, settle = options.checked, options.source.dim, options.budget, options.settle
    methods = [one.candidate(i) for one in grids for i in range(len(one))]
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
        "budget": budget,
        "settle": settle,
        "seeds": list(options.seeds),
        "data_checksums": options.source.checksums(),
        "grids": {one.label: [dict(c) for c in one.configurations] for one in grids},
        "infeasible": {
            one.label: [
                dict(one.configurations[i])
                for i in range(len(one))
                if not feasible(one.candidate(i), dim, budget, settle)
            ]
            for one in grids
        },
    }


def execute(
    parts: Sequence[Part],
    finished: set[int],
    store: Store | None,
    executor: Any,
    shown: SweepProgress,
    *,
    in_memory: bool,
) -> tuple[list[Arrays | None], int]:
    """The results of the parts in order, None where they are in files alone, and how many were reused."""
    results: list[Arrays | None] = [None] * len(parts)
    reused, done = set[int](), set[int]()
    kept = [store is not None and not part.group.task.unseen for part in parts]

    def reuse(i: int) -> bool:
        """Take the result of a part from the store, if it is there."""
        if not kept[i] or store is None or (arrays := store.get(parts[i])) is None:
            return False
        results[i] = arrays if in_memory else None
        reused.add(i)
        return True

    def finish(i: int, arrays: Arrays, seconds: float) -> None:
        value = arrays["objective"]
        arrays = {**arrays, "objective": np.where(np.isfinite(value), value, np.inf)}
        if kept[i] and store is not None:
            store.put(parts[i], arrays)
        results[i] = arrays if in_memory else None
        done.add(i)
        shown.advance(parts[i], seconds)

    def finished_elsewhere(i: int) -> bool:
        """Whether another scheduler has finished the part in the same folder meanwhile."""
        if found := reuse(i):
            shown.skip(parts[i])
        return found

    missing = [i for i in range(len(parts)) if not (i in finished and reuse(i))]
    if reused and store is not None:  # also where progress is hidden: old results must not pass for new ones
        shown.note(
            f"{len(reused)} of {len(parts)} parts were finished before and are reused from {store.folder}"
        )
    shown.begin([parts[i] for i in missing])
    try:
        if executor is None:
            # Threads: one compiles while another computes.
            with ThreadPoolExecutor(max(2, min(cores(), 16))) as pool:
                executors.submit_all(pool, parts, missing, finish, finished_elsewhere)
        else:
            executors.submit_all(executor, parts, missing, finish, finished_elsewhere)
    except KeyboardInterrupt:
        count = len(done | reused)
        if store is None:
            fate = "lost: no results folder was given"
        elif not all(kept[i] for i in done):
            fate = "lost: they may depend on what cannot be seen, and were given no version"
        else:
            fate = f"safe in {store.folder}; give the same command again to go on from there"
        shown.note(f"interrupted: {count} of {len(parts)} parts are finished and are {fate}")
        raise
    return results, len(reused)
