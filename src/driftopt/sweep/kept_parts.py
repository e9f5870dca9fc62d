"""The folder of finished parts: one file a part, complete or absent.

A part's file is written under another name, flushed to the disk and renamed, or put into an object store. So
a crash leaves either nothing or everything. The file's name is the hash of all that defines the work, and a
part whose file cannot be read is computed again. `Store` keeps arrays and returns them. `RowStore` writes the
rows of a table as Parquet and keeps nothing in memory; `StoredRuns` reads them:

runs = sweep.stream(grids, problems, budget=10_000, seeds=range(20), folder="results/large")
runs.scan().filter(polars.col("objective") < 1).collect()
sweep.select(grids, runs, problems, budget=10_000)
"""

import io
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from driftopt.methods.grids import Grid
from driftopt.packages import package
from driftopt.runtime.files import WriteError
from driftopt.runtime.folders import DiskFolder, Folder, folder_at
from driftopt.sweep.task import Arrays, Part, Source

METRIC = "metric_"  # precedes the names of a problem's own metrics among a part's arrays


class ResultsError(WriteError):
    """The results folder cannot be used; the message says what is safe and how to continue."""


@contextmanager
def writing(folder: str | Path) -> Generator[None]:
    """A block that writes into the results folder; a failure says which results are safe."""
    try:
        yield
    except WriteError as error:
        raise ResultsError(
            f"{error}; everything finished before is safe in {folder}: "
            "give the same command again to go on from there"
        ) from None


class Store:
    """Finished parts under `folder`/parts or, with no folder, in memory; with `fresh`, `get` returns none."""

    in_memory = True  # whether `put` returns the arrays, so that they need not be read again

    def __init__(
        self,
        folder: str | Path | None,
        warn: Callable[[str], None] = lambda _: None,
        *,
        fresh: bool = False,
    ):
        self.files: Folder | None = None if folder is None else folder_at(folder)
        self._fresh = fresh
        self._warn = warn
        self._memory: dict[str, Arrays] = {}
        if isinstance(self.files, DiskFolder):
            try:
                self.files.make("parts")
            except WriteError as error:
                raise ResultsError(f"{error} (--out on the command line)") from None

    @property
    def folder(self) -> str | None:
        """The folder's name; None where parts stay in memory."""
        return None if self.files is None else self.files.name

    def get(self, key: str, check: Callable[[Arrays], None] = lambda _: None) -> Arrays | None:
        """The part, or None if it is not finished; a damaged file is reported and removed.

        Args:
            key: the hash of all that defines the work.
            check: raises a ValueError for arrays that cannot be this part's.
        """
        if self._fresh:
            return None
        if self.files is None:
            return self._memory.get(key)
        file = f"parts/{key}.npz"
        if not self.files.has(file):
            return None
        try:
            with np.load(io.BytesIO(self.files.read(file)), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}  # compares each part's checksum
            if str(arrays.pop("key")) != key:
                raise ValueError("it holds another part")
            check(arrays)
        except Exception as error:  # a damaged archive can raise anything, for instance that it is encrypted
            self._discard(file, error)
            return None
        return arrays

    def put(self, key: str, arrays: Arrays) -> Arrays:
        """Keep a finished part and return the arrays that stay in memory."""
        if self.files is None:
            self._memory[key] = arrays
            return arrays
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **{**arrays, "key": np.array(key)})
        with writing(self.files.name):
            self.files.write(f"parts/{key}.npz", buffer.getvalue())
        return arrays

    def _discard(self, file: str, error: Exception) -> None:
        assert self.files is not None
        self._warn(f"{self.folder}/{file} is damaged ({error}); this part runs again")
        self.files.remove(file)


class RowStore(Store):
    """Finished parts under `folder`/runs, each a Parquet file of rows."""

    in_memory = False

    def __init__(
        self, folder: str | Path | None, warn: Callable[[str], None] = lambda _: None, *, fresh: bool = False
    ):
        super().__init__(folder, warn, fresh=fresh)
        self._polars = package("polars", "report", "sweep.stream")
        self._parts: dict[str, Part] = {}
        self._parameters: dict[tuple[str, int], str] = {}
        self._names: tuple[str, ...] = ()
        assert self.files is not None
        self.results = self.files
        if isinstance(self.results, DiskFolder):
            self.results.make("runs")

    def expect(self, grids: Sequence[Grid], source: Source, parts: Sequence[Part]) -> None:
        """Note the parts to come: their rows name methods, parameters and instances."""
        self._names = source.names
        for one in grids:
            for index, numbers in enumerate(one.configurations):
                self._parameters[one.label, index] = json.dumps(dict(numbers), default=str)
        self._parts = {part.task.key: part for part in parts}

    def get(self, key: str, check: Callable[[Arrays], None] = lambda _: None) -> Arrays | None:
        """An empty mapping where the part's file is complete; else None."""
        file = f"runs/{key}.parquet"
        if self._fresh or not self.results.has(file):
            return None
        try:
            k, s, c = self._parts[key].lanes
            if self.count(key) != k * s * c:
                raise ValueError("it holds another part")
        except Exception as error:  # a damaged file can raise anything
            self._discard(file, error)
            return None
        return {}

    def put(self, key: str, arrays: Arrays) -> Arrays:
        """Write the part's rows; nothing stays in memory."""
        part, lanes = self._parts[key], self._parts[key].lanes

        def for_each_run(values: Any, axes: tuple[int, ...]) -> np.ndarray:
            """Values over some axes, repeated for every run."""
            given = np.asarray(values)
            shape = tuple(n if axis in axes else 1 for axis, n in enumerate(lanes))
            rest = given.shape[len(axes) :]
            return np.broadcast_to(given.reshape(*shape, *rest), (*lanes, *rest)).reshape(-1, *rest)

        texts = [[self._parameters[part.label, i] for i in some] for some in part.configurations]
        value = np.asarray(arrays["objective"], float)
        columns: dict[str, Any] = {
            "method": [part.label] * value.size,
            "instance": for_each_run(np.array([self._names[k] for k in part.instances]), (0,)),
            "configuration": for_each_run(np.array(part.configurations), (0, 2)),
            "seed": for_each_run(np.array(part.seeds, np.int64), (1,)),
            "parameters": for_each_run(np.array(texts, object), (0, 2)).tolist(),
            "queries": arrays["queries"].ravel(),
            "objective": np.where(np.isfinite(value), value, np.inf).ravel(),
        }
        for name in arrays:
            if name.startswith(METRIC):
                columns[name.removeprefix(METRIC)] = arrays[name].ravel()
        columns["x"] = list(arrays["x"].reshape(value.size, -1))
        if "curve" in arrays:
            columns["curve_at"] = list(for_each_run(arrays["curve_at"], (0, 2)))
            columns["curve"] = list(arrays["curve"].reshape(value.size, -1))
        buffer = io.BytesIO()
        self._polars.DataFrame(columns).write_parquet(buffer)
        with writing(self.results.name):
            self.results.write(f"runs/{key}.parquet", buffer.getvalue())
        return {}

    def count(self, key: str) -> int:
        """The number of rows in a part's file."""
        return int(self._polars.scan_parquet(self.source(key)).select(self._polars.len()).collect().item())

    def source(self, key: str) -> Any:
        """The argument that polars reads from: a file's path, or the bytes of an object."""
        file = f"runs/{key}.parquet"
        if isinstance(self.results, DiskFolder):
            return self.results.folder / file
        return io.BytesIO(self.results.read(file))


class StoredRuns:
    """A table with one row a run, in Parquet files: `scan` reads lazily, `chunks` one file after the other.

    Columns are those of `Runs`, and x as a list; with `evaluate_every` also curve_at and curve as lists. Runs
    that the budget could not start have no row. Rows are in no order: sort what you collect.
    """

    def __init__(self, store: RowStore, keys: Sequence[str], manifest: Mapping[str, Any]):
        self._store, self._keys, self.manifest = store, tuple(keys), manifest
        self._polars = package("polars", "report", "StoredRuns")

    def __len__(self) -> int:
        return sum(self._store.count(key) for key in self._keys)

    def __repr__(self) -> str:
        return f"StoredRuns({len(self):,} runs in {len(self._keys):,} files in {self._store.folder})"

    def scan(self) -> Any:
        """All rows as a polars LazyFrame, which reads only the columns and rows that you collect."""
        return self._polars.scan_parquet([self._store.source(key) for key in self._keys])

    def chunks(self) -> Iterator[Any]:
        """The rows of one part after the other, as polars DataFrames."""
        return (self._polars.read_parquet(self._store.source(key)) for key in self._keys)

    def objectives(self) -> dict[tuple[str, str], np.ndarray]:
        """The final objectives of each method and instance, (configurations, seeds), read part by part.

        Those of configurations that could not start are +inf. They take eight bytes a run, however wide the
        rows are.
        """
        column = {seed: index for index, seed in enumerate(self.manifest["seeds"])}
        sizes = {label: len(some) for label, some in self.manifest["grids"].items()}
        objectives: dict[tuple[str, str], np.ndarray] = {}
        for rows in self.chunks():
            for (label, name), some in rows.partition_by("method", "instance", as_dict=True).items():
                whole = objectives.setdefault((label, name), np.full((sizes[label], len(column)), np.inf))
                columns = [column[seed] for seed in some["seed"].to_list()]
                whole[some["configuration"].to_numpy(), columns] = some["objective"].to_numpy()
        return objectives
