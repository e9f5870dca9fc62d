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


def test_same_sample_o2nc_by_hand():
    """The same numbers: G² = 160.424209576, ρ = min(1/2, 1) = 1/2.

    M = ⌈36·160.424209576/0.25⌉ = ⌈23101.08…⌉ = 23102,  K = ⌈2·1.5/(0.5·0.5)⌉ = 12,  D = 0.5/23102
    η = 2D/√(160.424209576·23102);  T = 277224
    """
    plan = theory.o2nc_same(**PROBLEM)
    numbers = plan.parameters
    assert (numbers["block"], plan.iterations, plan.queries) == (23_102, 277_224, 554_448)
    assert (numbers["radius"], numbers["reach"]) == (0.5, pytest.approx(0.5 / 23_102))
    assert numbers["step"] == pytest.approx(2 * 0.5 / 23_102 / math.sqrt(160.424209576 * 23_102))
    # What the derivation promises, put together again: 3G/√M and the drop over KDM are half of ε each.
    assert 3 * math.sqrt(160.424209576 / 23_102) <= 0.25
    assert (1 + 0.5) / (12 * 0.5) <= 0.25
    near = theory.o2nc_same(**{**PROBLEM, "gap": 0.1})
    assert near.radius == 0.1, "a small drop asks for a small radius"


def test_epochs_by_hand():
    """d 4, λ 1/2, B 2, L 1, Δ 1, ε 1, δ 1: V = 64, β = 2, Δ_δ = 2.

    n = ⌈log(2√2·8)/log 2⌉ = ⌈4.5⌉ = 5;  T = 32·2·2·64 = 8192;  η = √(4/(128·8192)) = 2/1024
    """
    given = {**PROBLEM, "epsilon": 1, "bound": 2}
    plan = theory.epochs(mixing=0.5, **given)
    assert plan.parameters == pytest.approx({"radius": 1, "step": 2 / 1024, "hold": 5})
    assert (plan.iterations, plan.queries) == (8192, 40_960)
    assert theory.epochs(mixing=0, **given).parameters["hold"] == 1, "nothing to wait for"
    assert 2 * 2 * 0.5**5 * 4 <= math.sqrt(0.5) < 2 * 2 * 0.5**4 * 4, "no shorter hold is enough"
    with pytest.raises(ValueError, match="mixing"):
        theory.epochs(mixing=1, **given)


GUIDED = {"dim": 4, "gradient_lipschitz": 1, "noise": 1, "gap": 1, "epsilon": 1}


def test_guided_by_hand():
    """d 4, H 1, σ 1, γ 1, ε 1, α 1/2.

    μ² = 2/132 = 1/66;  m = 4·66/(4·0.5) = 132;  β = 1/12;  T = 144·4/0.5 = 1152
    """
    new, old = theory.guided(**GUIDED), theory.guided(history=True, **GUIDED)
    for plan in (new, old):
        numbers = plan.parameters
        assert numbers["radius"] == numbers["smallest"] == pytest.approx(66**-0.5)
        assert (numbers["batch"], numbers["step"], numbers["free"]) == (132, pytest.approx(1 / 12), 0.5)
        assert plan.iterations == 1152
    assert (new.queries, old.queries) == (3 * 132 * 1152, 2 * 132 * 1152)
    third = 0.5 / (4 * 4) / 3  # of αε²/(4d)
    losses = (12 * 1 / 1152, 11 / 16 / 66, 66 / (48 * 132))
    assert losses == pytest.approx((third, third, third))
    with pytest.raises(ValueError, match="free"):
        theory.guided(**GUIDED, free=1.5)


def test_filters_by_hand():
    """d 4, L 1, H 1, γ 1, ε 1, β 1, α 0.9: 80·4 + 8 = 328, T = ⌈328^1.5⌉ = ⌈5940.3…⌉ = 5941.

    η = 0.1/(20·4·T^(1/3)),  r = 1/T^(1/3)
    """
    given = {"dim": 4, "lipschitz": 1, "gradient_lipschitz": 1, "gap": 1, "epsilon": 1}
    plan = theory.hlf(**given)
    third = 5941 ** (1 / 3)
    assert (plan.iterations, plan.queries) == (5941, 5942)
    assert plan.parameters == pytest.approx(
        {"radius": 1 / third, "step": 0.1 / 80 / third, "filter": 1, "momentum": 0.9}
    )
    for filters in (0.5, 1.5):  # κ = 1/2 both times
        assert theory.hlf(**given, filter=filters).iterations == math.ceil((80 * 4 * 4 + 8) ** 1.5)
    with pytest.raises(ValueError, match="filter"):
        theory.hlf(**given, filter=2)


def test_ogvr_by_hand():
    """d 4, L_ξ 2, α 1/2, σ 1/10, H 1, ε 1/2: μ = 0.5/8, m = 16/0.25 = 64, T + 1 = 32/0.0625 + 1 = 513.

    β = min{1/96, 1/(√513·4^0.75) = 0.01560…, 0.0625/(2√24) = 0.0063788…}; two points have the first two alone
    """
    smooth = {"dim": 4, "gradient_lipschitz": 1, "epsilon": 0.5}
    one, two = theory.ogvr(data_lipschitz=2, shift=0.5, noise=0.1, **smooth), theory.ogvr_pair(**smooth)
    for plan in (one, two):
        assert (plan.parameters["radius"], plan.parameters["batch"], plan.iterations) == (0.0625, 64, 513)
    assert one.parameters["step"] == pytest.approx(0.0625 / (2 * math.sqrt(24)))
    assert two.parameters["step"] == pytest.approx(1 / 96)
    assert one.parameters["trust"] == 100.0
    assert (one.queries, two.queries) == (64 * 514, 2 * 64 * 513)
    flat = theory.ogvr_pair(dim=4, gradient_lipschitz=0.01, epsilon=0.5)
    assert flat.parameters["step"] == pytest.approx(1 / (math.sqrt(513) * 4**0.75))
    with pytest.raises(ValueError, match="go together"):
        theory.ogvr(dim=4, data_lipschitz=2, shift=0.5, noise=0.1, epsilon=0.5)


SMALL = {"dim": 2, "lipschitz": 0.2, "gap": 1, "epsilon": 1, "delta": 1}
BENT = {"dim": 2, "gradient_lipschitz": 0.5, "epsilon": 1}
COUNTED = {  # a plan, and how many answers an iteration of its theorem takes
    "gfm": (theory.gfm(**SMALL), 1),
    "gfm+": (theory.gfm_plus(**SMALL), 1),
    "zo-o2nc-same": (theory.o2nc_same(**SMALL), 1),
    "zo-epoch": (theory.epochs(mixing=0.5, bound=1, **SMALL), 3),
    "gzo-ns": (theory.guided(noise=1, gap=1, **BENT), 2),
    "gzo-hs": (theory.guided(history=True, noise=1, gap=1, **BENT), 1),
    "hlf-szo": (theory.hlf(lipschitz=0.2, gap=1, **BENT), 1),
    "zo-ogvr": (theory.ogvr(data_lipschitz=1, shift=1, noise=1, **BENT), 1),
    "zo-ga-scheduled": (theory.ogvr_pair(**BENT), 1),
}


@pytest.mark.parametrize("name", COUNTED)
def test_the_method_costs_what_the_plan_says(name):
    plan, answers = COUNTED[name]
    method = plan.method()
    told = answers * plan.iterations + (method.warmup if answers == 1 else 0)
    found = affordable(method, 2, plan.queries)
    assert (plan.name, found.iterations, found.queries) == (name, told, plan.queries)
    assert affordable(method, 2, plan.queries - 1).iterations == told - 1
    text = str(plan)
    assert f"{plan.queries:,}" in text
    assert all(len(line) < 80 for line in text.splitlines())


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
