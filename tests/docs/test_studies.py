"""The page on studies and its example, run as printed."""

import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from driftopt.study import Study

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "studies.md"

TILL = """#!{python}
import json, sys
trial = json.load(open(sys.argv[1]))
print(json.dumps({{"id": trial["id"], "value": sum(trial["x"].values())}}))
"""


def test_python_on_the_page():
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted >= 7
    assert result.failed == 0


@pytest.mark.slow
def test_shell_on_the_page(tmp_path):
    """Once, a Monday and a Sunday, and a look: every block of the page, in its order."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    create, monday, sunday, look, recommend = blocks
    for name, text in (("read-till", TILL.format(python=sys.executable)), ("set-prices", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(block):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(create)
    run(monday)
    assert json.loads(run(sunday))["state"] == "complete"
    assert "1 of 128" in run(look)
    assert "tea     2.2" in run(recommend)
    assert (tmp_path / "weeks.png").exists()
    assert len(Study.open(tmp_path / "prices.db", "weekly").trials()) == 1


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
