"""How a sweep is cut into parts.

Configurations that differ in numbers alone share a program. They are grouped by their static structure (the
number of directions sets an array's shape) and, on CPUs, by batch: lanes of one batch share their noise.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from driftopt.drivers.plan import affordable, first_step
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Outside
from driftopt.sweep.parts import Part, Source
from driftopt.sweep.task import RunSettings

Rows = tuple[tuple[int, ...], ...]  # the configurations of a part, a row for each instance


def feasible(method: Method | Outside, dim: int, budget: int, settle: int = 1) -> bool:
    """Whether the budget pays for the first iteration that can move the iterate."""
    if isinstance(method, Outside):
        return method.batch * settle <= budget
    return first_step(method.for_budget(budget // settle), dim) * settle <= budget


def cut(
    grid: Grid,
    source: Source,
    settings: RunSettings,
    seeds: Sequence[int],
    chosen: Sequence[int] | None = None,
    most: int | None = None,
) -> Iterator[Part]:
    """The parts of a grid's feasible configurations on all instances, or of one chosen for each instance.

    No part has more than `most` runs.
    """
    everywhere = range(len(source.names))
    groups: dict[Any, list[int]] = {}
    for member in range(len(grid)) if chosen is None else everywhere:
        method = grid.candidate(member if chosen is None else chosen[member])
        if feasible(method, source.dim, settings.budget, settings.settle):
            # Lanes of one batch share noise; a single configuration has nobody to share with. Outside
            # optimisers run one after the other: each configuration is a part.
            alone = chosen is not None or jax.default_backend() != "cpu"
            batch = None if alone else int(np.asarray(method.batch))
            outside = isinstance(method, Outside) and not alone
            shared = member if outside else (jax.tree.structure(method), batch)
            groups.setdefault(shared, []).append(member)
    for members in groups.values():
        if chosen is not None:
            blocks = [(tuple((chosen[k],) for k in members), tuple(members))]
        else:
            width = source.width(len(everywhere), len(seeds))
            blocks = [(((row,) * len(everywhere)), tuple(everywhere)) for row in _cut(members, width)]
        for rows, instances in blocks:
            for some, few, lists in _divided(rows, instances, seeds, most):
                yield _part(grid, source, settings, few, some, lists)


def _cut(numbers: Sequence[int], width: int) -> list[tuple[int, ...]]:
    """Numbers in order, in lists of nearly one length, none longer than `width`."""
    pieces = np.array_split(np.array(numbers), -(-len(numbers) // width))
    return [tuple(int(number) for number in piece) for piece in pieces]


def _divided(
    rows: Rows, instances: Sequence[int], seeds: Sequence[int], most: int | None
) -> Iterator[tuple[Rows, tuple[int, ...], tuple[int, ...]]]:
    """Configurations, seeds and instances of pieces with at most so many runs.

    By instance first, then by seed: all configurations of an instance and seed share their noise, which is
    drawn once for them.
    """
    places, count, wide = range(len(instances)), len(seeds), len(rows[0])
    runs = most or len(instances) * count * wide
    for some in _cut(places, max(1, min(len(instances), runs // (count * wide)))):
        for few in _cut(seeds, max(1, min(count, runs // wide))):
            for columns in _cut(range(wide), min(wide, runs)):
                yield (
                    tuple(tuple(rows[k][c] for c in columns) for k in some),
                    few,
                    tuple(instances[k] for k in some),
                )


def _part(
    grid: Grid,
    source: Source,
    settings: RunSettings,
    seeds: Sequence[int],
    configurations: tuple[tuple[int, ...], ...],
    instances: tuple[int, ...],
) -> Part:
    built = [grid.candidate(i) for row in configurations for i in row]
    each = [_spends(method, source.dim, settings) for method in built]
    # An optimiser of somebody else's may ask for fewer points at a time than it said, and so for more in all.
    limits = (settings.budget if isinstance(one, Outside) else n for one, n in zip(built, each, strict=True))
    spent, most = sum(each) * len(seeds), sum(limits) * len(seeds)
    task = source.task(grid, configurations, instances, seeds, settings)
    return Part(grid.label, configurations, instances, tuple(seeds), spent, most, task)


def _spends(method: Method | Outside, dim: int, settings: RunSettings) -> int:
    """What a run is expected to spend: whole iterations within the budget."""
    budget, settle = settings.budget, settings.settle
    if isinstance(method, Outside):
        return budget // (method.batch * settle) * method.batch * settle
    return affordable(method.for_budget(budget // settle), dim, budget // settle).queries * settle
