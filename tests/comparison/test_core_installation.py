"""Without the packages of the report extra: said at the start, and no run is lost."""

import subprocess
import sys

import pytest

from driftopt.comparison import compare
from driftopt.packages import REPORT
from driftopt.paper.reproduction import reproduce
from driftopt.problems.synthetic import kink

BLOCKED = f"import sys\nfor name in {REPORT}: sys.modules[name] = None\n"
TOML = """
budget = 40
problem = "kink"
problem_options = { dim = 2 }
held_out = 2
[methods.auto]
radius = 0.5
"""


@pytest.fixture
def bare(monkeypatch):
    """As if nothing but the core were installed."""
    for name in REPORT:
        monkeypatch.setitem(sys.modules, name, None)


def driftopt(folder, *words):
    """The command in a process of its own that cannot import the extra's packages."""
    code = BLOCKED + f"sys.argv = {['driftopt', *words]!r}\nfrom driftopt.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


def test_compare_prints_its_table_and_writes_what_it_can(tmp_path):
    (tmp_path / "tiny.toml").write_text(TOML)
    first = driftopt(tmp_path, "compare", "tiny.toml")
    assert first.returncode == 0, first.stderr
    assert "polars, jinja2 and matplotlib not installed" in first.stderr.splitlines()[0]
    assert "pip install 'driftopt[report]'" in first.stderr
    assert "| auto | " in first.stdout
    assert "parts were run now" in first.stdout
    written = {path.name for path in (tmp_path / "results" / "tiny").iterdir()}
    assert written == {"table.md", "tests.csv", "manifest.json", "parts"}
    again = driftopt(tmp_path, "compare", "tiny.toml")
    assert "1 of 1 parts were finished before and are used again, from results/tiny/parts" in again.stdout
    assert "finished before" not in again.stderr  # it is said once
    fresh = driftopt(tmp_path, "compare", "tiny.toml", "--fresh")
    assert "all 1 parts were run now" in fresh.stdout


def test_reproduce_refuses_before_anything_runs(bare, tmp_path):
    with pytest.raises(ValueError, match=r"needs polars, jinja2 and matplotlib .*driftopt\[report\]"):
        reproduce(tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_a_comparison_can_be_printed_but_not_written(bare, tmp_path):
    comparison = compare(kink(2, rng=1), {"auto": {"radius": 0.5}}, budget=40, held_out=2)
    assert "| auto |" in str(comparison)
    assert "auto" in comparison._repr_html_()
    with pytest.raises(ValueError, match="the report needs polars, jinja2 and matplotlib"):
        comparison.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
