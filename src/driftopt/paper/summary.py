"""The content of tables, figure and page: titles, means, deviations, gaps, the paper's figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftopt.paper import published
from driftopt.paper.protocol import NAIVE, Experiment, ReportedMetric
from driftopt.report.curves import Curve, Panel, average, limits
from driftopt.report.table import Mark
from driftopt.sweep import Selection, Tuned
from driftopt.sweep.simulated import objective_at

TITLES = {
    "zo-co": "ZO-CO",
    "zo-sph": "ZO-SPH",
    "zo-ga": "ZO-GA",
    "zo-og": "ZO-OG",
    "zo-o2nc-2pt": "ZO-O2NC (Option I)",
    "zo-o2nc-1pt": "ZO-O2NC (Option II)",
    "auto": "auto (no tuning)",
}
FAR = 3.0  # standard errors between our mean and the paper's from which a cell is marked
FRONT = ("auto", "zo-o2nc-2pt", "zo-o2nc-1pt")  # the default and the paper's own, drawn before the others


def title(method: str) -> str:
    """A method's name as the paper prints it."""
    return TITLES.get(method, method)


@dataclass(frozen=True)
class Result:
    """One method on one instance, one metric, over the held-out runs."""

    metric: ReportedMetric
    mean: float  # +inf if a run diverged
    deviation: float  # of the runs, ddof 1; NaN for a single run or if one diverged
    runs: int
    diverged: int  # runs without a finite value at their end
    best: bool = False
    paper: published.Figure | None = None  # the paper's cell for the same instance, if there is one
    gap: float | None = None  # mean minus the best known value, for the objective

    @property
    def offset(self) -> float | None:
        """Our mean minus the paper's, in standard errors of the difference; None if there is none."""
        if self.paper is None or not np.isfinite(self.mean):
            return None
        own = self.deviation if np.isfinite(self.deviation) else self.paper.deviation
        error = np.hypot(own / np.sqrt(self.runs), self.paper.deviation / np.sqrt(published.RUNS))
        return float((self.mean - self.paper.mean) / error)

    @property
    def within(self) -> bool | None:
        """True if our mean is within three standard errors of the paper's."""
        return None if self.offset is None else abs(self.offset) <= FAR

    @property
    def mark(self) -> Mark:
        """Better or worse, for a mean farther from the paper's; empty for others."""
        if self.offset is None or self.within:
            return ""
        return "better" if (self.offset > 0) == self.metric.larger_is_better else "worse"


@dataclass(frozen=True)
class PaperSummary:
    """An experiment and its results."""

    experiment: Experiment
    methods: tuple[str, ...]
    results: Mapping[tuple[str, str, str], Result]  # (instance, metric's column, method)
    curves: Mapping[tuple[str, str], Curve]  # (instance, method)
    best_known: Mapping[str, float]
    selected: Sequence[Selection]
    starts: Mapping[str, float] = field(default_factory=dict[str, float])  # the objective at 0 queries

    @property
    def quantity(self) -> str:
        """The quantity of the curves, for their axis."""
        return self.objective.title.removeprefix("Final ").lower()

    @property
    def objective(self) -> ReportedMetric:
        """The metric that is minimised."""
        return self.experiment.metrics[0]

    @property
    def elsewhere(self) -> published.Figures:
        """The paper's figures of other instances for these methods."""
        return {
            instance: metrics
            for instance, metrics in self.experiment.published_elsewhere.items()
            if not metrics[self.objective.column].keys().isdisjoint(self.methods)
        }

    @property
    def with_paper(self) -> bool:
        """True if the tables show figures of the paper."""
        return bool(self.elsewhere) or any(result.paper for result in self.results.values())

    def configurations(self, method: str) -> int:
        """The number of configurations that the method could choose from."""
        return next(len(grid) for grid in self.experiment.grids if grid.label == method)

    def row(self, instance: str, metric: ReportedMetric) -> list[Result]:
        """The results of all methods."""
        return [self.results[instance, metric.column, method] for method in self.methods]

    def panels(self) -> list[Panel]:
        """The curves of each instance, between the best known value and the start."""
        out: list[Panel] = []
        for instance in self.experiment.instances:
            curves = {method: self.curves[instance, method] for method in self.methods}
            best, title = self.best_known[instance], f"{self.experiment.instance_word} {instance}"
            out.append(Panel(title, curves, best, limits(curves, best)))
        return out


def summarise(experiment: Experiment, tuned: Tuned, best_known: Mapping[str, float]) -> PaperSummary:
    """Every result and curve of an experiment."""
    methods = tuple(grid.label for grid in experiment.grids)
    results: dict[tuple[str, str, str], Result] = {}
    curves: dict[tuple[str, str], Curve] = {}
    starts: dict[str, float] = {}
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
            values = {
                m: naive_accuracy(problem, runs[instance, m].x)
                if metric.column == NAIVE
                else runs[instance, m].columns[metric.column]
                for m in methods
            }
            gap_to = known[instance] if metric is experiment.metrics[0] else None
            figures = experiment.published.get(instance, {}).get(metric.like or metric.column, {})
            sign, means = -1 if metric.larger_is_better else 1, dict[str, float]()
            for method, sample in values.items():
                means[method] = float(sample.mean()) if np.isfinite(sample).all() else np.inf
            # The best mean is the best as printed, with four decimals.
            best = min((sign * round(m, 4) for m in means.values() if np.isfinite(m)), default=None)
            for method, sample in values.items():
                mean, diverged = means[method], int((~np.isfinite(sample)).sum())
                single = diverged or len(sample) == 1
                results[instance, metric.column, method] = Result(
                    metric,
                    mean,
                    np.nan if single else float(sample.std(ddof=1)),
                    len(sample),
                    diverged,
                    best=sign * round(mean, 4) == best if np.isfinite(mean) else False,
                    paper=figures.get(method),
                    gap=None if gap_to is None else mean - gap_to,
                )
        starts[instance] = float(objective_at(problem, problem.x0))
        for method in methods:
            recorded = runs[instance, method].curves
            curves[instance, method] = average(recorded, experiment.grid, starts[instance])
    return PaperSummary(experiment, methods, results, curves, known, tuned.selected, starts)


def naive_accuracy(problem: Any, decisions: np.ndarray) -> np.ndarray:
    """The test accuracy of each decision if people on the boundary are judged by rounding.

    A person who moves lands exactly on the boundary, which counts as +1. A plain implementation computes the
    features after the move and then their score, which is then ±1e-16: a coin flip.
    """
    features, labels = np.asarray(problem.test_features, float), np.asarray(problem.test_labels)
    found: list[float] = []
    for x in np.asarray(decisions, float):
        weights, norm = x[:-1], x[:-1] @ x[:-1]
        scores = features @ weights + x[-1]
        moves = (scores < 0) & (scores**2 <= float(np.asarray(problem.tau)) * norm) & (norm > 0)
        shift = np.where(moves, scores, 0) / (norm or 1)
        after = (features - shift[:, None] * weights) @ weights + x[-1]
        found.append(
            float(np.mean(np.where(after >= 0, 1, -1) == labels)) if np.isfinite(x).all() else np.nan
        )
    return np.array(found)
