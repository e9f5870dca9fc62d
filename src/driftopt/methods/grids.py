"""A method with the configurations to try, in order."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import jax
import numpy as np

from driftopt import checks
from driftopt.method import Method, check_method
from driftopt.methods import registry
from driftopt.outside.contract import Outside
from driftopt.pytree import plain_fields

Builder = Callable[..., Method | Outside]

CONFIGURATIONS = 1_000_000  # in one grid: each is built and checked


@dataclass(frozen=True)
class Grid:
    """A method with its configurations."""

    label: str  # its name in tables
    build: str | Builder | Method  # makes the method of one configuration
    configurations: tuple[Mapping[str, Any], ...]  # the arguments of `build`, once for each

    def __len__(self) -> int:
        return len(self.configurations)

    def method(self, index: int) -> Method:
        """The method of one configuration."""
        return check_method(self.candidate(index))

    def candidate(self, index: int) -> Method | Outside:
        """The method of one configuration, built once, or the optimiser of another library."""
        if index in self._built:
            return self._built[index]
        params = self.configurations[index]
        if isinstance(self.build, str):
            found = registry.get(self.build, **params)
        elif isinstance(self.build, Method):
            known = vars(self.build)
            if unknown := sorted(set(params) - set(known)):
                raise ValueError(
                    f"{type(self.build).__name__} has no parameter {', '.join(unknown)}; "
                    f"it takes {', '.join(sorted(known))}"
                )
            found = replace(cast(Any, self.build), **params)
        else:
            found = self.build(**params)
            found = found if isinstance(found, Outside) else check_method(found)
        if isinstance(found, Method):  # a frozen one
            self._built[index] = found
        return found

    @cached_property
    def _built(self) -> dict[int, Method]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_built"}

    def groups(self) -> list[list[int]]:
        """Configurations that differ in numbers alone, together: each group is one compiled program."""
        found: dict[Any, list[int]] = {}
        for index in range(len(self)):
            found.setdefault(jax.tree.structure(self.method(index)), []).append(index)
        return list(found.values())

    def stacked(self, indices: Sequence[int]) -> Method:
        """The configurations of a group as one method, each number an array with one element for each."""
        return jax.tree.map(lambda *leaves: np.stack(leaves), *(self.method(index) for index in indices))


def grid(method: str | Builder | Method, *, label: str | None = None, **parameters: Any) -> Grid:
    """Every combination of the parameters' values, the last parameter varying fastest.

    Every configuration is built once, so that a mistake shows here.

    Args:
        method: a name of the registry, a function that takes the parameters and returns a Method, or a
            Method, which keeps its own numbers for the parameters left out.
        label: its name in tables; by default the method's name.
        parameters: one value or a list of them, for each.

    >>> steps = grid("zo-co", step=[0.01, 0.1], radius=[0.5, 1.0], batch=10)
    >>> len(steps), steps.configurations[1]
    (4, {'step': 0.01, 'radius': 1.0, 'batch': 10})
    """
    if isinstance(method, Method):
        parameters = {**plain_fields(check_method(method)), **parameters}
    elif not isinstance(method, str) and not callable(method):
        raise ValueError(
            f"method must be a name, a Method, or a function that makes one; got {checks.brief(method)}"
        )
    if label is not None and (not isinstance(label, str) or not label):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"label must be a name, got {checks.brief(label)}")
    lists = {name: _values(name, value) for name, value in parameters.items()}
    many = " × ".join(f"{name} {len(values):,}" for name, values in lists.items() if len(values) > 1)
    checks.fits(
        f"the combinations of {many}",
        math.prod(map(len, lists.values())),
        "give fewer values of some, or several grids",
        CONFIGURATIONS,
    )
    combined = itertools.product(*lists.values())
    configurations = tuple(dict(zip(lists, values, strict=True)) for values in combined)
    if label is None:
        name = type(method).__name__
        # A function has a name; a functools.partial has none.
        label = method if isinstance(method, str) else str(getattr(method, "__name__", name))
    product = Grid(label, method, configurations)
    for index, configuration in enumerate(configurations):
        try:
            candidate = product.candidate(index)
        except TypeError as error:
            given = dict(configuration)
            raise ValueError(f"method {product.label} cannot be built with {given}: {error}") from None
        if isinstance(candidate, Method) and any(np.ndim(leaf) for leaf in jax.tree.leaves(candidate)):
            many = [name for name, value in configuration.items() if isinstance(value, list | tuple)]
            raise ValueError(
                f"{product.label}: a configuration has one value for each number, but "
                f"{', '.join(many or ['the method'])} holds more; give those to try as a list"
            )
    return product


def _values(name: str, value: Any) -> list[Any]:
    if isinstance(value, np.ndarray | jax.Array):
        value = np.asarray(value).tolist()
    values: list[Any] = list(value) if isinstance(value, list | tuple | range) else [value]
    if not values:
        raise ValueError(f"the list of values for {name} is empty; give at least one")
    return [v.item() if isinstance(v, np.generic) else v for v in values]
