"""Plain values as JSON and back, the same to the bit: numbers, texts, arrays, tuples, lists and tables.

Also the records (`NamedTuple` or dataclass) in which a step of `answers/` remembers.
"""

import base64
import dataclasses
import importlib
import json
from typing import Any

import numpy as np

_ROOM = "driftopt.answers"  # whose records are made again; no text of a database names any other class


def dumps(value: Any) -> str:
    """The text.

    Raises:
        TypeError: a value is of another kind.

    >>> loads(dumps((1, 0.1, {2: [None, float("inf")]})))
    (1, 0.1, {2: [None, inf]})
    """
    return json.dumps(_packed(value), separators=(",", ":"))


def loads(text: str) -> Any:
    """The value again."""
    return _unpacked(json.loads(text))


def _packed(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_packed(one) for one in value]
    if kind is tuple:
        return {"tuple": [_packed(one) for one in value]}
    if kind is dict:
        return {"table": [[_packed(key), _packed(one)] for key, one in value.items()]}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        name = "array" if isinstance(value, np.ndarray) else "number"
        return {name: [value.dtype.str, list(value.shape), content]}
    if kind.__module__.startswith(_ROOM) and (fields := _fields(kind)) is not None:
        where = [kind.__module__, kind.__qualname__]
        return {"record": [*where, [_packed(getattr(value, field)) for field in fields]]}
    raise TypeError(f"{kind.__qualname__} has no form in JSON")


def _fields(kind: type) -> list[str] | None:
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return list(kind._fields)  # pyright: ignore[reportAttributeAccessIssue]
    return [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else None


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    match name:
        case "tuple":
            return tuple(_unpacked(one) for one in content)
        case "table":
            return {_unpacked(key): _unpacked(one) for key, one in content}
        case "record":
            module, qualname, fields = content
            kind = getattr(importlib.import_module(module), qualname) if module.startswith(_ROOM) else None
            if not isinstance(kind, type) or _fields(kind) is None:
                raise ValueError(f"{module}.{qualname} is no record")
            return kind(*(_unpacked(field) for field in fields))
        case "array" | "number":
            dtype, shape, content = content
            array = np.frombuffer(base64.b64decode(content), np.dtype(dtype)).reshape(shape).copy()
            return array if name == "array" else array[()]
        case _:
            raise ValueError(f"{name} is no kind of value")
