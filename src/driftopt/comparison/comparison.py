"""`compare`: the paper's protocol for your own problem, methods and budget, with intervals and tests.

    compare(problem, {"zo-sph": {"step": [0.01, 0.1], "radius": 0.5}, "auto": {"radius": 0.5}}, budget=5000)

Each method is tuned on development runs and judged on held-out runs. Every pair of methods gets an interval
of the difference and Welch's test, corrected by Holm for the number of tests.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

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
from driftopt.sweep.settings import SharedOptions, argument, check_seeds, takes
from driftopt.sweep.simulated import Simulated, objective_at
from driftopt.sweep.tasks import Source

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


def _seeds(name: str, given: int | Sequence[int], first: int) -> list[int]:
    """The seeds of runs, or as many from `first` on."""
    if isinstance(given, int | float | np.generic):
        return list(range(first, first + checks.one_count(name, given)))
    return check_seeds(name, given)


class CompareOptions(SharedOptions):
    """The arguments of `compare`."""

    problem: Problem | Sequence[Problem] | Callable[..., Any] = argument(
        "a Problem, several of one kind, or a noisy Python function fun(x) or fun(x, rng); the latter gets a "
        "generator for its run, so that the comparison is repeatable.",
        kw_only=False,
    )
    methods: Mapping[str, Mapping[str, Any] | Method | Outside] | Sequence[Grid | Method] = argument(
        "label → parameters, each one value or a list of values to try. The label is the name of the method, "
        "or the parameter `method` gives its name, a Method or a function that builds one. A Method instead "
        "of parameters is compared as it is. The names of `driftopt.outside.LIBRARIES` are optimisers of "
        "other libraries; an `outside.AskTell` wraps any object with ask and tell. A list of Methods and "
        "grids is possible, too, if their labels differ: a Method's is its class, a grid has its own. "
        '"beside": {"covariates": True} gives a method side information as in `methods.informed`.',
        kw_only=False,
    )
    development: int | Sequence[int] = argument(
        "the number of runs that choose a configuration, or their seeds.", partial(_seeds, first=0), default=5
    )
    held_out: int | Sequence[int] = argument(
        "the number of runs that judge it, or their seeds; none may be a development seed.",
        partial(_seeds, first=FIRST_HELD_OUT_SEED),
        default=20,
    )
    bounds: Any = argument("for a function, a pair (low, high) for each coordinate.", default=None)
    constraints: Any = argument(
        "for a function, linear constraints on every decision, as in `minimize`.", default=None
    )
    grid: Any = argument(
        "for a function, the steps on which every decision lies, as in `minimize`.", default=None
    )
    evaluations: int = argument(
        "for a function, the number of fresh values at the reported decision that judge a run; they are not "
        "part of the budget.",
        checks.one_count,
        default=200,
    )
    evaluate_every: int | None = argument(
        "for a Problem, queries between two points of a curve; by default a fiftieth of the budget.",
        checks.one_count,
        default=None,
    )
    progress: bool = argument("show the progress on stderr.", checks.flag, default=False)

    @cached_property
    def source(self) -> Source:
        """The problems as the source of a sweep."""
        feasible_set = {"bounds": self.bounds, "constraints": self.constraints, "grid": self.grid}
        return _source(self.problem, self.names, self.x0, feasible_set, self.evaluations)

    @cached_property
    def grids(self) -> list[Grid]:
        """The methods as grids."""
        return _grids(self.methods)

    @property
    def every(self) -> int:
        """Queries between two points of a curve."""
        return self.evaluate_every or max(1, self.budget // 50)

    def shared(self) -> dict[str, Any]:
        """The arguments that the sweeps behind the comparison take from it."""
        kept = self.values(SharedOptions)
        if isinstance(self.source, Simulated):
            return kept | {"evaluate_every": self.every}
        return kept | {"x0": None, "evaluate_every": None}


@takes(CompareOptions)
def compare(options: CompareOptions) -> Comparison:
    """Tune each method on development runs, judge it on held-out runs, and test the differences.

    Raises:
        ValueError: the arguments do not fit together; the message says what was expected.
    """
    source, grids = options.source, options.grids
    seeds = {"development": options.development, "held_out": options.held_out}
    tuned = sweep.tune(grids, source, **seeds, title="compare", **options.shared())
    luckiest: list[str] = []  # labels of methods that report nothing but the best value seen
    sees: dict[str, str] = {}
    for one in grids:
        candidate = one.candidate(0)
        if isinstance(candidate, Outside) and candidate.luckiest:
            luckiest.append(one.label)
        sees[one.label] = (candidate.sees if isinstance(candidate, Method) else Sight.VALUES).words
    scores, contrasts = judge(tuned, luckiest, sees)
    best_known, starts = dict[str, float](), dict[str, float]()
    if isinstance(source, Simulated):
        for name, problem in zip(source.names, source.problems, strict=True):
            x0 = problem.x0 if options.x0 is None else options.x0
            starts[name] = float(objective_at(problem, np.asarray(x0, np.float32)))
            if (optimum := problem.optimum()) is not None:
                best_known[name] = optimum.value
    return Comparison(scores, contrasts, tuned, options.budget, best_known, starts, options.every)


class ComparePlanOptions(CompareOptions):
    """The arguments of `plan`."""

    pilot: bool = argument("estimate the time, as in `sweep.plan`.", checks.flag, default=True)


@takes(ComparePlanOptions)
def plan(options: ComparePlanOptions) -> sweep.SweepPlan:
    """The cost of `compare` with the same arguments, development and held-out runs together."""
    source, grids, shared = options.source, options.grids, options.shared()
    first = [Grid(one.label, one.build, one.configurations[:1]) for one in grids]
    judged = sweep.plan(first, source, seeds=cast(Any, options.held_out), pilot=options.pilot, **shared)
    tuned = [one for one in grids if len(one) > 1]
    if not tuned:
        return judged
    return (
        sweep.plan(tuned, source, seeds=cast(Any, options.development), pilot=options.pilot, **shared)
        + judged
    )


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
        return FunctionSource(problem, space, evaluations)
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
