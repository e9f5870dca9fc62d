"""Numbers that follow from the budget when the user gives none: one home for every driver."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from driftopt import checks
from driftopt.methods import registry

if TYPE_CHECKING:
    from driftopt.method import Method
    from driftopt.space.box import Box


def block_length(iterations: int) -> int:
    """M = max(1, round(T^(2/3))) for T iterations.

    The paper's balance: T/M blocks, each with regret ∝ √M, so longer runs take longer blocks and a finer
    reach D = δ/M.

    >>> [block_length(t) for t in (1, 10, 100, 1000)]
    [1, 5, 22, 100]
    """
    return max(1, round(iterations ** (2 / 3)))


def trial_length(box: "Box | None") -> float:
    """√d/10 of the narrowest width of the bounds, a radius for those who give none.

    A trial at that distance moves every coordinate by about a tenth of the narrowest range.

    >>> from driftopt.space.box import Box
    >>> trial_length(Box.parse([(0, 2)] * 25, 25))
    1.0
    """
    if box is None or not np.isfinite(box.upper - box.lower).all():
        raise ValueError(
            "radius is needed: how far a trial decision may be from the current one, in the units of x; "
            "a tenth of the range you would consider, times the root of the number of coordinates, is a "
            "fair first choice. With finite bounds for every coordinate it can be left out"
        )
    return float(np.sqrt(box.lower.size) / 10 * (box.upper - box.lower).min())


def resolve(
    name: str,
    *,
    dim: int,
    budget: int,
    radius: Any,
    params: Mapping[str, Any] | None = None,
    box: "Box | None" = None,
) -> tuple["Method", dict[str, Any]]:
    """The method and all of its numbers, those given and those filled in from the budget and the bounds."""
    accepted = registry.entry(name).parameters
    numbers = dict(params or {})
    if "radius" in numbers:
        raise ValueError("give radius once: as the argument, not in params")
    for what, number in {**numbers, "radius": radius}.items():
        if np.ndim(number):
            raise ValueError(f"{what} must be a single number here, one run has one; got {number!r}")
    numbers["radius"] = trial_length(box) if radius is None else checks.positive("radius", radius)
    if "budget" in accepted:
        numbers.setdefault("budget", budget)
    elif "block" in accepted and "block" not in numbers and "step" not in numbers:
        iterations = budget // int(registry.get(name, **numbers).queries(dim))
        numbers["block"] = block_length(iterations)
    return registry.get(name, **numbers), numbers
