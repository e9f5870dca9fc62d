"""What the methods of reference come to: the stable point or the optimum, to statistical accuracy.

Every problem has closed forms for both. A method's decisions over independent runs are compared with the
point that it should find by z-scores in all coordinates; the same decisions must reject the other point.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import driftopt
from driftopt import methods, problems
from driftopt.problems import regression, scalar_location, synthetic

RUNS = 24
PROBLEMS = {
    "location-shift": synthetic.location_shift(3, rng=3),
    "gaussian-pricing": problems.get("gaussian-pricing", dim=3, noise=0.5),
    "line": scalar_location.line_location(),
    "mixture": scalar_location.mixture_location(),
    "root": scalar_location.root_location(),
    "regression": regression.performative_regression(),
}
# Two more problems. Retraining on all of them is in tests/problems/test_known_answers.py.
MORE = {"ar1-pricing": problems.get("ar1-pricing", dim=3), "parking": problems.get("parking", dim=1)}
HELD = {"ar1-pricing": 12}  # deployments of a decision: of the first law 2⁻¹² is left
# Each method where its assumptions hold: two-stage needs a mean that moves along a line, perfgd a law that
# moves by its mean alone. Every problem is there once.
OPTIMAL = {
    "perfgd": ({"step": 0.1, "batch": 200, "window": 60}, 16_000, ("location-shift", "root", "ar1-pricing")),
    "two-stage": (
        {"radius": 1.0, "iterations": 12},
        1500,
        ("location-shift", "line", "mixture", "ar1-pricing"),
    ),
    "plug-in": (
        {"radius": 0.5, "draws": 300, "iterations": 12},
        1500,
        ("gaussian-pricing", "regression", "parking"),
    ),
}
CASES = [(name, where) for name, (*_, worlds) in OPTIMAL.items() for where in worlds]


def decisions(name, numbers, budget, problem, runs=RUNS, **options):
    trace = driftopt.simulate_many(
        methods.get(name, **numbers), driftopt.stack([problem]), budget=budget, seeds=range(runs), **options
    )
    return np.asarray(trace.x, float)[0, :, 0]


def zscore(x, point):
    """The largest in absolute value over coordinates."""
    return float(np.max(np.abs(x.mean(axis=0) - point) / (x.std(axis=0, ddof=1) / np.sqrt(len(x)))))


def bound(problem):
    return norm.isf(0.5e-6 / (problem.dim * len(PROBLEMS | MORE) * len(OPTIMAL)))


@pytest.mark.parametrize(("name", "where"), CASES)
def test_methods_that_reckon_with_the_reaction_find_the_optimum(name, where):
    problem, (numbers, budget, _) = (PROBLEMS | MORE)[where], OPTIMAL[name]
    held = HELD.get(where, 1)
    start = problem.optimum().x + 0.3 if where in MORE else None  # parking's own start is its stable point
    x = decisions(name, numbers, budget * held, problem, settle=held, x0=start)
    assert methods.entry(name).finds != "stable point"
    assert zscore(x, problem.optimum().x) < bound(problem)
    assert zscore(x, problem.stable_point().x) > bound(problem), "it does not find the stable point"


def test_a_memory_of_half_leads_two_stage_to_the_stable_point():
    """It sees half of every reaction, and half of the slope doubles the price: μ₀/κ instead of μ₀/2κ."""
    problem = MORE["ar1-pricing"]
    x = decisions("two-stage", OPTIMAL["two-stage"][0], 1500, problem)
    assert zscore(x, problem.stable_point().x) < bound(problem)
    assert zscore(x, problem.optimum().x) > bound(problem)


def test_two_stage_misses_where_the_mean_moves_along_no_line():
    numbers, budget, _ = OPTIMAL["two-stage"]
    x = decisions("two-stage", numbers, budget, PROBLEMS["root"])
    assert zscore(x, PROBLEMS["root"].optimum().x) > bound(PROBLEMS["root"])


def test_every_problem_with_closed_forms_is_here():
    """By its class: the registry's problems that know both points, against those that are looked at."""
    known = [problems.entry(name).known for name in problems.names()]
    closed = {
        type(problems.get(name))
        for name, one in zip(problems.names(), known, strict=True)
        if one is not None and one.optimum == one.stable_point == "closed form"
    }
    assert closed == {type((PROBLEMS | MORE)[where]) for _, where in CASES}


def test_confidence_bounds_keep_the_best_decision_of_the_grid():
    """On a grid the answer is one of its points; it must be as good as the best, but for the tolerance."""
    problem = synthetic.location_shift(2, rng=1, noise=0.2)
    # ½‖x − ξ‖² moves with E ξ = b + Ax by at most ‖x − ξ‖ ‖A‖, here below 2.
    numbers = {"low": -1.0, "high": 1.0, "sensitivity": 2.0, "tolerance": 1.0, "batch": 50, "grid": 5}
    method = methods.get("pcb", **numbers)
    grid = method.decisions(2, jnp.float32)
    values = np.asarray(jax.vmap(problem.objective)(grid))
    x = decisions("pcb", numbers, 8000, problem, runs=4)
    found = np.asarray(jax.vmap(problem.objective)(jnp.asarray(x, jnp.float32)))
    assert (found <= values.min() + 0.1).all()
    assert np.sort(values)[3] > values.min() + 0.1, "few decisions are that good"


def test_confidence_bounds_refuse_many_coordinates():
    numbers = {"low": -1.0, "high": 1.0, "sensitivity": 2.0, "tolerance": 1.0}
    with pytest.raises(ValueError, match="at most 3 coordinates, not 4"):
        driftopt.simulate(methods.get("pcb", **numbers), synthetic.location_shift(4), budget=100)
