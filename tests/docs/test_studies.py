"""The example of the page on studies: what it prints is what the page says."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "studies.md"


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("weekly_prices", ROOT / "examples" / "weekly_prices.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_weekly_prices(example, tmp_path, capsys):
    study, shop = example.main(tmp_path)
    found = study.recommend()
    truth = shop.profit(found.x) - shop.profit(example.TODAY)
    assert truth > 10
    assert abs(found.improvement.mean - truth) < 5 * found.improvement.sem
    assert len(study.trials()) == study.spec.budget
    # The page prints what the example prints.
    numbers = r"that is ([\d.]+) ± ([\d.]+) hundred a week, where the truth.*?is\s+([\d.]+)\."
    said = re.search(numbers, PAGE.read_text(encoding="utf-8"), re.DOTALL)
    printed = capsys.readouterr().out
    for number in said.groups():
        assert number in printed
