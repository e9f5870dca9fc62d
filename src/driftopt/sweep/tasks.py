"""The work of a sweep: runs in tiles, which every division leaves as they are, and tasks that compute them.

Compilers arrange programs of different shapes differently, and so round differently. What runs together must
therefore not depend on the number of parts or workers, only on the sweep. Its runs (instances × seeds ×
configurations) are laid out in tiles of one shape, the last tile of an axis is padded with repeated runs, and
a part is some of the tiles. On CPUs a tile runs on one core and several run in parallel: it is wide enough to
keep a core's vector unit busy and small enough to leave work for the other cores.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from driftopt.methods.grids import Grid
from driftopt.runtime.jax_settings import cores

WIDE = 256  # most runs in a tile where they are long
NARROW = 8  # small sweeps are halved, for two cores, down to tiles of one vector
LARGEST = 1 << 14  # most runs in a tile where they are short; also most runs in a part
# Most runs in a tile on an accelerator. Up to this number they take hardly longer than a few, since most of
# the time goes into launching each operation of each step.
SIDE_BY_SIDE = 1 << 15
QUERIES = 1_000_000  # of a tile of short runs: a call costs a millisecond, whatever it computes

Arrays = Mapping[str, np.ndarray]  # of runs: x, objective, queries, curve_at, curve, metric_…
Span = tuple[int, int]  # the first index, and the one after the last
Block = tuple[Span, Span, Span]  # of instances, seeds and configurations
Indices = tuple[np.ndarray, np.ndarray, np.ndarray]  # of a tile's instances, seeds and configurations


@dataclass(frozen=True)
class Tile:
    """The shape of a tile, and how many of them the runs that share a program make."""

    instances: int
    seeds: int
    configurations: int
    count: int = 1
    one_batch: bool = True  # whether all of these runs have the same batch

    @property
    def shape(self) -> tuple[int, int, int]:
        """(K, S, C), the order of axes in a compiled loop."""
        return self.instances, self.seeds, self.configurations


def tile_of(
    lanes: tuple[int, int, int], budget: int, memory: int = LARGEST, *, accelerator: bool = False
) -> Tile:
    """The tile for the given numbers of instances, seeds and configurations.

    Args:
        lanes: (K, S, C).
        budget: queries a run.
        memory: how many instances × configurations may be evaluated together.
        accelerator: whether whole groups run together, since there is room for thousands of runs.

    >>> tile_of((4, 5, 36), 30_000)
    Tile(instances=1, seeds=5, configurations=36, count=4, one_batch=True)
    >>> tile_of((50, 20, 10_000), 10_000).shape
    (1, 1, 250)
    """
    runs = lanes[0] * lanes[1] * lanes[2]
    most = SIDE_BY_SIDE
    if not accelerator:
        most = min(max(WIDE, -(-QUERIES // budget)), max(NARROW, -(-runs // 2)), LARGEST)
    # All configurations of an instance and seed share its noise; all seeds of an instance its data.
    wide = _size(lanes[2], min(most, max(1, memory)))
    seeds = _size(lanes[1], most // wide)
    instances = _size(lanes[0], min(most // (wide * seeds), max(1, memory // wide)))
    shape = (instances, seeds, wide)
    return Tile(*shape, count=int(np.prod([-(-n // size) for n, size in zip(lanes, shape, strict=True)])))


def _size(length: int, most: int) -> int:
    """The size between half of `most` and `most` that needs the least padding.

    >>> _size(5, 7), _size(20, 7), _size(100, 48)
    (5, 5, 25)
    """
    most = max(1, most)
    if length <= most:
        return length
    return min(range(most, most // 2, -1), key=lambda size: -(-length // size) * size)


def division(lanes: tuple[int, int, int], tile: Tile, most: int) -> Iterator[Block]:
    """The parts of the given lanes: whole tiles, with at most `most` runs where a tile has no more.

    Instances are divided first, then seeds: all configurations of an instance and seed share their noise.
    """
    k, s, c = tile.shape
    if (slab := k * lanes[1] * lanes[2]) <= most:
        tiles = (most // slab, lanes[1], lanes[2])
    elif (row := k * s * lanes[2]) <= most:
        tiles = (1, most // row, lanes[2])
    else:
        tiles = (1, 1, most // (k * s * c))
    axes: list[list[Span]] = []
    for length, size, several in zip(lanes, tile.shape, tiles, strict=True):
        count = -(-length // size)
        pieces = np.array_split(np.arange(count), -(-count // min(max(1, several), count)))
        axes.append([(int(few[0]) * size, min(length, (int(few[-1]) + 1) * size)) for few in pieces])
    instances, seeds, configurations = axes
    yield from product(instances, seeds, configurations)


def run_tiles(
    lanes: tuple[int, int, int], tile: Tile, run: Callable[[Indices], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """The results of all tiles of a part, joined into one array for each name.

    Args:
        lanes: the part's (K, S, C).
        tile: its shape; the part begins with a whole one.
        run: computes the runs at the given indices, whose last ones repeat where the part ends within a tile;
            its arrays begin with (K, S, C) of the tile, those named `…_at` with (K, C).
    """
    shape = tile.shape
    corners = list(product(*(range(0, length, size) for length, size in zip(lanes, shape, strict=True))))
    indices = [
        (
            np.minimum(np.arange(k, k + shape[0]), lanes[0] - 1),
            np.minimum(np.arange(s, s + shape[1]), lanes[1] - 1),
            np.minimum(np.arange(c, c + shape[2]), lanes[2] - 1),
        )
        for k, s, c in corners
    ]
    results = [run(indices[0])]  # compiles the program that the others use
    if len(indices) > 1:
        results += _threads().map(run, indices[1:])
    joined: dict[str, np.ndarray] = {}
    for name, like in results[0].items():
        axes = (0, 2) if name.endswith("_at") else (0, 1, 2)
        whole = np.empty((*(lanes[axis] for axis in axes), *like.shape[len(axes) :]), like.dtype)
        for corner, arrays in zip(corners, results, strict=True):
            firsts = [corner[axis] for axis in axes]
            sizes = [min(shape[axis], lanes[axis] - corner[axis]) for axis in axes]
            target = tuple(slice(first, first + n) for first, n in zip(firsts, sizes, strict=True))
            whole[target] = arrays[name][tuple(slice(0, n) for n in sizes)]
        joined[name] = whole
    return joined


@cache
def _threads() -> ThreadPoolExecutor:
    """One pool for all parts of this process, with a thread for each core."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="driftopt-tile")


@dataclass(frozen=True)
class RunSettings:
    """The settings that all runs of a sweep have in common."""

    budget: int
    x0: tuple[float, ...] | None = None
    evaluate_every: int | None = None
    metrics: bool = False  # whether to compute the problem's own `metrics` at every reported decision
    settle: int = 1  # deployments for one value
    version: str | None = None  # names what no fingerprint sees: a file that is read, a service that is asked

    def arguments(self) -> dict[str, Any]:
        """Those of them that `simulate` takes."""
        return {name: getattr(self, name) for name in ("budget", "x0", "evaluate_every", "settle")}


class Task(ABC):
    """Runs that workers compute: `run` gives arrays over (instances, seeds, configurations)."""

    @abstractmethod
    def run(self) -> Arrays: ...

    @abstractmethod
    def part(self, block: Block) -> "Task":
        """The task of some of these runs."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The hash of everything that the result depends on: data, numbers, seeds and code."""

    @property
    @abstractmethod
    def unseen(self) -> tuple[str, ...]:
        """Names of what the result may depend on but the key cannot know; if any, results are not reused."""

    @property
    def libraries(self) -> dict[str, str]:
        """The versions of further libraries that the task runs; a worker must have the same."""
        return {}

    @property
    def program(self) -> Any:
        """A value that is equal for tasks with the same compiled program."""
        return None

    @property
    def effort(self) -> int:
        """A number that grows with the time that compiling the program takes."""
        return 0


class Source(ABC):
    """The problem instances of a sweep, and how work on them is packed into tasks."""

    names: tuple[str, ...]
    dim: int
    worth: int  # queries that make a part worthwhile
    evaluations: int = 0  # values that judge a run, each as slow as a query

    @abstractmethod
    def task(
        self,
        grid: Grid,
        configurations: Sequence[Sequence[int]],
        instances: Sequence[int],
        seeds: Sequence[int],
        settings: RunSettings,
        tile: Tile,
    ) -> Task:
        """The task that runs several configurations of one structure on each of these instances."""

    def tile(self, lanes: tuple[int, int, int], settings: RunSettings) -> Tile:
        """The shape of the runs that are computed together; by default one run at a time."""
        return Tile(1, 1, 1, count=lanes[0] * lanes[1] * lanes[2])

    @abstractmethod
    def largest(self, seeds: int) -> int:
        """The largest number of runs in a part."""

    @abstractmethod
    def checksums(self) -> dict[str, str]:
        """A checksum of each instance's data."""
