"""Tuning: select each method's configuration on development runs and judge it on held-out runs.

tuned = sweep.tune([grid("zo-sph", step=[0.01, 0.1], radius=[0.5, 1.0])], problems, budget=1000,
                   development=range(5), held_out=range(100, 120), folder="results")
tuned.held_out.frame()
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from driftopt import checks
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.problem import Problem
from driftopt.sweep.cutting import check_affordable, feasible, fit_side_by_side
from driftopt.sweep.kept_parts import StoredRuns
from driftopt.sweep.running import run
from driftopt.sweep.settings import SweepOptions, check_grids, check_seeds, check_source
from driftopt.sweep.table import Runs
from driftopt.sweep.task import Source


@dataclass(frozen=True)
class Selection:
    """The configuration chosen for a method on an instance, and its result on the development runs."""

    method: str  # its label
    instance: str  # its name
    configuration: int  # its number in the grid
    parameters: Mapping[str, Any]  # its numbers
    development_mean: float  # the mean objective of its development runs
    configurations: int  # how many there were to choose from
    infeasible: int  # how many of them cost more than the budget


@dataclass(frozen=True)
class Tuned:
    """Development runs, the configurations that they selected, and the held-out runs of these."""

    development: Runs  # runs of every configuration
    selected: Sequence[Selection]  # one for each method and instance
    held_out: Runs  # runs of the selected configurations, with other seeds
    manifest: Mapping[str, Any] = field(repr=False)  # how the runs were made: versions, seeds, queries


def tune(
    grids: Sequence[Grid | Method],
    problems: Sequence[Problem] | Source,
    *,
    budget: int,
    development: Sequence[int],
    held_out: Sequence[int],
    folder: str | Path | None = None,
    together: bool | None = None,
    **options: Unpack[SweepOptions],
) -> Tuned:
    """The paper's protocol: run the grids on development seeds, select, run the selected on held-out seeds.

    A method with a single configuration is not tuned and skips the development runs. The two lists must not
    share a seed: a configuration chosen on the noise that judges it looks better than it is.

    Args:
        grids: methods with the configurations to try.
        problems: the instances, all of one shape.
        budget: queries a run.
        development: seeds of the runs that choose a configuration.
        held_out: seeds of the runs that judge it.
        folder: keeps finished parts: the same call with the same folder continues where it stopped.
        together: run every configuration on both lists of seeds in one sweep: more runs but half the
            compilations, which pays for small grids. The outcome is the same. By default only where an
            accelerator has room for all those runs side by side: they then also take half the time.
        options: the other options of `run`; `evaluate_every` and `metrics` apply to the held-out runs.
    """
    development, held_out = check_seeds("development", development), check_seeds("held_out", held_out)
    if common := sorted(set(development) & set(held_out)):
        raise ValueError(
            f"development and held-out seeds must not overlap; both hold {', '.join(map(str, common[:5]))}"
        )
    shared: dict[str, Any] = {**options, "budget": budget, "folder": folder}
    source = check_source(problems, shared.pop("names", None))
    settle, title = checks.shape("settle", options.get("settle", 1)), shared.pop("title", "sweep")
    grids = check_grids(grids, checks.one_count("budget", budget) // settle, source.dim)
    check_affordable(grids, source, checks.one_count("budget", budget), settle)
    if together is None:
        one_sweep = fit_side_by_side(grids, source, len(development) + len(held_out))
    else:
        one_sweep = checks.flag("together", together)
    if one_sweep:
        both = run(grids, source, seeds=[*development, *held_out], title=title, **shared)
        first = both.rows(np.isin(both.columns["seed"], development))
        selected = select(grids, first, source, budget, settle)
        chosen = {(one.method, one.instance): one.configuration for one in selected}
        judged = np.isin(both.columns["seed"], held_out) & both.chosen(chosen)
        return Tuned(first, selected, both.rows(judged), {"both": both.manifest})
    tuned = [one for one in grids if len(one) > 1]
    plain: dict[str, Any] = {**shared, "evaluate_every": None, "metrics": False}
    first = run(tuned, source, seeds=development, title=f"{title}: development", **plain)
    selected = select(grids, first, source, budget, settle)
    chosen = {(one.method, one.instance): one.configuration for one in selected}
    second = run(grids, source, seeds=held_out, title=f"{title}: held-out", chosen=chosen, **shared)
    return Tuned(first, selected, second, {"development": first.manifest, "held_out": second.manifest})


def select(
    grids: Sequence[Grid],
    development: Runs | StoredRuns,
    problems: Sequence[Problem] | Source,
    budget: int,
    settle: int = 1,
) -> list[Selection]:
    """For each method and instance the configuration with the smallest mean final objective.

    A run that diverged counts as +inf, and so does the mean of its configuration. Of ties the first wins.

    Args:
        grids: methods with the configurations that were tried.
        development: the table of the development runs, in memory or in files.
        problems: the instances.
        budget: queries a run.
        settle: deployments for one value.
    """
    source, budget = check_source(problems, None), checks.one_count("budget", budget)
    grids = check_grids(grids, budget // settle, source.dim)
    if not isinstance(development, Runs | StoredRuns):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"development must be the Runs of sweep.run, got {checks.brief(development)}")
    check_affordable(grids, source, budget, settle)
    stored = development.objectives() if isinstance(development, StoredRuns) else {}
    selections: list[Selection] = []
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
            if not possible[best]:  # every feasible configuration diverged: take the first
                best = possible.index(True)
            selections.append(
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
    return selections
