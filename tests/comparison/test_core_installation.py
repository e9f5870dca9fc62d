"""Without the packages of the report extra: said at the start, and no run is lost."""

import json
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


def driftopt(folder, *commands):
    """What each command prints and says, one after another, in a process without the extra's packages."""
    code = f"""{BLOCKED}
import contextlib, io, json
from driftopt.cli import main
done = []
for words in {commands!r}:
    sys.argv, out, err = ["driftopt", *words], io.StringIO(), io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        main()
    done.append([out.getvalue(), err.getvalue()])
print(json.dumps(done))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_compare_prints_its_table_and_writes_what_it_can(tmp_path):
    (tmp_path / "tiny.toml").write_text(TOML)
    words = ("compare", "tiny.toml")
    (out, err), again, (fresh, _) = driftopt(tmp_path, words, words, (*words, "--fresh"))
    assert "polars, jinja2 and matplotlib not installed" in err.splitlines()[0]
    assert "pip install 'driftopt[report]'" in err
    assert "| auto | " in out
    assert "parts were run now" in out
    written = {path.name for path in (tmp_path / "results" / "tiny").iterdir()}
    assert written == {"table.md", "tests.csv", "manifest.json", "parts"}
    assert "1 of 1 parts were finished before and are used again, from results/tiny/parts" in again[0]
    assert "finished before" not in again[1]  # it is said once
    assert "all 1 parts were run now" in fresh


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
