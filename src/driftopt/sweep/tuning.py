"""Tuning: select each method's configuration on development runs and judge it on held-out runs.

tuned = sweep.tune([grid("zo-sph", step=[0.01, 0.1], radius=[0.5, 1.0])], problems, budget=1000,
                   development=range(5), held_out=range(100, 120), folder="results")
tuned.held_out.frame()
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from driftopt import checks
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.packages import package
from driftopt.problem import Problem
from driftopt.report import frames
from driftopt.report.curves import on_grid
from driftopt.sweep.cutting import check_affordable, feasible
from driftopt.sweep.results import Runs
from driftopt.sweep.running import run_with
from driftopt.sweep.settings import TuneOptions, grids_of, source_of, takes
from driftopt.sweep.tasks import SIDE_BY_SIDE, Source


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

    def frame(self) -> Any:
        """One row a run of either phase, with its final decision x, as a polars DataFrame."""
        polars = package("polars", "report", "Tuned.frame()")
        both: list[Any] = []
        for phase, runs in (("development", self.development), ("held-out", self.held_out)):
            named, x = polars.lit(phase).alias("phase"), polars.Series("x", runs.x.tolist())
            both += [runs.frame().select(named, polars.all(), x)] if len(runs) else []
        return polars.concat(both, how="diagonal").select(polars.exclude("x"), "x")

    def curve_frame(self, grid: np.ndarray, starts: Mapping[str, float]) -> Any:
        """One row for each held-out run and count of queries of a grid, as a polars DataFrame.

        Args:
            grid: counts of queries.
            starts: the objective at 0 queries, by instance.
        """
        runs = self.held_out
        known = [(row, curve) for row, curve in enumerate(runs.curves) if curve is not None]
        rows, names = [row for row, _ in known], runs.columns["instance"]
        each = [on_grid(curve, grid, starts[str(names[row])]) for row, curve in known]
        columns = ("method", "instance", "seed")
        labels = {name: np.repeat(runs.columns[name][rows], len(grid)) for name in columns}
        values = {"queries": np.tile(grid, len(rows)), "objective": np.concatenate(each)}
        return frames.polars_frame(labels | values, "Tuned.curve_frame()")


@takes(TuneOptions)
def tune(options: TuneOptions) -> Tuned:
    """The paper's protocol: run the grids on development seeds, select, run the selected on held-out seeds.

    A method with a single configuration is not tuned and skips the development runs. The two lists must not
    share a seed: a configuration chosen on the noise that judges it looks better than it is. `evaluate_every`
    and `metrics` apply to the held-out runs.
    """
    development, held_out = options.development, options.held_out
    if common := sorted(set(development) & set(held_out)):
        raise ValueError(
            f"development and held-out seeds must not overlap; both hold {', '.join(map(str, common[:5]))}"
        )
    grids, source, budget, settle = options.checked, options.source, options.budget, options.settle
    check_affordable(grids, source.dim, budget, settle)
    one_sweep = options.together
    if one_sweep is None:  # an accelerator has room for each grid's runs in one tile
        most = max(map(len, grids)) * len(source.names) * (len(development) + len(held_out))
        simulated = all(isinstance(one.candidate(0), Method) for one in grids)
        one_sweep = jax.default_backend() != "cpu" and simulated and most <= SIDE_BY_SIDE
    if one_sweep:
        both = run_with(options.run_options(seeds=[*development, *held_out]))
        first = both.rows(np.isin(both.columns["seed"], development))
        selected = select(grids, first, source, budget, settle)
        chosen = {(one.method, one.instance): one.configuration for one in selected}
        judged = np.isin(both.columns["seed"], held_out) & both.chosen(chosen)
        return Tuned(first, selected, both.rows(judged), {"both": both.manifest})
    plain = {"evaluate_every": None, "metrics": False, "title": f"{options.title}: development"}
    tuned = [one for one in grids if len(one) > 1]
    first = run_with(options.run_options(grids=tuned, seeds=development, **plain))
    selected = select(grids, first, source, budget, settle)
    chosen = {(one.method, one.instance): one.configuration for one in selected}
    title = f"{options.title}: held-out"
    second = run_with(options.run_options(seeds=held_out, title=title, chosen=chosen))
    return Tuned(first, selected, second, {"development": first.manifest, "held_out": second.manifest})


def select(
    grids: Sequence[Grid],
    development: Any,
    problems: Sequence[Problem] | Source,
    budget: int,
    settle: int = 1,
) -> list[Selection]:
    """For each method and instance the configuration with the smallest mean final objective.

    A run that diverged counts as +inf, and so does the mean of its configuration. Of ties the first wins.

    Args:
        grids: methods with the configurations that were tried.
        development: the development runs: the table of `run`, or the lazy frame of `stream`.
        problems: the instances.
        budget: queries a run.
        settle: deployments for one value.
    """
    source, budget = source_of(problems, None), checks.one_count("budget", budget)
    grids = grids_of(grids, budget // settle, source.dim)
    if not isinstance(development, Runs) and not callable(getattr(development, "collect", None)):
        raise ValueError(f"development must be the Runs of sweep.run, got {checks.brief(development)}")
    check_affordable(grids, source.dim, budget, settle)
    selections: list[Selection] = []
    for one in grids:
        possible = [feasible(one.candidate(i), source.dim, budget, settle) for i in range(len(one))]
        for instance in source.names:
            means = np.full(len(one), np.nan)
            if len(one) > 1:
                values = _objectives(development, one.label, instance, len(one))
                means = np.where(np.isfinite(values), values, np.inf).mean(axis=1)
            best = int(np.argmin(means)) if len(one) > 1 else 0
            if not possible[best]:  # every feasible configuration diverged: take the first
                best = possible.index(True)
            parameters, mean = dict(one.configurations[best]), float(means[best])
            infeasible = possible.count(False)
            selections.append(Selection(one.label, instance, best, parameters, mean, len(one), infeasible))
    return selections


def _objectives(development: Any, method: str, instance: str, count: int) -> np.ndarray:
    """The final objectives (configurations, seeds); of configurations that could not start they are +inf."""
    if isinstance(development, Runs):
        columns = development.where(method=method, instance=instance).columns
        order = np.argsort(columns["seed"].reshape(count, -1)[0])
        return columns["objective"].reshape(count, -1)[:, order]
    polars = package("polars", "report", "sweep.select")
    rows = development.filter(polars.col("method") == method, polars.col("instance") == instance)
    rows = rows.select("configuration", "seed", "objective").sort("configuration", "seed").collect()
    tried = rows["configuration"].unique(maintain_order=True).to_numpy()
    values = np.full((count, max(1, rows.height // max(1, len(tried)))), np.inf)
    values[tried] = rows["objective"].to_numpy().reshape(len(tried), -1)
    return values
