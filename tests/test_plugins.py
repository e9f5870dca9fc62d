"""Methods and problems that others bring: by an installed package or by `register`."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftopt
from driftopt import methods, plugins, problems
from driftopt.cli import app
from driftopt.methods import registry as methods_registry
from driftopt.problems import registry as problems_registry
from support.tiny_package import FIVE_ENTRIES, install

SOURCE = Path(driftopt.__file__).parents[1]


def test_an_installed_package_is_at_home_in_every_entry(tmp_path):
    """A fresh interpreter that is told nothing: simulate, sweep, compare, minimize, Study, shell."""
    path = os.pathsep.join([str(install(tmp_path)), str(SOURCE)])
    command = [sys.executable, "-W", "error", "-c", FIVE_ENTRIES, str(tmp_path)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if " coin " in line]
    assert "tiny-driftopt" in line
    assert "Steps of a fixed length" in line


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install packages into a folder on the path, and forget them afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    plugins.loaded.cache_clear()
    yield lambda *args, **kwargs: install(tmp_path, *args, **kwargs)
    plugins.loaded.cache_clear()


@pytest.mark.parametrize(
    ("point", "why"),
    [
        ("driftopt.methods]\nbad = tiny_broken:nothing", "has no attribute 'nothing'"),
        ("driftopt.methods]\nbad = no_such_module:x", "No module named 'no_such_module'"),
        ("driftopt.methods]\nbad = tiny_broken:NUMBER", "build"),
        ("driftopt.methods]\nbad = tiny_broken:open_ended", "build"),
        ("driftopt.methods]\nauto = tiny_broken:Coin", "driftopt has a method of that name itself"),
        ("driftopt.methods]\nb ad = tiny_broken:Coin", "its name must be up to 100 letters"),
        ("driftopt.problems]\nbad = tiny_broken:NUMBER", "build"),
        ("driftopt.problems]\nkink = tiny_broken:valley", "driftopt has a problem of that name itself"),
    ],
)
def test_a_broken_plugin_is_named_and_breaks_nothing(installed, point, why):
    before = set(methods.names()) | set(problems.names())
    code = (install.__globals__["CODE"]) + "\nNUMBER = 3\ndef open_ended(*numbers): ...\n"
    installed("tiny-broken", f"[{point}\n", code)
    installed()
    plugins.loaded.cache_clear()
    with pytest.warns(plugins.PluginWarning, match="tiny-broken") as caught:
        after = set(methods.names()) | set(problems.names())
    (warning,) = caught
    assert why in str(warning.message)
    assert after == before | {"coin", "valley"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        methods.names()  # it is said once


@pytest.mark.parametrize(("room", "word"), [(methods, "method"), (problems, "problem")])
def test_who_asks_for_a_broken_plugin_is_told_why_it_is_not_there(installed, room, word):
    installed("tiny-broken", f"[driftopt.{word}s]\nbad = no_such_module:x\n")
    plugins.loaded.cache_clear()
    with pytest.warns(plugins.PluginWarning, match="tiny-broken"):
        room.names()
    told = f"{word} 'bad' is not there: tiny-broken offers 'bad' .* No module named 'no_such_module'"
    with pytest.raises(ValueError, match=told):
        room.get("bad")


def test_of_two_packages_with_one_name_the_first_is_used(installed):
    installed("a-tiny")
    installed("b-tiny")
    plugins.loaded.cache_clear()
    with pytest.warns(plugins.PluginWarning, match="b-tiny offers 'coin' .* a-tiny brings too"):
        assert methods.entry("coin").provider == "a-tiny"


def test_a_missing_method_names_the_package_that_brings_it():
    with pytest.raises(ValueError, match="'coin' is not there: tiny-driftopt brings it"):
        methods.entry("coin", provider="tiny-driftopt")
    with pytest.raises(ValueError, match="unknown method 'zo-coo'; did you mean zo-co"):
        methods.entry("zo-coo", provider="driftopt")


# Registered while the program runs


def walk(radius: Any, step: Any = 0.02) -> methods.Method:
    """Two points under another name."""
    return methods.get("zo-sph", radius=radius, step=step)


@pytest.fixture
def forgotten():
    """What a test registers is gone after it."""
    yield
    methods_registry._REGISTERED.clear()
    problems_registry._REGISTERED.clear()


def test_a_registered_method_has_a_name(forgotten):
    methods.register("stroll", walk)
    methods.register("stroll", walk)  # a notebook's cell, run twice
    line = methods.entry("stroll")
    assert line.parameters == ("radius", "step")
    assert line.example == {"radius": 0.5}
    assert (line.summary, line.provider) == ("Two points under another name.", __name__.partition(".")[0])
    assert methods.describe()["stroll"] == line.summary
    found = driftopt.minimize(lambda x: float(x @ x), [1.0], budget=20, method="stroll", radius=0.1, rng=0)
    named = {"method": "zo-sph", "params": {"step": 0.02}, "radius": 0.1}
    same = driftopt.minimize(lambda x: float(x @ x), [1.0], budget=20, rng=0, **named)
    np.testing.assert_array_equal(found.x, same.x)


def test_a_registered_problem_has_a_name(forgotten):
    problems.register("hollow", lambda depth=1.0: problems.kink(2), summary="a hollow")
    problems.register("one", problems.kink(3))
    assert problems.get("hollow", depth=2.0).dim == 2
    assert problems.get("one").dim == 3
    assert problems.describe()["hollow"] == "a hollow"
    with pytest.raises(ValueError, match="do not fit hollow"):
        problems.get("hollow", width=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: methods.register("auto", walk), "'auto' is a method of driftopt already"),
        (lambda: methods.register("a b", walk), "name"),
        (lambda: methods.register("stroll", 3), "build"),
        (lambda: problems.register("kink", walk), "'kink' is a problem of driftopt already"),
        (lambda: problems.register("hole", 3), "build"),
        (lambda: problems.get("kinky"), "unknown problem 'kinky'.*did you mean kink"),
    ],
)
def test_what_cannot_be_registered_is_refused(call, message, forgotten):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_builder_that_makes_something_else_is_refused(forgotten):
    methods.register("nothing", lambda radius: None)
    with pytest.raises(ValueError, match="method"):
        methods.get("nothing", radius=1)


def moody(radius: Any, step: Any = 0.02) -> methods.Method:
    """A method whose builder refuses what driftopt would try."""
    if radius > 0.2:
        raise RuntimeError("the moon is full")
    return methods.get("zo-sph", radius=radius, step=step)


def test_what_a_method_sees_is_asked_with_the_numbers_of_its_user(capsys, forgotten):
    methods.register("mine", moody)
    twin = {"method": "zo-sph", "params": {"step": 0.02}}
    mine = {"method": "mine", "params": {"step": 0.02}}
    runs = [
        driftopt.minimize(lambda x: float(x @ x), [1.0], budget=20, radius=0.1, rng=0, **one)
        for one in (mine, twin)
    ]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    for arguments in (["methods"], ["methods", "mine"], ["methods", "--json"], ["methods", "mine", "--json"]):
        app(arguments, exit_on_error=False, result_action="return_value")
    said = capsys.readouterr().out
    assert "sees what its numbers decide; finds an optimum" in said
    assert '"name": "mine"' in said


def test_a_method_that_a_script_registered_is_asked_of_the_script(tmp_path, capsys, forgotten):
    """A script's module is `__main__`, which nobody can install."""
    script = type(walk)(
        walk.__code__, {**walk.__globals__, "__name__": "__main__"}, "stroll", walk.__defaults__
    )
    script.__module__ = "__main__"
    methods.register("stroll", script)
    app(["methods", "stroll"], exit_on_error=False, result_action="return_value")
    assert "registered by a script" in capsys.readouterr().out
    study = driftopt.Study.create(tmp_path / "s.db", "s", x0=[1.0], budget=10, method="stroll", radius=0.5)
    methods_registry._REGISTERED.clear()
    with pytest.raises(ValueError, match=r"a script gave it that name .* Run or import that script first"):
        driftopt.Study.open(tmp_path / "s.db", study.name).ask()
