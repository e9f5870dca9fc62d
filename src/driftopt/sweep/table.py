"""The tidy table of a sweep: one row a run, in an order that does not depend on which part finished first."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftopt.methods.grids import Grid
from driftopt.report import formats, frames
from driftopt.report.numbers import fixed
from driftopt.report.table import Row, Table, cells
from driftopt.sweep.kept_parts import METRIC
from driftopt.sweep.task import Arrays, Part, Source

SHOWN = 20  # rows of the table that a notebook shows


@dataclass(frozen=True, repr=False)
class Runs:
    """One row a run, in a fixed order: method, instance, configuration, seed.

    `columns` holds method, instance, configuration, seed, parameters (JSON), queries, objective (+inf for a
    run that diverged or could not start) and the problem's metrics; `x` the reported decisions (NaN where
    there is none); `curves` each run's (queries, objective) along the way with `evaluate_every`, else None.
    `frame` gives each parameter its own column.
    """

    columns: Mapping[str, np.ndarray]
    x: np.ndarray
    curves: Sequence[tuple[np.ndarray, np.ndarray] | None]
    # How the runs were made: versions, seeds, queries.
    manifest: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __len__(self) -> int:
        return len(self.x)

    def frame(self) -> Any:
        """One row a run, one column a parameter, as a polars DataFrame.

        A parameter that a method does not have is null. A parameter with the name of another column gets the
        prefix `parameter_`.
        """
        return frames.polars_frame(self._spread_out(), "Runs.frame()")

    def curve_frame(self) -> Any:
        """One row an evaluation along each run, as a polars DataFrame; empty without `evaluate_every`."""
        return frames.polars_frame(self._evaluations(), "Runs.curve_frame()")

    def to_pandas(self) -> Any:
        """`frame` as a pandas DataFrame; this does not need pyarrow."""
        return frames.pandas_frame(self._spread_out(), "Runs.to_pandas()")

    def __repr__(self) -> str:
        sizes = {name: len(set(self.columns[f"{name}"].tolist())) for name in ("method", "instance", "seed")}
        counts = ", ".join(f"{n} {name}{'s' * (n != 1)}" for name, n in sizes.items())
        return f"Runs({len(self):,} runs: {counts}; {len(self.columns)} columns)"

    def _repr_html_(self) -> str:
        named = zip(self.columns["method"].tolist(), self.columns["instance"].tolist(), strict=True)
        pairs, rows = list(dict.fromkeys(named)), list[Row]()
        for method, instance in pairs[:SHOWN]:
            some = self.where(method=method, instance=instance).columns
            lowest, finite = some["objective"].min(initial=np.inf), np.isfinite(some["objective"]).sum()
            tried = len(set(some["configuration"].tolist()))
            facts = [instance, str(tried), f"{len(some['seed']):,}", f"{finite:,}", fixed(float(lowest))]
            rows.append(Row(method, cells(facts)))
        heads = ("method", "instance", "configurations", "runs", "of them finite", "lowest objective")
        note = f"and {len(pairs) - SHOWN} further rows" if len(pairs) > SHOWN else ""
        return formats.notebook(Table(repr(self), heads, rows, note, words=(0, 1)))

    def _spread_out(self) -> dict[str, Any]:
        """The columns, with one for each parameter instead of their JSON."""
        texts: list[str] = self.columns["parameters"].tolist()
        read = {text: json.loads(text) for text in dict.fromkeys(texts)}
        names = dict.fromkeys(name for parameters in read.values() for name in parameters)
        values = {
            (f"parameter_{name}" if name in self.columns else name): [read[text].get(name) for text in texts]
            for name in names
        }
        first = {name: self.columns[name] for name in ("method", "instance", "configuration", "seed")}
        rest = {name: column for name, column in self.columns.items() if name not in (*first, "parameters")}
        return first | values | rest

    def _evaluations(self) -> dict[str, Any]:
        """The columns of the curves."""
        curves = [(row, curve) for row, curve in enumerate(self.curves) if curve is not None]
        rows = np.repeat([row for row, _ in curves], [len(at) for _, (at, _) in curves]).astype(int)
        named = {name: self.columns[name][rows] for name in ("method", "instance", "configuration", "seed")}
        empty = [np.empty(0)]
        at, values = (np.concatenate([curve[i] for _, curve in curves] or empty) for i in (0, 1))
        return named | {"queries": at.astype(np.int64), "objective": values.astype(np.float64)}

    def where(self, **equal: Any) -> "Runs":
        """The runs whose columns have these values."""
        keep = np.ones(len(self), bool)
        for name, value in equal.items():
            keep &= self.columns[name] == value
        return self.rows(keep)

    def chosen(self, configurations: Mapping[tuple[str, str], int]) -> np.ndarray:
        """A mask of the runs with the configuration chosen for their method and instance."""
        named = zip(*(self.columns[c].tolist() for c in ("method", "instance", "configuration")), strict=True)
        return np.array([configurations[method, instance] == c for method, instance, c in named], bool)

    def rows(self, keep: np.ndarray) -> "Runs":
        """The runs where `keep` is true."""
        rows = np.flatnonzero(keep).tolist()
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Runs(columns, self.x[rows], [self.curves[i] for i in rows], self.manifest)


def assemble(
    grids: Sequence[Grid],
    source: Source,
    seeds: Sequence[int],
    chosen: Mapping[tuple[str, str], int] | None,
    parts: Sequence[Part],
    results: Sequence[Arrays],
) -> Runs:
    """The table, its rows in a fixed order; a run that is in no part could not start and stays +inf."""
    tops: dict[tuple[str, str, int], int] = {}  # the first row of each configuration, whose seeds follow
    parameters: list[str] = []
    for one, name in itertools.product(grids, source.names):
        for c in range(len(one)) if chosen is None else [chosen[one.label, name]]:
            tops[one.label, name, c] = len(seeds) * len(tops)
            parameters += [json.dumps(dict(one.configurations[c]), default=str)] * len(seeds)
    count = len(parameters)
    x = np.full((count, source.dim), np.nan, np.float32)
    curves: list[tuple[np.ndarray, np.ndarray] | None] = [None] * count
    columns: dict[str, np.ndarray] = {
        "method": np.repeat(np.array([label for label, _, _ in tops], dtype=str), len(seeds)),
        "instance": np.repeat(np.array([name for _, name, _ in tops], dtype=str), len(seeds)),
        "configuration": np.repeat(np.array([c for _, _, c in tops], dtype=np.int64), len(seeds)),
        "seed": np.tile(np.array(seeds, dtype=np.int64), len(tops)),
        "parameters": np.array(parameters, dtype=str),
        "queries": np.zeros(count, np.int64),
        "objective": np.full(count, np.inf),
    }
    order = {seed: index for index, seed in enumerate(seeds)}
    for part, arrays in zip(parts, results, strict=True):
        below = np.array([order[seed] for seed in part.seeds])[:, None]
        for k, (instance, some) in enumerate(zip(part.instances, part.configurations, strict=True)):
            rows = np.array([tops[part.label, source.names[instance], c] for c in some]) + below
            values = arrays["objective"][k]
            columns["objective"][rows] = np.where(np.isfinite(values), values, np.inf)
            columns["queries"][rows] = arrays["queries"][k]
            x[rows] = arrays["x"][k]
            if "curve" in arrays:
                for s, c in np.ndindex(rows.shape):
                    curves[rows[s, c]] = (arrays["curve_at"][k][c], arrays["curve"][k][s, c])
            for name in arrays:
                if name.startswith(METRIC):
                    column = columns.setdefault(name.removeprefix(METRIC), np.full(count, np.nan))
                    column[rows] = arrays[name][k]
    return Runs(columns, x, curves)
