"""Checks of users' values. An error names the value, what is expected and what to do; other code trusts."""

import numbers
import os
import re
import reprlib
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

_TURNS_WRITING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = _SHORT.maxarray = 8
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def brief(value: Any) -> str:
    """Any value as text, on one line that is not too long.

    >>> brief([1, 2]), brief("a" * 200)[:4], brief(10**5000)
    ('[1, 2]', "'aaa", 'a very long number')
    """
    if isinstance(value, int) and abs(value) >= 10**80:
        return "a very long number"
    try:
        text = _SHORT.repr(value)
    except Exception:  # it is nested too deeply, or a number in it is too long
        return f"something of the type {type(value).__name__}"
    return " ".join(text.split())[:160]


def positive(name: str, value: Any) -> Any:
    """A finite number > 0, or an array of them."""
    array = numbers_of(name, value)
    if not (array.size and np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be finite and > 0, got {brief(value)}")
    return value if isinstance(value, float) else _plain(array.astype(float))


def count(name: str, value: Any) -> Any:
    """A whole number >= 1, or an array of them."""
    array = numbers_of(name, value)
    whole = (array == np.floor(array)) & (array >= 1) & (array < 2**31)
    if not (array.size and whole.all()):
        raise ValueError(f"{name} must be a whole number >= 1 and below 2^31, got {brief(value)}")
    return _plain(array.astype(int))


def whole(name: str, value: Any) -> Any:
    """A whole number >= 0, or an array of them."""
    array = numbers_of(name, value)
    if not ((array == np.floor(array)).all() and (array >= 0).all() and (array < 2**31).all()):
        raise ValueError(f"{name} must be a whole number >= 0 and below 2^31, got {brief(value)}")
    return _plain(array.astype(int))


def finite(name: str, value: Any) -> np.ndarray:
    """Finite numbers, as an array of float64."""
    array = numbers_of(name, value).astype(float)
    if not (array.size and np.isfinite(array).all()):
        raise ValueError(f"{name} must be finite, got {brief(value)}")
    return array


def one_count(name: str, value: Any, most: int | None = None) -> int:
    """A single whole number from 1 to `most`, or below 2^31 by default."""
    number = int(count(name, _single(name, value)))
    if most is not None and number > most:
        raise ValueError(f"{name} must be a whole number from 1 to {most:,}, got {brief(value)}")
    return number


def one_positive(name: str, value: Any) -> float:
    """A single finite number > 0."""
    return float(positive(name, _single(name, value)))


def single_positive(name: str, value: Any) -> np.float32:
    """A single number > 0 that simulations can hold, in float32."""
    with np.errstate(over="ignore", under="ignore"):
        number = np.float32(one_positive(name, value))
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} must fit single precision, 1e-45 to 3.4e38; got {brief(value)}")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {brief(value)}")
    return bool(value)


def several(name: str, value: Any) -> list[Any]:
    """The things of a list, a tuple, a range or an array."""
    if not isinstance(value, list | tuple | range | np.ndarray) or (
        isinstance(value, np.ndarray) and not value.ndim
    ):
        raise ValueError(f"{name} must be a list, such as [0, 1, 2] or ['a', 'b']; got {brief(value)}")
    return list(value)


def table(name: str, value: Any) -> dict[str, Any]:
    """A table of named values; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(
            f"{name} must be a table of named values, such as {{'step': 0.1}}; got {brief(value)}"
        )
    return dict(value)


def function(name: str, value: Any) -> Any:
    """Something that can be called."""
    if not callable(value):
        raise ValueError(f"{name} must be a function, got {brief(value)}")
    return value


def path(name: str, value: Any) -> Path:
    """A file's or a folder's path, as a text or a Path."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None  # pyright: ignore[reportUnknownVariableType]
    try:  # a lone surrogate cannot be written, unless the system made it
        valid = isinstance(text, str) and "\0" not in text and bool(os.fsencode(text))
    except UnicodeEncodeError:
        valid = False
    if not isinstance(text, str) or not valid:
        raise ValueError(f"{name} must be the path of a file or a folder, got {brief(value)}")
    return Path(text)


def shape(name: str, value: Any) -> int:
    """A single whole number >= 1 that sets an array's shape."""
    if numbers_of(name, value).ndim:
        raise ValueError(
            f"{name} must be one whole number, because it sets a shape; make a method for each of "
            f"{brief(value)}"
        )
    return int(count(name, value))


def is_whole(value: Any) -> bool:
    """True for a single whole number of Python or NumPy; a truth value or a span of time is not one.

    >>> is_whole(5), is_whole(True), is_whole(np.timedelta64(5))
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def seed(name: str, value: Any) -> int:
    """A whole number >= 0 that NumPy's generators take."""
    if not is_whole(value) or int(value) < 0:
        raise ValueError(f"{name} must be a whole number >= 0, got {brief(value)}")
    return int(value)


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """One of a few words."""
    allowed = tuple(allowed)
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {brief(value)}")
    return value


def plain_name(name: str, value: Any) -> str:
    """A name that a shell, a file and a table take without quotes: it begins with a letter or a digit."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", value):
        raise ValueError(
            f"{name} must be up to 100 letters, digits, dots, dashes and underscores, the first a letter or "
            f"a digit; got {brief(value)}"
        )
    return value


def text(name: str, value: Any, longest: int = 200) -> str:
    """A name or a sentence that every terminal, table, file and database takes unchanged.

    1 to `longest` characters, not blanks alone. Control characters (and with them line breaks and terminal
    escapes), marks that turn the direction of writing, and lone surrogates are refused.
    """
    if not isinstance(value, str) or not 0 < len(value) <= longest or not value.strip():
        raise ValueError(f"{name} must be 1 to {longest} characters, got {brief(value)}")
    if wrong := [sign for sign in value if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")]:
        raise ValueError(
            f"{name} must not hold control characters, line breaks or lone surrogates; "
            f"got {wrong[0]!a} in {value!a:.80}"
        )
    if any(unicodedata.bidirectional(sign) in _TURNS_WRITING for sign in value):
        raise ValueError(f"{name} must not turn the direction of writing; got {value!a:.80}")
    return value


def number(name: str, value: Any) -> float:
    """One real number, which may be NaN or infinite; not a truth value, a text or a span of time."""
    # NumPy calls a span of time a whole number.
    odd = isinstance(value, bool | np.bool_ | np.timedelta64)
    plain = isinstance(value, numbers.Real | Decimal) and not odd
    if not plain and numbers_of(name, value).ndim:
        raise ValueError(f"{name} must be a number, got {brief(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number, got {brief(value)}") from None


def vector(name: str, value: Any, dim: int | None = None) -> np.ndarray:
    """A finite vector, float64, of length `dim` if that is given."""
    array = np.atleast_1d(numbers_of(name, value)).astype(float)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a vector, got an array of shape {array.shape}")
    if dim is not None and array.size != dim:
        raise ValueError(f"{name} must have length {dim}, got {array.size}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {brief(value)}")
    return array


def single_precision(name: str, value: Any, dim: int) -> np.ndarray:
    """A finite vector of length `dim` as simulations hold it, in float32."""
    with np.errstate(over="ignore"):
        array = vector(name, value, dim).astype(np.float32)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must fit single precision, below 3.4e38; got {brief(value)}")
    return array


MOST_NUMBERS = 2**28  # in one array: 1 GiB in single precision


def fits(what: str, numbers: int, advice: str, most: int = MOST_NUMBERS) -> None:
    """Refuse what memory cannot hold before anything is made.

    Args:
        what: the argument and the arrays that follow from it.
        numbers: the count of numbers in these arrays.
        advice: the advice at the end of the message.
        most: the largest count.
    """
    if numbers > most:
        raise ValueError(f"{what}: {numbers:,} numbers, and at most {most:,} are held; {advice}")


def budget(value: Any, queries: int, iterations: int = 1) -> int:
    """A whole number of queries that pays for at least `iterations` iterations of `queries` each."""
    total = one_count("budget", value)
    if total < queries * iterations:
        raise ValueError(
            f"a budget of {total} is too small: this method needs {queries * iterations} queries "
            "before its first step; raise the budget, or lower batch or directions"
        )
    return total


def numbers_of(name: str, value: Any, kinds: str = "iuf") -> np.ndarray:
    """The numbers as an array; `kinds` are the letters of NumPy's types that count as numbers."""
    try:
        array = np.asarray(value)
    except Exception:  # an odd object may raise anything; ragged lists raise ValueError
        raise ValueError(f"{name} must be a number, or numbers of one shape; got {brief(value)}") from None
    if array.dtype.kind not in kinds or isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name} must be a number, got {brief(value)}")
    return array


def unmasked(value: Any) -> Any:
    """The value with NaN for the masked elements of a masked array.

    `np.asarray` would give the number under the mask, often 0.

    >>> unmasked(np.ma.array([1, 2], mask=[False, True])).tolist()
    [1.0, nan]
    """
    if isinstance(value, np.ma.MaskedArray) and value.dtype.kind in "iufb":
        return np.ma.filled(value.astype(float), np.nan)
    return value


def _single(name: str, value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if numbers_of(name, value).ndim:
        raise ValueError(f"{name} must be a single number, got {brief(value)}")
    return value


def _plain(array: np.ndarray) -> Any:
    return array.item() if array.ndim == 0 else array


def as_seed(rng: Any, name: str = "rng") -> int:
    """A whole number that reproduces the run: the int itself, a Generator's next draw, or a fresh one.

    `name` is what the error calls it.
    """
    if rng is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**32))
    if is_whole(rng) and 0 <= int(rng) < 2**63:
        return int(rng)
    raise ValueError(
        f"{name} must be a whole number >= 0, a numpy.random.Generator or None; got {brief(rng)}"
    )
