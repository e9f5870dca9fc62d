"""The entries that take values of a user, in Python and on the command line, with calls that work."""

import contextlib
import io
import itertools
import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

import driftopt
from driftopt import methods, problems, stationarity, sweep, theory
from driftopt.cli import main
from driftopt.space import Space
from support.fuzz import Entry
from support.fuzz_values import JSON, LEFT_OUT, word

CALLED = ("function", "value", "query")  # what a function returns is seen when it is called
PARAMETERS = ("step", "radius", "parameter", "method")
WHERE = {
    "url": ("database", "folder", "file", "studies", "Unknown", "requires", "multiple"),
    "name": ("study", "Unknown", "ID", "multiple"),
    "json": ("Unused", "Unknown", "multiple"),
}
STUDY: dict[str, Any] = {
    "x0": [1.0, 2.0],
    "budget": 40,
    "radius": 0.5,
    "names": ["a", "b"],
    "method": "zo-o2nc-2pt",
    "params": {"step": 0.1, "block": 2},
    "bounds": [(-9, 9), (-9, 9)],
    "direction": "maximize",
    "rng": 0,
    "parallel": 1,
    "lease": 60.0,
    "max_failures": 3,
    "tolerance": 0.1,
    "max_change": 3.0,
    "control_every": 5,
    "reserve": 4,
    "outliers": True,
    "settle": 1,
    "grid": 0.5,
}
OPTIONS = {  # the same on the command line
    **{name: value for name, value in STUDY.items() if name not in ("params", "lease", "outliers")},
    "x0": "1,2",
    "names": "a,b",
    "bounds": "-9:9",
    "direction": "minimize",
    "max_change": 3,
    "grid": "0.5",
    "param": "step=0.1",
    "lease_days": 1,
}
AMENDED = {"id": 1, "reason": "a holiday", "who": "me"}


def entries(folder: Path) -> dict[str, Entry]:
    """Every entry by its name; what they write lies in `folder`."""
    return {**drivers(folder), **methods_and_problems(), **studies(folder), **commands(folder)}


def noisy(x: np.ndarray) -> float:
    return float(np.abs(x).sum())


def finite(result: Any) -> bool:
    """No result holds a number that is not finite, or more queries than were paid for."""
    return bool(np.isfinite(result.x).all()) and result.nfev <= 300


def drivers(folder: Path) -> dict[str, Entry]:
    """One run, many runs and comparisons."""
    problem, method = problems.kink(2), methods.get("zo-sph", radius=0.5, step=0.01)
    steps, fresh = sweep.grid("zo-sph", radius=0.5, step=[0.01, 0.02]), itertools.count()
    minimized: dict[str, Any] = {
        "fun": noisy,
        "x0": [1.0, 2.0],
        "budget": 20,
        "radius": 0.5,
        "method": "zo-sph",
        "rng": 0,
        "params": {"step": 0.01},
        "bounds": [(-9, 9), (-9, 9)],
        "direction": "minimize",
        "args": (),
        "final_queries": 2,
        "settle": 1,
        "callback": None,
        "vectorized": False,
        "progress": False,
        "loss": None,
        "model": None,
    }
    run: dict[str, Any] = {
        "method": method,
        "budget": 20,
        "x0": [0.0, 1.0],
        "evaluate_every": 10,
        "settle": 1,
    }
    listed = {"grids": [steps], "problems": [problem], "names": ["a"], "x0": [0.0, 1.0], "budget": 20}
    compared: dict[str, Any] = {
        "methods": {"zo-sph": {"radius": 0.5, "step": 0.01}},
        "budget": 20,
        "development": 1,
        "held_out": 2,
        "x0": [0.0, 1.0],
        "progress": False,
    }
    measured = {"oracle": noisy, "x": [0.0, 1.0], "pairs": 12, "rng": 0, "radius": 0.5, "confidence": 0.9}
    constants = {"dim": 12, "lipschitz": 1, "noise": 0.5, "gap": 1, "epsilon": 0.1, "delta": 0.5}

    def kept(**call: Any) -> dict[str, Any]:
        return {**call, "folder": folder / f"kept{next(fresh)}", "progress": False}

    return {
        "minimize": Entry(
            driftopt.minimize,
            lambda: minimized,
            {"fun": CALLED, "vectorized": CALLED, "args": CALLED, "params": ("step", "parameter")},
            right=finite,
        ),
        "simulate": Entry(driftopt.simulate, lambda: {**run, "problem": problem, "rng": 0}),
        "Space": Entry(
            Space.build,
            lambda: {"start": [1.0, 2.0], "names": ["a", "b"], "bounds": [(-9, 9), (None, 9)]},
            {"start": ("x0",)},
        ),
        "sweep.run": Entry(
            sweep.run,
            lambda: kept(**listed, seeds=[0], evaluate_every=10, metrics=False),
            {"grids": ("method",), "names": ("problems",)},
        ),
        "compare, with a function": Entry(
            driftopt.compare,
            lambda: {**compared, "problem": noisy, "bounds": [(-9, 9), (-9, 9)], "evaluations": 3},
            {"methods": PARAMETERS, "problem": CALLED, "held_out": ("held-out",)},
        ),
        "stationarity.measure": Entry(
            stationarity.measure,
            lambda: {**measured, "value_range": (-9, 9)},
            {"oracle": CALLED, "x": ("value_range",), "radius": ("value_range",)},
            right=lambda report: report.epsilon is None or 0 < report.epsilon < np.inf,
        ),
        "theory.o2nc": Entry(lambda **call: str(theory.o2nc(**call)), lambda: {**constants, "option": "I"}),
    }


def methods_and_problems() -> dict[str, Entry]:
    """Every method's parameters, and problems by their name."""
    own = {
        f"methods.get {name}": Entry(
            partial(methods.get, name),
            partial(lambda line: {**line.defaults, **line.example}, methods.entry(name)),
        )
        for name in methods.names()
    }
    return {
        **own,
        "problems.get": Entry(
            problems.get, lambda: {"name": "kink", "dim": 2, "noise": 0.5, "rng": 0}, {"name": ("problem",)}
        ),
    }


def studies(folder: Path) -> dict[str, Entry]:
    """A study that has begun, copied for every call."""
    place = _copies(folder, "study")

    def on(name: str, also: dict[str, tuple[str, ...]] | None = None, **good: Any) -> Entry:
        def call(**given: Any) -> Any:
            with driftopt.Study.open(**place()) as study:
                return getattr(study, name)(**given)

        return Entry(call, lambda: good, {"id": ("trial",), **(also or {})})

    def created(**given: Any) -> Any:
        with driftopt.Study.create(**given) as study:
            return study.ask()

    answer = {"id": 6, "value": 1.0, "sem": 0.1, "x_deployed": None}
    fresh = itertools.count()
    return {
        "Study.create": Entry(
            created,
            lambda: {"url": folder / f"new{next(fresh)}.db", "name": "a", **STUDY},
            {**WHERE, "params": ("step", "block", "parameter", "needs"), "method": ("parameter",)},
        ),
        "Study.tell": on("tell", {"x_deployed": ("deployed",)}, **answer),
        "Study.correct": on("correct", value=2.0, sem=0.1, **AMENDED),
        "Study.trials": on("trials", state="pending", kind="method", holder="me"),
    }


def commands(folder: Path) -> dict[str, Entry]:
    """Commands in this process, with options that are wrong, left out or unknown."""
    place, fresh = _copies(folder, "shell"), itertools.count()
    plan = {"dim": 12, "lipschitz": 1, "noise": 0.5, "gap": 1, "epsilon": 0.1, "delta": 0.5, "option": "I"}
    answer = {"id": 6, "value": 1.0, "sem": 0.1}

    def answers(**given: Any) -> None:
        run(["study", "tell", str(given["url"]), str(given["name"]), "--json"], json.dumps(given["answers"]))

    return {
        "driftopt plan": Entry(
            command("plan"), lambda: {**plan, "compare": True}, _also(*plan, "compare"), word
        ),
        "driftopt study create": Entry(
            command("study create", ("url", "name")),
            lambda: {"url": folder / f"made{next(fresh)}.db", "name": "a", **OPTIONS},
            {
                **WHERE,
                **_also(*OPTIONS),
                "param": ("step", "params", "parameter", "Unused", "Unknown", "requires", "missing"),
                "lease_days": ("lease", "lease-days", "Unused", "Unknown", "requires", "missing"),
            },
            word,
        ),
        "driftopt study tell --json": Entry(
            answers,
            lambda: {**place(), "answers": [answer]},
            {**WHERE, "answers": ("answer", "trial", *answer)},
            _in_json,
        ),
    }


def _copies(folder: Path, word: str) -> Callable[[], dict[str, Any]]:
    """A function that copies a study with one answer, and a second deployment out."""
    first, fresh = folder / f"{word}.db", itertools.count()
    with driftopt.Study.create(first, "a", x0=[1.0, 2.0], radius=0.5, budget=60, reserve=20, rng=0) as study:
        study.tell(study.ask().id, 1.0)
        for value in (1.0, 2.0, 3.0, 1.0):
            study.tell(study.ask("stationarity").id, value)
        study.ask()

    def place() -> dict[str, Any]:
        path = folder / f"{word}{next(fresh)}.db"
        shutil.copy(first, path)
        return {"url": path, "name": "a"}

    return place


class Refused(ValueError):
    """A command ended with a sentence and an exit code."""


def command(words: str, positional: tuple[str, ...] = ()) -> Callable[..., None]:
    """A function of a command's arguments: positional ones in order, all others as --options."""

    def call(**given: Any) -> None:
        line = words.split()
        line += [str(given[name]) for name in positional if given.get(name, LEFT_OUT) is not LEFT_OUT]
        for name, value in given.items():
            if name not in positional and value is not LEFT_OUT:
                option = f"--{name.replace('_', '-')}"
                line += [option] if value is True else [option, str(value)]
        run(line)

    return call


def run(line: list[str], stdin: str = "") -> None:
    """The command as `driftopt` runs it; a refusal is its sentence as an error."""
    said = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["driftopt", *line]),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
        contextlib.redirect_stderr(said),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
            if code not in range(6) or "Traceback" in said.getvalue():
                raise RuntimeError(f"exit code {code}: {said.getvalue()}") from None
            if code:
                box = str.maketrans(dict.fromkeys("╭─╮│╰╯", " "))
                raise Refused(" ".join(said.getvalue().translate(box).split())) from None


def _also(*names: str) -> dict[str, tuple[str, ...]]:
    """An option is --so-named; with the wrong number of words, cyclopts names the word that is left."""
    more = ("Unused", "Unknown", "requires", "missing")
    return {name: (name.replace("_", "-"), name.replace("_", " "), name.rstrip("s"), *more) for name in names}


def _in_json(good: Any) -> st.SearchStrategy[Any]:
    """Text on standard input."""
    if not isinstance(good, dict | list):
        return word(good)
    inner = good[0] if isinstance(good, list) else good
    changed = st.sampled_from(sorted(inner)).flatmap(
        lambda key: st.sampled_from([*range(-1, 3), None, True, "a", [3], {}, 1e300]).map(
            lambda value: {**inner, key: value}
        )
    )
    less = st.sampled_from(sorted(inner)).map(lambda key: {k: v for k, v in inner.items() if k != key})
    each = changed | less | JSON
    return each | st.lists(each, max_size=3) if isinstance(good, list) else each
