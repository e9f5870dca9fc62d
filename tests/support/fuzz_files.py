"""Files that are read: what is kept, with bytes changed, and a comparison's TOML file with odd values."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from hypothesis import strategies as st
from jax.experimental.compilation_cache import compilation_cache

import driftopt
from driftopt import data, methods, problems, sweep
from driftopt.comparison.config_file import read
from driftopt.data import cache, registry
from driftopt.runtime import executable_cache
from support.fuzz import Entry
from support.fuzz_values import odd

CHANGES: dict[str, Callable[[bytes, int], bytes]] = {
    "flip": lambda content, at: content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :],
    "cut": lambda content, at: content[:at],
    "double": lambda content, at: content[:at] + content,
    "zeros": lambda content, at: content[:at] + bytes(len(content) - at),
}


def files(folder: Path) -> dict[str, Entry]:
    """Every kind of file that is read."""
    drawn = {"at": st.floats(0, 1, exclude_max=True), "change": st.sampled_from(sorted(CHANGES))}
    how = {"good": lambda: {"at": 0.5, "change": "flip"}, "drawn": lambda good: drawn[_kind(good)]}
    table: dict[str, Any] = {
        "problem": "kink",
        "problem_options": {"dim": 2},
        "methods": {"zo-sph": {"radius": [0.5], "step": 0.01}},
        "budget": 20,
        "development": 1,
        "held_out": 2,
        "x0": [0.0, 1.0],
        "evaluate_every": 10,
    }
    also = {"methods": ("method", "step", "radius", "parameter"), "problem_options": ("options", "dim")}
    return {
        "kept parts, damaged": Entry(_Parts(folder / "damaged"), **how, right=bool),
        "kept programs, damaged": Entry(_Programs(folder / "programs"), **how, right=bool),
        "kept data, damaged": Entry(
            lambda **how: _data(folder / "data", **how), **how, also=dict.fromkeys(drawn, ("SHA-256",))
        ),
        "compare's file": Entry(
            lambda **given: _compared(folder / "odd.toml", given), lambda: table, also, drawn=_in_toml
        ),
    }


def _kind(good: Any) -> str:
    return "at" if isinstance(good, float) else "change"


def damage(path: Path, at: float, change: str) -> None:
    content = path.read_bytes() or b"empty"
    path.write_bytes(CHANGES[change](content, int(at * len(content))))


class _Parts:
    """A sweep gives the same rows, whatever became of its files."""

    def __init__(self, folder: Path):
        self._folder = folder
        steps = [sweep.grid("zo-sph", radius=0.5, step=[0.01, 0.02])]
        self._given: dict[str, Any] = {"grids": steps, "problems": [problems.kink(2)], "budget": 20}
        self._given |= {"seeds": [0], "progress": False}
        self._before = sweep.run(**self._given, folder=folder)

    def __call__(self, at: float, change: str) -> bool:
        for path in (self._folder / "parts").iterdir():
            damage(path, at, change)
        again = sweep.run(**self._given, folder=self._folder)
        same = [np.array_equal(again.columns[name], column) for name, column in self._before.columns.items()]
        return all(same) and np.array_equal(again.x, self._before.x)


class _Programs:
    """A run gives the same decision, whatever became of its compiled program."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._before = self._run()

    def _run(self) -> np.ndarray:
        executable_cache.keep_in(self._folder)
        executable_cache._loaded.clear()
        # What JAX finds in a cache of its own is not kept a second time.
        jax.config.update("jax_enable_compilation_cache", False)
        compilation_cache.reset_cache()
        try:
            method = methods.get("zo-sph", radius=0.5, step=0.01)
            return driftopt.simulate(method, problems.kink(2), budget=20).x
        finally:
            executable_cache.keep_in(None)
            jax.config.update("jax_enable_compilation_cache", True)
            compilation_cache.reset_cache()

    def __call__(self, at: float, change: str) -> bool:
        for path in self._folder.iterdir():
            damage(path, at, change)
        return np.array_equal(self._run(), self._before)


def _data(folder: Path, at: float, change: str) -> None:
    """A price file of the right name with other bytes is refused."""
    folder.mkdir(exist_ok=True)
    path = folder / registry.WEEKS["2022-08"].name
    path.write_text("1 2 3\n")
    damage(path, at, change)
    try:
        data.load_week("2022-08")
    finally:
        path.unlink()
    raise AssertionError(f"{cache.folder()} holds no real prices")


def _in_toml(good: Any) -> st.SearchStrategy[Any]:
    return odd(good).filter(_fits)


def _fits(value: Any, depth: int = 4) -> bool:
    """Whether TOML can hold it; a name with a colon would be code, which has tests of its own."""
    if not depth:
        return False
    if isinstance(value, dict):
        return all(
            isinstance(key, str) and _fits(inner, depth - 1) and _encodes(key) for key, inner in value.items()
        )
    if isinstance(value, list):
        return all(_fits(inner, depth - 1) for inner in value)
    if isinstance(value, int):
        return abs(value) < 2**63
    return isinstance(value, float) or (isinstance(value, str) and _encodes(value) and ":" not in value)


def _encodes(text: str) -> bool:
    return text.isprintable()


def _compared(path: Path, given: dict[str, Any]) -> Any:
    path.write_text("\n".join(f"{key} = {_toml(value)}" for key, value in given.items()), "utf-8")
    return driftopt.compare(**read(path))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)
