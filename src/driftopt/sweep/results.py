"""The results of a sweep: one table with one row a run, and finished parts as Parquet files.

A part's file is written under another name, flushed to the disk and renamed, or put into an object store. So
a crash leaves either nothing or everything. The file's name holds the hash of all that defines the group's
runs, and the block of them that it keeps: a sweep that is cut otherwise finds them, too. A file that cannot
be read, or whose content does not have its checksum, is reported and its part runs again.
"""

import io
import itertools
import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from driftopt.methods.grids import Grid
from driftopt.packages import package
from driftopt.report import formats, frames
from driftopt.report.numbers import fixed
from driftopt.report.table import Row, Table, cells
from driftopt.runtime.files import WriteError
from driftopt.runtime.fingerprint import hashed
from driftopt.runtime.folders import DiskFolder, Folder, folder_at
from driftopt.sweep.cutting import Part
from driftopt.sweep.tasks import Arrays, Block, Source

SHOWN = 20  # rows of the table that a notebook shows
METRIC = "metric_"  # precedes the names of a problem's own metrics among a part's arrays
PARTS = "parts"  # the folder of the files
SUM, ZEROS = b"driftopt-sha256:", b"0" * 64  # in a file's metadata: its checksum, taken with zeros there
LABELS = ("method", "instance", "configuration", "seed", "parameters")


@dataclass(frozen=True, repr=False)
class Runs:
    """One row a run, in a fixed order: method, instance, configuration, seed.

    `frame` gives each parameter its own column.
    """

    # By name: method, instance, configuration, seed, parameters (JSON), queries, objective (+inf for a run
    # that diverged or could not start) and the problem's metrics.
    columns: Mapping[str, np.ndarray]
    x: np.ndarray  # the reported decisions, (runs, d); NaN where there is none
    # Each run's (queries, objective) along the way with `evaluate_every`, else None.
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
        curves = [(row, curve) for row, curve in enumerate(self.curves) if curve is not None]
        rows = np.repeat([row for row, _ in curves], [len(at) for _, (at, _) in curves]).astype(int)
        named = {name: self.columns[name][rows] for name in LABELS[:4]}
        empty = [np.empty(0)]
        at, values = (np.concatenate([curve[i] for _, curve in curves] or empty) for i in (0, 1))
        named |= {"queries": at.astype(np.int64), "objective": values.astype(np.float64)}
        return frames.polars_frame(named, "Runs.curve_frame()")

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
        first = {name: self.columns[name] for name in LABELS[:4]}
        rest = {name: column for name, column in self.columns.items() if name not in (*first, "parameters")}
        return first | values | rest

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
            parameters += [parameters_of(one, c)] * len(seeds)
    count, order = len(parameters), {seed: index for index, seed in enumerate(seeds)}
    x = np.full((count, source.dim), np.nan, np.float32)
    curves: list[tuple[np.ndarray, np.ndarray] | None] = [None] * count
    columns: dict[str, np.ndarray] = {
        "method": np.repeat(np.array([label for label, _, _ in tops], str), len(seeds)),
        "instance": np.repeat(np.array([name for _, name, _ in tops], str), len(seeds)),
        "configuration": np.repeat(np.array([c for _, _, c in tops], np.int64), len(seeds)),
        "seed": np.tile(np.array(seeds, dtype=np.int64), len(tops)),
        "parameters": np.array(parameters, dtype=str),
        "queries": np.zeros(count, np.int64),
        "objective": np.full(count, np.inf),
    }
    for part, arrays in zip(parts, results, strict=True):
        label, below = part.grid.label, [order[seed] for seed in part.seeds]
        names = [source.names[k] for k in part.instances]
        each = zip(names, part.configurations, strict=True)
        first = np.array([[tops[label, name, c] for c in some] for name, some in each])
        rows = first[:, None, :] + np.array(below)[:, None]  # of each of the part's runs
        x[rows] = arrays["x"]
        for name, values in arrays.items():
            if name in ("objective", "queries") or name.startswith(METRIC):
                empty = np.full(count, np.nan)
                columns.setdefault(name.removeprefix(METRIC), empty)[rows] = values
        for k, s, c in np.ndindex(rows.shape) if "curve" in arrays else ():
            curves[rows[k, s, c]] = (arrays["curve_at"][k, c], arrays["curve"][k, s, c])
    return Runs(columns, x, curves)


def parameters_of(grid: Grid, configuration: int) -> str:
    """A configuration's parameters as JSON."""
    return json.dumps(dict(grid.configurations[configuration]), default=str)


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
    """Finished parts as Parquet files in the folder `parts` of a results folder.

    Args:
        folder: a path, or an address that fsspec opens.
        warn: receives a sentence about a damaged file.
        fresh: whether to ignore what the folder holds.
    """

    def __init__(
        self, folder: str | Path, warn: Callable[[str], None] = lambda _: None, *, fresh: bool = False
    ):
        # Parquet by polars, which tables and pages use anyway: one wheel, where pyarrow would be a second.
        self._polars = package("polars", "report", "a results folder for a sweep (folder=)")
        self._files: Folder = folder_at(folder)
        self.folder, self._warn, self._fresh = self._files.name, warn, fresh
        if isinstance(self._files, DiskFolder):
            try:
                self._files.make(PARTS)
            except WriteError as error:
                raise ResultsError(f"{error} (--out on the command line)") from None

    def blocks(self) -> dict[str, list[Block]]:
        """The blocks that have files, by the key of their group."""
        found: dict[str, list[Block]] = {}
        for name in [] if self._fresh else sorted(self._files.names(PARTS)):
            if match := re.fullmatch(r"(\w+)-(\d+)\.(\d+)-(\d+)\.(\d+)-(\d+)\.(\d+)\.parquet", name):
                k, k_end, s, s_end, c, c_end = map(int, match.groups()[1:])
                found.setdefault(match[1], []).append(((k, k_end), (s, s_end), (c, c_end)))
        return found

    def file(self, part: Part) -> str:
        """The name of a part's file."""
        edges = "-".join(f"{first}.{end}" for first, end in part.block)
        return f"{PARTS}/{part.key}-{edges}.parquet"

    def source(self, part: Part) -> Any:
        """The argument that polars reads from: a file's path, or the bytes of an object."""
        if isinstance(self._files, DiskFolder):
            return self._files.folder / self.file(part)
        return io.BytesIO(self._files.read(self.file(part)))

    def get(self, part: Part) -> Arrays | None:
        """The part's arrays, or None if it is not finished; a damaged file is reported and removed."""
        file = self.file(part)
        if self._fresh or not self._files.has(file):
            return None
        try:
            content = self._files.read(file)
            at = content.rfind(SUM) + len(SUM)
            if at < len(SUM) or content[at : at + 64] != _checksum(content[:at] + ZEROS + content[at + 64 :]):
                raise ValueError("its checksum is wrong")
            frame = self._polars.read_parquet(io.BytesIO(content))
            if not all(frame[one.name].equals(one) for one in self._labels(part)):
                raise ValueError("it holds another part")
            arrays: dict[str, np.ndarray] = {}
            for name in frame.columns[len(LABELS) :]:
                curve, column = name.startswith("curve"), frame[name]
                rows = (column.explode() if curve else column).to_numpy()
                values = rows.reshape(*part.lanes, *((-1,) if curve else rows.shape[1:]))
                arrays[name] = values[:, 0] if name == "curve_at" else values
            part.check(arrays)
        except Exception as error:  # a damaged file can raise anything
            self._warn(f"{self.folder}/{file} is damaged ({error}); this part runs again")
            self._files.remove(file)
            return None
        return arrays

    def put(self, part: Part, arrays: Arrays) -> None:
        """Write the part's rows."""
        columns, buffer = self._labels(part), io.BytesIO()
        for name, values in arrays.items():
            each = np.repeat(values[:, None], part.lanes[1], axis=1) if name == "curve_at" else values
            column = self._polars.Series(name, each.reshape(len(columns[0]), *each.shape[3:]))
            columns.append(column.arr.to_list() if name.startswith("curve") else column)
        frame = self._polars.DataFrame(columns)
        frame.write_parquet(buffer, metadata={"checksum": (SUM + ZEROS).decode()})
        content = buffer.getvalue()
        at = content.rfind(SUM) + len(SUM)
        self.write(self.file(part), content[:at] + _checksum(content) + content[at + 64 :])

    def write(self, file: str, content: bytes) -> None:
        """Write a file into the results folder."""
        with writing(self.folder):
            self._files.write(file, content)

    def scan(self, parts: Sequence[Part]) -> Any:
        """The rows of all the parts as a polars LazyFrame, with the names of the table in memory."""
        frame = self._polars.scan_parquet([self.source(part) for part in parts])
        return frame.rename(lambda name: name.removeprefix(METRIC))

    def _labels(self, part: Part) -> list[Any]:
        """The columns that say which run a row is, as polars Series."""
        grid, names = part.grid, [part.source.names[k] for k in part.instances]
        texts = {c: parameters_of(grid, c) for some in set(part.configurations) for c in some}
        rows = [
            (grid.label, name, c, seed, texts[c])
            for name, some in zip(names, part.configurations, strict=True)
            for seed in part.seeds
            for c in some
        ]
        columns = zip(LABELS, zip(*rows, strict=True), strict=True)
        return [self._polars.Series(name, values) for name, values in columns]


def _checksum(content: bytes) -> bytes:
    return hashed(content).hex().encode()
