"""A grid of hyper-parameters × seeds × problem instances → a tidy table; selection on development runs.

    tuned = sweep.tune([grid("zo-sph", step=[0.01, 0.1], radius=[0.5, 1.0])], problems, budget=1000,
                       development=range(5), held_out=range(100, 120), folder="results")
    tuned.held_out.frame()

Work is cut into parts, each some calls of a compiled program. A part that is finished lies in the folder as a
file; started again after an interruption, the sweep reads it and goes on. Any `concurrent.futures.Executor`
can run the parts.
Longer than 300 lines for the arguments of its doors, each of which is described.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.problem import Problem
from driftopt.sweep.arguments import check_grids, check_seeds, check_source
from driftopt.sweep.cutting import check_affordable, feasible, fit_side_by_side
from driftopt.sweep.kept_parts import Store
from driftopt.sweep.parts import Source
from driftopt.sweep.stored_runs import RowStore, StoredRuns
from driftopt.sweep.sweep_job import SweepJob
from driftopt.sweep.table import Runs, assemble


@dataclass(frozen=True)
class Selection:
    """The configuration chosen for a method on an instance, and how it did on the development runs."""

    method: str  # its label
    instance: str  # its name
    configuration: int  # its number in the grid
    parameters: Mapping[str, Any]  # its numbers
    development_mean: float  # the mean objective of its development runs
    configurations: int  # how many there were to choose from
    infeasible: int  # how many of them the budget cannot pay for


@dataclass(frozen=True)
class Tuned:
    """Development runs, what they selected, and the held-out runs of the selected configurations."""

    development: Runs  # runs of every configuration
    selected: Sequence[Selection]  # one for each method and instance
    held_out: Runs  # runs of the selected ones, with other seeds
    manifest: Mapping[str, Any] = field(repr=False)  # how they were made: versions, seeds, queries


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
    """Every configuration × seed × instance, or with `chosen` one configuration a method and instance.

    A configuration whose first step costs more than the budget is a row with the objective +inf.

    `executor` is any of `concurrent.futures`, of Dask or, through `sweep.JobQueue`, of submitit. By default
    the work is cut into the fewest parts, which is quickest on one machine, and for other executors than
    threads into four for each worker, where that pays; `parts` asks for as many, as far as there are units:
    runs that are computed together, whose shape follows from the sweep alone. So every division, executor
    and order gives the same bits. How a sweep was cut is kept in the folder, so that it goes on with other
    workers.

    Results are found again by everything they depend on, your own code included. What no code shows, a file
    or a service, is named by `version`: change the text when that changes.

    Args:
        grids: methods with the configurations to try, each from `grid`; a Method stands for itself.
        problems: the instances, all of one shape.
        budget: queries a run.
        seeds: one run a seed, for every configuration and instance.
        names: the instances' names in the table; numbers unless given.
        x0: the start of all runs; each problem's own unless given.
        evaluate_every: evaluate the exact objective along each run, about every so many queries.
        metrics: add what the problem's `metrics(x)` says of the reported decisions.
        folder: keeps finished parts: the same call with the same folder goes on where it stopped.
        fresh: run every part again, whatever the folder holds.
        executor: who runs the parts; this process unless given.
        progress: show how far it is.
        title: what the progress is called.
        chosen: a configuration's number for each (method, instance), to run these alone.
        version: a text that names what the code does not show.
        settle: hold every decision for so many deployments and look at the last, for worlds with memory;
            all of them are queries.
        parts: how many parts to make, or a few more; no more than there are units.
        confirm: say first what a sweep will take that is larger than ten minutes or a gigabyte, and ask
            on a terminal; elsewhere it is not started.

    Raises:
        NotConfirmed: the answer was no, or there is no terminal to ask at.
    """
    job = SweepJob.check(
        grids,
        problems,
        names,
        budget=budget,
        seeds=seeds,
        x0=x0,
        evaluate_every=evaluate_every,
        metrics=metrics,
        executor=executor,
        version=version,
        settle=settle,
        parts=parts,
        confirm=confirm,
        chosen=chosen,
    )
    done = job.carry_out(Store, folder, fresh=fresh, progress=progress, title=title)
    runs = assemble(job.grids, job.source, job.seeds, chosen, done.pieces, done.found)
    manifest = {**done.manifest} | {"queries": int(runs.columns["queries"].sum())}
    return Runs(runs.columns, runs.x, runs.curves, manifest)


def stream(
    grids: Sequence[Grid | Method],
    problems: Sequence[Problem] | Source,
    *,
    budget: int,
    seeds: Sequence[int],
    folder: str | Path,
    names: Sequence[str] | None = None,
    x0: Any = None,
    evaluate_every: int | None = None,
    metrics: bool = False,
    fresh: bool = False,
    executor: Executor | None = None,
    progress: bool = True,
    title: str = "sweep",
    version: str | None = None,
    settle: int = 1,
    parts: int | None = None,
    confirm: bool = False,
) -> StoredRuns:
    """`run` for results that are too large for memory: each part becomes a Parquet file, and is forgotten.

    Started again with the same folder, it goes on from the files that are there.

    Args:
        grids: as in `run`.
        problems: as in `run`.
        budget: as in `run`.
        seeds: as in `run`.
        folder: where the files go, under `runs`; an address such as s3://bucket/results, too.
        names: as in `run`.
        x0: as in `run`.
        evaluate_every: as in `run`.
        metrics: as in `run`.
        fresh: as in `run`.
        executor: as in `run`.
        progress: as in `run`.
        title: as in `run`.
        version: as in `run`; without it, results that may depend on what no code shows are refused.
        settle: as in `run`.
        parts: as in `run`.
        confirm: as in `run`.

    Returns:
        the files as a table that is read when something is asked of it; `select` takes it, too.
    """
    job = SweepJob.check(
        grids,
        problems,
        names,
        budget=budget,
        seeds=seeds,
        x0=x0,
        evaluate_every=evaluate_every,
        metrics=metrics,
        executor=executor,
        version=version,
        settle=settle,
        parts=parts,
        confirm=confirm,
    )
    if folder is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise ValueError("folder must say where the files go: stream keeps nothing in memory")
    done = job.carry_out(RowStore, folder, fresh=fresh, progress=progress, title=title)
    assert isinstance(done.store, RowStore)
    manifest = {**done.manifest} | {"queries": sum(part.queries for part in done.pieces)}
    return StoredRuns(done.store, [part.task.key for part in done.pieces], manifest)


def tune(
    grids: Sequence[Grid | Method],
    problems: Sequence[Problem] | Source,
    *,
    budget: int,
    development: Sequence[int],
    held_out: Sequence[int],
    names: Sequence[str] | None = None,
    x0: Any = None,
    evaluate_every: int | None = None,
    metrics: bool = False,
    folder: str | Path | None = None,
    fresh: bool = False,
    executor: Executor | None = None,
    progress: bool = True,
    title: str = "sweep",
    together: bool | None = None,
    version: str | None = None,
    settle: int = 1,
    parts: int | None = None,
) -> Tuned:
    """The paper's protocol: run the grids on development seeds, select, run the selected on held-out seeds.

    A method with a single configuration is not tuned and skips the development runs. The two lists of seeds
    must not share a seed: a configuration chosen on the noise it is judged by looks better than it is.

    Args:
        grids: as in `run`.
        problems: as in `run`.
        budget: as in `run`.
        development: seeds of the runs by which a configuration is chosen.
        held_out: seeds of the runs by which it is judged.
        names: as in `run`.
        x0: as in `run`.
        evaluate_every: as in `run`, of the held-out runs.
        metrics: as in `run`, of the held-out runs.
        folder: as in `run`.
        fresh: as in `run`.
        executor: as in `run`.
        progress: as in `run`.
        title: as in `run`.
        together: run every configuration on both lists of seeds at once: more runs but half the compilations,
            which pays for small grids. The outcome is the same. Unless given, where an accelerator has room
            for all those runs side by side: there they also take half the time.
        version: as in `run`.
        settle: as in `run`.
        parts: as in `run`.
    """
    development, held_out = check_seeds("development", development), check_seeds("held_out", held_out)
    if common := sorted(set(development) & set(held_out)):
        raise ValueError(
            f"development and held-out seeds must not overlap; both hold {', '.join(map(str, common[:5]))}"
        )
    source, grids = check_source(problems, names), check_grids(grids)
    check_affordable(grids, source, checks.one_count("budget", budget), checks.shape("settle", settle))
    shared: dict[str, Any] = {
        "budget": budget,
        "x0": x0,
        "folder": folder,
        "fresh": fresh,
        "executor": executor,
        "progress": progress,
        "version": version,
        "settle": settle,
        "parts": parts,
    }
    recorded: dict[str, Any] = {"evaluate_every": evaluate_every, "metrics": metrics}
    if together is None:
        both_at_once = fit_side_by_side(grids, source, len(development) + len(held_out))
    else:
        both_at_once = checks.flag("together", together)
    if both_at_once:
        both = run(grids, source, seeds=[*development, *held_out], title=title, **recorded, **shared)
        first = both.rows(np.isin(both.columns["seed"], development))
        selected = select(grids, first, source, budget, settle)
        known = np.isin(both.columns["seed"], held_out) & both.chosen(_choices(selected))
        return Tuned(first, selected, both.rows(known), {"both": both.manifest})
    tuned = [one for one in grids if len(one) > 1]
    first = run(tuned, source, seeds=development, title=f"{title}: development", **shared)
    selected = select(grids, first, source, budget, settle)
    second = run(
        grids,
        source,
        seeds=held_out,
        title=f"{title}: held-out",
        chosen=_choices(selected),
        **recorded,
        **shared,
    )
    return Tuned(first, selected, second, {"development": first.manifest, "held_out": second.manifest})


def _choices(selected: Sequence[Selection]) -> dict[tuple[str, str], int]:
    return {(s.method, s.instance): s.configuration for s in selected}


def select(
    grids: Sequence[Grid],
    development: Runs | StoredRuns,
    problems: Sequence[Problem] | Source,
    budget: int,
    settle: int = 1,
) -> list[Selection]:
    """For each method and instance the configuration with the smallest mean final objective.

    A run that diverged counts +inf, so its configuration's mean is +inf; the first of equals wins.

    Args:
        grids: as in `run`.
        development: the table of the development runs, in memory or in files.
        problems: as in `run`.
        budget: as in `run`.
        settle: as in `run`.
    """
    source, grids, budget = (
        check_source(problems, None),
        check_grids(grids),
        checks.one_count("budget", budget),
    )
    if not isinstance(development, Runs | StoredRuns):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"development must be the Runs of sweep.run, got {checks.brief(development)}")
    check_affordable(grids, source, budget, settle)
    stored = development.objectives() if isinstance(development, StoredRuns) else {}
    out: list[Selection] = []
    for one in grids:
        possible = [feasible(one.candidate(i), source.dim, budget, settle) for i in range(len(one))]
        for instance in source.names:
            means = np.full(len(one), np.nan)
            if len(one) > 1:
                if isinstance(development, StoredRuns):
                    values = stored[one.label, instance]
                else:
                    values = development.where(method=one.label, instance=instance).columns["objective"]
                values = np.where(np.isfinite(values), values, np.inf).reshape(len(one), -1)
                means = values.mean(axis=1)
            best = int(np.argmin(means)) if len(one) > 1 else 0
            if not possible[best]:  # every feasible configuration diverged: the first that can run
                best = possible.index(True)
            out.append(
                Selection(
                    one.label,
                    instance,
                    best,
                    dict(one.configurations[best]),
                    float(means[best]),
                    len(one),
                    possible.count(False),
                )
            )
    return out
