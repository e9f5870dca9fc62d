"""Kept programs: found again by a second process, never where the code behind them may have changed."""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

import driftopt
from driftopt import methods
from driftopt.drivers import compiled_loop, observed_loop
from driftopt.problems import LocationShift, StrategicClassification, synthetic
from driftopt.pytree import module
from driftopt.runtime import executable_cache

PROBLEM = StrategicClassification.from_arrays([[1.0, 0.0], [-0.5, 1.0], [0.3, -2.0]], [1, -1, 1])
METHOD = methods.get("zo-o2nc-2pt", radius=0.5, step=0.01, block=5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(executable_cache, "_loaded", {})
    executable_cache.keep_in(tmp_path / "programs")
    yield tmp_path / "programs"
    executable_cache.keep_in(None)


@pytest.fixture(scope="module")
def one_program(tmp_path_factory):
    """A folder as one run leaves it."""
    programs = tmp_path_factory.mktemp("made") / "programs"
    with pytest.MonkeyPatch.context() as patch, without_jaxs_own_cache(patch):
        patch.setattr(executable_cache, "_loaded", {})
        executable_cache.keep_in(programs)
        try:
            run()
        finally:
            executable_cache.keep_in(None)
    return programs


@pytest.fixture
def filled(folder, one_program):
    """The folder after one run, whose program is read and not made: a third of a second instead of one."""
    shutil.copytree(one_program, folder)
    return folder


def kept(folder):
    """The files of programs."""
    return [path for path in folder.iterdir() if not path.is_dir()]


def run(method=METHOD, problem=PROBLEM, **numbers):
    return driftopt.simulate(method, problem, budget=60, rng=3, **numbers)


def forget(monkeypatch):
    """What a new process has not: programs in memory, and functions that may trace."""
    monkeypatch.setattr(executable_cache, "_loaded", {})

    def refuse(method, problems, keys, start, plan):
        raise AssertionError("a kept program was traced again")

    monkeypatch.setattr(compiled_loop, "_program", refuse)
    monkeypatch.setattr(compiled_loop, "_compiled", cache(compiled_loop._compiled.__wrapped__))


@contextmanager
def without_jaxs_own_cache(monkeypatch):
    """What JAX finds there is not kept once more, and the tests have filled it."""
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    yield
    jax.config.update("jax_enable_compilation_cache", True)
    compilation_cache.reset_cache()


@pytest.fixture(autouse=True)
def _apart(monkeypatch):
    with without_jaxs_own_cache(monkeypatch):
        yield


def test_a_kept_program_runs_without_being_traced(folder, monkeypatch):
    expected = run()
    assert len(kept(folder)) == 1
    forget(monkeypatch)
    np.testing.assert_array_equal(run().x, expected.x)


def test_threads_that_want_one_program_wait_for_one_of_them(folder, monkeypatch):
    made, make, both = [], executable_cache._make, threading.Barrier(2)

    def counted(*given):
        made.append(given)
        return make(*given)

    def together(_):
        both.wait()
        return run().x

    monkeypatch.setattr(executable_cache, "_make", counted)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(together, range(2))
    np.testing.assert_array_equal(one, other)
    assert len(made) == 1


@dataclass(frozen=True)
class Named:
    """The plan of a program of which only this matters."""

    name: str
    devices: int = 1


@pytest.mark.parametrize("as_files", [False, True])
def test_a_problem_that_simulates_while_it_is_traced_waits_for_nobody_who_waits_for_it(
    folder, monkeypatch, as_files
):
    """One thread traces a program and needs another, which a second thread is about to trace."""
    executable_cache.keep_in(folder if as_files else None)
    inside, coming, lower = threading.Event(), threading.Event(), executable_cache._lowered
    ones = (jax.numpy.ones(3),)

    def lowered(jitted, arguments, plan):
        if plan == Named("inner") and inside.is_set():
            coming.set()
        return lower(jitted, arguments, plan)

    @cache
    def inner():
        return jax.jit(lambda x, plan: (x + 1, x), static_argnums=1)

    def traced(x, plan):
        inside.set()
        coming.wait()
        with jax.ensure_compile_time_eval():
            return x + executable_cache.call(inner, ones, Named("inner"))[0], x

    @cache
    def outer():
        return jax.jit(traced, static_argnums=1)

    def second():
        inside.wait()
        found.append(executable_cache.call(inner, ones, Named("inner"))[0])

    found = []
    monkeypatch.setattr(executable_cache, "_lowered", lowered)
    # One of its own: threads that wait for ever must not keep the other tests waiting too.
    monkeypatch.setattr(executable_cache, "_LOWERING", threading.RLock())
    first = lambda: found.append(executable_cache.call(outer, ones, Named("outer"))[0])  # noqa: E731
    threads = [threading.Thread(target=work, daemon=True) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert not any(thread.is_alive() for thread in threads)
    assert sorted(float(one.sum()) for one in found) == [6.0, 9.0]


def test_a_program_of_the_second_loop_is_kept_too(folder, monkeypatch):
    """Methods that see more than values run in a loop whose programs give three arrays."""
    rgd = methods.get("rgd", **methods.entry("rgd").example)
    problem = synthetic.location_shift(2)
    expected = run(rgd, problem)
    assert len(kept(folder)) == 1
    monkeypatch.setattr(executable_cache, "_loaded", {})

    def refuse(*_):
        raise AssertionError("a kept program was traced again")

    monkeypatch.setattr(observed_loop, "_compiled", refuse)
    np.testing.assert_array_equal(run(rgd, problem).x, expected.x)


def test_another_seed_and_other_numbers_share_a_program(filled):
    run()
    driftopt.simulate(replace(METHOD, radius=0.7), PROBLEM, budget=60, rng=9)
    assert len(kept(filled)) == 1


@pytest.mark.parametrize("change", ["budget", "rule", "loss", "code", "machine", "x64"])
def test_whatever_changes_the_code_changes_the_key(filled, monkeypatch, change):
    run()
    if change == "code":
        monkeypatch.setattr(executable_cache.fingerprint, "code_version", lambda: "another version")
    if change == "machine":
        monkeypatch.setattr(executable_cache, "machine", lambda: "another processor")
    monkeypatch.setattr(executable_cache, "_loaded", {})
    method = replace(METHOD, output="last-block") if change == "rule" else METHOD
    problem = replace(PROBLEM, loss="logistic") if change == "loss" else PROBLEM
    with jax.enable_x64(change == "x64"):
        driftopt.simulate(method, problem, budget=70 if change == "budget" else 60, rng=3)
    assert len(kept(filled)) == 2


@contextmanager
def loaded(monkeypatch):
    """The programs that reach JAX's loader meanwhile."""
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(
            executable_cache.serialize_executable, "deserialize_and_load", lambda *a, **_: found.append(a)
        )
        yield found


def flipped(content):
    """One bit in the midst of machine code, which would not raise: it would run."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def bind(path):
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path.name)  # from there: a socket's path may have 107 characters


IN_ITS_PLACE = {
    "cut": lambda path, content: path.write_bytes(content[:-100]),
    "flipped": lambda path, content: path.write_bytes(flipped(content)),
    "empty": lambda path, content: path.touch(),
    "folder": lambda path, content: path.mkdir(),
    "pipe": lambda path, content: os.mkfifo(path, 0o600),
    "socket": lambda path, content: bind(path),
}


@pytest.mark.parametrize("damage", IN_ITS_PLACE)
def test_a_damaged_file_never_reaches_the_loader_and_is_made_again(filled, monkeypatch, damage):
    expected = run()
    (path,) = kept(filled)
    content = path.read_bytes()
    path.unlink()
    IN_ITS_PLACE[damage](path, content)
    monkeypatch.setattr(executable_cache, "_loaded", {})
    with loaded(monkeypatch) as found:
        np.testing.assert_array_equal(run().x, expected.x)
    assert not found
    assert damage == "folder" or path.stat().st_size >= len(content) // 2


OTHERS = {
    "belongs to user 12345, not to you": lambda thing: os.chown(thing, 12345, 12345),
    "can be written by others": lambda thing: thing.chmod(thing.stat().st_mode | 0o020),
}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("says", OTHERS)
@pytest.mark.parametrize("which", ["program", "folder"])
def test_what_somebody_else_may_have_written_never_reaches_the_loader(filled, monkeypatch, which, says):
    expected = run()
    (path,) = kept(filled)
    OTHERS[says](path if which == "program" else filled)
    monkeypatch.setattr(executable_cache, "_loaded", {})
    with loaded(monkeypatch) as found, pytest.warns(UserWarning, match=says):
        np.testing.assert_array_equal(run().x, expected.x)
    assert not found


def test_a_link_is_not_followed(filled, monkeypatch):
    expected = run()
    (path,) = kept(filled)
    path.rename(filled.parent / "elsewhere")
    path.symlink_to(filled.parent / "elsewhere")
    monkeypatch.setattr(executable_cache, "_loaded", {})
    with loaded(monkeypatch) as found:
        np.testing.assert_array_equal(run().x, expected.x)
    assert not found


def test_a_file_that_cannot_be_run_is_made_again(filled, monkeypatch):
    expected = run()
    monkeypatch.setattr(executable_cache, "_loaded", {})

    def broken(*_):
        raise jax.errors.JaxRuntimeError("NOT_FOUND: a kernel is missing")

    monkeypatch.setattr(executable_cache, "_read", lambda *_: broken)
    np.testing.assert_array_equal(run().x, expected.x)


@module
class Mine(LocationShift):
    """A user's problem: its code may change from one process to the next."""


def test_a_users_class_is_never_kept(folder):
    problem = synthetic.location_shift(2)
    mine = Mine(**vars(problem))
    run(problem=mine)
    assert not folder.exists()


def test_a_program_under_another_name_never_reaches_the_loader(filled, monkeypatch):
    """A file that is ours and whole, but was made for another program: shapes may agree and numbers not."""
    run()
    (path,) = kept(filled)
    driftopt.simulate(METHOD, PROBLEM, budget=70, rng=3)
    (other,) = (file for file in kept(filled) if file != path)
    other.write_bytes(path.read_bytes())
    trees = (jax.tree.structure(((METHOD,), {})), jax.tree.structure((0, 0)))
    with loaded(monkeypatch) as found:
        for file in (path, other):
            executable_cache._read(file, trees, 1)
    ((content, *used),) = found
    assert content == path.read_bytes()[executable_cache.CHECKSUM :]
    assert tuple(used) == trees  # made here, never read from a file


def test_what_is_made_is_private(folder):
    run()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_full_disk_leaves_no_half_of_a_file(folder, monkeypatch):
    folder.mkdir()

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert np.isfinite(run().fun)
    assert not list(folder.iterdir())


def test_data_on_another_device_runs_with_the_same_program(filled):
    """A program is bound to its devices: arguments that lie elsewhere are brought to them, not refused."""
    expected = run()
    elsewhere = jax.device_put(PROBLEM, jax.local_devices()[1])
    assert {leaf.device for leaf in jax.tree.leaves(elsewhere)} == {jax.local_devices()[1]}
    np.testing.assert_array_equal(run(problem=elsewhere).x, expected.x)
    assert len(kept(filled)) == 1


def test_only_the_latest_files_stay(folder, monkeypatch):
    monkeypatch.setattr(executable_cache, "FILES", 2)
    files = []
    (folder / "a folder of somebody's").mkdir(parents=True)
    os.utime(folder / "a folder of somebody's", (0, 0))
    for age, budget in enumerate((60, 70, 80)):
        driftopt.simulate(METHOD, PROBLEM, budget=budget, rng=0)
        (new,) = set(kept(folder)) - set(files)  # the newest is there, whatever went
        os.utime(new, (age, age))
        files.append(new)
    assert set(kept(folder)) == set(files[1:])
    # Used again, the second is younger than the third.
    monkeypatch.setattr(executable_cache, "_loaded", {})
    driftopt.simulate(METHOD, PROBLEM, budget=70, rng=0)
    driftopt.simulate(METHOD, PROBLEM, budget=90, rng=0)
    assert files[1] in kept(folder)
    assert files[2] not in kept(folder)


SCRIPT = """
import jax, numpy as np, sys
from pathlib import Path
jax.config.update("jax_num_cpu_devices", 2)
from driftopt.runtime import executable_cache
from driftopt.drivers import compiled_loop, observed_loop
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
