"""The example of the page on studies: what it prints is what the page says."""

import importlib.util
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driftopt.cli.study_io import this_user
from driftopt.study import Study
from support.code_blocks import Runner, blocks

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


@pytest.fixture
def page_line(tmp_path):
    """Run a line of the page as cron would."""
    environment = Runner(tmp_path, ROOT / "src").environment
    lines = [line for block in blocks(PAGE) for line in block.code.splitlines()]

    def run(beginning):
        (line,) = [line.removeprefix("$ ") for line in lines if line.startswith(f"$ {beginning}")]
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    return run


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


def test_the_lines_for_cron_may_run_twice_be_killed_and_come_late(page_line, tmp_path):
    monday, sunday = "driftopt study ask prices.db weekly --json >", "./read-till"
    read = "import json; t = json.load(open('trial.json')); print(json.dumps({'id': t['id'], 'value': 21.4}))"
    script(tmp_path / "read-till", f'#!/bin/sh\n{sys.executable} -c "{read}"\n')
    script(tmp_path / "set-prices", "#!/bin/sh\n")
    long_ago = time.time() - 17 * 86400
    study = Study.create(
        tmp_path / "prices.db", "weekly", x0=[2.2, 5.4], budget=20, radius=1, lease=10 * 86400, rng=0
    )
    early = Study.open(tmp_path / "prices.db", "weekly", clock=lambda: long_ago)
    trial = early.ask(holder=this_user())

    def handed():
        return json.loads((tmp_path / "trial.json").read_text())["id"]

    assert page_line(monday)[0] == 0  # a week after the lease ran out
    assert handed() == trial.id
    assert page_line(sunday)[0] == page_line(sunday)[0] == 0
    assert [t.state for t in study.trials()] == ["complete"]

    script(tmp_path / "set-prices", "#!/bin/sh\nkill -9 $$\n")
    assert page_line(monday)[0] != 0
    (tmp_path / "trial.json").unlink()
    script(tmp_path / "set-prices", "#!/bin/sh\n")
    assert page_line(monday)[0] == page_line(monday)[0] == 0
    assert [t.state for t in study.trials()] == ["complete", "pending"]
    assert handed() == study.trials()[-1].id
