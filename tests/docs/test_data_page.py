"""The page on data names everything there is, and examples say where their data comes from."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("example", ["credit.py", "shop.py"])
def test_examples_run_without_real_data_and_say_so(example, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DRIFTOPT_DATA", str(tmp_path))
    runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("data: ")
    assert "stand-in" in printed
