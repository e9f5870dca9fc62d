"""How a sweep is cut into parts: some units each, which are the same however many parts there are.

Configurations that differ in numbers alone share a program. They are grouped by their static structure (the
number of directions sets an array's shape) and, on CPUs, by batch: lanes of one batch share their noise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from driftopt.drivers.plan import affordable, first_step
from driftopt.drivers.simulation import starts
from driftopt.method import Method, check_spacing
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Outside
from driftopt.sweep.parts import Part, Simulated, Source
from driftopt.sweep.task import RunSettings
from driftopt.sweep.units import LARGEST, SIDE_BY_SIDE, Unit, division


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
    """Whether there is an accelerator, and each grid's runs with so many seeds are one unit on it."""
    if not isinstance(source, Simulated) or jax.default_backend() == "cpu":
        return False
    most = max(len(one) for one in grids) * len(source.names) * seeds
    return most <= SIDE_BY_SIDE and all(isinstance(one.candidate(0), Method) for one in grids)


def cut(
    grid: Grid,
    source: Source,
    settings: RunSettings,
    seeds: Sequence[int],
    chosen: Sequence[int] | None = None,
    most: int | None = None,
) -> Iterator[Part]:
    """The parts of a grid's feasible configurations on all instances, or of one chosen for each instance.

    No part has more than `most` runs, or else it is a single unit.
    """
    everywhere = range(len(source.names))
    groups: dict[Any, list[int]] = {}
    costs: dict[int, _Cost] = {}
    for member in range(len(grid)) if chosen is None else everywhere:
        index = member if chosen is None else chosen[member]
        method = grid.candidate(index)
        if feasible(method, source.dim, settings.budget, settings.settle):
            # Lanes of one batch share noise; a single configuration has nobody to share with. Outside
            # optimisers run one after the other: each configuration is a part.
            alone = chosen is not None or jax.default_backend() != "cpu"
            costs[index] = cost = _cost(method, source.dim, settings)
            outside = isinstance(method, Outside) and not alone
            shared = member if outside else (jax.tree.structure(method), None if alone else cost.batch)
            groups.setdefault(shared, []).append(member)
    for members in groups.values():
        if chosen is None:
            rows, instances = (tuple(members),) * len(everywhere), everywhere
        else:
            rows, instances = tuple((chosen[k],) for k in members), members
        lanes = (len(instances), len(seeds), len(rows[0]))
        one_batch = len({costs[i].batch for row in dict.fromkeys(rows) for i in row}) == 1
        unit = unit_of_group(source, grid.candidate(rows[0][0]), lanes, settings, one_batch)
        for (k, k_end), (s, s_end), (c, c_end) in division(
            lanes, unit, min(most or LARGEST, source.largest(len(seeds)))
        ):
            some = tuple(row[c:c_end] for row in rows[k:k_end])
            few, places = tuple(seeds[s:s_end]), tuple(instances[k:k_end])
            spent, limit = (
                len(few) * sum(getattr(costs[i], kind) for row in some for i in row)
                for kind in ("spent", "limit")
            )
            task = source.task(grid, some, places, few, settings, unit)
            yield Part(grid.label, some, places, few, spent, limit, task)


def unit_of_group(
    source: Source,
    method: Method | Outside,
    lanes: tuple[int, int, int],
    settings: RunSettings,
    one_batch: bool = True,
) -> Unit:
    """What runs together of configurations like this one; optimisers of others run one by one."""
    found = (
        Source.unit(source, lanes, settings) if isinstance(method, Outside) else source.unit(lanes, settings)
    )
    return replace(found, one_batch=one_batch)


class _Cost(NamedTuple):
    """What a run of a configuration costs."""

    batch: int
    spent: int  # as expected: whole iterations within the budget
    limit: int  # at most


def _cost(method: Method | Outside, dim: int, settings: RunSettings) -> _Cost:
    batch, budget, settle = int(np.asarray(method.batch)), settings.budget, settings.settle
    if isinstance(method, Outside):
        # It may ask for fewer points at a time than it said, and so for more in all.
        return _Cost(batch, budget // (batch * settle) * batch * settle, budget)
    spent = affordable(method.for_budget(budget // settle), dim, budget // settle).queries * settle
    return _Cost(batch, spent, spent)
