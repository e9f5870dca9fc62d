"""The command line: what it prints, what it writes, and how it refuses."""

import subprocess
import sys

import numpy as np
import pytest

from driftopt import methods, theory
from driftopt.cli import demo, main

NUMBERS = ["--dim", "12", "--lipschitz", "1", "--noise", "0.5", "--gap", "1", "--epsilon", "0.1"]
PROBLEM = {"dim": 12, "lipschitz": 1, "noise": 0.5, "gap": 1, "epsilon": 0.1}


@pytest.fixture
def driftopt(monkeypatch, capsys):
    """Run the command in this process: (exit code, stdout, stderr), on a terminal wide enough not to wrap."""
    monkeypatch.setenv("COLUMNS", "160")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["driftopt", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_methods_lists_the_registry(driftopt):
    code, out, _ = driftopt("methods")
    assert code == 0
    for name in methods.names():
        line = next(line for line in out.splitlines() if f" {name} " in line)
        assert methods.entry(name).summary in line
        assert ", ".join(methods.entry(name).parameters) in line


@pytest.mark.parametrize(
    ("flags", "plan"),
    [
        (["--delta", "0.5"], theory.o2nc(delta=0.5, **PROBLEM)),
        (["--delta", "0.5", "--option", "II"], theory.o2nc(option="II", delta=0.5, **PROBLEM)),
        (["--delta", "0.5", "--paper"], theory.o2nc(delta=0.5, goldstein=False, **PROBLEM)),
        (["--smooth", "2"], theory.smooth(gradient_lipschitz=2.0, **PROBLEM)),
        (["--hessian", "2"], theory.hessian_lipschitz(hessian_lipschitz=2.0, **PROBLEM)),
        (["--delta", "0.5", "--sgd"], theory.minibatch_sgd(delta=0.5, **PROBLEM)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_plan_prints_the_plan(driftopt, flags, plan):
    code, out, _ = driftopt("plan", *NUMBERS, *flags)
    assert code == 0
    assert out == f"{plan}\n"


def test_plan_compares(driftopt):
    code, out, _ = driftopt("plan", *NUMBERS, "--delta", "0.5", "--compare")
    assert code == 0
    assert out.endswith(f"{theory.compare(12, 0.1, 0.5)}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["plan", "--dim", "12"], "--lipschitz"),
        (["plan", *NUMBERS, "--delta", "x"], "unable to convert"),
        (["plan", *NUMBERS], "--delta is needed"),
        (["plan", *NUMBERS, "--delta", "-1"], "delta must be between"),
        (["plan", *NUMBERS, "--delta", "1", "--option", "III"], "III"),
        (["plan", *NUMBERS, "--smooth", "1", "--hessian", "1"], "choose one of --smooth and --hessian"),
        (["plan", *NUMBERS, "--smooth", "1", "--delta", "1"], "exclude each other"),
        (["plan", *NUMBERS, "--delta", "1", "--sgd", "--option", "II"], "--sgd has one"),
        (["demo", "--out", "demo.txt"], "--out must end in"),
        (["demo", "--out", "no/such/folder/demo.png"], "does not exist"),
        (["demo", "--seed", "-1"], "--seed must be"),
    ],
    ids=lambda value: " ".join(value[:1] + value[-2:]) if isinstance(value, list) else "",
)
def test_a_mistake_is_a_sentence_and_exit_code_two(driftopt, words, sentence):
    code, out, err = driftopt(*words)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in out + err


@pytest.fixture
def small(monkeypatch):
    """The demo with two methods and a budget that takes no time."""
    monkeypatch.setattr(methods, "names", lambda: ("auto", "zo-og"))
    monkeypatch.setattr(demo, "BUDGET", 80)
    monkeypatch.setattr(demo, "STEPS", np.array([0.001, 0.01]))
    monkeypatch.setattr(demo, "DEVELOPMENT", 2)
    monkeypatch.setattr(demo, "SCORED", 3)


def test_demo_prints_a_table_and_saves_a_plot(driftopt, small, tmp_path):
    code, out, _ = driftopt("demo", "--out", tmp_path / "curves.png")
    assert code == 0
    assert all(f" {name} " in out for name in methods.names())
    assert " ± " in out
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "curves.png") in out


def test_demo_without_matplotlib_says_how_to_get_it(driftopt, monkeypatch, tmp_path):
    curve = np.ones((3, 2))
    score = demo.Score("zo-co", 0.1, np.array([1.0, np.inf, 1.0]), 80, np.array([40, 80]), curve)
    monkeypatch.setattr(demo, "run", lambda seed: iter([score]))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # as if it were not installed
    code, out, _ = driftopt("demo", "--out", tmp_path / "demo.png")
    assert code == 0
    assert f"1 of {demo.SCORED} diverged" in out
    assert "pip install 'driftopt[plot]'" in out
    assert not (tmp_path / "demo.png").exists()


def test_scores_come_from_other_seeds_than_the_choice(small):
    """The scored runs are the last SCORED lanes of the chosen step, each with its own exact end value."""
    score = next(demo.run(0))
    assert score.final.shape == (3,)
    assert score.curve.shape[0] == 3
    np.testing.assert_array_equal(score.curve[:, -1], score.final)
    assert score.queries <= demo.BUDGET


def test_help_and_version_are_quick_to_load():
    """One process for the two: neither imports JAX."""
    code = (
        "import sys; sys.argv = ['driftopt', '--help']\n"
        "from driftopt.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert 'jax' not in sys.modules and 'matplotlib' not in sys.modules"
    )
    helped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert helped.returncode == 0, helped.stderr
    assert all(command in helped.stdout for command in ("methods", "plan", "demo"))
    version = [sys.executable, "-m", "driftopt", "--version"]
    assert subprocess.run(version, capture_output=True, text=True, check=True).stdout.strip() == _version()


def _version():
    import driftopt

    return driftopt.__version__
