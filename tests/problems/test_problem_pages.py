"""The pages on problems and data and their examples run as printed."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

from driftopt.data.registry import FILES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["problems.md", "data.md"])
def test_pages(page):
    result = doctest.testfile(str(ROOT / "docs" / page), module_relative=False)
    assert result.attempted >= 4
    assert result.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("example", ["credit.py", "shop.py"])
def test_examples_run_without_real_data_and_say_so(example, tmp_path):
    environment = {**os.environ, "DRIFTOPT_DATA": str(tmp_path)}
    command = [sys.executable, str(ROOT / "examples" / example)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.startswith("data: ")
    assert "stand-in" in done.stdout


def test_the_data_page_names_every_file_and_licence():
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    for file in FILES:
        assert file.name in text or file.name.removeprefix("prices_2022").removesuffix(".csv") in text
    assert "CC BY 4.0" in text
    assert "MIT" in text
