"""Numbers that follow from the budget when the user gives none: one home for every driver."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from driftopt import checks

if TYPE_CHECKING:
    from driftopt.method import Method


def block_length(iterations: int) -> int:
    """M = max(1, round(T^(2/3))) for T iterations.

    The paper's balance: T/M blocks, each with regret ∝ √M, so longer runs take longer blocks and a finer
    reach D = δ/M.

    >>> [block_length(t) for t in (1, 10, 100, 1000)]
    [1, 5, 22, 100]
    """
    return max(1, round(iterations ** (2 / 3)))


def resolve(
    name: str, *, dim: int, budget: int, radius: Any, params: Mapping[str, Any] | None = None
) -> tuple["Method", dict[str, Any]]:
    """The method and all of its numbers, those given and those filled in."""
    from driftopt import methods

    accepted = methods.entry(name).parameters
    numbers = dict(params or {})
    if radius is None:
        raise ValueError(
            "radius is needed: how far a trial decision may be from the current one, in the units of x; "
            "a tenth of the range you would consider is a fair first choice"
        )
    if "radius" in numbers:
        raise ValueError("give radius once: as the argument, not in params")
    numbers["radius"] = checks.positive("radius", radius)
    if "budget" in accepted:
        numbers["budget"] = budget
    elif "block" in accepted and "block" not in numbers and "step" not in numbers:
        iterations = budget // int(methods.get(name, **numbers).queries(dim))
        numbers["block"] = block_length(iterations)
    return methods.get(name, **numbers), numbers
