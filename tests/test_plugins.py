"""Methods and problems that others bring: by an installed package, by `register`, or as an instance."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods, plugins, problems, sweep
from driftopt.methods import registry as methods_registry
from driftopt.problems import registry as problems_registry
from support.tiny_package import install

SOURCE = Path(driftopt.__file__).parents[1]

FIVE_ENTRIES = """
import sys
import numpy as np
import driftopt
from driftopt import methods, problems, sweep
from driftopt.cli import app

folder, noise = sys.argv[1], np.random.default_rng(0)
assert "coin" in methods.names() and "valley" in problems.names()
assert methods.entry("coin").provider == "tiny-driftopt"
problem, coin = problems.get("valley", dim=2), methods.get("coin", radius=0.3)
assert driftopt.simulate(coin, problem, budget=40).queries == 40
runs = sweep.run([sweep.grid("coin", radius=[0.3, 0.6])], [problem], budget=40, seeds=[1], progress=False)
assert len(runs) == 2 and np.isfinite(runs.columns["objective"]).all()
table = driftopt.compare(problem, {"coin": {"radius": [0.3, 0.6]}}, budget=40, development=1, held_out=2)
assert table.score("coin").runs == 2
noisy = lambda x: float(x @ x) + noise.normal()
found = driftopt.minimize(noisy, [1.0, 1.0], budget=40, method="coin", radius=1)
assert found.nfev == 40 and found.params["method"] == "coin"
study = driftopt.Study.create(folder + "/s.db", "s", x0=[1.0, 1.0], budget=10, method="coin", radius=0.5)
trial = study.ask()
study.tell(trial.id, 1.0)
assert study.trials()[0].value == 1.0
app(["methods"], exit_on_error=False, result_action="return_value")
"""


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
        ("driftopt.methods]\nbad = tiny_broken:NUMBER", "build must be a function or a class"),
        ("driftopt.methods]\nbad = tiny_broken:open_ended", "build must name every parameter; numbers"),
        ("driftopt.methods]\nauto = tiny_broken:Coin", "driftopt has a method of that name itself"),
        ("driftopt.methods]\nb ad = tiny_broken:Coin", "its name must be up to 100 letters"),
        ("driftopt.problems]\nbad = tiny_broken:NUMBER", "build must be a Problem"),
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
    methods.register("walk", walk)
    methods.register("walk", walk)  # a notebook's cell, run twice
    line = methods.entry("walk")
    assert line.parameters == ("radius", "step")
    assert line.example == {"radius": 0.5}
    assert (line.summary, line.provider) == ("Two points under another name.", __name__.partition(".")[0])
    assert methods.describe()["walk"] == line.summary
    found = driftopt.minimize(lambda x: float(x @ x), [1.0], budget=20, method="walk", radius=0.1, rng=0)
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
        (lambda: methods.register("a b", walk), "name must be up to 100 letters"),
        (lambda: methods.register("walk", 3), "build must be a function"),
        (lambda: problems.register("kink", walk), "'kink' is a problem of driftopt already"),
        (lambda: problems.register("hole", 3), "build must be a Problem"),
        (lambda: problems.get("kinky"), "unknown problem 'kinky'.*did you mean kink"),
    ],
)
def test_what_cannot_be_registered_is_refused(call, message, forgotten):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_builder_that_makes_something_else_is_refused(forgotten):
    methods.register("nothing", lambda radius: None)
    with pytest.raises(ValueError, match="method must be a Method"):
        methods.get("nothing", radius=1)


# Instances in place of names


def noisy(x, rng):
    return float(np.sum((x - 1) ** 2) + rng.normal(0, 0.1))


def test_an_instance_works_wherever_a_name_does():
    """Each entry with the Method itself against the same entry with its name."""
    method, numbers = methods.get("zo-sph", radius=0.5, step=0.01), {"radius": 0.5, "step": 0.01}
    call = {"x0": [0.0, 0.0], "budget": 40, "rng": 3}
    one = driftopt.minimize(noisy, method=method, args=(np.random.default_rng(0),), **call)
    two = driftopt.minimize(noisy, method="zo-sph", params=numbers, args=(np.random.default_rng(0),), **call)
    np.testing.assert_array_equal(one.history["x"], two.history["x"])
    assert one.params["method"] == "SGD"
    assert (one.params["radius"], one.params["step"], one.params["seed"]) == (0.5, 0.01, 3)

    problem, call = problems.kink(2), {"budget": 40, "seeds": [1, 2], "progress": False}
    instance = sweep.run([method], [problem], **call)
    named = sweep.run([sweep.grid("zo-sph", **numbers)], [problem], **call)
    np.testing.assert_array_equal(instance.x, named.x)
    assert set(instance.columns["method"]) == {"SGD"}

    for subject, more in ((problem, {}), (noisy, {"x0": [0.0, 0.0], "evaluations": 5})):
        given = {"mine": method, "other": {"method": method, "step": [0.01, 0.02]}, "zo-sph": numbers}
        table = driftopt.compare(subject, given, budget=40, development=1, held_out=2, **more)
        assert table.score("mine").mean == table.score("zo-sph").mean
        assert table.score("other").configurations == 2


def test_other_numbers_of_an_instance():
    product = sweep.grid(methods.get("zo-sph", radius=0.5, step=0.01), step=[0.1, 0.2], label="mine")
    assert [float(product.method(i).step) for i in range(2)] == [0.1, 0.2]
    assert product.configurations[0]["radius"] == 0.5
    with pytest.raises(ValueError, match="SGD has no parameter speed"):
        sweep.grid(methods.get("zo-sph", radius=0.5, step=0.01), speed=1)


class Undecorated(methods.SGD):
    """A subclass that is no pytree of its own."""


@driftopt.pytree.module
class WithoutBatch(driftopt.Method):
    radius: Any = 1.0
    broadcasts: ClassVar[bool] = False

    def points(self, dim: int) -> int:
        return 1

    def init(self, key: jax.Array, x0: jax.Array) -> Any:
        return (key, jnp.int32(0), x0)

    def noise(self, key: jax.Array, count: Any, dim: int) -> Any:
        return ()

    ask = tell = recommend = init


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            Undecorated(0.5, 0.1, 1, 1, None),
            r"Undecorated is no pytree: decorate .* @driftopt\.pytree\.module",
        ),
        (WithoutBatch(), "WithoutBatch has no batch"),
        (WithoutBatch, r"method must be an instance: make one, WithoutBatch\(…\)"),
        (3, "method must be a"),
    ],
)
def test_what_is_no_method_is_a_sentence_in_every_entry(method, message):
    problem = problems.kink(2)
    for call in (
        lambda: driftopt.simulate(method, problem, budget=10),
        lambda: driftopt.simulate_many(method, driftopt.stack([problem]), budget=10, seeds=[0]),
        lambda: driftopt.minimize(lambda x: 0.0, [0.0], budget=10, method=method),
        lambda: sweep.run([method], [problem], budget=10, seeds=[0]),
        lambda: driftopt.compare(problem, [method], budget=10),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_an_instance_has_its_own_numbers():
    method = methods.get("zo-sph", radius=0.5, step=0.01)
    with pytest.raises(ValueError, match="radius and params go with a method's name"):
        driftopt.minimize(lambda x: 0.0, [0.0], budget=10, method=method, radius=1.0)
    several = methods.get("zo-sph", radius=[0.5, 1.0], step=0.01)
    with pytest.raises(ValueError, match="one value for each number"):
        driftopt.minimize(lambda x: 0.0, [0.0], budget=10, method=several)
    with pytest.raises(ValueError, match="one value for each number"):
        sweep.grid(several)


def test_the_radius_is_given_once():
    call = {"fun": lambda x: float(x @ x), "x0": [1.0], "budget": 10, "rng": 0}
    one = driftopt.minimize(**call, radius=0.5)
    two = driftopt.minimize(**call, params={"radius": 0.5})
    np.testing.assert_array_equal(one.x, two.x)
    with pytest.raises(ValueError, match="give radius once"):
        driftopt.minimize(**call, radius=0.5, params={"radius": 0.5})


def test_a_study_names_the_package_that_brings_its_method(tmp_path, forgotten):
    methods.register("walk", walk)
    study = driftopt.Study.create(tmp_path / "s.db", "s", x0=[1.0], budget=10, method="walk", radius=0.5)
    trial = study.ask()
    provider = methods.entry("walk").provider
    assert study.spec.provider == provider
    methods_registry._REGISTERED.clear()  # another process, where the package is not installed
    again = driftopt.Study.open(tmp_path / "s.db", "s")
    again.tell(trial.id, 1.0)  # answering does not need the method
    with pytest.raises(ValueError, match=f"'walk' is not there: {provider} brings it"):
        again.recommend()


def test_a_study_asks_for_a_name(tmp_path):
    method = methods.get("zo-sph", radius=0.5, step=0.01)
    with pytest.raises(ValueError, match=r"method must be a name, .* driftopt\.methods\.register"):
        driftopt.Study.create(tmp_path / "s.db", "s", x0=[1.0], budget=10, method=method)
