"""After a fork from a process in which JAX had started: a sentence, not a wait for ever."""

import subprocess
import sys
from types import ModuleType

import jax
import pytest

from driftopt.runtime import private_jax

ENTRIES = {
    "minimize": "driftopt.minimize(noisy, [0.0], budget=2, radius=0.1, rng=0, method='walk')",
    "Study.ask": "study.ask()",
    "Study.ask again": "told.ask()",
    "simulate": "driftopt.simulate(method, problem, budget=20)",
    "simulate_many": "driftopt.simulate_many(method, stacked, budget=20, seeds=[0])",
    "simulate_many with a grid": "driftopt.simulate_many(steps, stacked, budget=20, seeds=[0])",
    "stack": "driftopt.stack([problem])",
    "check": "driftopt.check(problem, samples=100)",
    "sweep.run": "driftopt.sweep.run([steps], [problem], budget=20, seeds=[0], progress=False)",
    "sweep.tune": "driftopt.sweep.tune([steps], [problem], budget=20, development=[0], held_out=[1])",
    "compare": "driftopt.compare(problem, [steps], budget=20, development=1, held_out=2)",
    "compare a function": "driftopt.compare(noisy, [steps], budget=20, development=1, held_out=2, x0=[0])",
    "scipy_method": "driftopt.scipy_method(noisy, [0.0], budget=2, radius=0.1, method='walk')",
    "stationarity": "driftopt.stationarity.measure(problem, [0.0, 1.0], radius=0.5)",
    "kink": "driftopt.problems.kink(2)",
    "pricing": "driftopt.problems.Pricing.synthetic()",
    "strategic": "driftopt.problems.StrategicClassification.from_arrays([[1.0], [-2.0]], [1, -1])",
}
NEEDS_NO_JAX = {"Study.tell": "asked.tell(waiting, 1.0)"}
EVERY_ENTRY = """
import os, signal, warnings
warnings.simplefilter("ignore")
import driftopt
from driftopt.runtime.forks import ForkedProcess

def noisy(x):
    return 1.0

problem, method = driftopt.problems.kink(2), driftopt.methods.get("zo-sph", radius=0.5, step=0.01)
stacked, steps = driftopt.stack([problem]), driftopt.methods.grid("zo-sph", radius=0.5, step=[0.01, 0.02])
study, told, asked = (
    driftopt.Study.create({url!r}, name, x0=[1.0], method="zo-o2nc-2pt", radius=0.1, budget=8, rng=0)
    for name in ("a", "told", "asked")
)
for value in (1.0, 2.0):
    told.tell(told.ask().id, value)
waiting = asked.ask().id
driftopt.minimize(noisy, [0.0], budget=2, radius=0.1, rng=0, method='walk')
driftopt.simulate(method, problem, budget=20)
for name, use in {entries!r}.items():
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # whoever waits for ever ends, with another code
        try:
            eval(use)
        except ForkedProcess as error:
            os._exit(3 if "spawn" in str(error) else 1)
        except BaseException:
            os._exit(2)
        os._exit(0)
    print(name, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


ONLY_USE = """
import os, signal, warnings
warnings.simplefilter("ignore")
import driftopt
from driftopt.runtime.forks import ForkedProcess

{use}
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    try:
        driftopt.minimize(lambda x: 1.0, [0.0, 0.0], budget=4, radius=0.1, rng=0, method='walk')
    except ForkedProcess:
        os._exit(3)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
STUDY = """
study = driftopt.Study.create({url!r}, "a", x0=[1.0], method="zo-o2nc-2pt", radius=0.1, budget=8, rng=0)
for value in (1.0, 2.0):
    study.tell(study.ask().id, value)
study.ask()
"""


@pytest.mark.parametrize("use", ["minimize", "study"])
def test_so_does_a_child_of_a_process_that_only_asked_and_told(tmp_path, use):
    """Such a process has started a client of JAX, but none that JAX's own list of backends has."""
    minimize = "driftopt.minimize(lambda x: 1.0, [0.0], budget=4, radius=0.1, rng=0, method='walk')"
    before = {"minimize": minimize, "study": STUDY.format(url=str(tmp_path / "a.db"))}[use]
    done = subprocess.run(
        [sys.executable, "-c", ONLY_USE.format(use=before)],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.stdout.split() == ["3"], done.stderr


def test_every_entry_that_uses_jax_says_so_in_a_forked_child(tmp_path):
    """And what uses none goes on working."""
    entries = ENTRIES | NEEDS_NO_JAX
    done = subprocess.run(
        [sys.executable, "-c", EVERY_ENTRY.format(entries=entries, url=str(tmp_path / "a.db"))],
        capture_output=True,
        text=True,
        check=False,
        timeout=60 * (len(entries) + 3),
    )
    codes = dict.fromkeys(ENTRIES, 3) | dict.fromkeys(NEEDS_NO_JAX, 0)
    assert done.stdout.splitlines() == [f"{name} {code}" for name, code in codes.items()], done.stderr


def test_where_jax_does_not_say_whether_it_has_started_a_loaded_one_counts(monkeypatch):
    jax.devices()
    monkeypatch.setattr(private_jax, "_own_client", False)
    assert private_jax.backends_started()
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", ModuleType("another"))
    assert private_jax.backends_started()
    monkeypatch.delitem(sys.modules, "jax")
    assert not private_jax.backends_started()
