"""The arguments of a sweep, checked, as one record."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from driftopt import checks
from driftopt.method import Method, check_method
from driftopt.methods.grids import Grid, grid
from driftopt.model import takes_model
from driftopt.outside.model_search import ModelSearch
from driftopt.problem import Problem
from driftopt.rng.seeds import as_seed
from driftopt.runtime.forks import refuse_after_fork
from driftopt.sweep.cutting import check_moving, cut
from driftopt.sweep.simulated import Simulated
from driftopt.sweep.task import Part, RunSettings, Source


class SweepOptions(TypedDict, total=False):
    """The options that `run`, `stream` and `tune` share; `run` has their defaults and explains them."""

    names: Sequence[str] | None  # the instances' names in the table
    x0: Any  # the start of all runs
    evaluate_every: int | None  # queries between two exact evaluations of the objective along each run
    metrics: bool  # add the problem's `metrics(x)` of the reported decisions
    fresh: bool  # compute every part again, whatever the folder holds
    executor: Executor | None  # runs the parts
    progress: bool  # show the progress
    title: str  # the name of the progress
    version: str | None  # a text that names what the code does not show
    settle: int  # deployments for one value
    parts: int | None  # how many parts to make


def check_source(problems: Sequence[Problem] | Source, names: Sequence[str] | None) -> Source:
    """Problems with their names as a source; a source is returned as it is."""
    if isinstance(problems, Source):
        return problems
    if isinstance(problems, Problem):
        raise ValueError(
            f"problems must be a list of Problems: [{type(problems).__name__}(…)] holds yours alone"
        )
    problems = checks.several("problems", problems)
    if not problems or not all(isinstance(p, Problem) for p in problems):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError("problems must be a list of Problem instances, at least one")
    labels = [
        str(name) for name in (range(len(problems)) if names is None else checks.several("names", names))
    ]
    if len(labels) != len(problems) or len(set(labels)) != len(labels):
        raise ValueError(f"{len(problems)} problems need as many different names; got {labels}")
    return Simulated(problems, labels)


def check_grids(grids: Sequence[Grid | Method], values: int, dim: int) -> list[Grid]:
    """The grids, with each Method as a grid of a single configuration, and "auto" as what it is here.

    Args:
        grids: as the user gave them.
        values: how many values each run gets.
        dim: the number of coordinates.
    """
    if not isinstance(grids, list | tuple):
        raise ValueError(f"grids must be a list of grid(…) or Methods, got {checks.brief(grids)}")
    given: list[Any] = list(grids)
    if odd := [one for one in given if not isinstance(one, Grid | Method)]:
        advice = f": make an instance, {odd[0].__name__}(…)" if isinstance(odd[0], type) else ""
        raise ValueError(
            f"grids must be a list of grid(…) or Methods; one of them is {checks.brief(odd[0])}{advice}"
        )
    checked = [one if isinstance(one, Grid) else grid(check_method(one)) for one in grids]
    labels = [one.label for one in checked]
    if len(set(labels)) != len(labels):
        raise ValueError(
            f"grids: every grid needs its own label; got {', '.join(labels)}. "
            'grid(method, label="mine") gives one, also to a Method, whose default label is its class'
        )
    return [
        replace(one, build=ModelSearch) if takes_model(one.build, values, dim) else one for one in checked
    ]


def check_seeds(name: str, seeds: Sequence[int]) -> list[int]:
    """The seeds as a list: different whole numbers below 2^32, at least one."""
    checked = [as_seed(seed, name) for seed in checks.several(name, seeds)]
    if not checked or len(set(checked)) != len(checked) or max(checked) >= 2**32:
        raise ValueError(
            f"{name} must be different whole numbers below 2^32, at least one; got {checks.brief(seeds)}"
        )
    return checked


@dataclass(frozen=True)
class SweepSettings:
    """The checked arguments of a sweep."""

    grids: Sequence[Grid]
    source: Source
    runs: RunSettings  # shared by all runs
    seeds: Sequence[int]
    chosen: Mapping[tuple[str, str], int] | None  # the configuration to run for each (method, instance)
    executor: Executor | None
    parts: int | None  # how many are wanted
    fresh: bool
    progress: bool
    title: str

    @classmethod
    def check(
        cls,
        grids: Sequence[Grid | Method],
        problems: Sequence[Problem] | Source,
        *,
        budget: int,
        seeds: Sequence[int],
        chosen: Mapping[tuple[str, str], int] | None = None,
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
    ) -> "SweepSettings":
        """The settings from the arguments of `run`.

        Raises:
            ValueError: an argument is not valid; the message says what was expected.
        """
        refuse_after_fork()
        source, metrics = check_source(problems, names), checks.flag("metrics", metrics)
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise ValueError(f"executor must be a concurrent.futures.Executor, got {checks.brief(executor)}")
        if metrics and isinstance(source, Simulated) and not source.problems[0].metric_names:
            raise ValueError(
                f"metrics=True needs a problem with metrics(x); {type(source.problems[0]).__name__} has none"
            )
        if version is not None and not isinstance(version, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"version must be a text that names what the code does not show; got {checks.brief(version)}"
            )
        start = None if x0 is None else tuple(checks.single_precision("x0", x0, source.dim).tolist())
        values = checks.one_count("budget", budget) // checks.shape("settle", settle)
        checked = check_grids(grids, values, source.dim)
        check_moving(checked, source, start)
        return cls(
            checked,
            source,
            RunSettings(
                checks.one_count("budget", budget),
                start,
                evaluate_every,
                metrics,
                checks.shape("settle", settle),
                version,
            ),
            check_seeds("seeds", seeds),
            chosen,
            executor,
            None if parts is None else checks.one_count("parts", parts),
            checks.flag("fresh", fresh),
            checks.flag("progress", progress),
            title,
        )

    def cut(self, wanted: int | None) -> list[Part]:
        """The parts of the sweep: `wanted` of them or a few more, by default the fewest."""
        each = sum(len(one) if self.chosen is None else 1 for one in self.grids)
        runs = each * len(self.source.names) * len(self.seeds)
        most, parts = None if wanted is None else max(1, runs // wanted), list[Part]()
        for one in self.grids:
            chosen = None
            if self.chosen is not None:
                chosen = [self.chosen[one.label, name] for name in self.source.names]
            parts += cut(one, self.source, self.runs, self.seeds, chosen, most)
        return parts
