"""Numbers that every driver derives from the budget when the user gives none."""

from collections.abc import Mapping
from math import hypot
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from driftopt import checks
from driftopt.method import check_method
from driftopt.methods import registry
from driftopt.model.defaults import units_of
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


def takes_radius(name: "str | Method") -> bool:
    """True for the name of a method with a radius; a Method instance has its own."""
    return isinstance(name, str) and "radius" in registry.entry(name).parameters


def sized(
    name: "str | Method", space: "Space", radius: Any, params: Mapping[str, Any]
) -> "tuple[Space, Any]":
    """The space with its units and the radius in them, from what the user gave: see `Space.sized`.

    A method that sees ξ must see x in its own units, as the formula of F does. A method that finds its radius
    gets a first one from the start if bounds give none: see `units_of`. A `max_radius` is one length for all
    coordinates, so the first radius is then one too: their root mean square.
    """
    if not isinstance(name, str) or not takes_radius(name):
        return space, radius
    tried = registry.entry(name).tried or registry.tried(name, params, radius)
    if tried.sees.observes:
        return space, space.radius if radius is None else radius
    measured, length = space.sized(radius)
    if length is not None or not tried.finds_radius:
        return measured, length
    sizes = units_of(space, None)[1]
    single = hypot(*sizes) / np.sqrt(space.dim)
    if params.get("max_radius") is not None or np.allclose(sizes, single, rtol=1e-9, atol=0):
        return space, single
    return space.sized(sizes)


def chosen(
    name: "str | Method", space: "Space", *, budget: int, radius: Any, params: Mapping[str, Any]
) -> "tuple[Space, Method, dict[str, Any]]":
    """The space in the method's units, the method within it, and all of the method's numbers."""
    radius, numbers = radius_once(radius, params)
    space, radius = sized(name, space, radius, numbers)
    method, numbers = resolve(name, dim=space.dim, budget=budget, radius=radius, params=numbers)
    return space, space.kept_by(method), numbers


def resolve(
    name: "str | Method",
    *,
    dim: int,
    budget: int,
    radius: Any,
    params: Mapping[str, Any] | None = None,
) -> tuple["Method", dict[str, Any]]:
    """The method and all of its numbers, those given and those filled in from the budget.

    A Method instance keeps its own numbers and is planned for the budget.
    """
    if not isinstance(name, str):
        return _own(name, budget, radius, params)
    accepted = registry.entry(name).parameters
    radius, numbers = radius_once(radius, params)
    if radius is None and takes_radius(name) and "radius" not in registry.entry(name).defaults:
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
