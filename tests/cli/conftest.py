"""The command line inside the test's own process."""

import io
import json
import sys

import pytest

from driftopt.cli import main, warnings_in_a_sentence
from driftopt.cli.study import app


@pytest.fixture
def driftopt(monkeypatch, capsys):
    """Run the command in this process: (exit code, stdout, stderr), on a terminal wide enough not to wrap."""
    monkeypatch.setenv("COLUMNS", "240")

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


@pytest.fixture
def shell(capsys, monkeypatch):
    """Run a command; returns (exit code, standard output, standard error)."""

    def run(*words, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(stdin)))
        code = 0
        try:
            with warnings_in_a_sentence():
                app([str(word) for word in words], result_action="return_value", exit_on_error=False)
        except SystemExit as exit:
            code = exit.code
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def prices(tmp_path, shell):
    path = tmp_path / "prices.db"
    code, _, _ = shell(
        "create", path, "weekly", "--x0=1,-0.5", "--names", "tea,coffee", "--budget", 12, "--rng", 7,
        "--param", "radius=0.3", "--method", "zo-o2nc-2pt", "--bounds=-2:2",
    )  # fmt: skip
    assert code == 0
    return path
