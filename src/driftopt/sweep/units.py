"""The pieces of one shape in which a sweep computes, so that no division changes a bit.

Compilers arrange programs of another shape otherwise, and round otherwise. So what runs together does not
follow from the number of parts or workers, but from the sweep alone: its runs (instances × seeds ×
configurations) are laid out in units of one shape, the last of a row filled up with repeated runs, and a part
is some of the units. On CPUs a unit runs on one core and several run side by side; its lanes are as many as
keep a core's vectors busy, and as few as leave work for many.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from driftopt.runtime.jax_settings import cores

WIDE = 256  # runs in a unit at most, where they are long
NARROW = 8  # small sweeps are halved, for two cores, down to units of one vector
LARGEST = 1 << 14  # runs in a unit at most, where they are short; and in a part, where more would fit
# Runs in a unit on an accelerator, at most: up to so many take hardly longer than a few, since what takes
# time there is to begin each operation of each step.
SIDE_BY_SIDE = 1 << 15
QUERIES = 1_000_000  # of a unit of short runs: a call costs a millisecond, whatever it computes

Block = tuple[int, int]  # first and behind the last
Blocks = tuple[Block, Block, Block]  # of instances, seeds and configurations


@dataclass(frozen=True)
class Unit:
    """The shape of a unit, and how many of them the runs that share a program make."""

    instances: int
    seeds: int
    configurations: int
    count: int = 1
    one_batch: bool = True  # whether all of these runs have the same batch

    @property
    def shape(self) -> tuple[int, int, int]:
        """As lanes are laid out: (K, S, C)."""
        return self.instances, self.seeds, self.configurations


def unit_of(
    lanes: tuple[int, int, int], budget: int, memory: int = LARGEST, *, accelerator: bool = False
) -> Unit:
    """The unit of so many instances × seeds × configurations, each of `budget` queries.

    Args:
        lanes: (K, S, C).
        budget: queries a run.
        memory: how many instances × configurations may be evaluated at once.
        accelerator: whether whole groups belong together: one has room for thousands of lanes.

    >>> unit_of((4, 5, 36), 30_000)
    Unit(instances=1, seeds=5, configurations=36, count=4, one_batch=True)
    >>> unit_of((50, 20, 10_000), 10_000).shape
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
    found = (instances, seeds, wide)
    return Unit(*found, count=int(np.prod([-(-n // size) for n, size in zip(lanes, found, strict=True)])))


def _size(length: int, most: int) -> int:
    """The largest size up to `most`, and not below half of it, that fills up the least.

    >>> _size(5, 7), _size(20, 7), _size(100, 48)
    (5, 5, 25)
    """
    most = max(1, most)
    if length <= most:
        return length
    return min(range(most, most // 2, -1), key=lambda size: -(-length // size) * size)


def division(lanes: tuple[int, int, int], unit: Unit, most: int) -> Iterator[Blocks]:
    """The parts of so many instances × seeds × configurations: whole units, with `most` runs where these fit.

    By instance first, then by seed: all configurations of an instance and seed share their noise.
    """
    k, s, c = unit.shape
    if (slab := k * lanes[1] * lanes[2]) <= most:
        units = (most // slab, lanes[1], lanes[2])
    elif (row := k * s * lanes[2]) <= most:
        units = (1, most // row, lanes[2])
    else:
        units = (1, 1, most // (k * s * c))
    instances, seeds, configurations = map(_cut, lanes, unit.shape, units)
    yield from product(instances, seeds, configurations)


def _cut(length: int, size: int, units: int) -> list[Block]:
    """A row in pieces of nearly equally many units of this size, at most so many and at least one.

    >>> _cut(10, 3, 2), _cut(10, 3, 0), _cut(10, 3, 9)
    ([(0, 6), (6, 10)], [(0, 3), (3, 6), (6, 9), (9, 10)], [(0, 10)])
    """
    count = -(-length // size)
    pieces = np.array_split(np.arange(count), -(-count // min(max(1, units), count)))
    return [(int(few[0]) * size, min(length, (int(few[-1]) + 1) * size)) for few in pieces]


Places = tuple[np.ndarray, np.ndarray, np.ndarray]  # of a unit's instances, seeds and configurations


def run_units(
    lanes: tuple[int, int, int], unit: Unit, run: Callable[[Places], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """What `run` gives for every unit, put together as one part's arrays.

    Args:
        lanes: the part's (K, S, C).
        unit: its shape; the part begins with a whole one.
        run: computes the runs at these places, whose last are repeated where the part ends within a unit;
            arrays begin with (K, S, C) of the unit, those named `…_at` with (K, C).
    """
    places = [_places(at, lanes, unit.shape) for at in product(*map(_starts, lanes, unit.shape))]
    # The first compiles what the others use.
    found = [run(places[0])]
    found += list(_pool().map(run, places[1:])) if len(places) > 1 else []
    return {name: _joined(name, lanes, unit.shape, places, found) for name in found[0]}


@cache
def _pool() -> ThreadPoolExecutor:
    """One for all parts of this process: a unit for each core."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="driftopt-unit")


def _starts(length: int, size: int) -> range:
    return range(0, length, size)


def _places(at: Sequence[int], lanes: Sequence[int], shape: Sequence[int]) -> Any:
    return tuple(
        np.minimum(np.arange(first, first + size), length - 1)
        for first, size, length in zip(at, shape, lanes, strict=True)
    )


def _joined(
    name: str,
    lanes: Sequence[int],
    shape: Sequence[int],
    places: Sequence[Places],
    found: Sequence[dict[str, np.ndarray]],
) -> np.ndarray:
    axes = (0, 2) if name.endswith("_at") else (0, 1, 2)
    like = found[0][name]
    whole = np.empty((*(lanes[axis] for axis in axes), *like.shape[len(axes) :]), like.dtype)
    for at, arrays in zip(places, found, strict=True):
        ends = [min(int(at[axis][0]) + shape[axis], lanes[axis]) for axis in axes]
        goal = tuple(slice(int(at[axis][0]), end) for axis, end in zip(axes, ends, strict=True))
        inner = tuple(slice(0, one.stop - one.start) for one in goal)
        whole[goal] = arrays[name][inner]
    return whole
