"""`compare`: the paper's protocol for your own problem, methods and budget, with intervals and tests.

    compare(problem, {"zo-sph": {"step": [0.01, 0.1], "radius": 0.5}, "auto": {"radius": 0.5}}, budget=5000)

Each method is tuned on development runs and judged on held-out runs. Every pair of methods gets an interval
of the difference and Welch's test, corrected by Holm for the number of tests.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from driftopt import checks, outside, sweep
from driftopt.comparison import files, tables
from driftopt.comparison.functions import FunctionSource
from driftopt.comparison.judging import Judged, judge
from driftopt.method import Method, check_method
from driftopt.methods.informed import informed
from driftopt.oracle import Sight
from driftopt.outside import Outside
from driftopt.problem import Problem
from driftopt.space import Space
from driftopt.sweep import Grid, grid
from driftopt.sweep.simulated import Simulated
from driftopt.sweep.task import Source

FIRST_HELD_OUT_SEED = 1_000_000


@dataclass(frozen=True, repr=False)
class Comparison(Judged):
    """Scores, contrasts and the runs behind them; `print` it for Markdown, or `write` it into a folder."""

    def write(self, folder: str | Path) -> None:
        """Write tables, results, the curves and report.html into a folder."""
        files.write(self, checks.path("folder", folder))

    def __str__(self) -> str:
        return tables.markdown(self)

    def __repr__(self) -> str:
        return tables.brief(self)

    def _repr_html_(self) -> str:
        return tables.html(self)


def compare(
    problem: Problem | Sequence[Problem] | Callable[..., Any],
    methods: Mapping[str, Mapping[str, Any] | Method | Outside] | Sequence[Grid | Method],
    *,
    budget: int,
    development: int | Sequence[int] = 5,
    held_out: int | Sequence[int] = 20,
    names: Sequence[str] | None = None,
    x0: Any = None,
    bounds: Any = None,
    constraints: Any = None,
    grid: Any = None,
    evaluations: int = 200,
    evaluate_every: int | None = None,
    folder: str | Path | None = None,
    fresh: bool = False,
    executor: Executor | None = None,
    progress: bool = False,
    version: str | None = None,
    settle: int = 1,
) -> Comparison:
    """Tune each method on development runs, judge it on held-out runs, and test the differences.

    Args:
        problem: a Problem, several of one kind, or a noisy Python function fun(x) or fun(x, rng); the latter
            gets a generator for its run, so that the comparison is repeatable.
        methods: label → parameters, each one value or a list of values to try. The label is the name of the
            method, or the parameter `method` gives its name, a Method or a function that builds one. A Method
            instead of parameters is compared as it is. The names of `driftopt.outside.LIBRARIES` are
            optimisers of other libraries; an `outside.AskTell` wraps any object with ask and tell. A list of
            Methods and grids is possible, too, if their labels differ: a Method's is its class, a grid has
            its own. "beside": {"covariates": True} gives a method side information as in
            `methods.informed`.
        budget: queries a run.
        development: the number of runs that choose a configuration, or their seeds.
        held_out: the number of runs that judge it, or their seeds; none may be a development seed.
        names: the instances' names, if there are several.
        x0: for a function, the start of runs; for a Problem, it replaces the problem's own.
        bounds: for a function, a pair (low, high) for each coordinate.
        constraints: for a function, linear constraints on every decision, as in `minimize`.
        grid: for a function, the steps on which every decision lies, as in `minimize`.
        evaluations: for a function, the number of fresh values at the reported decision that judge a run;
            they are not part of the budget.
        evaluate_every: for a Problem, queries between two points of a curve; by default a fiftieth of the
            budget.
        folder: keeps finished parts, so that an interrupted comparison continues from there.
        fresh: compute every part again, whatever the folder holds.
        executor: runs the parts; by default threads.
        progress: show the progress on stderr.
        version: names what your code does not show, such as a file or a service; change the text when that
            changes, and no earlier result is reused.
        settle: hold every decision for this many queries and use the last value, for a world with carry-over.

    Raises:
        ValueError: the arguments do not fit together; the message says what was expected.
    """
    budget = checks.one_count("budget", budget)
    feasible_set = {"bounds": bounds, "constraints": constraints, "grid": grid}
    source = _source(problem, names, x0, feasible_set, evaluations)
    grids = _grids(methods)
    every = max(1, budget // 50) if evaluate_every is None else evaluate_every
    tuned = sweep.tune(
        grids,
        source,
        budget=budget,
        development=_seeds("development", development, 0),
        held_out=_seeds("held_out", held_out, FIRST_HELD_OUT_SEED),
        x0=x0 if isinstance(source, Simulated) else None,
        evaluate_every=every if isinstance(source, Simulated) else None,
        folder=folder,
        fresh=fresh,
        executor=executor,
        progress=progress,
        title="compare",
        version=version,
        settle=settle,
    )
    luckiest: list[str] = []  # labels of methods that report nothing but the best value seen
    sees: dict[str, str] = {}
    for one in grids:
        candidate = one.candidate(0)
        if isinstance(candidate, Outside) and candidate.luckiest:
            luckiest.append(one.label)
        sees[one.label] = (candidate.sees if isinstance(candidate, Method) else Sight.VALUES).words
    scores, contrasts = judge(tuned, luckiest, sees)
    best_known: dict[str, float] = {}
    if isinstance(source, Simulated):
        for name, instance in zip(source.names, source.problems, strict=True):
            if (optimum := instance.optimum()) is not None:
                best_known[name] = optimum.value
    return Comparison(scores, contrasts, tuned, budget, best_known)


def plan(
    problem: Problem | Sequence[Problem] | Callable[..., Any],
    methods: Mapping[str, Mapping[str, Any] | Method | Outside] | Sequence[Grid | Method],
    *,
    budget: int,
    development: int | Sequence[int] = 5,
    held_out: int | Sequence[int] = 20,
    pilot: bool = True,
    **others: Any,
) -> sweep.SweepPlan:
    """The cost of `compare` with the same arguments, development and held-out runs together.

    Args:
        problem: a Problem, several, or a noisy function.
        methods: label → parameters, or a list.
        budget: queries a run.
        development: the number of runs that choose a configuration, or their seeds.
        held_out: the number of runs that judge it, or their seeds.
        pilot: estimate the time, as in `sweep.plan`.
        others: further arguments of `compare`.

    Returns:
        the numbers; `print` it for a sentence.
    """
    feasible_set = {name: others.get(name) for name in ("bounds", "constraints", "grid")}
    x0, evaluations = others.get("x0"), others.get("evaluations", 200)
    source = _source(problem, others.get("names"), x0, feasible_set, evaluations)
    grids = _grids(methods)
    shared: dict[str, Any] = {"budget": budget, "settle": others.get("settle", 1), "pilot": pilot}
    if isinstance(source, Simulated):
        shared["x0"] = x0
    every = others.get("evaluate_every") or max(1, checks.one_count("budget", budget) // 50)
    first = [Grid(one.label, one.build, one.configurations[:1]) for one in grids]
    judged = sweep.plan(
        first, source, seeds=_seeds("held_out", held_out, FIRST_HELD_OUT_SEED), evaluate_every=every, **shared
    )
    tuned = [one for one in grids if len(one) > 1]
    if not tuned:
        return judged
    return sweep.plan(tuned, source, seeds=_seeds("development", development, 0), **shared) + judged


def _source(
    problem: Any, names: Sequence[str] | None, x0: Any, feasible_set: Mapping[str, Any], evaluations: int
) -> Source:
    """The problems of a comparison as the source of a sweep."""
    if isinstance(problem, Problem):
        problem = [problem]
    if isinstance(problem, list | tuple) and problem and all(isinstance(p, Problem) for p in problem):
        if given := [name for name, value in feasible_set.items() if value is not None]:
            raise ValueError(
                f"{' and '.join(given)} are for Python functions; a Problem defines its own feasible set"
            )
        if names is not None:
            labels = [str(name) for name in checks.several("names", names)]
        else:
            labels = [one.label for one in problem]
            if len(set(labels)) != len(labels):
                labels = [f"{label} {k + 1}" for k, label in enumerate(labels)]
        if len(labels) != len(problem) or len(set(labels)) != len(labels):
            raise ValueError(f"{len(problem)} problems need as many different names; got {labels}")
        return Simulated(problem, labels)
    if callable(problem):
        if x0 is None:
            raise ValueError("a Python function needs x0, the start of its runs")
        space = Space.build(x0, **feasible_set)
        return FunctionSource(problem, space, checks.one_count("evaluations", evaluations))
    raise ValueError(
        f"problem must be a Problem, a list of them, or a Python function; got {checks.brief(problem)}"
    )


def _grids(methods: Any) -> list[Grid]:
    """The methods of a comparison as grids."""
    if isinstance(methods, Mapping):
        grids = [_labelled(str(label), given) for label, given in methods.items()]
    elif isinstance(methods, list | tuple):
        if named := [one for one in methods if isinstance(one, str)]:
            raise ValueError(
                f"methods: give each name its parameters, in a table such as {{{named[0]!r}: "
                '{"radius": 0.5}}, where a list gives values to try; got a list of names'
            )
        grids = [one if isinstance(one, Grid) else grid(check_method(one)) for one in methods]
        labels = [one.label for one in grids]
        if twice := sorted({label for label in labels if labels.count(label) > 1}):
            raise ValueError(
                f"methods: several of the list are called {' and '.join(twice)} (a Method is called by its "
                'class, a grid by its label); give labels of your own in a table, {"mine": method, …}'
            )
    else:
        raise ValueError(
            f"methods must be a table, label → parameters, or a list of grids; got {checks.brief(methods)}"
        )
    if not grids:
        raise ValueError("methods must name at least one method")
    return grids


def _labelled(label: str, given: Any) -> Grid:
    """The grid of one entry of a table of methods."""
    if isinstance(given, Method):
        return grid(given, label=label)
    if isinstance(given, Outside):
        given.require(label)
        return Grid(label, partial(_itself, given), ({},))
    if not isinstance(given, Mapping):
        raise ValueError(
            f"methods: {label} must be a table of parameters or a Method, got {checks.brief(given)}"
        )
    numbers = checks.table(f"methods: {label}", given)
    method, known = numbers.pop("method", label), numbers.pop("beside", None)
    if isinstance(method, str) and method in outside.LIBRARIES:
        method = outside.LIBRARIES[method]
    if isinstance(method, type) and issubclass(method, Outside):
        method.require(label)
    if known is None:
        return grid(method, label=label, **numbers)
    known = checks.table(f"methods: {label}: beside", known)
    if unknown := sorted(set(known) - set(_BESIDE)):
        raise ValueError(f"methods: {label}: beside has {', '.join(unknown)}; it takes {', '.join(_BESIDE)}")
    return grid(partial(_informed, method, known), label=label, **numbers)


_BESIDE = ("covariates", "precision", "relative_to_control", "limits")


def _informed(method: Any, known: Mapping[str, Any], **numbers: Any) -> Method:
    """The method with these numbers, which receives the problem's side information."""
    return informed(grid(method, **numbers).method(0), **known)


def _itself(search: Outside) -> Outside:
    return search


def _seeds(name: str, given: int | Sequence[int], first: int) -> Sequence[int]:
    """The seeds of runs, or as many from `first` on."""
    if isinstance(given, int | float | np.generic):
        return range(first, first + checks.one_count(name, given))
    return checks.several(name, given)
