"""Frozen dataclasses that JAX sees as pytrees: every number a leaf, every shape static.

Methods and problems of your own are classes under `module`:

    @driftopt.pytree.module
    class Shop(driftopt.Problem):
        demand: jax.Array  # a number or an array: it may change, or be batched, without a new compilation
        products: int = driftopt.pytree.static(default=3)  # it sets a shape: another value compiles again
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

import jax
import numpy as np

__all__ = ["module", "static"]

T = TypeVar("T")


def static(**kwargs: Any) -> Any:
    """A field that sets shapes or code paths; another value compiles another program."""
    return dataclasses.field(metadata={"static": True}, **kwargs)


@dataclass_transform(frozen_default=True, field_specifiers=(static, dataclasses.field))
def module(cls: type[T]) -> type[T]:
    """Decorate a class as a frozen dataclass whose non-static fields are pytree leaves."""
    # Not by `jax.tree_util.register_dataclass`: two classes of the same static values and as many numbers are
    # then one structure to JAX (0.10 at least), which only their hashes distinguish. A cache of compiled
    # programs looks at a few bits of a hash, so that now and then a method got the program of another one.
    kind: Any = dataclasses.dataclass(frozen=True)(cls)
    given = dataclasses.fields(kind)
    if derived := [field.name for field in given if not field.init]:
        raise TypeError(
            f"{kind.__name__}.{derived[0]} is a field with init=False, which JAX would lose: compute it in a "
            "property, or make it an argument"
        )
    numbers = tuple(field.name for field in given if not field.metadata.get("static"))
    fixed = tuple(field.name for field in given if field.metadata.get("static"))
    keys = tuple(map(jax.tree_util.GetAttrKey, numbers))

    leaves_of, static_values_of = _values_of(numbers), _values_of(fixed)

    def flatten(thing: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return leaves_of(thing), static_values_of(thing)

    def flatten_with_keys(thing: Any) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
        leaves, static_values = flatten(thing)
        return tuple(zip(keys, leaves, strict=True)), static_values

    def unflatten(static_values: tuple[Any, ...], leaves: Any) -> Any:
        return kind(**dict(zip(numbers, leaves, strict=True)), **dict(zip(fixed, static_values, strict=True)))

    jax.tree_util.register_pytree_with_keys(kind, flatten_with_keys, unflatten, flatten)
    return kind


def _values_of(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that reads these attributes, as quickly as Python can: every call of a program uses it."""
    if not names:
        return lambda thing: ()
    read = attrgetter(*names)
    return read if len(names) > 1 else lambda thing: (read(thing),)


def check_decorated(thing: Any) -> None:
    """Refuse an instance whose class is not decorated; an undecorated subclass is not."""
    if jax.tree.structure(thing) == jax.tree.structure(0):
        raise ValueError(
            f"{type(thing).__name__} is not a pytree: decorate the class with @driftopt.pytree.module"
        )


def check_decorated_class(kind: type) -> None:
    """Refuse a class that is not decorated, without making an instance."""
    try:
        check_decorated(object.__new__(kind))
    except (AttributeError, TypeError):  # it has no fields yet, so JAX looks for them: it is known to JAX
        return


def check_leaves(thing: Any) -> None:
    """Refuse a field that is not static and does not hold numbers."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(thing)[0]:
        if isinstance(leaf, jax.Array | jax.ShapeDtypeStruct | int | float | complex):
            continue
        if not isinstance(leaf, np.ndarray | np.generic) or leaf.dtype.kind not in "biufc":
            name = jax.tree_util.keystr(path)
            raise ValueError(
                f"{type(thing).__name__}{name} holds {leaf!r}, which is not a number: declare that field "
                "with driftopt.pytree.static()"
            )


def plain_fields(thing: Any) -> dict[str, int | float | str]:
    """The single numbers and words that an instance holds itself, by field, for a table."""
    if not dataclasses.is_dataclass(thing):
        return {}
    held = {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing) if f.init}
    single = {
        name: value.item()
        if isinstance(value, np.ndarray | np.generic | jax.Array) and not value.ndim
        else value
        for name, value in held.items()
    }
    return {name: value for name, value in single.items() if isinstance(value, int | float | str)}
