"""Errors at the door: what was given, what was expected, what to do. Inside, the code trusts."""

import numbers
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

_TURNS_WRITING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def positive(name: str, value: Any) -> Any:
    """A finite number > 0, or an array of them."""
    array = _numbers(name, value)
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be finite and > 0, got {value!r}")
    return value if isinstance(value, float) else _plain(array.astype(float))


def count(name: str, value: Any) -> Any:
    """A whole number >= 1, or an array of them."""
    array = _numbers(name, value)
    if not ((array == np.floor(array)).all() and (array >= 1).all() and (array < 2**31).all()):
        raise ValueError(f"{name} must be a whole number >= 1 and below 2^31, got {value!r}")
    return _plain(array.astype(int))


def whole(name: str, value: Any) -> Any:
    """A whole number >= 0, or an array of them."""
    array = _numbers(name, value)
    if not ((array == np.floor(array)).all() and (array >= 0).all() and (array < 2**31).all()):
        raise ValueError(f"{name} must be a whole number >= 0 and below 2^31, got {value!r}")
    return _plain(array.astype(int))


def shape(name: str, value: Any) -> int:
    """A single whole number >= 1 that sets an array's shape: it has no lanes."""
    if np.ndim(value):
        raise ValueError(
            f"{name} must be one whole number, because it sets a shape; make a method for each of {value!r}"
        )
    return int(count(name, value))


def seed(name: str, value: Any) -> int:
    """A whole number >= 0 that NumPy's generators take."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or int(value) < 0:
        raise ValueError(f"{name} must be a whole number >= 0, got {value!r}")
    return int(value)


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """One of a few words."""
    allowed = tuple(allowed)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
    return value


def plain_name(name: str, value: Any) -> str:
    """A name that a shell, a file and a table all take as it is: it begins with a letter or a digit."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", value):
        raise ValueError(
            f"{name} must be up to 100 letters, digits, dots, dashes and underscores, the first a letter or "
            f"a digit; got {value!r}"
        )
    return value


def text(name: str, value: Any, longest: int = 200) -> str:
    """A name or a sentence that every terminal, table, file and database takes as it is.

    1 to `longest` characters, not blanks alone. Control characters (and with them line breaks and terminal
    escapes), marks that turn the direction of writing, and lone surrogates are refused.
    """
    if not isinstance(value, str) or not 0 < len(value) <= longest or not value.strip():
        raise ValueError(f"{name} must be 1 to {longest} characters, got {value!r:.80}")
    if wrong := [sign for sign in value if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")]:
        raise ValueError(
            f"{name} must not hold control characters, line breaks or lone surrogates; "
            f"got {wrong[0]!a} in {value!a:.80}"
        )
    if any(unicodedata.bidirectional(sign) in _TURNS_WRITING for sign in value):
        raise ValueError(f"{name} must not turn the direction of writing; got {value!a:.80}")
    return value


def number(name: str, value: Any) -> float:
    """One real number, which may be NaN or infinite; a truth value or a text is none."""
    plain = isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool | np.bool_)
    array = np.asarray(value) if not plain else None
    if array is not None and (array.ndim or array.dtype.kind not in "iuf"):
        raise ValueError(f"{name} must be a number, got {value!r:.60}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number, got {value!r:.60}") from None


def vector(name: str, value: Any, dim: int | None = None) -> np.ndarray:
    """A finite vector, float64, of length `dim` where that is known."""
    array = np.atleast_1d(_numbers(name, value)).astype(float)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a vector, got an array of shape {array.shape}")
    if dim is not None and array.size != dim:
        raise ValueError(f"{name} must have length {dim}, got {array.size}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array!r}")
    return array


def budget(value: Any, queries: int, iterations: int = 1) -> int:
    """A whole number of queries that pays for at least `iterations` iterations of `queries` each."""
    total = int(count("budget", value))
    if total < queries * iterations:
        raise ValueError(
            f"a budget of {total} is too small: this method needs {queries * iterations} queries "
            "before its first step; raise the budget, or lower batch or directions"
        )
    return total


def _numbers(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be a number, got {value!r}")
    return array


def _plain(array: np.ndarray) -> Any:
    return array.item() if array.ndim == 0 else array
