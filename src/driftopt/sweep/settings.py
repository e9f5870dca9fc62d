"""The arguments of sweeps as frozen records: each with its type, its help and its check, written once.

`takes(record)` gives a function a record's fields as its arguments. Its signature, the `Args` of its
docstring and its checks are the record's, for readers, notebooks and type checkers.
"""

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast, dataclass_transform

import numpy as np

from driftopt import checks
from driftopt.drivers.simulation import starts
from driftopt.method import Method, check_method, check_spacing
from driftopt.methods.grids import Grid, grid
from driftopt.model import takes_model
from driftopt.outside.model_search import ModelSearch
from driftopt.problem import Problem
from driftopt.rng.seeds import as_seed
from driftopt.runtime.forks import refuse_after_fork
from driftopt.sweep.cutting import Part, groups_of
from driftopt.sweep.simulated import Simulated
from driftopt.sweep.tasks import RunSettings, Source

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def argument(
    help: str,
    check: Callable[[str, Any], Any] | None = None,
    *,
    default: Any = MISSING,
    kw_only: bool = True,
) -> Any:
    """A field of a record: its help, and a check that takes its name and value and returns the value."""
    return field(default=default, kw_only=kw_only, metadata={"help": help, "check": check})


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(argument,))
class Record:
    """A frozen record of arguments, each checked when it is made; every subclass is a dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        for one in fields(cast(Any, self)):
            check, value = one.metadata["check"], getattr(self, one.name)
            if check is not None and not (value is None and one.default is None):
                object.__setattr__(self, one.name, check(one.name, value))

    def values(self, record: "type[Record]") -> dict[str, Any]:
        """The values of the fields that another record has, too."""
        return {one.name: getattr(self, one.name) for one in fields(cast(Any, record))}


def takes(record: Callable[P, R]) -> Callable[[Callable[[R], T]], Callable[P, T]]:
    """A decorator for a function of one record, which then takes the record's fields as its arguments."""
    signature = inspect.signature(record)

    def decorate(function: Callable[[R], T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}: {error}") from None
            return function(record(*args, **kwargs))

        returned = inspect.signature(function).return_annotation
        call.__signature__ = signature.replace(return_annotation=returned)  # pyright: ignore[reportAttributeAccessIssue]
        call.__doc__ = _with_arguments(inspect.getdoc(function) or "", record)
        return call

    return decorate


def _with_arguments(text: str, record: Any) -> str:
    """A docstring with the record's `Args` before its other sections."""
    lines, helps = ["Args:"], {one.name: one.metadata["help"] for one in fields(record)}
    for name in inspect.signature(record).parameters:
        wrapped = textwrap.wrap(
            f"{name}: {helps[name]}", 100, subsequent_indent="    ", break_on_hyphens=False
        )
        lines += [f"    {line}" for line in wrapped]
    before, section, after = text.partition("\n\nRaises:")
    if not section:
        before, section, after = text.partition("\n\nReturns:")
    return "\n".join([before, "", *lines]) + section + after


def check_seeds(name: str, seeds: Sequence[int]) -> list[int]:
    """The seeds as a list: different whole numbers below 2^32, at least one."""
    checked = [as_seed(seed, name) for seed in checks.several(name, seeds)]
    if not checked or len(set(checked)) != len(checked) or max(checked) >= 2**32:
        raise ValueError(
            f"{name} must be different whole numbers below 2^32, at least one; got {checks.brief(seeds)}"
        )
    return checked


def _executor(name: str, value: Any) -> Any:
    if not callable(getattr(value, "submit", None)):
        raise ValueError(f"{name} must be a concurrent.futures.Executor, got {checks.brief(value)}")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(
            f"{name} must be a text that names what the code does not show; got {checks.brief(value)}"
        )
    return value


class SharedOptions(Record):
    """The arguments that sweeps and comparisons share."""

    budget: int = argument("queries a run.", checks.one_count)
    names: Sequence[str] | None = argument("the instances' names in tables.", default=None)
    x0: Any = argument(
        "the start of all runs; by default each problem's own. A Python function needs it.", default=None
    )
    evaluate_every: int | None = argument(
        "queries between two exact evaluations of the objective along each run of a Problem.",
        checks.one_count,
        default=None,
    )
    folder: str | Path | None = argument(
        "keeps finished parts as Parquet files, which needs polars: the same call with the same folder "
        "continues where it stopped.",
        default=None,
    )
    fresh: bool = argument("compute every part again, whatever the folder holds.", checks.flag, default=False)
    executor: Executor | None = argument(
        "runs the parts: any executor of `concurrent.futures`, of Dask or, through `sweep.JobQueue`, of "
        "submitit; by default threads of this process.",
        _executor,
        default=None,
    )
    progress: bool = argument("show the progress on stderr.", checks.flag, default=True)
    version: str | None = argument(
        "a text that names what your code does not show, such as a file or a service; change it when that "
        "changes, and no earlier result is reused.",
        _text,
        default=None,
    )
    settle: int = argument(
        "hold every decision for this many deployments and use the last value, for worlds with carry-over; "
        "each deployment counts as a query.",
        checks.shape,
        default=1,
    )


class SweepOptions(SharedOptions):
    """The arguments that all sweeps share."""

    grids: Sequence[Grid | Method] = argument(
        "methods with the configurations to try, each from `grid`; a Method is one configuration.",
        kw_only=False,
    )
    problems: Sequence[Problem] | Source = argument("the instances, all of one shape.", kw_only=False)
    metrics: bool = argument(
        "add the problem's `metrics(x)` of the reported decisions.", checks.flag, default=False
    )
    title: str = argument("the name of the progress.", default="sweep")
    parts: int | None = argument(
        "how many parts to make, or a few more; there are never more than tiles. Finished parts of another "
        "division are reused.",
        checks.one_count,
        default=None,
    )

    def __post_init__(self) -> None:
        refuse_after_fork()
        super().__post_init__()
        if self.metrics and isinstance(self.source, Simulated) and not self.source.problems[0].metric_names:
            problem = type(self.source.problems[0]).__name__
            raise ValueError(f"metrics=True needs a problem with metrics(x); {problem} has none")
        self._check_moving()

    @cached_property
    def source(self) -> Source:
        """The problems with their names."""
        return source_of(self.problems, self.names)

    @cached_property
    def checked(self) -> list[Grid]:
        """The grids, with each Method as a grid of a single configuration."""
        return grids_of(self.grids, self.budget // self.settle, self.source.dim)

    @cached_property
    def runs(self) -> RunSettings:
        """The settings that all runs have in common."""
        start = None if self.x0 is None else checks.single_precision("x0", self.x0, self.source.dim)
        return RunSettings(
            self.budget,
            None if start is None else tuple(start.tolist()),
            self.evaluate_every,
            self.metrics,
            self.settle,
            self.version,
        )

    def _check_moving(self) -> None:
        """Refuse configurations that float32 cannot move from where they start, before anything runs."""
        if not isinstance(source := self.source, Simulated):
            return
        begun = starts(source.stacked) if self.runs.x0 is None else np.asarray(self.runs.x0)
        for one in self.checked:
            for i in range(len(one)):
                if isinstance(method := one.candidate(i), Method):
                    try:
                        check_spacing(method, begun, np.float32)
                    except ValueError as error:
                        raise ValueError(f"{one.label}, configuration {i}: {error}") from None


class RunOptions(SweepOptions):
    """The arguments of `run`."""

    seeds: Sequence[int] = argument("one run a seed, for every configuration and instance.", check_seeds)
    chosen: Mapping[tuple[str, str], int] | None = argument(
        "a configuration's number for each (method, instance), to run these alone.", default=None
    )
    confirm: bool = argument(
        "if the sweep takes over ten minutes or a gigabyte, print its cost first and ask on a terminal; "
        "without a terminal it does not start.",
        checks.flag,
        default=False,
    )

    def groups(self) -> list[Part]:
        """The runs by program."""
        found: list[Part] = []
        for one in self.checked:
            chosen = None
            if self.chosen is not None:
                chosen = [self.chosen[one.label, name] for name in self.source.names]
            found += groups_of(one, self.source, self.runs, self.seeds, chosen)
        return found


class TuneOptions(SweepOptions):
    """The arguments of `tune`."""

    development: Sequence[int] = argument("seeds of the runs that choose a configuration.", check_seeds)
    held_out: Sequence[int] = argument("seeds of the runs that judge it; none of the former.", check_seeds)
    together: bool | None = argument(
        "run every configuration on both lists of seeds in one sweep: more runs but half the compilations, "
        "which pays for small grids. The outcome is the same. By default only where an accelerator has room "
        "for all those runs side by side: they then also take half the time.",
        checks.flag,
        default=None,
    )

    def run_options(self, **changes: Any) -> RunOptions:
        """The arguments of a `run` with these seeds, grids and so on."""
        given = {**self.values(SweepOptions), "problems": self.source, "grids": self.checked, **changes}
        return RunOptions(**cast(dict[str, Any], given))


def source_of(problems: Sequence[Problem] | Source, names: Sequence[str] | None) -> Source:
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


def grids_of(grids: Sequence[Grid | Method], values: int, dim: int) -> list[Grid]:
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
