"""The command line: what it prints, what it writes, and how it refuses."""

import subprocess
import sys

import pytest

from driftopt import methods, theory

NUMBERS = ["--dim", "12", "--lipschitz", "1", "--noise", "0.5", "--gap", "1", "--epsilon", "0.1"]
PROBLEM = {"dim": 12, "lipschitz": 1, "noise": 0.5, "gap": 1, "epsilon": 0.1}


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


@pytest.mark.parametrize("command", ["plan", "demo", "reproduce", "compare"])
def test_help_offers_nothing_that_nobody_would_give(driftopt, command):
    code, out, _ = driftopt(command, "--help")
    assert code == 0
    assert "--empty-" not in out
    assert "--no-" not in out


def test_reproduce_takes_words_with_commas_or_spaces(monkeypatch, driftopt, tmp_path):
    asked = {}

    def stop(folder, **given):
        asked.update(given, folder=folder)
        raise ValueError("far enough")

    monkeypatch.setattr("driftopt.paper.reproduction.reproduce", stop)
    monkeypatch.chdir(tmp_path)
    for words in (["101,105"], ["101", "105"]):
        code, _, err = driftopt("reproduce", "--splits", *words, "--methods", "zo-og,auto", "--seeds", "3")
        assert (code, "far enough" in err) == (2, True)
        assert list(asked["splits"]) == ["101", "105"]
        assert asked["scope"].methods == ("zo-og", "auto")
        assert asked["scope"].held_out == 3
        assert str(asked["folder"]) == "results/partial"
    driftopt("reproduce", "--quick")
    assert str(asked["folder"]) == "results/quick"
    driftopt("reproduce")
    assert str(asked["folder"]) == "results/full"
    code, _, err = driftopt("reproduce", "--splits", "101,,102")
    assert (code, "--splits must be words" in err) == (2, True)
