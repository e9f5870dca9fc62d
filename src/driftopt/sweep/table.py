"""The tidy table of a sweep: one row a run, in an order that does not depend on who finished first."""

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
from driftopt.sweep.kept_parts import Arrays
from driftopt.sweep.parts import Part, Source

SHOWN = 20  # rows of the table that a notebook shows
METRIC = "metric_"  # before the names of a problem's own figures among a part's arrays


@dataclass(frozen=True, repr=False)
class Runs:
    """One row a run, in a fixed order: method, instance, configuration, seed.

    `columns` holds method, instance, configuration, seed, parameters (JSON), queries, objective (+inf for a
    run that diverged or could not start) and the problem's metrics; `x` the reported decisions (NaN where
    there is none); `curves` each run's (queries, objective) along the way, where it was asked for. `frame`
    gives the parameters a column each.
    """

    columns: Mapping[str, np.ndarray]
    x: np.ndarray
    curves: Sequence[tuple[np.ndarray, np.ndarray] | None]
    # How they were made: versions, seeds, queries.
    manifest: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __len__(self) -> int:
        return len(self.x)

    def frame(self) -> Any:
        """One row a run, one column a parameter, as a polars DataFrame.

        A parameter that a method does not have is null there; one whose name is a column's already has
        `parameter_` before it.
        """
        return frames.polars_frame(self._spread_out(), "Runs.frame()")

    def curve_frame(self) -> Any:
        """One row an evaluation along each run, as a polars DataFrame; empty where none were asked for."""
        return frames.polars_frame(self._evaluations(), "Runs.curve_frame()")

    def to_pandas(self) -> Any:
        """`frame` as a pandas DataFrame; pyarrow is not needed."""
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
        """The columns, with the parameters in place of their JSON."""
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
        kept = [(row, curve) for row, curve in enumerate(self.curves) if curve is not None]
        rows = np.repeat([row for row, _ in kept], [len(at) for _, (at, _) in kept]).astype(int)
        named = {name: self.columns[name][rows] for name in ("method", "instance", "configuration", "seed")}
        empty = [np.empty(0)]
        at, values = (np.concatenate([curve[i] for _, curve in kept] or empty) for i in (0, 1))
        return named | {"queries": at.astype(np.int64), "objective": values.astype(np.float64)}

    def where(self, **equal: Any) -> "Runs":
        """The runs whose columns have these values."""
        keep = np.ones(len(self), bool)
        for name, value in equal.items():
            keep &= self.columns[name] == value
        return self.rows(keep)

    def chosen(self, configurations: Mapping[tuple[str, str], int]) -> np.ndarray:
        """Which runs are of the configuration chosen for their method and instance."""
        named = zip(*(self.columns[c].tolist() for c in ("method", "instance", "configuration")), strict=True)
        return np.array([configurations[method, instance] == c for method, instance, c in named], bool)

    def rows(self, keep: np.ndarray) -> "Runs":
        """The runs where `keep` is true."""
        kept = np.flatnonzero(keep).tolist()
        columns = {name: column[kept] for name, column in self.columns.items()}
        return Runs(columns, self.x[kept], [self.curves[i] for i in kept], self.manifest)


def assemble(
    grids: Sequence[Grid],
    source: Source,
    seeds: Sequence[int],
    chosen: Mapping[tuple[str, str], int] | None,
    parts: Sequence[Part],
    done: Sequence[Arrays],
) -> Runs:
    """Rows in a fixed order, whatever the order of completion."""
    keys, parameters = _rows(grids, source.names, seeds, chosen)
    table = _Table(keys, parameters, source.dim)
    # A configuration's seeds stand below each other.
    tops = {key[:3]: len(seeds) * number for number, key in enumerate(keys[:: len(seeds)])}
    order = {seed: place for place, seed in enumerate(seeds)}
    for part, arrays in zip(parts, done, strict=True):
        below = np.array([order[seed] for seed in part.seeds])[:, None]
        for k, (instance, row) in enumerate(zip(part.instances, part.configurations, strict=True)):
            top = np.array([tops[part.label, source.names[instance], configuration] for configuration in row])
            table.write(top + below, {name: array[k] for name, array in arrays.items()})
    return Runs(table.columns, table.x, table.curves)


Key = tuple[str, str, int, int]  # method, instance, configuration, seed


def _rows(
    grids: Sequence[Grid],
    instances: Sequence[str],
    seeds: Sequence[int],
    chosen: Mapping[tuple[str, str], int] | None,
) -> tuple[list[Key], list[str]]:
    """The key of every row, in order, and its parameters as JSON."""
    keys: list[Key] = []
    parameters: list[str] = []
    for one, name in itertools.product(grids, instances):
        for c in range(len(one)) if chosen is None else [chosen[one.label, name]]:
            keys += [(one.label, name, c, seed) for seed in seeds]
            parameters += [json.dumps(dict(one.configurations[c]), default=str)] * len(seeds)
    return keys, parameters


class _Table:
    """The table as it fills up: a run that no part holds could not start, and stays infinitely bad."""

    def __init__(self, keys: Sequence[Key], parameters: Sequence[str], dim: int):
        self._count = len(keys)
        self.x = np.full((self._count, dim), np.nan, np.float32)
        self.curves: list[tuple[np.ndarray, np.ndarray] | None] = [None] * self._count
        self.columns: dict[str, np.ndarray] = {
            "method": np.array([key[0] for key in keys], dtype=str),
            "instance": np.array([key[1] for key in keys], dtype=str),
            "configuration": np.array([key[2] for key in keys], dtype=np.int64),
            "seed": np.array([key[3] for key in keys], dtype=np.int64),
            "parameters": np.array(parameters, dtype=str),
            "queries": np.zeros(self._count, np.int64),
            "objective": np.full(self._count, np.inf),
        }

    def write(self, rows: np.ndarray, arrays: Arrays) -> None:
        """The results of runs (S, C) into these rows."""
        values = arrays["objective"]
        self.columns["objective"][rows] = np.where(np.isfinite(values), values, np.inf)
        self.columns["queries"][rows] = arrays["queries"]
        self.x[rows] = arrays["x"]
        if "curve" in arrays:
            for s, c in np.ndindex(rows.shape):
                self.curves[rows[s, c]] = (arrays["curve_at"][c], arrays["curve"][s, c])
        for name in arrays:
            if name.startswith(METRIC):
                column = self.columns.setdefault(name.removeprefix(METRIC), np.full(self._count, np.nan))
                column[rows] = arrays[name]
