"""A result is computed or said to be reused: no change of code or of a global passes unseen."""

import os
import subprocess
import sys
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods, sweep
from driftopt.methods.sgd import SGD
from driftopt.problem import Problem
from driftopt.pytree import module
from driftopt.sweep import grid
from driftopt.sweep.outside_runs import SimulatedTarget

SHIFT = 0.0
GRIDS = [grid("zo-sph", step=[0.05], radius=[0.5])]
CALL = {"budget": 60, "seeds": [3], "progress": False}


@module
class Shifted(Problem):
    """A user's problem that reads a global."""

    scale: jax.Array

    @property
    def dim(self):
        return 2

    def draw(self, key, x):
        return jax.random.normal(key)

    def value(self, x, xi):
        return self.objective(x) + 0.1 * xi

    def objective(self, x):
        return self.scale * jnp.sum((x - SHIFT) ** 2)


PROBLEMS = [Shifted(jnp.asarray(1.0))]


def reused(runs):
    return runs.manifest["parts_found_finished"]


def test_a_global_that_a_problem_reads_is_part_of_the_work(tmp_path, monkeypatch):
    first = sweep.run(GRIDS, PROBLEMS, folder=tmp_path, **CALL)
    assert reused(sweep.run(GRIDS, PROBLEMS, folder=tmp_path, **CALL)) == 1
    monkeypatch.setattr(sys.modules[__name__], "SHIFT", 3.0)
    changed = sweep.run(GRIDS, PROBLEMS, folder=tmp_path, **CALL)
    assert reused(changed) == 0
    assert changed.columns["objective"][0] > 2 * first.columns["objective"][0]
    monkeypatch.setattr(sys.modules[__name__], "SHIFT", 0.0)
    again = sweep.run(GRIDS, PROBLEMS, folder=tmp_path, **CALL)
    assert reused(again) == 1
    np.testing.assert_array_equal(again.x, first.x)


def test_a_global_counts_for_the_optimisers_of_others(monkeypatch):
    point, seen = np.ones((1, 2)), []
    for shift in (0.0, 3.0):
        monkeypatch.setattr(sys.modules[__name__], "SHIFT", shift)
        target = SimulatedTarget(PROBLEMS[0], None)
        seen.append((target.judge(0, point)[0], target.oracle(0, 1)(point)[0]))
    np.testing.assert_allclose(np.subtract(*seen), 2 - 8, rtol=1e-6)


OFFSET = 1.0


class Size(NamedTuple):
    size: jax.Array


def test_metrics_are_part_of_the_work(tmp_path, monkeypatch):
    @module
    class Measured(Shifted):
        metric_names = ("size",)

        def metrics(self, x):
            return Size(jnp.sum(x) + OFFSET)

    problems = [Measured(jnp.asarray(1.0))]
    before = sweep.run(GRIDS, problems, folder=tmp_path, metrics=True, **CALL)
    monkeypatch.setattr(sys.modules[__name__], "OFFSET", 2.0)
    after = sweep.run(GRIDS, problems, folder=tmp_path, metrics=True, **CALL)
    assert reused(after) == 0
    np.testing.assert_allclose(after.columns["size"], before.columns["size"] + 1, rtol=1e-6)


FACTOR = 1.0


@module
class Slower(SGD):
    """A user's method that reads a global."""

    def tell(self, state, values, noise=None):
        return super().tell(state, values * FACTOR, noise)


def test_a_method_of_somebody_else_is_known_by_what_it_computes(tmp_path, monkeypatch):
    given = methods.get("zo-sph", step=0.05, radius=0.5)
    mine = [Slower(**vars(given))]
    sweep.run(mine, PROBLEMS, folder=tmp_path, **CALL)
    assert reused(sweep.run(mine, PROBLEMS, folder=tmp_path, **CALL)) == 1
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 0.5)
    assert reused(sweep.run(mine, PROBLEMS, folder=tmp_path, **CALL)) == 0


@module
class Planned(SGD):
    """A user's method whose numbers come from the budget, or have another form in simulations."""

    def for_budget(self, budget):
        return replace(self, step=self.step * PLANNED)

    def in_numbers(self):
        return replace(super().in_numbers(), radius=self.radius * IN_NUMBERS)


PLANNED = IN_NUMBERS = 1.0


@pytest.mark.parametrize("what", ["PLANNED", "IN_NUMBERS"])
def test_what_a_method_makes_of_its_numbers_is_part_of_the_work(tmp_path, monkeypatch, what):
    """They are inputs of the program: its trace is the same for all of them."""
    mine = [Planned(**vars(methods.get("zo-sph", step=0.05, radius=0.5)))]
    first = sweep.run(mine, PROBLEMS, folder=tmp_path, **CALL)
    assert reused(sweep.run(mine, PROBLEMS, folder=tmp_path, **CALL)) == 1
    monkeypatch.setattr(sys.modules[__name__], what, 0.5)
    changed = sweep.run(mine, PROBLEMS, folder=tmp_path, **CALL)
    assert reused(changed) == 0
    assert not np.isclose(changed.x, first.x).any()


def test_a_global_that_a_formula_reads_counts_in_every_run(monkeypatch):
    def formula(x, xi):
        return jnp.sum((x - SHIFT) ** 2) + xi

    def first_value():
        result = driftopt.minimize(lambda x: 0.0, [1.0, 1.0], budget=8, radius=0.1, loss=formula, rng=0)
        return result.history["value"][0]

    assert first_value() == pytest.approx(2)
    monkeypatch.setattr(sys.modules[__name__], "SHIFT", 3.0)
    assert first_value() == pytest.approx(8)


def test_a_callback_to_what_cannot_be_seen_is_never_reused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SHIFT", 1.0)  # at 0 the start is optimal and runs stand still
    stream = (0 for _ in range(10**6))

    @module
    class Calling(Shifted):
        def value(self, x, xi):
            def ask():
                return np.float32(0 * next(stream))

            answer = jax.pure_callback(ask, jnp.zeros(()), vmap_method="sequential")
            return self.objective(x) + answer

    problems = [Calling(jnp.asarray(1.0))]
    call = {**CALL, "budget": 8, "folder": tmp_path}
    for _ in range(2):
        assert reused(sweep.run(GRIDS, problems, **call)) == 0
    said = capsys.readouterr().err
    assert "neither kept nor reused" in said
    assert "the state of" in said


SCRIPT = """
import sys
from test_reuse import GRIDS, PROBLEMS, CALL
from driftopt import sweep
print(sweep.run(GRIDS, PROBLEMS, folder=sys.argv[1], **CALL).manifest["parts_found_finished"])
"""


def test_a_second_process_reuses_what_the_first_kept(tmp_path):
    for seed, expected in (("1", "0"), ("2", "1")):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            cwd=os.path.dirname(__file__),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected
    assert f"1 of 1 parts were finished before and are reused from {tmp_path}" in done.stderr
