"""The certificate, the theorems, the data and studies, with calls that are quick where they work."""

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import driftopt
from driftopt import data, stationarity, theory
from driftopt.data.fetch import fetch_group
from support.fuzz import Entry
from support.fuzz_entries import CALLED, absent, noisy


def numbers(folder: Path) -> dict[str, Entry]:
    """The certificate, the theorems and the data."""
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((12, 2))
    pairs = {"plus": rng.standard_normal(12).tolist(), "minus": rng.standard_normal(12).tolist()}
    units = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).tolist()
    level = {"radius": 0.5, "confidence": 0.9, "value_range": (-9, 9)}
    constants = {"dim": 12, "lipschitz": 1, "noise": 0.5, "gap": 1, "epsilon": 0.1}
    (folder / "copy").mkdir(exist_ok=True)
    (folder / "read.csv").write_text("1 2,3\n4")
    table = data.CreditTable(drawn.repeat(1200, 0), np.sign(drawn[:, 0]).repeat(1200), data.Provenance("a"))
    return {
        "stationarity.measure": Entry(
            stationarity.measure,
            lambda: {"oracle": noisy, "x": [0.0, 1.0], "pairs": 12, "rng": 0, **level},
            {"oracle": CALLED, "x": ("value_range",), "radius": ("value_range",)},
            right=lambda report: report.epsilon is None or 0 < report.epsilon < np.inf,
        ),
        "stationarity.from_pairs": Entry(
            stationarity.from_pairs,
            lambda: {**pairs, "directions": units, "planned": True, **level},
            {"radius": ("x",), "plus": ("pairs",), "minus": ("pairs",)},
            right=lambda report: report.epsilon is None or 0 < report.epsilon < np.inf,
        ),
        "stationarity.least_pairs": Entry(stationarity.least_pairs, lambda: {"value_range": (0, 1)}),
        "theory.o2nc": Entry(
            lambda **call: str(theory.o2nc(**call)),
            lambda: {**constants, "delta": 0.5, "option": "I", "goldstein": True},
        ),
        "theory.smooth": Entry(
            lambda **call: str(theory.smooth(**call)),
            lambda: {**constants, "option": "I", "gradient_lipschitz": 1},
        ),
        "theory.hessian_lipschitz": Entry(
            lambda **call: str(theory.hessian_lipschitz(**call)),
            lambda: {**constants, "option": "I", "hessian_lipschitz": 1},
        ),
        "theory.minibatch_sgd": Entry(
            lambda **call: str(theory.minibatch_sgd(**call)),
            lambda: {**constants, "delta": 0.5, "constant": 1},
        ),
        "theory.compare": Entry(
            lambda **call: str(theory.compare(**call)), lambda: {"dim": 12, "epsilon": 0.1, "delta": 0.5}
        ),
        "Plan.method": Entry(
            theory.o2nc(**{**constants, "epsilon": 1}, delta=0.5).method, lambda: {"output": "final"}
        ),
        "data.read_prices": Entry(
            data.read_prices, lambda: {"path": folder / "read.csv"}, {"path": ("price",)}
        ),
        "data.synthetic_prices": Entry(data.synthetic_prices, lambda: {"seed": 0, "products": 3}),
        "data.split_credit": Entry(data.split_credit, lambda: {"table": table, "split_seed": 101}),
        "data.load_week": Entry(
            lambda **call: absent(data.load_week, **call),
            lambda: {"week": "2022-08", "allow_fetch": False},
            {"allow_fetch": ("data",)},
        ),
        "data.load_credit": Entry(
            lambda **call: absent(data.load_credit, **call),
            lambda: {"allow_fetch": False, "allow_stand_in": False},
            {"allow_fetch": ("data",)},
        ),
        "data fetch": Entry(
            fetch_group,
            lambda: {"group": "prices", "source": folder / "copy"},
            {"group": ("data", "copy"), "source": ("copy", "data")},
        ),
    }


def studies(folder: Path) -> dict[str, Entry]:
    """A study that has begun, copied for every call."""
    first, fresh = folder / "first.db", itertools.count()
    begin(first)

    def place() -> dict[str, Any]:
        path = folder / f"study{next(fresh)}.db"
        shutil.copy(first, path)
        return {"url": path, "name": "a"}

    def on(name: str) -> Callable[..., Any]:
        def call(**given: Any) -> Any:
            with driftopt.Study.open(**place()) as study:
                return getattr(study, name)(**given)

        return call

    def opened(**given: Any) -> Any:
        with driftopt.Study.open(**given) as study:
            return study.recommend()

    def created(**given: Any) -> Any:
        with driftopt.Study.create(**given) as study:
            return study.ask()

    options: dict[str, Any] = {
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
        "guard": 60.0,
        "settle": 1,
        "grid": 0.5,
    }
    where = {"url": ("database", "folder", "file")}
    own = {"params": ("step", "block", "parameter", "needs"), "method": ("parameter",), **where}
    answer = {"id": 6, "value": 1.0, "sem": 0.1, "x_deployed": None}
    return {
        "Study.create": Entry(
            created, lambda: {"url": folder / f"new{next(fresh)}.db", "name": "a", **options}, own
        ),
        "Study.open": Entry(opened, place, {**where, "name": ("study",)}),
        "Study.ask": Entry(on("ask"), lambda: {"purpose": "confirm", "holder": "me"}),
        "Study.ask_many": Entry(on("ask_many"), lambda: {"k": 2, "purpose": "confirm", "holder": "me"}),
        "Study.tell": Entry(on("tell"), lambda: answer, {"x_deployed": ("deployed",), "id": ("trial",)}),
        "Study.tell_many": Entry(on("tell_many"), lambda: {"answers": [answer]}, {"answers": ("answer",)}),
        "Study.correct": Entry(
            on("correct"),
            lambda: {"id": 1, "value": 2.0, "reason": "typed wrong", "sem": 0.1, "who": "me"},
            {"id": ("trial",)},
        ),
        "Study.void": Entry(
            on("void"), lambda: {"id": 1, "reason": "a holiday", "who": "me"}, {"id": ("trial",)}
        ),
        "Study.accept": Entry(
            on("accept"), lambda: {"id": 1, "reason": "a fair", "who": "me"}, {"id": ("trial",)}
        ),
        "Study.hold": Entry(
            on("hold"), lambda: {"id": 1, "reason": "a fair", "who": "me"}, {"id": ("trial",)}
        ),
        "Study.fail": Entry(on("fail"), lambda: {"id": 6, "reason": "rain", "who": "me"}, {"id": ("trial",)}),
        "Study.trials": Entry(on("trials"), lambda: {"state": "pending", "kind": "method", "holder": "me"}),
        "Study.stationarity": Entry(
            on("stationarity"),
            lambda: {"confidence": 0.9, "value_range": (0, 9)},
            {"value_range": ("pairs",)},
        ),
        "Study.export": Entry(
            on("export"), lambda: {"path": folder / "trials.csv"}, {"path": ("folder", "write")}
        ),
        "Study.plot": Entry(
            on("plot"), lambda: {"path": folder / "study.png"}, {"path": ("folder", "write")}
        ),
    }


def begin(path: Path) -> None:
    """A study with one answer, and a second deployment out."""
    with driftopt.Study.create(path, "a", x0=[1.0, 2.0], radius=0.5, budget=60, reserve=20, rng=0) as study:
        study.tell(study.ask().id, 1.0)
        for value in (1.0, 2.0, 3.0, 1.0):
            study.tell(study.ask("stationarity").id, value)
        study.ask()
