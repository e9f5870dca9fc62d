"""`compare`: the paper's protocol for a user's own problem, methods and budget, with intervals and tests.

    compare(problem, {"zo-sph": {"step": [0.01, 0.1], "radius": 0.5}, "auto": {"radius": 0.5}}, budget=5000)

Each method is tuned on development runs and judged on held-out runs. For every two methods there is Welch's
test, corrected by Holm for the number of tests, and a bootstrap interval of the difference.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from driftopt import checks, sweep
from driftopt.comparison.functions import FunctionSource
from driftopt.comparison.statistics import (
    Interval,
    bootstrap_difference,
    bootstrap_mean,
    holm,
    welch,
)
from driftopt.problem import Problem
from driftopt.sweep import Grid, Tuned, grid
from driftopt.sweep.parts import Simulated, Source

FIRST_HELD_OUT_SEED = 1_000_000
LEVEL = 0.05


@dataclass(frozen=True)
class Score:
    """A method on an instance, over its held-out runs."""

    method: str
    instance: str
    mean: float
    deviation: float
    interval: Interval  # 95 %, bootstrap
    runs: int
    diverged: int
    configurations: int
    parameters: Mapping[str, Any]
    best: bool  # the smallest mean
    tied: bool  # not told apart from the best at the 5 % level


@dataclass(frozen=True)
class Contrast:
    """Two methods on an instance: mean(one) − mean(other)."""

    instance: str
    one: str
    other: str
    difference: float
    interval: Interval  # 95 %, bootstrap
    p: float  # Welch
    p_holm: float  # corrected for the number of pairs on this instance


@dataclass(frozen=True)
class Comparison:
    """Scores, contrasts and the runs they come from; `print` it, or `write` it into a folder."""

    scores: Sequence[Score]
    contrasts: Sequence[Contrast]
    tuned: Tuned
    budget: int
    best_known: Mapping[str, float]

    def score(self, method: str, instance: str | None = None) -> Score:
        """One method's score, on the first instance unless told otherwise."""
        return next(
            s for s in self.scores if s.method == method and (instance is None or s.instance == instance)
        )

    def write(self, folder: str | Path) -> None:
        """Tables, results and report.html."""
        from driftopt.comparison.outputs import write

        write(self, Path(folder))

    def __str__(self) -> str:
        from driftopt.comparison.outputs import markdown

        return markdown(self)


def compare(
    problem: Problem | Sequence[Problem] | Callable[..., Any],
    methods: Mapping[str, Mapping[str, Any]] | Sequence[Grid],
    *,
    budget: int,
    development: int | Sequence[int] = 5,
    held_out: int | Sequence[int] = 20,
    names: Sequence[str] | None = None,
    x0: Any = None,
    bounds: Any = None,
    evaluations: int = 200,
    evaluate_every: int | None = None,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    progress: bool = False,
) -> Comparison:
    """Tune each method on development runs, judge it on held-out runs, and test the differences.

    Parameters
    ----------
    problem : a Problem, several of one kind, or a noisy Python function fun(x) or fun(x, rng); the latter
        gets a generator of its run, so that the comparison can be repeated exactly.
    methods : label → parameters, each one value or a list of values to try; the label is the method's name
        unless the parameter `method` names another or is a function that builds a Method.
    development, held_out : how many runs, or their seeds; the two must not overlap.
    x0, bounds : for a function, where runs start, and pairs (low, high); for a Problem, x0 replaces its own.
    evaluations : for a function, how many fresh values at the reported decision judge a run; not counted.
    folder : keeps finished parts, so that an interrupted comparison goes on from there.
    """
    budget = int(checks.count("budget", budget))
    source = _source(problem, names, x0, bounds, evaluations)
    grids = _grids(methods)
    tuned = sweep.tune(
        grids,
        source,
        budget=budget,
        development=_seeds("development", development, 0),
        held_out=_seeds("held_out", held_out, FIRST_HELD_OUT_SEED),
        x0=x0 if isinstance(source, Simulated) else None,
        evaluate_every=(evaluate_every or max(1, budget // 50)) if isinstance(source, Simulated) else None,
        folder=folder,
        executor=executor,
        progress=progress,
        title="compare",
    )
    values = {
        (instance, made.label): tuned.held_out.where(instance=instance, method=made.label).columns[
            "objective"
        ]
        for instance in source.names
        for made in grids
    }
    contrasts = [c for instance in source.names for c in _contrasts(instance, grids, values)]
    scores = _scores(tuned, values, contrasts)
    return Comparison(scores, contrasts, tuned, budget, _best_known(source))


def _contrasts(
    instance: str, grids: Sequence[Grid], values: Mapping[tuple[str, str], np.ndarray]
) -> list[Contrast]:
    pairs = list(itertools.combinations([made.label for made in grids], 2))
    samples = [(values[instance, one], values[instance, other]) for one, other in pairs]
    p_values = [welch(one, other) for one, other in samples]
    return [
        Contrast(
            instance,
            *pair,
            float(one.mean() - other.mean()) if np.isfinite([*one, *other]).all() else float("nan"),
            bootstrap_difference(one, other),
            p,
            corrected,
        )
        for pair, (one, other), p, corrected in zip(pairs, samples, p_values, holm(p_values), strict=True)
    ]


def _scores(
    tuned: Tuned, values: Mapping[tuple[str, str], np.ndarray], contrasts: Sequence[Contrast]
) -> list[Score]:
    best: dict[str, str] = {}
    for instance in dict.fromkeys(instance for instance, _ in values):
        means = {method: float(v.mean()) for (i, method), v in values.items() if i == instance}
        best[instance] = min(means, key=lambda method: means[method])
    apart = {(c.instance, frozenset((c.one, c.other))) for c in contrasts if c.p_holm < LEVEL}
    scores: list[Score] = []
    for choice in tuned.selected:
        sample = values[choice.instance, choice.method]
        leader, fine = best[choice.instance], bool(np.isfinite(sample).all())
        scores.append(
            Score(
                choice.method,
                choice.instance,
                float(sample.mean()),
                float(sample.std(ddof=1)) if fine and len(sample) > 1 else float("nan"),
                bootstrap_mean(sample),
                len(sample),
                int((~np.isfinite(sample)).sum()),
                choice.configurations,
                choice.parameters,
                best=fine and choice.method == leader,
                tied=fine and (choice.instance, frozenset((choice.method, leader))) not in apart,
            )
        )
    return scores


def _source(problem: Any, names: Sequence[str] | None, x0: Any, bounds: Any, evaluations: int) -> Source:
    if isinstance(problem, Problem):
        problem = [problem]
    if isinstance(problem, list | tuple) and problem and all(isinstance(p, Problem) for p in problem):
        if bounds is not None:
            raise ValueError("bounds are for Python functions; a Problem says itself what a decision is")
        labels = [str(name) for name in names] if names is not None else _labels(problem)
        if len(labels) != len(problem) or len(set(labels)) != len(labels):
            raise ValueError(f"{len(problem)} problems need as many different names; got {labels}")
        return Simulated(problem, labels)
    if callable(problem):
        if x0 is None:
            raise ValueError("a Python function needs x0, where runs start")
        start = checks.vector("x0", x0)
        return FunctionSource(problem, start, bounds, int(checks.count("evaluations", evaluations)))
    raise ValueError(f"problem must be a Problem, a list of them, or a Python function; got {problem!r}")


def _labels(problems: Sequence[Problem]) -> list[str]:
    named = [problem.label for problem in problems]
    return named if len(set(named)) == len(named) else [f"{n} {k + 1}" for k, n in enumerate(named)]


def _grids(methods: Any) -> list[Grid]:
    if isinstance(methods, Mapping):
        made: list[Grid] = []
        for label, parameters in methods.items():
            if not isinstance(parameters, Mapping):
                raise ValueError(f"methods: {label} must be a table of parameters, got {parameters!r}")
            numbers: dict[str, Any] = dict(parameters)
            made.append(grid(numbers.pop("method", label), label=str(label), **numbers))
    else:
        made = list(methods)
    if not made:
        raise ValueError("methods must name at least one method")
    return made


def _seeds(name: str, given: int | Sequence[int], first: int) -> Sequence[int]:
    if isinstance(given, int):
        return range(first, first + int(checks.count(name, given)))
    return given


def _best_known(source: Source) -> dict[str, float]:
    """The optimum's value where the problem knows it."""
    known: dict[str, float] = {}
    if isinstance(source, Simulated):
        for name, problem in zip(source.names, source.problems, strict=True):
            if (found := problem.optimum()) is not None:
                known[name] = found.value
    return known
