"""The tidy table of a sweep: one row a run, in an order that does not depend on who finished first."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftopt.methods.grids import Grid
from driftopt.sweep.kept_parts import Arrays
from driftopt.sweep.parts import Part, Source


@dataclass(frozen=True)
class Runs:
    """One row a run, in a fixed order: method, instance, configuration, seed.

    `columns` holds method, instance, configuration, seed, parameters (JSON), queries, objective (+inf for a
    run that diverged or could not start) and the problem's metrics; `x` the reported decisions (NaN where
    there is none); `curves` each run's (queries, objective) along the way, where it was asked for.
    """

    columns: Mapping[str, np.ndarray]
    x: np.ndarray
    curves: Sequence[tuple[np.ndarray, np.ndarray] | None]
    manifest: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __len__(self) -> int:
        return len(self.x)

    def frame(self) -> Any:
        """The table as a polars DataFrame (`pip install 'driftopt[report]'`)."""
        import polars

        return polars.DataFrame(dict(self.columns))

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
    keys: list[tuple[str, str, int, int]] = []
    parameters: list[str] = []
    for made in grids:
        for name in source.names:
            for c in range(len(made)) if chosen is None else [chosen[made.label, name]]:
                keys += [(made.label, name, c, seed) for seed in seeds]
                parameters += [json.dumps(dict(made.configurations[c]))] * len(seeds)
    place = {key: row for row, key in enumerate(keys)}
    count = len(keys)
    columns: dict[str, np.ndarray] = {
        "method": np.array([key[0] for key in keys], dtype=str),
        "instance": np.array([key[1] for key in keys], dtype=str),
        "configuration": np.array([key[2] for key in keys], dtype=np.int64),
        "seed": np.array([key[3] for key in keys], dtype=np.int64),
        "parameters": np.array(parameters, dtype=str),
        "queries": np.zeros(count, np.int64),
        "objective": np.full(count, np.inf),
    }
    x = np.full((count, source.dim), np.nan, np.float32)
    curves: list[tuple[np.ndarray, np.ndarray] | None] = [None] * count
    for part, arrays in zip(parts, done, strict=True):
        for name in arrays:
            if name.startswith("metric_"):
                columns.setdefault(name.removeprefix("metric_"), np.full(count, np.nan))
        for k, name in enumerate(source.names[instance] for instance in part.instances):
            for s, seed in enumerate(part.seeds):
                for c, configuration in enumerate(part.configurations[k]):
                    row, at = place[part.label, name, configuration, seed], (k, s, c)
                    value = float(arrays["objective"][at])
                    columns["objective"][row] = value if np.isfinite(value) else np.inf
                    columns["queries"][row] = arrays["queries"][at]
                    x[row] = arrays["x"][at]
                    if "curve" in arrays:
                        curves[row] = (arrays["curve_at"][k, c], arrays["curve"][at])
                    for metric, measured in arrays.items():
                        if metric.startswith("metric_"):
                            columns[metric.removeprefix("metric_")][row] = measured[at]
    return Runs(columns, x, curves)
