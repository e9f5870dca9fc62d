"""The page on data names everything there is, and examples say where their data comes from."""

import runpy
from pathlib import Path

import pytest

from driftopt.data.registry import FILES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("example", ["credit.py", "shop.py"])
def test_examples_run_without_real_data_and_say_so(example, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DRIFTOPT_DATA", str(tmp_path))
    runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("data: ")
    assert "stand-in" in printed


def test_the_data_page_names_every_file_and_licence():
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    for file in FILES:
        assert file.name in text or file.name.removeprefix("prices_2022").removesuffix(".csv") in text
    assert "CC BY 4.0" in text
    assert "MIT" in text
