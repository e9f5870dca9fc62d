"""What classes and objects hold, beyond what pickle says: fields left out, and names that lead nowhere."""

import copyreg
import functools
import pickle
import sys
import types
from typing import Any

from driftopt.runtime.code_objects import of_library

_REDUCING = ("__reduce_ex__", "__reduce__", "__getstate__")
# Of a class: what Python itself adds, which says nothing of what the class does.
_SILENT = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__slotnames__", "_abc_impl"),
    *("__static_attributes__", "__firstlineno__", "__dataclass_fields__", "__dataclass_params__"),
    *("__annotate__", "__annotate_func__", "__annotations_cache__", "__parameters__", "__orig_bases__"),
    *("__match_args__", "__abstractmethods__", "__type_params__", "__qualname__", "__hash__"),
}


def defined_in(kind: Any) -> list[tuple[str, Any]]:
    """What a class defines itself, by name."""
    own = sorted((k, v) for k, v in vars(kind).items() if k not in _SILENT)
    slots = set(vars(kind).get("__slots__", ()))
    return [(k, v) for k, v in own if not (k in slots and isinstance(v, types.MemberDescriptorType))]


def fields_of(value: Any) -> dict[str, Any]:
    """All fields of an object, those in slots too."""
    slots = copyreg._slotnames(type(value))  # pyright: ignore
    return {**getattr(value, "__dict__", {}), **{s: getattr(value, s) for s in slots if hasattr(value, s)}}


@functools.lru_cache(1024)
def says_itself(kind: Any) -> bool:
    """Whether a class of a user's says itself what pickle keeps of its objects: it may leave fields out."""
    if kind in copyreg.dispatch_table:
        return not of_library(kind)
    return any(
        not of_library(next(one for one in kind.__mro__ if name in vars(one)))
        for name in _REDUCING
        if hasattr(kind, name)  # object has no __getstate__ before Python 3.11
    )


def is_found(value: Any, name: str) -> bool:
    """Whether a module has the object under this name, as pickle believes of what reduces to a name."""
    found: Any = sys.modules.get(pickle.whichmodule(value, name))  # pyright: ignore
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value
