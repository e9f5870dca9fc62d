"""Numbers that every driver derives from the budget when the user gives none."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from driftopt import checks
from driftopt.method import check_method
from driftopt.methods import registry
from driftopt.pytree import plain_fields

if TYPE_CHECKING:
    from driftopt.method import Method
    from driftopt.space import Space


def block_length(iterations: int) -> int:
    """M = max(1, round(T^(2/3))) for T iterations.

    The paper's balance: T/M blocks, each with regret ∝ √M, so longer runs take longer blocks and a finer
    reach D = δ/M.

    >>> [block_length(t) for t in (1, 10, 100, 1000)]
    [1, 5, 22, 100]
    """
    return max(1, round(iterations ** (2 / 3)))


def radius_once(radius: Any, params: Mapping[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    """The radius, from the argument or from the params, and the params without it."""
    others = checks.table("params", params)
    if "radius" not in others:
        return radius, others
    if radius is not None:
        raise ValueError("give radius once: as the argument or in params")
    return others.pop("radius"), others


def first_radius(start: np.ndarray) -> float:
    """A tenth of the start's length, or √d/10 at a start of 0.

    The first trials then change no coordinate by more than a tenth of |x0|, or by about a tenth of 1. It is
    for methods that find their own radius from there, and a start without bounds or units.

    >>> first_radius(np.array([30.0, 40.0])), first_radius(np.zeros(4))
    (5.0, 0.2)
    """
    largest = float(np.abs(start).max())
    length = np.linalg.norm(start / largest) * largest if largest > 0 else np.sqrt(start.size)
    return float(length) / 10


def takes_radius(name: "str | Method") -> bool:
    """True for the name of a method with a radius; a Method instance has its own."""
    return isinstance(name, str) and "radius" in registry.entry(name).parameters


def sized(
    name: "str | Method", space: "Space", radius: Any, params: Mapping[str, Any]
) -> "tuple[Space, Any]":
    """The space with its units and the radius in them, from what the user gave: see `Space.sized`.

    A method that sees ξ must see x in its own units, as the formula of F does.
    """
    if not takes_radius(name):
        return space, radius
    if isinstance(name, str) and registry.tried(name, params, radius).sees.observes:
        return space, space.radius if radius is None else radius
    return space.sized(radius)


def resolve(
    name: "str | Method",
    *,
    dim: int,
    budget: int,
    radius: Any,
    params: Mapping[str, Any] | None = None,
    start: np.ndarray | None = None,
) -> tuple["Method", dict[str, Any]]:
    """The method and all of its numbers, those given and those filled in from the budget.

    A Method instance keeps its own numbers and is planned for the budget. Without a radius, a method that
    finds its own begins with one that follows from the `start`.
    """
    if not isinstance(name, str):
        return _own(name, budget, radius, params)
    accepted = registry.entry(name).parameters
    radius, numbers = radius_once(radius, params)
    needed = radius is None and takes_radius(name) and "radius" not in registry.entry(name).defaults
    if needed and start is not None and registry.tried(name, numbers).finds_radius:
        radius = first_radius(start)
    elif needed:
        raise ValueError(
            "radius is needed: how far a trial decision may be from the current one, in the units of x; "
            "a tenth of the range you would consider, times the root of the number of coordinates, is a "
            "fair first choice. With finite bounds for every coordinate it may be left out; auto finds one"
        )
    for what, number in {**numbers, "radius": radius}.items():
        if number is not None and np.ndim(number):
            raise ValueError(
                f"{what} must be a single number here, one run has one; got {checks.brief(number)}"
            )
    if radius is not None:
        numbers["radius"] = checks.positive("radius", radius)
    if "budget" in accepted:
        numbers.setdefault("budget", budget)
    elif "block" in accepted and "block" not in numbers and "step" not in numbers:
        iterations = budget // int(registry.get(name, **numbers).queries(dim))
        numbers["block"] = block_length(iterations)
    return registry.get(name, **numbers).for_budget(budget), numbers


def _own(
    method: Any, budget: int, radius: Any, params: Mapping[str, Any] | None
) -> tuple["Method", dict[str, Any]]:
    if radius is not None or params:
        raise ValueError("radius and params go with a method's name; a Method has its own numbers")
    planned = check_method(method).for_budget(budget)
    if any(np.ndim(leaf) for leaf in jax.tree.leaves(planned)):
        raise ValueError(
            "method must hold one value for each number: one run has one; an array makes several"
        )
    return planned, plain_fields(planned)
