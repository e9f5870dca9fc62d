"""A comparison on a Python function is reused only where nothing that the function can reach has changed."""

import functools
import importlib
import sys

import pytest

from driftopt import compare, methods
from driftopt.methods import registry


def judge(fun, folder, **more):
    given = {"budget": 20, "x0": [0.0], "development": 1, "held_out": 2, "evaluations": 3}
    comparison = compare(fun, {"zo-sph": {"step": 0.05, "radius": 0.5}}, folder=folder, **given, **more)
    return comparison.tuned.manifest["held_out"]["parts_found_finished"], comparison.score("zo-sph").mean


def test_what_a_function_calls_is_part_of_the_work(tmp_path, monkeypatch):
    """The example that printed old figures as new: noisy calls simulator.target, which is changed."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "the_user.py").write_text(
        "import the_simulator\n"
        "def noisy(x, rng):\n"
        "    return float((x[0] - the_simulator.target()) ** 2 + rng.normal())\n"
    )
    found = []
    for target in (2, 2, 200):
        (tmp_path / "the_simulator.py").write_text(f"def target():\n    return {target}\n")
        for name in ("the_user", "the_simulator"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        found.append(judge(importlib.import_module("the_user").noisy, tmp_path / "results"))
    assert [reuse for reuse, _ in found] == [0, 1, 0]
    assert found[0][1] == found[1][1]
    assert found[2][1] > 1000


TARGET = 2.0


def by_global(x):
    return float((x[0] - TARGET) ** 2)


def test_a_global_that_a_function_reads_is_part_of_the_work(tmp_path, monkeypatch):
    assert judge(by_global, tmp_path)[0] == 0
    monkeypatch.setattr(sys.modules[__name__], "TARGET", 200.0)
    assert judge(by_global, tmp_path)[0] == 0
    monkeypatch.setattr(sys.modules[__name__], "TARGET", 2.0)
    assert judge(by_global, tmp_path)[0] == 1


METHOD = """
from driftopt import methods
from driftopt.methods.sgd import SGD
from driftopt.pytree import module

@module
class Scaled(SGD):
    def tell(self, state, values, noise=None):
        return super().tell(state, {factor} * values, noise)

def build(radius, step):
    return Scaled(**vars(methods.get("zo-sph", radius=radius, step=step)))
"""


def test_a_method_by_name_is_known_by_its_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(registry, "_REGISTERED", {})
    given = {"budget": 20, "x0": [0.0], "development": 1, "held_out": 2, "evaluations": 3}
    found = []
    for factor in (1, 1, 2):
        (tmp_path / "the_method.py").write_text(METHOD.format(factor=factor))
        sys.modules.pop("the_method", None)
        importlib.invalidate_caches()
        methods.register("scaled", importlib.import_module("the_method").build)
        table = {"scaled": {"step": 0.05, "radius": 0.5}}
        compared = compare(by_global, table, folder=tmp_path / "results", **given)
        found.append((compared.tuned.manifest["held_out"]["parts_found_finished"], compared.scores[0].mean))
    assert [reuse for reuse, _ in found] == [0, 1, 0]
    assert found[1][1] != found[2][1]


class Called:
    def __init__(self, target):
        self.target = target

    def __call__(self, x):
        return float((x[0] - self.target) ** 2)

    def named(self, x):
        return self(x)


def closing(target):
    def noisy(x):
        return float((x[0] - target) ** 2)

    return noisy


@pytest.mark.parametrize(
    "make",
    [
        closing,
        lambda target: lambda x: float((x[0] - target) ** 2),
        lambda target: functools.partial(lambda x, target: float((x[0] - target) ** 2), target=target),
        Called,
        lambda target: Called(target).named,
    ],
    ids=["closure", "lambda", "partial", "object", "method"],
)
def test_every_kind_of_function_is_known_by_what_it_holds(tmp_path, make):
    assert [judge(make(target), tmp_path)[0] for target in (2.0, 2.0, 200.0)] == [0, 1, 0]


def test_a_file_that_a_function_reads_is_named_by_the_version(tmp_path):
    data = tmp_path / "target.txt"

    def reading(x):
        return float((x[0] - float(data.read_text())) ** 2)

    data.write_text("2")
    assert judge(reading, tmp_path, version="2026-01")[0] == 0
    assert judge(reading, tmp_path, version="2026-01")[0] == 1
    data.write_text("200")
    reuse, mean = judge(reading, tmp_path, version="2026-02")
    assert reuse == 0
    assert mean > 1000
    with pytest.raises(ValueError, match="version"):
        judge(reading, tmp_path, version=3)


def test_what_cannot_be_seen_is_not_reused_unless_it_has_a_version(tmp_path, capsys):
    service = (0.0 for _ in iter(int, 1))

    def asking(x):
        return float(x[0] ** 2 + next(service))

    assert [judge(asking, tmp_path)[0] for _ in range(2)] == [0, 0]
    said = capsys.readouterr().err
    assert "they may depend on" in said
    assert "service (builtins.generator), whose state cannot be seen" in said
    assert "version=" in said
    assert [judge(asking, tmp_path, version="a")[0] for _ in range(2)] == [0, 1]


def test_fresh_uses_no_kept_result_and_replaces_it(tmp_path, capsys):
    judge(by_global, tmp_path)
    (file,) = (tmp_path / "parts").iterdir()
    before = file.stat().st_mtime_ns
    assert judge(by_global, tmp_path, fresh=True)[0] == 0
    assert "reused" not in capsys.readouterr().err
    assert file.stat().st_mtime_ns > before
    assert judge(by_global, tmp_path)[0] == 1
    assert f"1 of 1 parts were finished before and are reused from {tmp_path}" in capsys.readouterr().err
