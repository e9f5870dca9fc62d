"""What the tables, the figure and the report say: means, deviations, gaps, and the paper's figures beside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driftopt.paper import published
from driftopt.paper.protocol import Experiment, Metric
from driftopt.sweep import Runs, Selection, Tuned


@dataclass(frozen=True)
class Cell:
    """One method on one instance, one metric, over the held-out runs."""

    mean: float
    deviation: float  # of the runs, ddof 1; 0 for a single run
    runs: int
    diverged: int  # runs that ended at no finite value: the mean is then +inf
    best: bool
    paper: published.Figure | None  # the paper's cell for the same instance, where there is one
    gap: float | None  # mean minus the best known value, for the objective

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


@dataclass(frozen=True)
class Curve:
    """A method's objective over queries on one instance: mean and standard deviation of the runs."""

    queries: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Summary:
    """An experiment and what came out of it."""

    experiment: Experiment
    methods: tuple[str, ...]
    cells: Mapping[tuple[str, str, str], Cell]  # (instance, metric column, method)
    curves: Mapping[tuple[str, str], Curve]  # (instance, method)
    best_known: Mapping[str, float]
    selected: Sequence[Selection]

    @property
    def objective(self) -> Metric:
        """The metric that is minimised."""
        return self.experiment.metrics[0]

    def configurations(self, method: str) -> int:
        """How many configurations the method could choose from."""
        return next(len(made) for made in self.experiment.grids if made.label == method)

    def row(self, instance: str, metric: Metric) -> list[Cell]:
        """All methods' cells."""
        return [self.cells[instance, metric.column, method] for method in self.methods]


def title(method: str) -> str:
    """A method's name as the paper prints it."""
    return published.TITLES.get(method, method)


def summarise(experiment: Experiment, tuned: Tuned, best_known: Mapping[str, float]) -> Summary:
    """Every cell and curve of an experiment."""
    methods = tuple(made.label for made in experiment.grids)
    cells: dict[tuple[str, str, str], Cell] = {}
    curves: dict[tuple[str, str], Curve] = {}
    parts = {
        (instance, method): tuned.held_out.where(instance=instance, method=method)
        for instance in experiment.instances
        for method in methods
    }
    known = {
        instance: min(best_known[instance], *(parts[instance, m].columns["objective"].min() for m in methods))
        for instance in experiment.instances
    }
    for k, instance in enumerate(experiment.instances):
        start = float(experiment.problems[k].objective(experiment.problems[k].x0))
        for metric in experiment.metrics:
            row = {method: _statistics(parts[instance, method].columns[metric.column]) for method in methods}
            sign = -1 if metric.larger_is_better else 1
            # The bold cell is the best as printed: four decimals.
            best = min(sign * round(mean, 4) for mean, *_ in row.values())
            for method, (mean, deviation, runs, diverged) in row.items():
                is_objective = metric is experiment.metrics[0]
                cells[instance, metric.column, method] = Cell(
                    mean,
                    deviation,
                    runs,
                    diverged,
                    best=bool(np.isfinite(mean)) and sign * round(mean, 4) == best,
                    paper=_published(experiment, instance, metric, method),
                    gap=mean - known[instance] if is_objective else None,
                )
        for method in methods:
            curves[instance, method] = curve_of(parts[instance, method], start)
    return Summary(experiment, methods, cells, curves, known, tuned.selected)


def _published(experiment: Experiment, instance: str, metric: Metric, method: str) -> published.Figure | None:
    """The paper's cell for the same real instance; other data have none."""
    if experiment.name != "strategic" or not experiment.real:
        return None
    return published.STRATEGIC[instance][metric.column].get(method)


def _statistics(values: np.ndarray) -> tuple[float, float, int, int]:
    finite = np.isfinite(values)
    if not finite.all():
        return np.inf, np.nan, len(values), int((~finite).sum())
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0, len(values), 0


def curve_of(runs: Runs, start: float | None) -> Curve:
    """Mean and mean ± deviation at each evaluation, from the value at 0 queries where it is given.

    All runs of a cell are evaluated at the same counts.
    """
    recorded = [curve for curve in runs.curves if curve is not None]
    queries, values = recorded[0][0], np.stack([curve for _, curve in recorded]).astype(float)
    if start is not None:
        queries = np.concatenate([[0], queries])
        values = np.concatenate([np.full((len(values), 1), start), values], axis=1)
    # A method whose iteration is long moves rarely: drop the repeats, keep the last.
    keep = np.append(np.diff(queries) > 0, True)
    queries, values = queries[keep], values[:, keep]
    finite = np.isfinite(values).all(axis=0)
    values = np.where(finite, values, np.nan)
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(values) - 1))
    return Curve(queries, mean, mean - spread, mean + spread)
