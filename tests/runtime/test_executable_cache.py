"""Kept programs: found again by a second process, never where the code behind them may have changed."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.drivers import compiled_loop
from driftopt.problems import LocationShift, StrategicClassification, synthetic
from driftopt.pytree import module, static
from driftopt.runtime import executable_cache, jax_settings, paths

PROBLEM = StrategicClassification.from_arrays([[1.0, 0.0], [-0.5, 1.0], [0.3, -2.0]], [1, -1, 1])
METHOD = methods.get("zo-o2nc-2pt", radius=0.5, step=0.01, block=5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(executable_cache, "_loaded", {})
    executable_cache.keep_in(tmp_path / "programs")
    yield tmp_path / "programs"
    executable_cache.keep_in(None)


def run(method=METHOD, problem=PROBLEM, **numbers):
    return driftopt.simulate(method, problem, budget=60, rng=3, **numbers)


def forget(monkeypatch):
    """What a new process has not: programs in memory, and functions that may trace."""
    monkeypatch.setattr(executable_cache, "_loaded", {})

    def refuse(method, problems, keys, start, plan):
        raise AssertionError("a kept program was traced again")

    monkeypatch.setattr(compiled_loop, "_program", refuse)
    compiled_loop._compiled.cache_clear()


@pytest.fixture(autouse=True)
def _fresh():
    yield
    compiled_loop._compiled.cache_clear()


def test_a_kept_program_runs_without_being_traced(folder, monkeypatch):
    expected = run()
    assert len(list(folder.iterdir())) == 1
    forget(monkeypatch)
    np.testing.assert_array_equal(run().x, expected.x)


def test_another_seed_and_other_numbers_share_a_program(folder):
    run()
    driftopt.simulate(replace(METHOD, radius=0.7), PROBLEM, budget=60, rng=9)
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("change", ["budget", "rule", "loss", "code", "machine", "x64"])
def test_whatever_changes_the_code_changes_the_key(folder, monkeypatch, change):
    run()
    if change == "code":
        monkeypatch.setattr(executable_cache.fingerprint, "code_version", lambda: "another version")
    if change == "machine":
        monkeypatch.setattr(executable_cache, "machine", lambda: "another processor")
    monkeypatch.setattr(executable_cache, "_loaded", {})
    method = replace(METHOD, rule="last-block") if change == "rule" else METHOD
    problem = replace(PROBLEM, loss="logistic") if change == "loss" else PROBLEM
    with jax.enable_x64(change == "x64"):
        driftopt.simulate(method, problem, budget=70 if change == "budget" else 60, rng=3)
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "folder"])
def test_a_damaged_file_is_made_again(folder, monkeypatch, damage):
    expected = run()
    (path,) = folder.iterdir()
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        changed = {"cut": content[:-100], "flipped": content[:50] + b"x" + content[51:], "empty": b""}
        path.write_bytes(changed[damage])
    monkeypatch.setattr(executable_cache, "_loaded", {})
    np.testing.assert_array_equal(run().x, expected.x)
    assert damage == "folder" or path.stat().st_size >= len(content) // 2


def test_a_flipped_bit_never_reaches_the_loader(folder, monkeypatch):
    """In the midst of machine code it would not raise: it would run."""
    run()
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    loaded = []
    monkeypatch.setattr(
        executable_cache.serialize_executable, "deserialize_and_load", lambda *a, **_: loaded.append(a)
    )
    assert executable_cache._read(path, 1) is None
    assert not loaded


def test_a_file_that_cannot_be_run_is_made_again(folder, monkeypatch):
    expected = run()
    monkeypatch.setattr(executable_cache, "_loaded", {})

    def broken(*_):
        raise jax.errors.JaxRuntimeError("NOT_FOUND: a kernel is missing")

    monkeypatch.setattr(executable_cache, "_read", lambda *_: broken)
    np.testing.assert_array_equal(run().x, expected.x)


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch):
    monkeypatch.setattr(executable_cache, "_loaded", {})
    (tmp_path / "file").write_text("in the way")
    executable_cache.keep_in(tmp_path / "file" / "programs")
    try:
        assert np.isfinite(run().fun)
    finally:
        executable_cache.keep_in(None)


@module
class Mine(LocationShift):
    """A user's problem: its code may change from one process to the next."""


def test_a_users_class_is_never_kept(folder):
    made = synthetic.location_shift(2)
    mine = Mine(**vars(made))
    assert executable_cache.ours((METHOD, PROBLEM, made))
    assert not executable_cache.ours((METHOD, mine))
    run(problem=mine)
    assert not folder.exists()


def test_a_function_within_ours_is_never_kept():
    @module
    class Holder:
        fun: object = static(default=len)

    Holder.__module__ = "driftopt.somewhere"
    assert not executable_cache.ours(Holder())


def test_a_file_of_somebody_else_is_used(folder, monkeypatch):
    expected = run()
    forget(monkeypatch)

    def refuse(_):
        raise PermissionError

    monkeypatch.setattr(os, "utime", refuse)
    np.testing.assert_array_equal(run().x, expected.x)


def test_a_program_that_cannot_be_kept_runs(folder, monkeypatch):
    def refuse(_):
        raise pickle.PicklingError

    monkeypatch.setattr(executable_cache.serialize_executable, "serialize", refuse)
    assert np.isfinite(run().fun)
    assert not folder.exists()


def test_a_full_disk_leaves_no_half_of_a_file(folder, monkeypatch):
    folder.mkdir()

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert np.isfinite(run().fun)
    assert not list(folder.iterdir())


def test_without_jit_nothing_is_kept(folder):
    with jax.disable_jit():
        assert np.isfinite(driftopt.simulate(METHOD, PROBLEM, budget=4, rng=3).fun)
    assert not folder.exists()


def test_data_on_another_device_stays_there(folder):
    run()
    elsewhere = jax.device_put(PROBLEM, jax.local_devices()[1])
    np.testing.assert_array_equal(run(problem=elsewhere).x, run().x)


def test_a_cache_in_a_bucket_is_left_to_jax(monkeypatch, tmp_path):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "gs://bucket/cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    seen = {}
    monkeypatch.setattr(jax.config, "update", seen.__setitem__)
    monkeypatch.setattr(executable_cache, "_folder", None)
    jax_settings.prepare()
    assert seen["jax_compilation_cache_dir"] == "gs://bucket/cache"
    assert executable_cache._folder == paths.cache_folder() / "programs"


def test_only_the_latest_files_stay(folder, monkeypatch):
    monkeypatch.setattr(executable_cache, "FILES", 2)
    for age, budget in enumerate((60, 70, 80)):
        driftopt.simulate(METHOD, PROBLEM, budget=budget, rng=0)
        for path in folder.iterdir():
            os.utime(path, (age, age)) if path.stat().st_mtime > 1e6 else None
    assert len(list(folder.iterdir())) == 2


def test_a_library_keeps_nothing_unless_asked():
    code = "import driftopt.runtime.executable_cache as e; assert e._folder is None"
    subprocess.run([sys.executable, "-c", code], check=True)


SCRIPT = """
import jax, numpy as np, sys
from pathlib import Path
jax.config.update("jax_num_cpu_devices", 2)
from driftopt.runtime import executable_cache
from driftopt.drivers import compiled_loop
executable_cache.keep_in(Path(sys.argv[1]))
if sys.argv[2] == "again":
    compiled_loop._compiled = None
from test_executable_cache import run
print(run().x.tolist())
"""


def test_a_second_process_finds_what_the_first_made(tmp_path):
    answers = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path), which],
            check=True,
            capture_output=True,
            text=True,
            cwd=os.path.dirname(__file__),
        ).stdout
        for which in ("first", "again")
    ]
    assert answers[0] == answers[1] != ""
