"""Runs that are too many for memory: each part a Parquet file, read when something is asked of it.

runs = sweep.stream(grids, problems, budget=10_000, seeds=range(20), folder="results/large")
runs.scan().filter(polars.col("objective") < 1).collect()
sweep.select(grids, runs, problems, budget=10_000)
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftopt.methods.grids import Grid
from driftopt.packages import package
from driftopt.runtime.folders import DiskFolder
from driftopt.sweep.kept_parts import Arrays, Store, writing
from driftopt.sweep.parts import Part, Source
from driftopt.sweep.table import METRIC


class StoredRuns:
    """One row a run, in Parquet files: `scan` reads lazily, `chunks` one file after the other.

    Columns are those of `Runs`, and x as a list; with `evaluate_every` curve_at and curve, lists too. Runs
    that the budget could not start have no row. Rows are in no order: sort what you collect.
    """

    def __init__(self, store: "RowStore", keys: Sequence[str], manifest: Mapping[str, Any]):
        self._store, self._keys, self.manifest = store, tuple(keys), manifest

    def __len__(self) -> int:
        return sum(self._store.count(key) for key in self._keys)

    def __repr__(self) -> str:
        return f"StoredRuns({len(self):,} runs in {len(self._keys):,} files in {self._store.folder})"

    def scan(self) -> Any:
        """All rows as a polars LazyFrame: what is asked of it is read from the files when it is collected."""
        return package("polars", "report", "StoredRuns.scan()").scan_parquet(
            [self._store.source(key) for key in self._keys]
        )

    def chunks(self) -> Iterator[Any]:
        """The rows of one part after the other, as polars DataFrames."""
        return (self._store.rows(key) for key in self._keys)

    def objectives(self) -> dict[tuple[str, str], np.ndarray]:
        """The final objectives of each method and instance, (configurations, seeds), read part by part.

        Those of configurations that could not start are +inf. They are eight bytes a run, whatever the rows
        have besides.
        """
        seeds = {seed: place for place, seed in enumerate(self.manifest["seeds"])}
        sizes = {label: len(some) for label, some in self.manifest["grids"].items()}
        found: dict[tuple[str, str], np.ndarray] = {}
        for rows in self.chunks():
            for (label, name), some in rows.partition_by("method", "instance", as_dict=True).items():
                whole = found.setdefault((label, name), np.full((sizes[label], len(seeds)), np.inf))
                places = [seeds[seed] for seed in some["seed"].to_list()]
                whole[some["configuration"].to_numpy(), places] = some["objective"].to_numpy()
        return found


class RowStore(Store):
    """Finished parts under `folder`/runs, each a Parquet file of rows."""

    holds = False

    def __init__(
        self, folder: str | Path | None, warn: Callable[[str], None] = lambda _: None, *, fresh: bool = False
    ):
        super().__init__(folder, warn, fresh=fresh)
        self._polars = package("polars", "report", "sweep.stream")
        self._parts: dict[str, Part] = {}
        self._texts: dict[tuple[str, int], str] = {}
        self._names: tuple[str, ...] = ()
        assert self.place is not None
        self.at = self.place
        if isinstance(self.at, DiskFolder):
            self.at.make("runs")

    def expect(self, grids: Sequence[Grid], source: Source, parts: Sequence[Part]) -> list[str]:
        """Learn what the parts are, whose rows name methods and instances; their keys."""
        self._names = source.names
        for one in grids:
            for index, numbers in enumerate(one.configurations):
                self._texts[one.label, index] = json.dumps(dict(numbers), default=str)
        keys = [part.task.key for part in parts]
        self._parts = dict(zip(keys, parts, strict=True))
        return keys

    def get(self, key: str, check: Callable[[Arrays], None] = lambda _: None) -> Arrays | None:
        """No arrays where the part's file is there and has its rows; else None."""
        if self._fresh or not self.at.has(_file(key)):
            return None
        try:
            if self.count(key) != self._runs(key):
                raise ValueError("it holds another part")
        except Exception as error:  # a damaged file can say anything
            self._warn(f"{self.folder}/{_file(key)} is damaged ({error}); this part runs again")
            self.at.remove(_file(key))
            return None
        return {}

    def put(self, key: str, arrays: Arrays) -> Arrays:
        """Write the part's rows; nothing stays in memory."""
        buffer = io.BytesIO()
        self._polars.DataFrame(self._columns(self._parts[key], arrays)).write_parquet(buffer)
        with writing(self.at.name):
            self.at.write(_file(key), buffer.getvalue())
        return {}

    def count(self, key: str) -> int:
        """How many rows a part's file has."""
        return int(self._polars.scan_parquet(self.source(key)).select(self._polars.len()).collect().item())

    def rows(self, key: str) -> Any:
        """A part's rows."""
        return self._polars.read_parquet(self.source(key))

    def source(self, key: str) -> Any:
        """What polars reads: a file's path, or the bytes of an object."""
        if isinstance(self.at, DiskFolder):
            return self.at.folder / _file(key)
        return io.BytesIO(self.at.read(_file(key)))

    def _runs(self, key: str) -> int:
        part = self._parts[key]
        return len(part.instances) * len(part.seeds) * len(part.configurations[0])

    def _columns(self, part: Part, arrays: Arrays) -> dict[str, Any]:
        count, seeds, wide = len(part.instances), len(part.seeds), len(part.configurations[0])
        lanes = (count, seeds, wide)

        def spread(values: Any, axes: tuple[int, ...]) -> np.ndarray:
            """Values over some of the axes, for every run."""
            given = np.asarray(values)
            shape = tuple(n if axis in axes else 1 for axis, n in enumerate(lanes))
            rest = given.shape[len(axes) :]
            return np.broadcast_to(given.reshape(*shape, *rest), (*lanes, *rest)).reshape(-1, *rest)

        numbers = np.array(part.configurations)
        texts = np.array([[self._texts[part.label, i] for i in row] for row in part.configurations], object)
        value = np.asarray(arrays["objective"], float)
        columns: dict[str, Any] = {
            "method": [part.label] * value.size,
            "instance": spread(np.array([self._names[k] for k in part.instances]), (0,)),
            "configuration": spread(numbers, (0, 2)),
            "seed": spread(np.array(part.seeds, np.int64), (1,)),
            "parameters": spread(texts, (0, 2)).tolist(),
            "queries": arrays["queries"].ravel(),
            "objective": np.where(np.isfinite(value), value, np.inf).ravel(),
        }
        for name in arrays:
            if name.startswith(METRIC):
                columns[name.removeprefix(METRIC)] = arrays[name].ravel()
        columns["x"] = list(arrays["x"].reshape(value.size, -1))
        if "curve" in arrays:
            columns["curve_at"] = list(spread(arrays["curve_at"], (0, 2)))
            columns["curve"] = list(arrays["curve"].reshape(value.size, -1))
        return columns


def _file(key: str) -> str:
    return f"runs/{key}.parquet"
