"""How a sweep is cut into parts: groups of runs that share a program, and blocks of their tiles.

Configurations that differ only in numbers share a program. They are grouped by their static structure (the
number of directions sets an array's shape) and, on CPUs, by batch: runs of one batch share their noise. The
tiles are the same however many parts there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import numpy as np

from driftopt.drivers.plan import affordable, first_step
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Outside
from driftopt.sweep.tasks import (
    LARGEST,
    Arrays,
    Block,
    RunSettings,
    Source,
    Task,
    Tile,
    division,
)

PARTS_EACH = 4  # parts a worker: a worker that is done takes the next, so none waits long for the last
EACH_OUTSIDE = 32  # runs of an outside optimiser in a part, so that an interruption costs little


def feasible(method: Method | Outside, dim: int, budget: int, settle: int = 1) -> bool:
    """Whether the budget pays for the first iteration that can move the iterate."""
    if isinstance(method, Outside):
        return method.batch * settle <= budget
    return first_step(method.for_budget(budget // settle), dim) * settle <= budget


def check_affordable(grids: Sequence[Grid], dim: int, budget: int, settle: int = 1) -> None:
    """Refuse a budget that pays for no step of any configuration of a grid, before anything runs."""
    for one in grids:
        if not any(feasible(one.candidate(i), dim, budget, settle) for i in range(len(one))):
            raise ValueError(
                f"a budget of {budget} pays for no step of any configuration of {one.label}; raise it"
            )


@dataclass(frozen=True)
class Part:
    """Runs that share a program: a group of all of them, or a block of it that one task computes."""

    grid: Grid
    source: Source
    settings: RunSettings
    configurations: tuple[tuple[int, ...], ...]  # several for each instance
    instances: tuple[int, ...]
    seeds: tuple[int, ...]
    expected: Mapping[int, int]  # by configuration: the queries of a run's whole iterations
    limits: Mapping[int, int]  # by configuration: the largest number that the budget allows
    tile: Tile
    whole: "Part | None" = None  # the group that it is cut from
    block: Block = ((0, 0), (0, 0), (0, 0))  # where it is in its group

    def cut(self, block: Block) -> "Part":
        """A block of this group."""
        instances, seeds, some = (slice(*span) for span in block)
        return replace(
            self,
            configurations=tuple(each[some] for each in self.configurations[instances]),
            instances=self.instances[instances],
            seeds=self.seeds[seeds],
            whole=self,
            block=block,
        )

    @property
    def lanes(self) -> tuple[int, int, int]:
        """The numbers of instances, seeds and configurations."""
        return len(self.instances), len(self.seeds), len(self.configurations[0])

    @property
    def group(self) -> "Part":
        """The group that it is cut from, or itself."""
        return self.whole or self

    @property
    def outside(self) -> bool:
        """Whether the runs are those of another library's optimiser."""
        return isinstance(self.grid.candidate(self.configurations[0][0]), Outside)

    @cached_property
    def work(self) -> Task:
        """The work of a whole group; parts are taken from it."""
        given = self.configurations, self.instances, self.seeds, self.settings, self.tile
        return self.source.task(self.grid, *given)

    @property
    def task(self) -> Task:
        """Its work."""
        return self.work if self.whole is None else self.whole.work.part(self.block)

    @cached_property
    def key(self) -> str:
        """The beginning of its files' names: a hash of everything that its group's results depend on."""
        return self.work.key[:40] if self.whole is None else self.whole.key

    @cached_property
    def queries(self) -> int:
        """The expected queries of its runs."""
        return self._total(self.expected)

    def _total(self, each: Mapping[int, int]) -> int:
        return len(self.seeds) * sum(each[i] for some in self.configurations for i in some)

    def blocks(self, most: int | None = None) -> Iterator[Block]:
        """A division of a group into blocks of at most `most` runs, or of a single tile."""
        largest = EACH_OUTSIDE if self.outside else self.source.largest(len(self.seeds))
        return division(self.lanes, self.tile, min(most or LARGEST, largest))

    def check(self, arrays: Arrays) -> None:
        """Refuse arrays that cannot be the result of this part.

        Raises:
            ValueError: an array is missing, has another shape or type, or counts too many queries.
        """
        for name, kind in (("x", "f"), ("objective", "f"), ("queries", "i")):
            if name not in arrays:
                raise ValueError(f"it has no {name}")
            if arrays[name].shape[:3] != self.lanes or arrays[name].dtype.kind != kind:
                got = f"{arrays[name].dtype} {arrays[name].shape}"
                raise ValueError(f"its {name} is {got}, not one for each of {self.lanes} runs")
        spent, limit = arrays["queries"], self._total(self.limits)
        if (spent < 0).any() or spent.sum() > limit:
            raise ValueError(f"it counts {spent.sum()} queries where the budget allows {limit}")


def groups_of(
    grid: Grid,
    source: Source,
    settings: RunSettings,
    seeds: Sequence[int],
    chosen: Sequence[int] | None = None,
) -> list[Part]:
    """The groups of a grid's feasible configurations on all instances, or of one chosen for each instance."""
    everywhere = range(len(source.names))
    members: dict[Any, list[int]] = {}  # configurations or, where they are chosen, instances
    expected, limits, batches = dict[int, int](), dict[int, int](), dict[int, int]()
    budget, settle = settings.budget, settings.settle
    for member in range(len(grid)) if chosen is None else everywhere:
        index = member if chosen is None else chosen[member]
        method = grid.candidate(index)
        if not feasible(method, source.dim, budget, settle):
            continue
        batches[index] = batch = int(np.asarray(method.batch))
        # Runs of one batch share noise; a single configuration has none to share it with. Outside optimisers
        # run one after the other: each configuration is a group.
        alone = chosen is not None or jax.default_backend() != "cpu"
        key: Any = (jax.tree.structure(method), None if alone else batch)
        if isinstance(method, Outside):
            # It may ask for fewer points at a time than it said, and so for more in total.
            expected[index], limits[index] = budget // (batch * settle) * batch * settle, budget
            key = key if alone else member
        else:
            spent = affordable(method.for_budget(budget // settle), source.dim, budget // settle).queries
            expected[index] = limits[index] = spent * settle
        members.setdefault(key, []).append(member)
    found: list[Part] = []
    for some in members.values():
        if chosen is None:
            configurations, instances = (tuple(some),) * len(everywhere), tuple(everywhere)
        else:
            configurations, instances = tuple((chosen[k],) for k in some), tuple(some)
        lanes = (len(instances), len(seeds), len(configurations[0]))
        if isinstance(grid.candidate(configurations[0][0]), Outside):
            tile = Source.tile(source, lanes, settings)  # one at a time
        else:
            tile = source.tile(lanes, settings)
        one_batch = len({batches[i] for row in dict.fromkeys(configurations) for i in row}) == 1
        tile, shared = replace(tile, one_batch=one_batch), (expected, limits)
        found.append(Part(grid, source, settings, configurations, instances, tuple(seeds), *shared, tile))
    return found


def split(
    groups: Sequence[Part], files: Mapping[str, Sequence[Block]], most: int | None
) -> tuple[list[Part], list[bool]]:
    """The parts of a sweep, of at most `most` runs where they have no file, and whether each has one.

    Args:
        groups: all its runs.
        files: the blocks that have files, by the key of their group.
        most: runs in a part.
    """
    parts: list[Part] = []
    finished: list[bool] = []
    for group in groups:
        sizes = group.tile.shape
        covered = np.zeros([-(-n // size) for n, size in zip(group.lanes, sizes, strict=True)], bool)
        for block in files.get(group.key, []) if files else []:
            edges = zip(block, group.lanes, sizes, strict=True)
            whole = all(
                a < b <= n and a % size == 0 and (b % size == 0 or b == n) for (a, b), n, size in edges
            )
            if whole and not covered[_tiles(block, sizes)].any():  # no run is in two parts
                covered[_tiles(block, sizes)] = True
                parts.append(group.cut(block))
                finished.append(True)
        for block in group.blocks(most):
            missing = [group.cut(piece) for piece in _uncovered(block, covered, sizes)]
            parts += missing
            finished += [False] * len(missing)
    return parts, finished


def _uncovered(block: Block, covered: np.ndarray, sizes: tuple[int, int, int]) -> Iterator[Block]:
    """The pieces of a block whose tiles are not covered: it is halved until each is covered or is not."""
    found = covered[_tiles(block, sizes)]
    if not found.any():
        yield block
    elif not found.all():
        axis = int(np.argmax(found.shape))
        first, end = block[axis]
        middle = first + sizes[axis] * (found.shape[axis] // 2)
        for span in ((first, middle), (middle, end)):
            half: Any = (*block[:axis], span, *block[axis + 1 :])
            yield from _uncovered(half, covered, sizes)


def _tiles(block: Block, sizes: tuple[int, int, int]) -> tuple[slice, ...]:
    return tuple(slice(a // size, -(-b // size)) for (a, b), size in zip(block, sizes, strict=True))


def workers_of(executor: Any) -> int | None:
    """The number of workers that an executor has now; None where it does not say.

    Args:
        executor: of `concurrent.futures`, of Dask (`client.get_executor()`), or any with a number `workers`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> workers_of(ThreadPoolExecutor(3))
    3
    """
    client = getattr(executor, "_client", None)  # Dask offers no public way to its client
    if client is not None and callable(getattr(client, "nthreads", None)):
        return sum(client.nthreads().values())
    for name in ("workers", "_max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return None


def most_runs(groups: Sequence[Part], parts: int | None, workers: int | None) -> int | None:
    """The most runs in a part; None for the fewest parts, which are quickest on one machine.

    Args:
        groups: of the sweep.
        parts: the number of parts that the user wants.
        workers: without `parts`, the number of workers to keep busy: four parts each, where that pays.
    """
    fewest = sum(1 for group in groups for _ in group.blocks())
    if parts is None and workers is not None and groups:
        queries = sum(group.queries for group in groups)
        parts = min(PARTS_EACH * workers, queries // groups[0].source.worth)
        parts = parts if parts > fewest else None
    runs = sum(int(np.prod(group.lanes)) for group in groups)
    return None if parts is None else max(1, runs // parts)
