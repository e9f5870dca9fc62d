"""The walks of docs/architecture.md are the ways that calls take, file by file."""

import importlib
import inspect
import pkgutil
import re
import sys
import threading
from pathlib import Path
from unittest import mock

import jax
import numpy as np
import pytest

import driftopt
from driftopt import methods, problems
from driftopt.drivers import one_kernel
from driftopt.runtime import executable_cache
from support import paper_runs

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
HERE = Path(driftopt.__file__).parent

# What the page says it does not list.
TOOLS = (
    "__init__.py",
    "averages.py",
    "checks.py",
    "pytree.py",
    "rng/",
    "runtime/code_of_others.py",
    "runtime/fingerprint.py",
    "runtime/forks.py",
    "runtime/hashing.py",
    "runtime/process_name.py",
    "drivers/compiler_options.py",
)
DRIVEN = ("method.py", "oracle.py", "problem.py", "methods/", "problems/")
ONE_DOOR = ("answers/", "space/", "study/log/", "drivers/")  # rooms that a study enters by one file


def listed(heading, part=None):
    """The files of a walk, as the page gives them."""
    section = re.search(rf"^### {heading}\n(.*?)(?=^### |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)[1]
    if part is not None:
        section = re.search(rf"^`{part}`:\n(.*?)(?=^`\w+`:|\Z)", section, flags=re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^\| `([\w/]+\.py)` \|", section, flags=re.MULTILINE)


def walk(call):
    """The files of driftopt in the order in which a call first enters one of their functions."""
    for module in pkgutil.walk_packages(driftopt.__path__, "driftopt."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)  # else class bodies would count as calls
    forget()
    # By identity, since to hash code takes long: what is of no file still to be visited, as nearly all is.
    visited, known = [], {}

    def entered(frame, event, _):
        if event != "call" or id(frame.f_code) in known:
            return
        path = frame.f_code.co_filename
        own = path.startswith(f"{HERE}/") and frame.f_code.co_name != "<module>"
        if own and heard(frame):
            return
        known[id(frame.f_code)] = frame.f_code
        name = path.removeprefix(f"{HERE}/")
        if own and name not in visited:
            visited.append(name)

    folder = executable_cache._folder  # a command that was tested before in this process may have set it
    executable_cache.keep_in(None)
    threading.setprofile(entered)
    sys.setprofile(entered)
    try:
        with mock.patch("jax._src.lru_cache.LRUCache.put"):  # the tests' own way of keeping what JAX compiles
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        executable_cache.keep_in(folder)
    return visited


def heard(frame):
    """Whether JAX calls a listener there, which an earlier test may have left: no step of the walk."""
    return frame.f_back is not None and frame.f_back.f_code.co_filename == inspect.getfile(
        jax.monitoring.record_event
    )


def forget():
    """What an earlier test left in memory, without which the walk is that of a new process."""
    jax.clear_caches()
    held = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("driftopt.")]
    for value in [value for names in held for value in list(names.values())]:
        if isinstance(value, one_kernel.Program):
            value.forget()
        elif value is not one_kernel._place and callable(clear := getattr(value, "cache_clear", None)):
            clear()  # but the place, where arrays of an open study may be


def check(call, heading, part=None, inner=()):
    """Every file that a call enters is listed, in that order, but for tools, what is driven and inner files.

    Args:
        call: what is followed.
        heading: of the walk on the page.
        part: of the walk, where it has several.
        inner: beginnings of files that stand behind one that is listed.

    Returns:
        The files, as listed.
    """
    visited, files = walk(call), listed(heading, part)
    assert len(files) > 3
    passed = (*TOOLS, *DRIVEN, *inner)
    assert [name for name in visited if name in files or not name.startswith(passed)] == files
    return files


def test_the_walk_of_minimize():
    bounds = [(0, 5), (0, 5)]
    check(
        lambda: driftopt.minimize(
            lambda x: np.abs(x).sum(), [1.0, 2.0], budget=20, radius=0.5, bounds=bounds
        ),
        "minimize",
    )


def test_the_walk_of_simulate_many():
    shops = driftopt.stack([problems.Pricing.synthetic(seed) for seed in range(2)])
    method = methods.get("zo-o2nc-2pt", radius=np.array([0.1, 0.2]), step=1e-3, block=20)
    check(lambda: driftopt.simulate_many(method, shops, budget=40, seeds=[0]), "simulate_many")


def test_the_walk_of_a_study(tmp_path):
    kept = []

    def create():
        kept.append(driftopt.Study.create(tmp_path / "a.db", "a", x0=[1.0, 2.0], budget=20, radius=0.3))

    check(create, "Study", "create")
    study = kept[0]
    passed = check(lambda: kept.append(study.ask()), "Study", "ask", ONE_DOOR)
    passed += check(lambda: study.tell(kept[1].id, 1.0), "Study", "tell", ONE_DOOR)
    passed += check(study.recommend, "Study", "recommend", ONE_DOOR)
    rooms = {next((room for room in ONE_DOOR if file.startswith(room)), file) for file in passed}
    records = {f"study/{name}.py" for name in ("spec", "trial", "open_iteration")}
    assert records < rooms
    assert len(rooms - records) == 12, "the page says how many files and rooms they pass"


@pytest.mark.slow
def test_the_walk_of_reproduce(tmp_path):
    visited = walk(lambda: paper_runs.reproduce(tmp_path, only="strategic"))
    assert [name for name in visited if name in listed("reproduce")] == listed("reproduce")


def test_the_tree_is_the_tree():
    tree = re.search(r"```text\nsrc/driftopt/\n(.*?)```", PAGE, flags=re.DOTALL)[1]
    rooms = {path.name for path in HERE.iterdir() if (path / "__init__.py").exists()}
    assert not [room for room in sorted(rooms) if f"{room}/" not in tree]
    assert not [path.name for path in HERE.glob("*.py") if path.name not in tree]
