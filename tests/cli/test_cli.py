"""The command line: what it prints, what it writes, and how it refuses."""

import itertools
import json
import os
import subprocess
import sys

import pytest

from driftopt import methods, problems, theory
from driftopt.cli import app

NUMBERS = ["--dim", "12", "--lipschitz", "1", "--noise", "0.5", "--gap", "1", "--epsilon", "0.1"]
PROBLEM = {"dim": 12, "lipschitz": 1, "noise": 0.5, "gap": 1, "epsilon": 0.1}


def test_methods_as_json_leaves_nothing_out(driftopt):
    _, out, _ = driftopt("methods", "--json")
    described = {one["name"]: one for one in json.loads(out)}
    assert tuple(described) == methods.names()
    for name, one in described.items():
        line = methods.entry(name)
        assert (one["summary"], one["finds"], one["package"]) == (line.summary, line.finds, line.provider)
        assert one["sees"] == line.sees.words
        assert tuple(parameter["name"] for parameter in one["parameters"]) == line.parameters
        assert all(parameter["meaning"] for parameter in one["parameters"])


def test_problems_lists_the_registry(driftopt, monkeypatch):
    code, out, _ = driftopt("problems")
    assert code == 0
    for name in problems.names():
        line, below = next(
            pair for pair in itertools.pairwise(out.splitlines()) if pair[0].startswith(f"{name} ")
        )
        assert problems.entry(name).summary in line
        known = problems.entry(name).known
        assert f"d = {known.dim}; optimum: {known.optimum}; stable point: {known.stable_point}" in below
        assert ("remembers" in below) == known.memory
    monkeypatch.setenv("COLUMNS", "80")
    _, narrow, _ = driftopt("problems")
    assert max(map(len, narrow.splitlines())) <= 80


def test_one_method_with_what_its_parameters_mean(driftopt):
    code, out, _ = driftopt("methods", "auto")
    assert code == 0
    assert methods.entry("auto").described()[0].meaning in " ".join(out.split())
    code, _, err = driftopt("methods", "autos")
    assert code == 2
    assert "did you mean auto" in err


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
    """One process for the two: neither imports JAX, nor even NumPy."""
    code = (
        "import sys; sys.argv = ['driftopt', '--help']\n"
        "from driftopt.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert 'jax' not in sys.modules and 'numpy' not in sys.modules"
    )
    helped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert helped.returncode == 0, helped.stderr
    assert all(command in helped.stdout for command in ("methods", "plan", "demo"))
    version = [sys.executable, "-m", "driftopt", "--version"]
    assert subprocess.run(version, capture_output=True, text=True, check=True).stdout.strip() == _version()


def _version():
    import driftopt

    return driftopt.__version__


def commands(parent=app, words=()):
    """Every command, with the words that call it: (), ("study",), ("study", "ask"), …"""
    found = {words: parent}
    for name in parent:
        if not name.startswith("-"):
            found |= commands(parent[name], (*words, name))
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_help_says_all_there_is_and_offers_nothing_that_nobody_would_give(driftopt, words):
    code, out, _ = driftopt(*words, "--help")
    assert code == 0
    assert "--empty-" not in out
    assert f"driftopt {' '.join(words)}" in out  # an example
    assert "--no-" not in out.replace("--no-outliers", "")
    command = commands()[words]
    text = command.help.partition("Args:")[0]  # the docstring's, with its examples
    assert plain(text) in plain(out)
    if command.default_command is not None:
        arguments = command.assemble_argument_collection(parse_docstring=True)
        assert [one.name for one in arguments if not one.parameter.help] == []


def plain(text):
    """The words alone, as Markdown shows them."""
    return " ".join(text.replace("```text", "").replace("`", "").split())


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
    driftopt("reproduce", "--splits", "101,102,103,104")
    assert str(asked["folder"]) == "results/full"
    code, _, err = driftopt("reproduce", "--splits", "101,,102")
    assert (code, "--splits must be words" in err) == (2, True)


def test_a_reader_that_has_enough_is_no_trouble():
    """`driftopt methods | head -1`: what is left over is dropped without a traceback."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "driftopt", "methods"], stdout=write, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
