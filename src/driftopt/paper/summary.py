"""What the tables, the figure and the page say: means, deviations, gaps, and the paper's figures beside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driftopt.paper import published
from driftopt.paper.best_known import objective_at
from driftopt.paper.protocol import Experiment, ReportedMetric
from driftopt.report.curves import Curve, Panel, average, limits
from driftopt.report.table import Mark
from driftopt.sweep import Selection, Tuned


@dataclass(frozen=True)
class Result:
    """One method on one instance, one metric, over the held-out runs."""

    metric: ReportedMetric
    mean: float  # +inf where a run diverged
    deviation: float  # of the runs, ddof 1; NaN for a single run or where one diverged
    runs: int
    diverged: int  # runs that ended at no finite value
    best: bool = False
    paper: published.Figure | None = None  # the paper's cell for the same instance, where there is one
    gap: float | None = None  # mean minus the best known value, for the objective

    @property
    def offset(self) -> float | None:
        """How far our mean is from the paper's, in the paper's standard deviations."""
        if self.paper is None or not np.isfinite(self.mean):
            return None
        return (self.mean - self.paper.mean) / self.paper.deviation

    @property
    def within(self) -> bool | None:
        """Whether our mean lies within the paper's spread, mean ± one standard deviation."""
        return None if self.offset is None else abs(self.offset) <= 1

    @property
    def mark(self) -> Mark:
        """Outside the paper's spread: for better or for worse?"""
        if self.offset is None or self.within:
            return ""
        return "better" if (self.offset > 0) == self.metric.larger_is_better else "worse"


@dataclass(frozen=True)
class PaperSummary:
    """An experiment and what came out of it."""

    experiment: Experiment
    methods: tuple[str, ...]
    results: Mapping[tuple[str, str, str], Result]  # (instance, metric's column, method)
    curves: Mapping[tuple[str, str], Curve]  # (instance, method)
    best_known: Mapping[str, float]
    selected: Sequence[Selection]

    @property
    def objective(self) -> ReportedMetric:
        """The metric that is minimised."""
        return self.experiment.metrics[0]

    @property
    def elsewhere(self) -> published.Figures:
        """The paper's figures of other instances, where it has any for these methods."""
        return {
            instance: metrics
            for instance, metrics in self.experiment.published_elsewhere.items()
            if not metrics[self.objective.column].keys().isdisjoint(self.methods)
        }

    @property
    def beside_paper(self) -> bool:
        """Whether figures of the paper stand beside ours."""
        return bool(self.elsewhere) or any(result.paper for result in self.results.values())

    def configurations(self, method: str) -> int:
        """How many configurations the method could choose from."""
        return next(len(grid) for grid in self.experiment.grids if grid.label == method)

    def row(self, instance: str, metric: ReportedMetric) -> list[Result]:
        """All methods' results."""
        return [self.results[instance, metric.column, method] for method in self.methods]

    def panels(self) -> list[Panel]:
        """The curves of each instance, between the best known value and the start."""
        out: list[Panel] = []
        for instance in self.experiment.instances:
            curves = {method: self.curves[instance, method] for method in self.methods}
            best, start = self.best_known[instance], max(float(c.mean[0]) for c in curves.values())
            title = f"{self.experiment.instance_word} {instance}"
            out.append(Panel(title, curves, best, limits(curves, best, start)))
        return out


def summarise(experiment: Experiment, tuned: Tuned, best_known: Mapping[str, float]) -> PaperSummary:
    """Every result and curve of an experiment."""
    methods = tuple(grid.label for grid in experiment.grids)
    results: dict[tuple[str, str, str], Result] = {}
    curves: dict[tuple[str, str], Curve] = {}
    runs = {
        (instance, method): tuned.held_out.where(instance=instance, method=method)
        for instance in experiment.instances
        for method in methods
    }
    known = {
        instance: min(best_known[instance], *(runs[instance, m].columns["objective"].min() for m in methods))
        for instance in experiment.instances
    }
    for instance, problem in zip(experiment.instances, experiment.problems, strict=True):
        for metric in experiment.metrics:
            values = {method: runs[instance, method].columns[metric.column] for method in methods}
            gap_to = known[instance] if metric is experiment.metrics[0] else None
            figures = experiment.published.get(instance, {}).get(metric.column, {})
            for method, result in _results(metric, values, gap_to, figures).items():
                results[instance, metric.column, method] = result
        start = float(objective_at(problem, problem.x0))
        for method in methods:
            curves[instance, method] = average(runs[instance, method].curves, start)
    return PaperSummary(experiment, methods, results, curves, known, tuned.selected)


def _results(
    metric: ReportedMetric,
    values: Mapping[str, np.ndarray],
    gap_to: float | None,
    figures: Mapping[str, published.Figure],
) -> dict[str, Result]:
    """One instance and metric: every method's result; the best is the best as printed, with four decimals."""
    statistics = {method: _statistics(sample) for method, sample in values.items()}
    sign = -1 if metric.larger_is_better else 1
    finite = [sign * round(mean, 4) for mean, *_ in statistics.values() if np.isfinite(mean)]
    best = min(finite, default=None)
    return {
        method: Result(
            metric,
            mean,
            deviation,
            len(values[method]),
            diverged,
            best=sign * round(mean, 4) == best,
            paper=figures.get(method),
            gap=None if gap_to is None else mean - gap_to,
        )
        for method, (mean, deviation, diverged) in statistics.items()
    }


def _statistics(values: np.ndarray) -> tuple[float, float, int]:
    finite = np.isfinite(values)
    if not finite.all():
        return np.inf, np.nan, int((~finite).sum())
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else np.nan, 0
