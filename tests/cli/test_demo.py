"""`driftopt demo`: what it prints and writes, how it scores, and that the default does not look broken."""

import numpy as np
import pytest

from driftopt import methods
from driftopt.cli import demo_runs as demo
from driftopt.drivers.simulation import simulate_many
from driftopt.drivers.stack import stack
from driftopt.problems.synthetic import two_wells


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


def test_scores_come_from_other_seeds_than_the_choice(small):
    """Against runs of every configuration: chosen on the first seeds, scored on the others."""
    problem = two_wells(demo.DIM, noise=demo.NOISE, rng=0)
    radius = demo.length(problem)
    differs = 0
    for first in range(6):
        seeds = list(range(10 * first, 10 * first + 5))
        score = demo.score("zo-og", problem, radius, seeds)
        radii, steps = np.meshgrid(radius * np.array(demo.SHARES), demo.STEPS)
        method = methods.get("zo-og", radius=radii.ravel(), step=steps.ravel())
        every = simulate_many(
            method, stack([problem]), budget=demo.BUDGET, seeds=seeds, evaluate_every=2
        ).fun[0]
        chosen = int(every[:2].mean(axis=0).argmin())
        assert (score.radius, score.step) == (radii.ravel()[chosen], steps.ravel()[chosen])
        np.testing.assert_allclose(score.final, every[2:, chosen], rtol=1e-5)
        np.testing.assert_array_equal(score.curve[:, -1], score.final)
        assert score.queries <= demo.BUDGET
        differs += chosen != int(every.mean(axis=0).argmin())
    assert differs  # else a choice on all seeds would pass
