"""Without the packages of the report extra: said at the start, and no run is lost."""

import json
import subprocess
import sys

from driftopt.packages import REPORT

BLOCKED = f"import sys\nfor name in {REPORT}: sys.modules[name] = None\n"
TOML = """
budget = 40
problem = "kink"
problem_options = { dim = 2 }
held_out = 2
[methods.auto]
radius = 0.5
"""


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
    ((out, err),) = driftopt(tmp_path, ("compare", "tiny.toml"))
    assert "polars, jinja2 and matplotlib not installed" in err.splitlines()[0]
    assert "pip install 'driftopt[report]'" in err
    assert "| auto | " in out
    assert "parts were run now" in out
    written = {path.name for path in (tmp_path / "results" / "tiny").iterdir()}
    assert written == {"table.md", "table.tex", "tests.csv", "manifest.json"}
    assert "no parts to continue from" in err


def test_a_folder_for_parts_needs_polars(tmp_path):
    call = "sweep.run([sweep.grid('zo-sph', step=.1, radius=1.0)], [kink(2)], budget=9, seeds=[0]"
    code = f"{BLOCKED}from driftopt import sweep\nfrom driftopt.problems import kink\n"
    code += f"print(len({call})))\n{call}, folder='kept')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "1\n"
    assert "(folder=) needs polars: pip install 'driftopt[report]'" in done.stderr.splitlines()[-1]
