"""What simulated runs leave behind, and how to look at it: as frames, as a picture, as a line."""

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
SHOWN = 10  # configurations in a legend or a table; the others are counted


@dataclass(frozen=True, repr=False, eq=False)
class Trace:
    """What runs leave behind. Leading axes of every array are the lanes (K, S, C); a single run has none."""

    x: np.ndarray  # the reported decision
    fun: np.ndarray  # its exact objective; +inf for a run that diverged
    queries: np.ndarray  # values of F drawn
    evaluated_at: np.ndarray  # (…, E) queries spent at each evaluation along the run
    objective: np.ndarray  # (…, E) the exact objective there
    configurations: tuple[Mapping[str, Any], ...] | None = None  # the C of them, where a grid was given

    def run(self, instance: int = 0, seed: int = 0, configuration: int = 0) -> "Trace":
        """One run of many by itself; the three numbers are positions."""
        at = (instance, seed, configuration)
        own = {name: value[at] for name, value in self._arrays().items()}
        return replace(self, **own, configurations=None)

    def frame(self) -> Any:
        """One row a run, as a polars DataFrame: its lane, parameters, queries, objective and decision.

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
        """`frame` as a pandas DataFrame; pyarrow is not needed."""
        return frames.pandas_frame(self._runs(), "Trace.to_pandas()")

    def plot(self, path: str | Path | None = None) -> Any:
        """The objective against queries as a matplotlib Figure, saved where a path is given.

        A panel for each instance and a line for each configuration: the mean over seeds, with a band of one
        standard deviation where there are several. A run that diverged leaves the
        picture, and the title and the legend say how many did.
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
        """What a legend calls a configuration: its parameters that differ, or its number."""
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
        """Which run a row is of; nothing for a single run."""
        if self.fun.ndim == 0:
            return {}
        places = dict(zip(AXES, (place.ravel() for place in np.indices(shape)), strict=True))
        names = list(self.configurations[0]) if self.configurations else []
        of = [dict(one) for one in self.configurations or ()]
        chosen = places["configuration"].tolist()
        return places | {name: np.array([of[c][name] for c in chosen]) for name in names if name not in AXES}


def joined(traces: "list[tuple[Trace, list[int]]]", configurations: tuple[Mapping[str, Any], ...]) -> Trace:
    """Traces of some of the configurations each, as one of all of them in order.

    One that was evaluated less often repeats its last evaluation.
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
    """The mean of those of (S, E) curves that stayed finite, and a band."""
    label = ", ".join([label, *_diverged(values)]) if label else ""
    values = values[np.isfinite(values).all(axis=-1)]
    mean = values.mean(axis=0) if len(values) else np.full(queries.shape[-1], np.nan)
    (line,) = axes.plot(queries[0], mean, label=label or None)
    if len(values) > 1:
        spread = values.std(axis=0, ddof=1)
        axes.fill_between(queries[0], mean - spread, mean + spread, color=line.get_color(), alpha=0.15)


def _diverged(values: np.ndarray) -> list[str]:
    """How many of (…, E) curves did not stay finite, in words; nothing where all did."""
    lost = ~np.isfinite(values).all(axis=-1)
    return [f"{lost.sum()} of {lost.size} diverged"] if lost.any() else []


def _short(x: np.ndarray) -> str:
    return np.array2string(np.asarray(x), precision=4, threshold=6, edgeitems=2, separator=", ")


def _spread(values: np.ndarray) -> str:
    """From the smallest to the largest objective, and how many runs diverged."""
    fine = values[np.isfinite(values)]
    lost = values.size - fine.size
    end = f", {lost} of {values.size} diverged" if lost else ""
    if not fine.size:
        return "all diverged"
    low, middle, high = (significant(float(v)) for v in (fine.min(), np.median(fine), fine.max()))
    return f"{low}{end}" if fine.size == 1 else f"{low} to {high}, median {middle}{end}"
