"""The numbers of the field's other theorems against values worked by hand."""

import math
from itertools import accumulate

import pytest

from driftopt import theory
from driftopt.drivers.plan import affordable

PROBLEM = {"dim": 4, "lipschitz": 1, "gap": 1, "epsilon": 0.5, "delta": 1}


def test_gfm_plus_by_hand():
    """d 4, L 1, Δ 1, ε 1/2, δ 1, c 1: L_δ = 2, M_δ = 4, σ² = 64√(2π) = 160.424209576, Δ_δ = 2.

    b′ = ⌈2·160.424/0.25⌉ = ⌈1283.39…⌉ = 1284,  √b′ = 35.8329…;  m = ⌈2·35.8329/4⌉ = ⌈17.916…⌉ = 18
    b = ⌈2568/18⌉ = 143;  η = 35.8329/72 = 0.497680…;  T = ⌈8/(0.497680·0.25)⌉ = ⌈64.298…⌉ = 65
    fresh ⌈65/18⌉ = 4: queries 2·1284·4 + 4·143·61 = 10272 + 34892 = 45164
    """
    plan = theory.gfm_plus(**PROBLEM)
    numbers = plan.parameters
    assert (numbers["fresh_pairs"], numbers["period"], numbers["pairs"]) == (1284, 18, 143)
    assert numbers["step"] == pytest.approx(math.sqrt(1284) / 72, rel=1e-14)
    assert (plan.iterations, plan.queries) == (65, 45164)


def test_gfm_by_hand():
    """The same numbers: V = 160.424209576, β = 2, Δ_δ = 2.

    T = ⌈2·2·2·160.424209576/0.0625⌉ = ⌈20534.2988…⌉ = 20535; η = √(4/(2·160.424209576·20535)).
    """
    plan = theory.gfm(**PROBLEM)
    assert (plan.iterations, plan.queries) == (20535, 41070)
    assert plan.parameters["step"] == pytest.approx(math.sqrt(4 / (2 * 160.424209576 * 20535)), rel=1e-10)
    moment, beta, drop, step = 160.424209576, 2, 2, plan.parameters["step"]
    assert drop / (step * plan.iterations) + beta * step * moment / 2 <= 0.25 * (1 + 1e-12)


@pytest.mark.parametrize("make", [theory.gfm, theory.gfm_plus])
def test_the_method_costs_what_the_plan_says(make):
    plan = make(**{**PROBLEM, "dim": 2, "lipschitz": 0.2, "epsilon": 1})
    found = affordable(plan.method(), 2, plan.queries)
    assert (found.iterations, found.queries) == (plan.iterations, plan.queries)
    assert affordable(plan.method(), 2, plan.queries - 1).iterations == plan.iterations - 1
    text = str(plan)
    assert f"{plan.queries:,}" in text
    assert all(len(line) < 80 for line in text.splitlines())


@pytest.mark.parametrize(("make", "power"), [(theory.gfm, 4), (theory.gfm_plus, 3)])
def test_halving_epsilon_multiplies_the_count(make, power):
    given = {"dim": 3, "lipschitz": 1, "gap": 5, "delta": 1}
    counts = [make(epsilon=epsilon, **given).queries for epsilon in (2e-3, 1e-3)]
    assert counts[1] / counts[0] == pytest.approx(2**power, rel=2e-2)


def test_dfo_holds_for_as_long_as_the_world_remembers():
    """ρ = 1/2, λ = 1/4: τ_0 = 2/log 2; d = 64: δ_0 = 2r, η_0 = s/16."""
    plan = theory.dfo(dim=64, mixing=0.5, forget=0.25, step=0.8, radius=0.5)
    assert plan.parameters == pytest.approx(
        {"radius": 1.0, "step": 0.05, "forget": 0.25, "hold": 2 / math.log(2)}
    )
    assert plan.queries is None
    method = plan.method()
    held = list(accumulate(max(1, math.floor(plan.parameters["hold"] * math.log(1 + k))) for k in range(5)))
    assert held == [1, 3, 6, 10, 14]
    assert float(method.hold) == pytest.approx(2 / math.log(2))
    with pytest.raises(ValueError, match="above 0 and below 1"):
        theory.dfo(dim=2, mixing=1.0)


def test_ogvr_trusts_less_where_data_moves_more():
    plan = theory.ogvr(dim=3, data_lipschitz=2, shift=0.5, noise=0.1)
    assert plan.parameters == {"trust": 100.0}
    assert float(plan.method().trust) == 100.0
    assert "trust" in str(plan)


def test_a_plan_too_long_to_run_says_so():
    with pytest.raises(ValueError, match="too large to run"):
        theory.gfm_plus(**{**PROBLEM, "dim": 10**9, "epsilon": 1e-3}).method()
