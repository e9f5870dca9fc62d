"""The command line inside the test's own process."""

import sys

import pytest

from driftopt.cli import main


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
