"""A comparison on a Python function is reused only where nothing that the function can reach has changed."""

import importlib
import itertools
import os
import sys

import pytest

from driftopt import compare


def judge(fun, folder, **more):
    given = {"budget": 20, "x0": [0.0], "development": 1, "held_out": 2, "evaluations": 3}
    comparison = compare(fun, {"zo-sph": {"step": 0.05, "radius": 0.5}}, folder=folder, **given, **more)
    return comparison.tuned.manifest["held_out"]["parts_found_finished"], comparison.score("zo-sph").mean


SECONDS = itertools.count(1)


def written(path, text):
    """A module long before this process began: Python has loaded what the file holds."""
    path.write_text(text)
    os.utime(path, (next(SECONDS),) * 2)
    sys.modules.pop(path.stem, None)
    importlib.invalidate_caches()


def test_an_edited_module_that_a_function_imports_is_noticed(tmp_path, monkeypatch):
    """The example that printed old figures as new: noisy calls simulator.target, which is changed."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = []
    for target in (2, 2, 200):
        written(
            tmp_path / "the_user.py",
            "import the_simulator\n"
            "def noisy(x, rng):\n"
            "    return float((x[0] - the_simulator.target()) ** 2 + rng.normal())\n",
        )
        written(tmp_path / "the_simulator.py", f"def target():\n    return {target}\n")
        found.append(judge(importlib.import_module("the_user").noisy, tmp_path / "results"))
    assert [reuse for reuse, _ in found] == [0, 1, 0]
    assert found[0][1] == found[1][1]
    assert found[2][1] > 1000


def by_global(x):
    return float((x[0] - 2.0) ** 2)


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
    assert "generator" in said
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
