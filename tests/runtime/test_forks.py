"""After a fork from a process in which JAX had started: a sentence, not a wait for ever."""

import subprocess
import sys

import pytest

SCRIPT = """
import os, warnings
warnings.simplefilter("ignore")
import driftopt
from driftopt.runtime.forks import ForkedProcess

study = driftopt.Study.create({url!r}, "a", x0=[1.0], radius=0.1, budget=8, rng=0)
{before}
pid = os.fork()
if pid == 0:
    try:
        {use}
    except ForkedProcess as error:
        os._exit(3 if "spawn" in str(error) else 1)
    except BaseException:
        os._exit(2)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
MINIMIZE = "driftopt.minimize(lambda x: 1.0, [0.0], budget=2, radius=0.1, rng=0)"


@pytest.mark.parametrize(
    ("before", "use", "code"),
    [
        (MINIMIZE, MINIMIZE, 3),
        (MINIMIZE, "study.ask()", 3),
        ("study.tell(study.ask().id, 1.0); study.tell(study.ask().id, 2.0)", "study.ask()", 3),
        ("study.ask()", "study.tell(1, 1.0)", 0),
    ],
)
def test_a_forked_child_says_what_to_do(tmp_path, before, use, code):
    """Telling needs no JAX, so it goes on working."""
    script = SCRIPT.format(url=str(tmp_path / "a.db"), before=before, use=use)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.strip() == str(code), done.stderr
