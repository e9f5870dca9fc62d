"""The theorems' numbers against values worked by hand, and how they scale."""

import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt import theory

PROBLEM = {"dim": 12, "lipschitz": 1, "noise": 0.5, "gap": 1, "epsilon": 0.1}
PLANS = {
    "o2nc I": lambda **p: theory.o2nc(option="I", delta=0.5, **p),
    "o2nc II": lambda **p: theory.o2nc(option="II", delta=0.5, **p),
    "smooth I": lambda **p: theory.smooth(option="I", gradient_lipschitz=2, **p),
    "smooth II": lambda **p: theory.smooth(option="II", gradient_lipschitz=2, **p),
    "hessian I": lambda **p: theory.hessian_lipschitz(option="I", hessian_lipschitz=2, **p),
    "hessian II": lambda **p: theory.hessian_lipschitz(option="II", hessian_lipschitz=2, **p),
    "sgd": lambda **p: theory.minibatch_sgd(delta=0.5, **p),
}
every = pytest.mark.parametrize("make", PLANS.values(), ids=PLANS.keys())


def test_option_one_by_hand():
    """d 12, L 1, σ 1/2, γ 1, ε 1/10, δ 1/2; the Goldstein rule runs with δ = 1/4.

    d²σ²/(2δ²) = 144·0.25/(2·0.0625) = 288;   16√(2π)·12 = 16·2.50662827463·12 = 481.272628729
    G² = 769.272628729;   M = ⌈16·769.272628729/0.01⌉ = ⌈1230836.2059…⌉ = 1230837
    K = ⌈2(1 + 0.25)/(0.25·0.1)⌉ = ⌈2.5/0.025⌉ = 100 exactly, not 101
    T = 123083700, queries 2T = 246167400, D = 0.25/1230837, η = D/(G√M)
    """
    plan = theory.o2nc(option="I", delta=0.5, **PROBLEM)
    assert (plan.block, plan.blocks, plan.iterations, plan.queries) == (1230837, 100, 123083700, 246167400)
    assert plan.radius == 0.25
    assert plan.moment == pytest.approx(769.272628729, rel=1e-11)
    assert plan.reach == pytest.approx(0.25 / 1230837, rel=1e-14)
    assert plan.step == pytest.approx(0.25 / 1230837 / math.sqrt(769.272628729 * 1230837), rel=1e-11)


def test_option_two_by_hand():
    """d 2, L 3, σ 1/10, γ 2, ε 1/2, δ 1, without the Goldstein rule.

    6d²σ²/δ² = 6·4·0.01 = 0.24;  385·4·9 = 13860;  G² = 13860.24
    M = 16·13860.24/0.25 = 887055.36 → 887056;  K = 2(2 + 3)/0.5 = 20
    T = 17741120, queries T + 1
    """
    plan = theory.o2nc(
        option="II", dim=2, lipschitz=3, noise=0.1, gap=2, epsilon=0.5, delta=1, goldstein=False
    )
    assert (plan.block, plan.blocks, plan.iterations, plan.queries) == (887056, 20, 17741120, 17741121)
    assert plan.radius == 1
    assert plan.moment == pytest.approx(13860.24, rel=1e-14)


def test_smooth_by_hand():
    """Option II, d 2, L 1, σ 1, γ 1, ε 0.4, L_g 1/2: δ = 0.4/2 = 0.2, target 0.2.

    G² = 6·4/0.04 + 385·4 = 600 + 1540 = 2140;  M = 16·2140/0.04 = 856000 exactly
    K = 2(1 + 0.2)/(0.2·0.2) = 60 exactly;  queries 856000·60 + 1
    """
    plan = theory.smooth(option="II", dim=2, lipschitz=1, noise=1, gap=1, epsilon=0.4, gradient_lipschitz=0.5)
    assert (plan.radius, plan.moment, plan.block, plan.blocks) == (0.2, 2140, 856000, 60)
    assert plan.queries == 51360001


def test_hessian_by_hand():
    """Option II, d 1, L 1, σ 1, γ 1, ε 0.5, L_H 1: δ = √(0.5/2) = 1/2, target 1/4.

    G² = 6/0.25 + 385 = 409;  M = 16·409·16 = 104704;  K = 2(1 + 0.5)/(0.5·0.25) = 24
    With L_H 2, δ = √(1/8) = 0.353553…: G² = 48 + 385 = 433, M = 110848,
    K = ⌈8(1/0.353553… + 1)⌉ = ⌈8·3.828427…⌉ = ⌈30.627…⌉ = 31
    """
    given = {"option": "II", "dim": 1, "lipschitz": 1, "noise": 1, "gap": 1, "epsilon": 0.5}
    plan = theory.hessian_lipschitz(hessian_lipschitz=1, **given)
    assert (plan.radius, plan.block, plan.blocks, plan.queries) == (0.5, 104704, 24, 104704 * 24 + 1)
    plan = theory.hessian_lipschitz(hessian_lipschitz=2, **given)
    assert (plan.block, plan.blocks) == (110848, 31)
    assert plan.radius == pytest.approx(math.sqrt(1 / 8), rel=1e-15)


def test_minibatch_by_hand():
    """d 4, L 1, σ 1, γ 1, ε 1/2, δ 1, c 1: β = 2, η = 1/2.

    V = 16/2 + 16√(2π)·4 = 8 + 160.424209576 = 168.424209576;  B = ⌈2V/0.25⌉ = ⌈1347.39…⌉ = 1348
    T = 4·2·(1 + 1)/0.25 = 64 exactly;  queries 2·1348·64 = 172544. With c = 3, T = 192 and η = 1/6.
    """
    given = {"dim": 4, "lipschitz": 1, "noise": 1, "gap": 1, "epsilon": 0.5, "delta": 1}
    plan = theory.minibatch_sgd(**given)
    assert (plan.directions, plan.iterations, plan.queries, plan.step) == (1348, 64, 172544, 0.5)
    assert plan.reach is None
    plan = theory.minibatch_sgd(constant=3, **given)
    assert (plan.iterations, plan.step) == (192, pytest.approx(1 / 6))


POWERS = {
    "o2nc I": 3,
    "o2nc II": 3,
    "smooth I": 6,
    "smooth II": 6,
    "hessian I": 4.5,
    "hessian II": 4.5,
    "sgd": 4,
}


@pytest.mark.parametrize(("name", "power"), POWERS.items())
def test_halving_epsilon_multiplies_the_count(name, power):
    """By 2^power where the σ and γ terms lead, as the theorem says."""
    loud = {"dim": 7, "lipschitz": 1e-4, "noise": 3, "gap": 5}
    counts = [PLANS[name](epsilon=epsilon, **loud).queries for epsilon in (2e-3, 1e-3)]
    assert counts[1] / counts[0] == pytest.approx(2**power, rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    epsilon=st.fractions(Fraction(1, 50), 2, max_denominator=1000),
    delta=st.fractions(Fraction(1, 50), 2, max_denominator=1000),
    gap=st.fractions(0, 5, max_denominator=100).filter(lambda gap: gap == 0 or gap > Fraction(1, 10**6)),
    option=st.sampled_from(["I", "II"]),
)
def test_the_theorem_holds_with_equality_to_spare(epsilon, delta, gap, option):
    """M(γ + δL)/(δT) + 2G/√M ≤ ε with these numbers; a smaller K or M breaks its half."""
    plan = theory.o2nc(
        option=option, dim=3, lipschitz=1, noise=1, gap=gap, epsilon=epsilon, delta=delta, goldstein=False
    )
    assert (gap + delta) / (delta * plan.blocks) <= epsilon / 2
    assert plan.blocks == 1 or (gap + delta) / (delta * (plan.blocks - 1)) > epsilon / 2
    assert 2 * math.sqrt(plan.moment / plan.block) <= float(epsilon) / 2 * (1 + 1e-12)
    assert 2 * math.sqrt(plan.moment / (plan.block - 1)) >= float(epsilon) / 2 * (1 - 1e-12)


@every
def test_the_method_costs_what_the_plan_says(make):
    """The registry's method draws exactly the plan's queries in its iterations and warm-up."""
    plan = make(**{**PROBLEM, "dim": 2, "noise": 0.01, "epsilon": 1.0})
    method = plan.method()
    assert method.queries(plan.dim) * (plan.iterations + method.warmup) == plan.queries
    assert method.output == "random-block"
    assert (method.radius, method.block) == (plan.radius, plan.block)
    assert (method.step if hasattr(method, "step") else method.learner.step) == plan.step


def test_a_plan_too_long_to_run_says_so():
    with pytest.raises(ValueError, match="too long to run"):
        theory.o2nc(delta=1e-3, **{**PROBLEM, "epsilon": 1e-3}).method()


def test_decimals_are_taken_as_written():
    """0.1 is 1/10 here, whatever its float is: NumPy numbers, Decimal and Fraction give the same plan."""
    plans = {
        theory.o2nc(delta=0.5, **{**PROBLEM, "epsilon": epsilon}).queries
        for epsilon in (0.1, np.float64(0.1), np.float32(0.1), Decimal("0.1"), Fraction(1, 10))
    }
    assert len(plans) == 1


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "1", None, True, 1e-12, 1e12, [1.0], 1j])
@pytest.mark.parametrize("name", ["lipschitz", "noise", "gap", "epsilon", "delta", "dim"])
def test_bad_numbers_are_named(name, bad):
    given = {**PROBLEM, "delta": 0.5, name: bad}
    if bad == 0 and name in ("noise", "gap"):
        assert theory.o2nc(**given).queries > 0  # noiseless, or started at the infimum
        return
    with pytest.raises(ValueError, match=name):
        theory.o2nc(**given)


def test_table_one():
    """Its lines in the paper's order, and the orders at d 10, ε 1/10, δ 1/2 by hand."""
    rows = theory.compare(10, 0.1, 0.5).rows()
    assert [row["feedback"] for row in rows] == ["1", "1", "2", "2d", "2N", "2", "1"]
    two = next(row for row in rows if row["source"].endswith("Option II"))
    assert two["nonsmooth"] == pytest.approx(100 * 8 * 1e3)  # d² δ⁻³ ε⁻³
    assert two["smooth"] == pytest.approx(1e8)  # d² ε⁻⁶
    assert two["hessian"] == pytest.approx(100 * 10**4.5)  # d² ε^(−9/2)
    batch = next(row for row in rows if row["source"].endswith("mini-batch"))
    assert batch["nonsmooth"] == pytest.approx(10**2.5 * 8 * 1e4)  # d^(5/2) δ⁻³ ε⁻⁴
    assert sum(row["nonsmooth"] is not None for row in rows) == 3
    text = str(theory.compare(10, 0.1, 0.5))
    assert "Orders without the constants" in text
    with pytest.raises(ValueError, match="setting"):
        theory.COMPLEXITIES[0].order("convex", dim=1, epsilon=1, delta=1)


def test_planning_does_not_import_jax():
    code = "import sys; from driftopt import theory; theory.compare(2, 1, 1); sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
