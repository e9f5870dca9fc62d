"""The result of simulated runs, as data frames, as a picture, as a line."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftopt.packages import package
from driftopt.report import formats, frames
from driftopt.report.numbers import significant
from driftopt.report.picture import write_picture
from driftopt.report.table import Row, Table, cells

AXES = ("instance", "seed", "configuration")
SHOWN = 10  # configurations in a legend or a table; the rest are counted


@dataclass(frozen=True, repr=False, eq=False)
class Trace:
    """The result of runs. Arrays begin with the axes (K, S, C) of the runs; a single run has none of them."""

    x: np.ndarray  # the reported decision
    fun: np.ndarray  # its exact objective; +inf for a run that diverged
    queries: np.ndarray  # values of F drawn
    evaluated_at: np.ndarray  # (…, E) queries spent at each evaluation along the run
    objective: np.ndarray  # (…, E) the exact objective there
    configurations: tuple[Mapping[str, Any], ...] | None = None  # of the grid that was given, if any

    def run(self, instance: int = 0, seed: int = 0, configuration: int = 0) -> "Trace":
        """One of the runs; the three numbers are its indices."""
        at = (instance, seed, configuration)
        own = {name: value[at] for name, value in self._arrays().items()}
        return replace(self, **own, configurations=None)

    def frame(self) -> Any:
        """One row a run, as a polars DataFrame: its indices, parameters, queries, objective and decision.

        >>> from driftopt import methods, problems, simulate_many, stack
        >>> steps = methods.grid("zo-sph", radius=0.5, step=[0.01, 0.02])
        >>> trace = simulate_many(steps, stack([problems.kink(2)]), budget=20, seeds=[0])
        >>> trace.frame().columns
        ['instance', 'seed', 'configuration', 'radius', 'step', 'queries', 'objective', 'x0', 'x1']
        """
        return frames.polars_frame(self._runs(), "Trace.frame()")

    def curve_frame(self) -> Any:
        """One row an evaluation along each run, as a polars DataFrame."""
        return frames.polars_frame(self._evaluations(), "Trace.curve_frame()")

    def to_pandas(self) -> Any:
        """`frame` as a pandas DataFrame; this does not need pyarrow."""
        return frames.pandas_frame(self._runs(), "Trace.to_pandas()")

    def plot(self, path: str | Path | None = None) -> Any:
        """The objective against queries as a matplotlib Figure, saved if a path is given.

        The figure has a panel for each instance and a line for each configuration: the mean over seeds, with
        a band of one standard deviation for several seeds. Diverged runs are left out; the title and the
        legend count them.
        """
        package("matplotlib", "plot", "Trace.plot()")
        from matplotlib.figure import Figure

        whole = self._with_lanes()
        instances, _, width, _ = whole.objective.shape
        figure = Figure(figsize=(6 * min(instances, 3), 4 * -(-instances // 3)), layout="constrained")
        panels = np.ravel(figure.subplots(-(-instances // 3), min(instances, 3), squeeze=False))
        for k, axes in enumerate(panels):
            axes.set_axis_on() if k < instances else axes.set_axis_off()
            for c in range(width if k < instances else 0):
                _draw(axes, whole.evaluated_at[k, :, c], whole.objective[k, :, c], self._name(c))
            axes.set(xlabel="queries", ylabel="exact objective f(x)")
            if k < instances:
                words = [f"instance {k}"] if instances > 1 else []
                axes.set_title(", ".join(words + _diverged(whole.objective[k])))
        if 1 < width <= SHOWN:
            panels[0].legend(frameon=False, fontsize="small")
        if path is not None:
            write_picture(figure, path)
        return figure

    def __repr__(self) -> str:
        if self.fun.ndim == 0:
            value, spent, times = significant(float(self.fun)), int(self.queries), self.objective.shape[-1]
            return f"Trace(fun={value}, x={_short(self.x)}, queries={spent:,}, evaluations={times})"
        lanes = " × ".join(
            f"{n} {axis}{'s' * (n != 1)}" for n, axis in zip(self.fun.shape, AXES, strict=True)
        )
        return f"Trace({lanes}, dim {self.x.shape[-1]}: {_spread(self.fun)})"

    def _repr_html_(self) -> str:
        whole = self._with_lanes()
        width = whole.fun.shape[-1]
        rows = [
            Row(
                self._name(c) or "run",
                cells([_spread(whole.fun[..., c]), f"{int(whole.queries[..., c].max()):,}"]),
            )
            for c in range(min(width, SHOWN))
        ]
        note = f"and {width - SHOWN} further configurations" if width > SHOWN else ""
        return formats.notebook(
            Table(repr(self), ("configuration", "exact objective", "queries"), rows, note)
        )

    def _arrays(self) -> dict[str, np.ndarray]:
        names = ("x", "fun", "queries", "evaluated_at", "objective")
        return {name: np.asarray(getattr(self, name)) for name in names}

    def _with_lanes(self) -> "Trace":
        if self.fun.ndim:
            return self
        return replace(self, **{name: value[None, None, None] for name, value in self._arrays().items()})

    def _name(self, configuration: int) -> str:
        """A configuration's label in a legend: its parameters that differ, or its number."""
        if self.fun.ndim == 0:
            return ""
        if self.configurations is None:
            return str(configuration)
        several = {
            name
            for name in self.configurations[0]
            if len({str(one.get(name)) for one in self.configurations}) > 1
        }
        own = self.configurations[configuration]
        return ", ".join(f"{name} {value}" for name, value in own.items() if name in several) or "0"

    def _runs(self) -> dict[str, Any]:
        whole = self._with_lanes()
        columns = {
            **self._lanes(whole.fun.shape),
            "queries": whole.queries.ravel(),
            "objective": whole.fun.ravel(),
        }
        decisions = whole.x.reshape(-1, whole.x.shape[-1])
        return {**columns, **{f"x{i}": decisions[:, i] for i in range(decisions.shape[1])}}

    def _evaluations(self) -> dict[str, Any]:
        whole = self._with_lanes()
        times = whole.objective.shape[-1]
        lanes = {name: np.repeat(column, times) for name, column in self._lanes(whole.fun.shape).items()}
        return {**lanes, "queries": whole.evaluated_at.ravel(), "objective": whole.objective.ravel()}

    def _lanes(self, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Columns that identify the run of each row; none for a single run."""
        if self.fun.ndim == 0:
            return {}
        indices = dict(zip(AXES, (index.ravel() for index in np.indices(shape)), strict=True))
        names = list(self.configurations[0]) if self.configurations else []
        given = [dict(one) for one in self.configurations or ()]
        chosen = indices["configuration"].tolist()
        columns = {name: np.array([given[c][name] for c in chosen]) for name in names if name not in AXES}
        return indices | columns


def joined(traces: "list[tuple[Trace, list[int]]]", configurations: tuple[Mapping[str, Any], ...]) -> Trace:
    """One trace of all configurations in order, from traces of some each.

    A trace with fewer evaluations repeats its last one.
    """
    times = max(trace.objective.shape[-1] for trace, _ in traces)
    order = np.argsort([c for _, members in traces for c in members])

    def put_together(name: str) -> np.ndarray:
        arrays = [trace._arrays()[name] for trace, _ in traces]  # pyright: ignore[reportPrivateUsage]
        if name in ("evaluated_at", "objective"):
            arrays = [np.pad(a, [(0, 0)] * 3 + [(0, times - a.shape[-1])], mode="edge") for a in arrays]
        return np.concatenate(arrays, axis=2)[:, :, order]

    names = ("x", "fun", "queries", "evaluated_at", "objective")
    return Trace(*(put_together(name) for name in names), configurations=configurations)


def _draw(axes: Any, queries: np.ndarray, values: np.ndarray, label: str) -> None:
    """Draw the mean of the (S, E) curves that stayed finite, and a band."""
    label = ", ".join([label, *_diverged(values)]) if label else ""
    values = values[np.isfinite(values).all(axis=-1)]
    mean = values.mean(axis=0) if len(values) else np.full(queries.shape[-1], np.nan)
    (line,) = axes.plot(queries[0], mean, label=label or None)
    if len(values) > 1:
        spread = values.std(axis=0, ddof=1)
        axes.fill_between(queries[0], mean - spread, mean + spread, color=line.get_color(), alpha=0.15)


def _diverged(values: np.ndarray) -> list[str]:
    """The number of (…, E) curves that did not stay finite, in words; empty if there are none."""
    lost = ~np.isfinite(values).all(axis=-1)
    return [f"{lost.sum()} of {lost.size} diverged"] if lost.any() else []


def _short(x: np.ndarray) -> str:
    return np.array2string(np.asarray(x), precision=4, threshold=6, edgeitems=2, separator=", ")


def _spread(values: np.ndarray) -> str:
    """The smallest, largest and median objective, and the number of diverged runs, in words."""
    finite = values[np.isfinite(values)]
    lost = values.size - finite.size
    end = f", {lost} of {values.size} diverged" if lost else ""
    if not finite.size:
        return "all diverged"
    low, middle, high = (significant(float(v)) for v in (finite.min(), np.median(finite), finite.max()))
    return f"{low}{end}" if finite.size == 1 else f"{low} to {high}, median {middle}{end}"
