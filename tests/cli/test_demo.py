"""`driftopt demo`: what it prints and writes, how it scores, and that the default does not look broken."""

import numpy as np
import pytest

from driftopt.cli import demo_runs as demo


@pytest.fixture
def small(monkeypatch):
    """The demo with two methods and a budget that takes no time."""
    monkeypatch.setattr(demo, "METHODS", ("auto", "zo-og"))
    monkeypatch.setattr(demo, "BUDGET", 80)
    monkeypatch.setattr(demo, "STEPS", np.array([0.001, 0.01]))
    monkeypatch.setattr(demo, "DEVELOPMENT", 2)
    monkeypatch.setattr(demo, "SCORED", 3)


def test_it_prints_a_table_and_saves_a_plot(driftopt, small, tmp_path):
    code, out, err = driftopt("demo", "--out", tmp_path / "curves.png")
    assert code == 0
    assert all(f" {name} " in out for name in demo.METHODS)
    assert " ± " in out
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "curves.png") in out
    assert "done, 1 of 2" in err
    assert "done, 2 of 2" in err
