"""A worker whose code is not the asker's refuses, so that its result is not kept under another's name."""

import importlib
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

import driftopt
from driftopt.comparison.functions import FunctionSource
from driftopt.methods import registry
from driftopt.methods.grids import grid
from driftopt.outside import LIBRARIES, contract
from driftopt.problems.synthetic import kink
from driftopt.space import Space
from driftopt.sweep.parts import RunSettings, Simulated
from driftopt.sweep.same_code import Asker, OtherCode, named_in, run_task
from driftopt.sweep.units import Unit

STEPS = grid("zo-sph", radius=0.5, step=[0.01])
OWN = """
from driftopt import methods
TARGET = 2.0

def noisy(x):
    return float(abs(x - TARGET).sum())

def build(radius):
    return methods.get("auto", radius=radius)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A user's module beside the program."""
    (tmp_path / "own_code.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_code")
    del sys.modules["own_code"]


@pytest.fixture
def task(own):
    source = FunctionSource(own.noisy, Space.build(np.zeros(2)), 3)
    return source.task(STEPS, [[0]], [0], [1], RunSettings(20), Unit(1, 1, 1))


def elsewhere(origin):
    return replace(origin, process="elsewhere:1")


def test_the_same_code_runs(task):
    np.testing.assert_array_equal(run_task(task, elsewhere(Asker().origin(task)))["x"], task.run()["x"])


def test_another_driftopt_is_refused(task):
    asked = replace(elsewhere(Asker().origin(task)), version="0.0.9 0.4 2.0 cpu 1234")
    with pytest.raises(OtherCode, match=r"0\.0\.9.*\n.*Install the same on every worker"):
        run_task(task, asked)


def test_another_version_of_a_library_is_refused(monkeypatch):
    source = Simulated([kink(2)], ["a"])
    search = grid(LIBRARIES["scipy"], radius=0.5)
    task = source.task(search, [[0]], [0], [1], RunSettings(20), Unit(1, 1, 1))
    asked = elsewhere(Asker().origin(task))
    assert run_task(task, asked)["queries"] == 20
    monkeypatch.setattr(contract, "installed_version", {"scipy": "99.0"}.get)
    with pytest.raises(OtherCode, match=r"scipy 99\.0 here"):
        run_task(task, asked)


def test_a_value_set_after_the_worker_had_started_is_refused(own, task, monkeypatch):
    before = elsewhere(Asker().origin(task))
    run_task(task, before)
    monkeypatch.setattr(own, "TARGET", 200.0)
    with pytest.raises(OtherCode, match=r"own_code\.noisy.*Start the workers again"):
        run_task(task, elsewhere(Asker().origin(task)))


def test_what_a_task_names(own, task):
    assert named_in(task) == (own.noisy,)
    plain = Simulated([kink(2)], ["a"]).task(STEPS, [[0]], [0], [1], RunSettings(20), Unit(1, 1, 1))
    assert named_in(plain) == ()
    local = FunctionSource(lambda x: 1.0, Space.build(np.zeros(2)), 3).task(
        STEPS, [[0]], [0], [1], RunSettings(20), Unit(1, 1, 1)
    )
    assert named_in(local) == ()


def test_a_method_given_by_name_is_looked_at_on_both_sides(own, monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    registry.register("mine", own.build)
    source = FunctionSource(abs, Space.build(np.zeros(2)), 3)
    task = source.task(grid("mine", radius=0.5), [[0]], [0], [1], RunSettings(20), Unit(1, 1, 1))
    assert named_in(task) == (own.build,)


def test_worker_processes_with_another_value_are_refused(own, tmp_path, monkeypatch):
    """They import the module anew, and do not know what was set here."""
    call = {"budget": 20, "development": 1, "held_out": 2, "x0": [0.0, 0.0], "evaluations": 3}
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        scattered = driftopt.compare(own.noisy, [STEPS], executor=pool, folder=tmp_path / "kept", **call)
        here = driftopt.compare(own.noisy, [STEPS], **call)
        np.testing.assert_array_equal(scattered.tuned.held_out.x, here.tuned.held_out.x)
        monkeypatch.setattr(own, "TARGET", 200.0)
        with pytest.raises(OtherCode):
            driftopt.compare(own.noisy, [STEPS], executor=pool, folder=tmp_path / "kept", **call)
