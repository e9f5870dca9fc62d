"""Frozen dataclasses that JAX sees as pytrees: every number a leaf, every shape static.

Methods and problems of your own are classes under `module`:

    @driftopt.pytree.module
    class Shop(driftopt.Problem):
        demand: jax.Array  # a number or an array: it may change, or be batched, without a new compilation
        products: int = driftopt.pytree.static(default=3)  # it sets a shape: another value compiles anew
"""

import dataclasses
from typing import Any, TypeVar, dataclass_transform

import jax
import numpy as np

__all__ = ["module", "static"]

T = TypeVar("T")


def static(**kwargs: Any) -> Any:
    """A field that sets shapes or code paths; changing it compiles anew."""
    return dataclasses.field(metadata={"static": True}, **kwargs)


@dataclass_transform(frozen_default=True, field_specifiers=(static, dataclasses.field))
def module(cls: type[T]) -> type[T]:
    """Decorate a class as a frozen dataclass whose non-static fields are pytree leaves."""
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(cls))


def check_decorated(thing: Any) -> None:
    """An instance whose class is a pytree of its own; an undecorated subclass of one is not."""
    if jax.tree.structure(thing) == jax.tree.structure(0):
        raise ValueError(
            f"{type(thing).__name__} is no pytree: decorate the class with @driftopt.pytree.module"
        )


def check_decorated_class(kind: type) -> None:
    """A class that is a pytree of its own, asked without making an instance."""
    try:
        check_decorated(object.__new__(kind))
    except (AttributeError, TypeError):  # it has no fields yet, so JAX looks for them: it is known to JAX
        return


def plain_fields(thing: Any) -> dict[str, int | float | str]:
    """The single numbers and words that an instance holds itself, by field: what a table can say of it."""
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
