"""A method with the configurations to try, in order."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt import methods
from driftopt.method import Method

Builder = Callable[..., Method]


@dataclass(frozen=True)
class Grid:
    """`label` is what tables call it; `build` makes the method of one configuration."""

    label: str
    build: str | Builder
    configurations: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.configurations)

    def method(self, index: int) -> Method:
        """The method of one configuration."""
        params = self.configurations[index]
        return methods.get(self.build, **params) if isinstance(self.build, str) else self.build(**params)

    def only(self, indices: Sequence[int]) -> "Grid":
        """A smaller grid, in the given order."""
        return Grid(self.label, self.build, tuple(self.configurations[i] for i in indices))


def grid(method: str | Builder, *, label: str | None = None, **parameters: Any) -> Grid:
    """Every combination of the parameters' values, the last parameter varying fastest.

    A parameter is one value or a list of them; `method` is a name in the registry or a function that takes
    the parameters and returns a Method. Every configuration is built once, so that a mistake shows here.

    >>> made = grid("zo-co", step=[0.01, 0.1], radius=[0.5, 1.0], batch=10)
    >>> len(made), made.configurations[1]
    (4, {'step': 0.01, 'radius': 1.0, 'batch': 10})
    """
    name = method if isinstance(method, str) else str(getattr(method, "__name__", method))
    lists = {name: _values(name, value) for name, value in parameters.items()}
    combined = itertools.product(*lists.values())
    made = Grid(label or name, method, tuple(dict(zip(lists, values, strict=True)) for values in combined))
    for index, configuration in enumerate(made.configurations):
        if not isinstance(built := made.method(index), Method):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"{made.label} with {dict(configuration)} built {built!r}, which is no Method")
    return made


def _values(name: str, value: Any) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple | range | np.ndarray) else [value]
    if not values:
        raise ValueError(f"the list of values for {name} is empty; give at least one")
    return [v.item() if isinstance(v, np.generic) else v for v in values]
