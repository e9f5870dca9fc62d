"""Frozen dataclasses that JAX sees as pytrees: every number a leaf, every shape static."""

import dataclasses
from typing import Any, TypeVar, dataclass_transform

import jax

T = TypeVar("T")


def static(**kwargs: Any) -> Any:
    """A field that sets shapes or code paths; changing it compiles anew."""
    return dataclasses.field(metadata={"static": True}, **kwargs)


@dataclass_transform(frozen_default=True, field_specifiers=(static, dataclasses.field))
def module(cls: type[T]) -> type[T]:
    """Decorate a class as a frozen dataclass whose non-static fields are pytree leaves."""
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(cls))
