"""The theorems of methods for a world with memory: how long to hold a decision, and with which numbers."""

from fractions import Fraction
from math import ceil, log, sqrt
from typing import Any

from driftopt.theory.arithmetic import dimension, exact, root
from driftopt.theory.field_plans import FieldPlan


def dfo(*, dim: int, mixing: float, forget: float = 0.5, step: Any = 1, radius: Any = 1) -> FieldPlan:
    """DFO(λ) (Liu, Li and Wai 2024): its theorem's schedule, in a world that keeps a share ρ of its state.

        δ_0 = r d^{1/6},   η_0 = s d^{−2/3},   τ_0 = 2/log(1/max{ρ, λ}),   α = 2/3,   β = 1/6

    The theorem gives orders: s (`step`) and r (`radius`) are the problem's, and no count of queries follows.

    Args:
        dim: the number of coordinates.
        mixing: ρ, the share of its state that the world keeps from one deployment to the next.
        forget: λ: a sample of a decision counts λ times as much as the one after it.
        step: s, in the units of the problem.
        radius: r, in the units of x.
    """
    size, slowest = dimension(dim), max(float(forget), float(mixing))
    if not 0 < slowest < 1:
        raise ValueError(f"forget and mixing must be above 0 and below 1; got {forget!r} and {mixing!r}")
    numbers = {
        "radius": float(exact("radius", radius)) * size ** (1 / 6),
        "step": float(exact("step", step)) * size ** (-2 / 3),
        "forget": float(forget),
        "hold": 2 / log(1 / slowest),
    }
    return FieldPlan("dfo", "mean ‖∇f‖² of order d^(2/3) T^(−1/3), up to logarithms", size, numbers)


def epochs(
    *,
    dim: int,
    mixing: Any,
    bound: Any,
    lipschitz: Any,
    gap: Any,
    epsilon: Any,
    delta: Any,
    constant: Any = 1,
) -> FieldPlan:
    """One-point steps in epochs (after Ray et al. 2022); the world keeps a share λ (`mixing`) of its law.

        n = ⌈log(2√2 d B/(δε)) / log(1/λ)⌉,   V = d²B²/δ²,   β = c√d L/δ,   Δ_δ = Δ + δL
        T = ⌈32Δ_δ β V/ε⁴⌉,   η = √(2Δ_δ/(β V T)),   queries nT

    After n deployments of x the law is λⁿp + (1 − λⁿ)Ξ(x), so with |F| ≤ B (`bound`) a value is off by 2Bλⁿ
    on average, and the estimate of ∇f_δ by b = 2Bλⁿ d/δ ≤ ε/√2. A biased step lowers f_δ by
    η(‖∇f_δ‖² − b²)/2 − βη²V/2 on average; summed, the mean of E‖∇f_δ‖² over the run is at most
    2Δ_δ/(ηT) + b² + βηV ≤ ε². The paper's theorem is for strongly convex f; this derivation is ours.

    Args:
        dim: the number of coordinates.
        mixing: λ, the share of its law that the world keeps from one deployment to the next.
        bound: B: |F| ≤ B.
        lipschitz: L: |f(x) − f(y)| ≤ L‖x − y‖.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        delta: δ, how far around a point gradients may be averaged.
        constant: c, a universal constant that no theorem states.
    """
    size, slope, drop = dimension(dim), exact("lipschitz", lipschitz), exact("gap", gap, zero=True)
    target, radius, most = exact("epsilon", epsilon), exact("delta", delta), exact("bound", bound)
    kept = exact("mixing", mixing, zero=True)
    if not kept < 1:
        raise ValueError(f"mixing must be below 1, the share of its law that the world keeps; got {mixing!r}")
    hold = 1 if kept == 0 else ceil(log(2 * sqrt(2) * size * most / (radius * target)) / -log(kept))
    moment, total = (size * most / radius) ** 2, drop + radius * slope
    beta = exact("constant", constant) * root(Fraction(size)) * slope / radius
    iterations = ceil(32 * total * beta * moment / target**4)
    numbers = {
        "radius": float(radius),
        "step": sqrt(2 * total / (beta * moment * iterations)),
        "hold": max(hold, 1),
    }
    promise = f"mean E‖∇f_δ‖² ≤ {epsilon}² over the run, δ = {delta}"
    return FieldPlan("zo-epoch", promise, size, numbers, iterations, max(hold, 1) * iterations)
