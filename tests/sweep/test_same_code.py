"""A worker whose code is not the asker's refuses, so that its result is not kept under another's name."""

import importlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import driftopt
from driftopt.comparison.functions import FunctionSource
from driftopt.methods.grids import grid
from driftopt.outside import LIBRARIES, contract
from driftopt.problems.synthetic import kink
from driftopt.space import Space
from driftopt.sweep.executors import OtherCode, origin, run_task
from driftopt.sweep.simulated import Simulated
from driftopt.sweep.tasks import RunSettings, Tile

STEPS = grid("zo-sph", radius=0.5, step=[0.01])
OWN = """
from driftopt import methods
TARGET = 2.0

def noisy(x):
    return float(abs(x - TARGET).sum())

def build(radius):
    return methods.get("walk", radius=radius)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A user's module beside the program."""
    (tmp_path / "own_code.py").write_text(OWN)
    os.utime(tmp_path / "own_code.py", (1, 1))  # long before this process began
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_code")
    del sys.modules["own_code"]


@pytest.fixture
def task(own):
    source = FunctionSource(own.noisy, Space.build(np.zeros(2)), 3)
    return source.task(STEPS, [[0]], [0], [1], RunSettings(20), Tile(1, 1, 1))


def elsewhere(here):
    return replace(here, process="elsewhere:1")


def test_the_same_code_runs(task):
    np.testing.assert_array_equal(run_task(task, elsewhere(origin(task)))[0]["x"], task.run()["x"])


def test_another_driftopt_is_refused(task):
    asked = replace(elsewhere(origin(task)), version="0.0.9 0.4 2.0 cpu 1234")
    with pytest.raises(OtherCode, match=r"0\.0\.9.*\n.*Install the same on every worker"):
        run_task(task, asked)


def test_another_version_of_a_library_is_refused(monkeypatch):
    source = Simulated([kink(2)], ["a"])
    search = grid(LIBRARIES["scipy"], radius=0.5)
    task = source.task(search, [[0]], [0], [1], RunSettings(20), Tile(1, 1, 1))
    asked = elsewhere(origin(task))
    assert run_task(task, asked)[0]["queries"] == 20
    monkeypatch.setattr(contract, "installed_version", {"scipy": "99.0"}.get)
    with pytest.raises(OtherCode, match=r"scipy 99\.0 here"):
        run_task(task, asked)


def test_a_file_edited_after_the_worker_began_is_refused(own, task):
    """Its bytes are the asker's now, but the worker has loaded others."""
    asked = elsewhere(origin(task))
    os.utime(own.__file__)
    with pytest.raises(OtherCode, match=r"own_code.*Start the workers again"):
        run_task(task, asked)


def test_worker_processes_that_loaded_another_text_are_refused(own, tmp_path):
    call = {"budget": 20, "development": 1, "held_out": 2, "x0": [0.0, 0.0], "evaluations": 3}
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        scattered = driftopt.compare(own.noisy, [STEPS], executor=pool, folder=tmp_path / "kept", **call)
        here = driftopt.compare(own.noisy, [STEPS], **call)
        np.testing.assert_array_equal(scattered.tuned.held_out.x, here.tuned.held_out.x)
        Path(own.__file__).write_text(OWN.replace("2.0", "200.0"))
        with pytest.raises(OtherCode):
            driftopt.compare(own.noisy, [STEPS], executor=pool, folder=tmp_path / "kept", fresh=True, **call)
