"""Values that a person may give by mistake: a pool of every kind, what Hypothesis draws, and near misses.

Numbers that are merely large, so that a call would be right and take for ever, are left out, and so are paths
that lead out of the folder in which the calls are made.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import driftopt
from driftopt import methods
from driftopt.problems.synthetic import kink

LEFT_OUT = object()  # in place of a value: the argument is not given at all


class Unshowable:
    """Something that cannot even be printed."""

    def __repr__(self) -> str:
        raise RuntimeError("not to be shown")


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    whole: list[Any] = []
    for _ in range(depth):
        whole = [whole]
    return whole


# Fresh objects, because some are used up.
POOL: tuple[Callable[[], Any], ...] = (
    *(
        partial(lambda value: value, value)
        for value in (None, True, 0, -1, 1.5, -0.0, 2**40, 10**400, -(10**5000))
    ),
    *(partial(float, text) for text in ("1e-320", "1e308", "nan", "inf", "-inf")),
    *(partial(str, text) for text in ("", "abc", "1", "a\x00b", "\ud800", "\x1b[31m", "x" * 5000)),
    lambda: 1j,
    lambda: b"1",
    list,
    lambda: [[]],
    lambda: nested(3000),
    lambda: [1, [2, 3]],
    lambda: [None],
    lambda: ["a", "b"],
    lambda: [math.nan, 1.0],
    lambda: [1e308, -1e308],
    lambda: [True, False],
    lambda: (),
    dict,
    lambda: {"a": 1},
    lambda: {1: 2},
    lambda: {"radius": "x"},
    lambda: {3, 4},
    lambda: range(0),
    lambda: np.zeros(0),
    lambda: np.zeros((2, 2)),
    lambda: np.array(1.0),
    lambda: np.array(["a"]),
    lambda: np.array([1, "a"], dtype=object),
    lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    lambda: np.datetime64("2020-01-01"),
    object,
    Unshowable,
    lambda: lambda *a: 0.0,
    lambda: print,
    lambda: (i for i in range(3)),
    lambda: np.random.default_rng(0),
    lambda: Path("nowhere/at/all.csv"),
    lambda: methods.get("zo-sph", radius=0.5, step=0.01),
    lambda: kink(2),
    lambda: driftopt.Problem,
)
# What may stand behind an option on the command line. An empty text, and what looks like an option, too.
WORDS = (
    *("", " ", "abc", "-1", "0", "1.5", "nan", "inf", "-inf", "1e400", "1e-320", "9" * 30, "-0.0", "1_000"),
    *("1,2", "1,,2", "1;2", "0:1", "1:0", ":", "a=b", "=", "step=", "step=abc", "radius=[1,2]", "a\x1b[31mb"),
    *("\udcff", "é", "x" * 5000, "..", "nowhere/at/all.csv", "a.csv", "a.png", "nowhere.db", "-"),
    *("--json", "--help", "[]", "{}", "null", "True", "minimize", "zo-sph", "auto", "sqlite://"),
    "mysql://a/b",
)


def _quick(number: float) -> bool:
    """Not one of those that are right and take for ever."""
    return not (300 < number < 2**31 and number == int(number))


def odd(good: Any) -> st.SearchStrategy[Any]:
    """A value in place of one that works."""
    drawn = [
        st.sampled_from(POOL).map(lambda make: make()),
        st.floats().filter(lambda x: not math.isfinite(x) or _quick(x)),
        st.integers(-3, 30) | st.integers(2**31) | st.integers(max_value=-1),
        st.text(max_size=12).filter(lambda text: "/" not in text),
        st.lists(st.floats(-9, 9) | st.none() | st.text(max_size=3), max_size=4),
    ]
    return st.one_of(*drawn, *([near(good)] if good is not None else []))


def near(good: Any) -> st.SearchStrategy[Any]:
    """What resembles the value that works."""
    if isinstance(good, Mapping):
        return _near_table(dict(good))
    return st.sampled_from(_near(good)).map(lambda make: make())


def _near(good: Any) -> list[Callable[[], Any]]:
    around: list[Callable[[], Any]] = [lambda: [good], lambda: (good, good), lambda: str(good)]
    if isinstance(good, bool):
        return [*around, lambda: int(good), lambda: np.bool_(good)]
    if isinstance(good, int | float):
        numbers = (-good, good + 0.5, float(good), np.float32(good), np.array([good, good]), complex(good))
        return [*around, *(partial(lambda value: value, number) for number in numbers)]
    if isinstance(good, str):
        return [*around, good.upper, lambda: good + " ", lambda: good[:-1], good.encode, lambda: " " + good]
    if isinstance(good, list | tuple) and good:
        return [
            *around,
            lambda: good[:-1],
            lambda: [*good, good[-1]],
            lambda: [*good[:-1], None],
            lambda: [*good[:-1], "a"],
            lambda: list(reversed(good)),
            lambda: np.array(good, dtype=object),
            lambda: dict(enumerate(good)),
            lambda: iter(good),
        ]
    return [*around, lambda: type(good), lambda: {"a": good}]


@st.composite
def _near_table(draw: st.DrawFn, good: dict[str, Any]) -> dict[Any, Any]:
    """One key less, one more, or one with another value."""
    keys = sorted(good, key=str)
    change = draw(st.sampled_from(["less", "more", "other"] if keys else ["more"]))
    if change == "more":
        return {**good, draw(st.sampled_from(["a", "", "Step", "radius ", 1, None])): draw(odd(1.0))}
    key = draw(st.sampled_from(keys))
    if change == "less":
        return {name: value for name, value in good.items() if name != key}
    return {**good, key: draw(odd(good[key]))}


def word(good: Any) -> st.SearchStrategy[Any]:
    """What stands on the command line in place of a word that works; LEFT_OUT: nothing does."""
    letters = st.characters(exclude_characters="\x00/~")
    texts = st.text(letters, max_size=12).filter(lambda text: not text.isdecimal() or int(text) < 300)
    upper = str(good).upper() if "/" not in str(good) else ""
    similar = [upper, f"{good} ", f"{good},{good}", f"-{good}", str(good)[:-1]]
    return st.one_of(st.sampled_from([*WORDS, *similar, LEFT_OUT]), texts)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.floats(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
