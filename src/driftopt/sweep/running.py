"""Running a sweep: parts on any executor, each part kept the moment it is finished.

A finished part is a file in the results folder; started again after an interruption, the sweep reads it and
goes on. Any `concurrent.futures.Executor` can run the parts.
"""

import json
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any

import jax
import numpy as np

import driftopt
from driftopt.outside.contract import Outside, libraries_of
from driftopt.runtime.jax_settings import cores
from driftopt.sweep import executors
from driftopt.sweep.cutting import Part, feasible, most_runs, split, workers_of
from driftopt.sweep.planning import confirm, plan
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
    parts, results, manifest = carry_out(options, in_memory=True)
    runs = assemble(options.checked, options.source, options.seeds, options.chosen, parts, results)
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
    parts, _, manifest = carry_out(options, in_memory=False)
    store, queries = Store(options.folder), sum(part.queries for part in parts)
    store.write("sweep.json", json.dumps({**manifest, "queries": queries}, indent=1).encode())
    return store.scan(parts)


def carry_out(options: RunOptions, *, in_memory: bool) -> tuple[list[Part], list[Arrays], dict[str, Any]]:
    """Run every part that is not finished.

    Returns:
        the parts; with `in_memory` their results, which are only in the folder's files otherwise; and the
        sweep's manifest.
    """
    _confirm(options)
    groups, executor, began = options.groups(), options.executor, time.monotonic()
    with SweepProgress(options.title, show=options.progress, workers=partial(workers_of, executor)) as shown:
        store, unseen = None, dict[str, None]()
        if options.folder is not None:
            store = Store(options.folder, shown.note, fresh=options.fresh)
            unseen = dict.fromkeys(sentence for group in groups for sentence in group.work.unseen)
        if unseen:
            reason = f"they may depend on {'; on '.join([*unseen][:3])}"
            advice = "ive version=… (any text, changed whenever that changes)"
            if not in_memory:
                raise ValueError(f"results cannot be found again: {reason}: g{advice}")
            shown.note(f"results are neither kept nor reused: {reason}. G{advice} to keep them")
        # Threads share the cores of one machine, and one program uses all of them: the fewest parts are best.
        threads = executor is None or isinstance(executor, ThreadPoolExecutor)
        most = most_runs(groups, options.parts, None if threads else workers_of(executor) or 0)
        parts, finished = split(groups, store.blocks() if store else {}, most)
        results, done, reused = dict[int, Arrays](), set[int](), set[int]()
        stored = [None if part.group.work.unseen else store for part in parts]

        def reuse(i: int) -> bool:
            """Take the result of a part from the store, if it is there."""
            if (folder := stored[i]) is None or (arrays := folder.get(parts[i])) is None:
                return False
            results.update({i: arrays} if in_memory else {})
            reused.add(i)
            return True

        def finish(i: int, arrays: Arrays, seconds: float) -> None:
            value = arrays["objective"]
            arrays = {**arrays, "objective": np.where(np.isfinite(value), value, np.inf)}
            if (folder := stored[i]) is not None:
                folder.put(parts[i], arrays)
            results.update({i: arrays} if in_memory else {})
            done.add(i)
            shown.advance(parts[i], seconds)

        def finished_elsewhere(i: int) -> bool:
            """Whether another scheduler has finished the part in the same folder meanwhile."""
            if found := reuse(i):
                shown.skip(parts[i])
            return found

        missing = [i for i in range(len(parts)) if not (finished[i] and reuse(i))]
        if reused and store:  # also where progress is hidden: old results must not pass for new ones
            note = f"{len(reused)} of {len(parts)} parts were finished before and are reused from"
            shown.note(f"{note} {store.folder}")
        shown.begin([parts[i] for i in missing])
        try:
            # By default threads: one compiles while another computes.
            with nullcontext(executor) if executor else ThreadPoolExecutor(max(2, min(cores(), 16))) as pool:
                executors.submit_all(pool, parts, missing, finish, finished_elsewhere)
        except KeyboardInterrupt:
            if store is None:
                fate = "lost: no results folder was given"
            elif not all(stored[i] for i in done):
                fate = "lost: they may depend on what cannot be seen, and were given no version"
            else:
                fate = f"safe in {store.folder}; give the same command again to go on from there"
            count = len(done | reused)
            shown.note(f"interrupted: {count} of {len(parts)} parts are finished and are {fate}")
            raise
        seconds = time.monotonic() - began
    manifest = describe(options) | {
        "queries_run_now": int(shown.done),
        "duration_s": round(seconds, 3),
        "parts": len(parts),
        "parts_found_finished": len(reused),
    }
    return parts, [results[i] for i in range(len(parts))] if in_memory else [], manifest


def _confirm(options: RunOptions) -> None:
    """Ask before a large sweep, if that is wanted; a pilot is run only for many queries."""
    given, workers = options.values(RunOptions), workers_of(options.executor) or 1
    if options.confirm and plan(**given, workers=workers, pilot=False).large:
        confirm(plan(**given, workers=workers), "leave out confirm=True to start it")


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
