"""How a sweep is cut into parts: some tiles each, and the same tiles however many parts there are.

Configurations that differ only in numbers share a program. They are grouped by their static structure (the
number of directions sets an array's shape) and, on CPUs, by batch: runs of one batch share their noise.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from driftopt.drivers.plan import affordable, first_step
from driftopt.drivers.simulation import starts
from driftopt.method import Method, check_spacing
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Outside
from driftopt.runtime.fingerprint import hashed
from driftopt.sweep.kept_parts import Store, writing
from driftopt.sweep.simulated import Simulated
from driftopt.sweep.task import Part, RunSettings, Source
from driftopt.sweep.tiles import LARGEST, SIDE_BY_SIDE, Tile, division

PARTS_EACH = 4  # parts a worker: a worker that is done takes the next, so none waits long for the last
# Queries that make a part worthwhile: starting a compiled program costs a second or two, a Python function
# nothing.
WORTH, WORTH_OF_A_FUNCTION = 1_000_000, 1_000


def feasible(method: Method | Outside, dim: int, budget: int, settle: int = 1) -> bool:
    """Whether the budget pays for the first iteration that can move the iterate."""
    if isinstance(method, Outside):
        return method.batch * settle <= budget
    return first_step(method.for_budget(budget // settle), dim) * settle <= budget


def check_affordable(grids: Sequence[Grid], source: Source, budget: int, settle: int = 1) -> None:
    """Refuse a budget that pays for no step of any configuration of a grid, before anything runs."""
    for one in grids:
        if not any(feasible(one.candidate(i), source.dim, budget, settle) for i in range(len(one))):
            raise ValueError(
                f"a budget of {budget} pays for no step of any configuration of {one.label}; raise it"
            )


def check_moving(grids: Sequence[Grid], source: Source, x0: Any) -> None:
    """Refuse configurations that float32 cannot move from where they start, before anything runs."""
    if not isinstance(source, Simulated):
        return
    begun = starts(source.stacked) if x0 is None else np.asarray(x0)
    for one in grids:
        for i in range(len(one)):
            if isinstance(method := one.candidate(i), Method):
                try:
                    check_spacing(method, begun, np.float32)
                except ValueError as error:
                    raise ValueError(f"{one.label}, configuration {i}: {error}") from None


def fit_side_by_side(grids: Sequence[Grid], source: Source, seeds: int) -> bool:
    """Whether there is an accelerator, and each grid's runs with this number of seeds are one tile on it."""
    if not isinstance(source, Simulated) or jax.default_backend() == "cpu":
        return False
    most = max(len(one) for one in grids) * len(source.names) * seeds
    return most <= SIDE_BY_SIDE and all(isinstance(one.candidate(0), Method) for one in grids)


class _Cost(NamedTuple):
    """The queries of one run of a configuration."""

    batch: int
    expected: int  # whole iterations within the budget
    limit: int  # the largest number that the budget allows


def cut(
    grid: Grid,
    source: Source,
    settings: RunSettings,
    seeds: Sequence[int],
    chosen: Sequence[int] | None = None,
    most: int | None = None,
) -> Iterator[Part]:
    """The parts of a grid's feasible configurations on all instances, or of one chosen for each instance.

    A part has at most `most` runs, or is a single tile.
    """
    everywhere = range(len(source.names))
    groups: dict[Any, list[int]] = {}
    costs: dict[int, _Cost] = {}
    budget, settle = settings.budget, settings.settle
    for member in range(len(grid)) if chosen is None else everywhere:
        index = member if chosen is None else chosen[member]
        method = grid.candidate(index)
        if not feasible(method, source.dim, budget, settle):
            continue
        batch = int(np.asarray(method.batch))
        # Runs of one batch share noise; a single configuration has none to share it with. Outside optimisers
        # run one after the other: each configuration is a part.
        alone = chosen is not None or jax.default_backend() != "cpu"
        key = jax.tree.structure(method), None if alone else batch
        if isinstance(method, Outside):
            # It may ask for fewer points at a time than it said, and so for more in total.
            cost = _Cost(batch, budget // (batch * settle) * batch * settle, budget)
            groups.setdefault(key if alone else member, []).append(member)
        else:
            spent = affordable(method.for_budget(budget // settle), source.dim, budget // settle).queries
            cost = _Cost(batch, spent * settle, spent * settle)
            groups.setdefault(key, []).append(member)
        costs[index] = cost
    for members in groups.values():
        if chosen is None:
            configurations, instances = (tuple(members),) * len(everywhere), everywhere
        else:
            configurations, instances = tuple((chosen[k],) for k in members), members
        lanes = (len(instances), len(seeds), len(configurations[0]))
        one_batch = len({costs[i].batch for some in dict.fromkeys(configurations) for i in some}) == 1
        tile = tile_of_group(source, grid.candidate(configurations[0][0]), lanes, settings, one_batch)
        largest = min(most or LARGEST, source.largest(len(seeds)))
        for (k, k_end), (s, s_end), (c, c_end) in division(lanes, tile, largest):
            some = tuple(row[c:c_end] for row in configurations[k:k_end])
            few, where = tuple(seeds[s:s_end]), tuple(instances[k:k_end])
            each = [costs[i] for row in some for i in row]
            expected, limit = (len(few) * sum(cost) for cost in zip(*(one[1:] for one in each), strict=True))
            task = source.task(grid, some, where, few, settings, tile)
            yield Part(grid.label, some, where, few, expected, limit, task)


def tile_of_group(
    source: Source,
    method: Method | Outside,
    lanes: tuple[int, int, int],
    settings: RunSettings,
    one_batch: bool = True,
) -> Tile:
    """The tile for configurations like this one; outside optimisers run one at a time."""
    if isinstance(method, Outside):
        return replace(Source.tile(source, lanes, settings), one_batch=one_batch)
    return replace(source.tile(lanes, settings), one_batch=one_batch)


def workers_of(executor: Any) -> int | None:
    """The number of workers that an executor has now; None where it does not say.

    Args:
        executor: of `concurrent.futures`, of Dask (`client.get_executor()`), or any with a number `workers`.

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


def wanted_parts(parts: Sequence[Part], source: Source, executor: Executor | None) -> int | None:
    """The least number of parts that keeps all workers of a cluster busy; None if the given parts do.

    Threads share the cores of one machine, and one program uses all of them: they want the fewest parts.
    """
    if executor is None or isinstance(executor, ThreadPoolExecutor):
        return None
    worth = WORTH if isinstance(source, Simulated) else WORTH_OF_A_FUNCTION
    wanted = min(PARTS_EACH * (workers_of(executor) or 0), sum(part.queries for part in parts) // worth)
    return wanted if wanted > len(parts) else None


def recorded_division(parts: Sequence[Part], wanted: int | None, store: Store, *, fresh: bool) -> int | None:
    """The number of parts that this sweep was first cut into, from the store's folder; else `wanted`.

    So a sweep that continues with other workers, or under another scheduler, finds its parts.

    Args:
        parts: the fewest parts, which identify the sweep.
        wanted: the number for the workers that there are now.
        store: holds finished parts.
        fresh: whether to ignore what the folder holds.
    """
    files = store.files
    if files is None or (
        wanted is None and not any(name.endswith(".division") for name in files.names("parts"))
    ):
        return wanted
    file = f"parts/{hashed(*(part.task.key for part in parts)).hex()[:32]}.division"
    if files.has(file) and not fresh:
        text = files.read(file).decode(errors="replace").strip()
        if text.isdecimal() and int(text) > 0:
            return int(text)
    if wanted is not None:
        with writing(files.name):
            files.write(file, f"{wanted}\n".encode())
    return wanted
