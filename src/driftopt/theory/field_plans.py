"""The theorems of the field's other methods: what to run and, where constants are known, how long.

GFM and GFM+ see two values under the same ξ and assume that F(·; ξ) is L-Lipschitz for every ξ: the noise
cancels, and σ plays no part. Two more theorems fix numbers but no count of queries; there `queries` is None.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, Any

from driftopt.theory.arithmetic import ROOT_2PI, dimension, exact, root, table

if TYPE_CHECKING:
    from driftopt.method import Method


@dataclass(frozen=True)
class FieldPlan:
    """A method of the field with its theorem's numbers; prints as a table."""

    name: str  # the method's name in the registry
    promise: str
    dim: int
    parameters: Mapping[str, Any]
    iterations: int | None = None  # None: the theorem gives an order alone
    queries: int | None = None

    @property
    def radius(self) -> float:
        """The smoothing radius to run with."""
        return float(self.parameters["radius"])

    def method(self) -> "Method":
        """The method with these numbers.

        Raises:
            ValueError: the plan is too long to run.
        """
        from driftopt import methods

        if large := [name for name, value in self.parameters.items() if value >= 2**31]:
            raise ValueError(f"this plan's {large[0]} is too large to run; ask for a larger epsilon or delta")
        return methods.get(self.name, **self.parameters)

    def __str__(self) -> str:
        rows = [("method", self.name), ("promise", self.promise), ("dimension d", f"{self.dim:,}")]
        rows += [(n, f"{v:,}" if isinstance(v, int) else f"{v:.6g}") for n, v in self.parameters.items()]
        if self.queries is not None:
            rows += [("iterations T", f"{self.iterations:,}"), ("queries", f"{self.queries:,}")]
        return table(rows)


def gfm(*, dim: int, lipschitz: Any, gap: Any, epsilon: Any, delta: Any, constant: Any = 1) -> FieldPlan:
    """GFM (Lin, Zheng and Jordan 2022): SGD on f_δ from pairs under the same ξ.

        V = 16√(2π) d L²,   β = c√d L/δ,   Δ_δ = Δ + δL
        T = ⌈2Δ_δ β V/ε⁴⌉,   η = √(2Δ_δ/(β V T)),   queries 2T

    f_δ is β-smooth and E‖g‖² ≤ V, so that a step lowers it by η‖∇f_δ‖² − βη²V/2 on average; summed over the
    run, E‖∇f_δ(x_R)‖² ≤ Δ_δ/(ηT) + βηV/2 = √(2Δ_δ β V/T) ≤ ε². The order d^(3/2) δ⁻¹ ε⁻⁴ is the paper's, the
    constants are of this derivation; c (`constant`) is the universal constant of f_δ's smoothness.
    """
    size, slope, target, radius = _numbers(dim, lipschitz, epsilon, delta)
    moment, drop = 16 * ROOT_2PI * size * slope**2, exact("gap", gap, zero=True) + radius * slope
    beta = exact("constant", constant) * root(Fraction(size)) * slope / radius
    iterations = ceil(2 * drop * beta * moment / target**4)
    step = sqrt(2 * drop / (beta * moment * iterations))
    numbers = {"radius": float(radius), "step": step}
    return FieldPlan("gfm", _promise(epsilon, delta), size, numbers, iterations, 2 * iterations)


def gfm_plus(*, dim: int, lipschitz: Any, gap: Any, epsilon: Any, delta: Any, constant: Any = 1) -> FieldPlan:
    """GFM+ (Chen, Xu, Luo and others, ICML 2023), with a recursive correction between fresh estimates.

        L_δ = c√d L/δ,   M_δ = dL/δ,   σ² = 16√(2π) d L²,   Δ_δ = Δ + δL
        b′ = ⌈2σ²/ε²⌉,   m = ⌈L_δ√b′/M_δ⌉,   b = ⌈2b′/m⌉,   η = √b′/(m M_δ),   T = ⌈4Δ_δ/(ηε²)⌉

    A fresh estimate costs 2b′ queries, every other iteration 4b.
    """
    size, slope, target, radius = _numbers(dim, lipschitz, epsilon, delta)
    square, drop = 16 * ROOT_2PI * size * slope**2, exact("gap", gap, zero=True) + radius * slope
    smooth = exact("constant", constant) * root(Fraction(size)) * slope / radius
    mean_smooth = size * slope / radius
    fresh = ceil(2 * square / target**2)
    period = ceil(smooth * root(Fraction(fresh)) / mean_smooth)
    pairs = -(-2 * fresh // period)
    step = root(Fraction(fresh)) / (period * mean_smooth)
    iterations = ceil(4 * drop / (step * target**2))
    renewed = -(-iterations // period)
    numbers = {
        "radius": float(radius),
        "step": float(step),
        "period": period,
        "pairs": pairs,
        "fresh_pairs": fresh,
    }
    queries = 2 * fresh * renewed + 4 * pairs * (iterations - renewed)
    return FieldPlan("gfm+", _promise(epsilon, delta), size, numbers, iterations, queries)


def dfo(*, dim: int, mixing: float, forget: float = 0.5, step: Any = 1, radius: Any = 1) -> FieldPlan:
    """DFO(λ) (Liu, Li and Wai 2024): its theorem's schedule, in a world that keeps a share ρ of its state.

        δ_0 = r d^{1/6},   η_0 = s d^{−2/3},   τ_0 = 2/log(1/max{ρ, λ}),   α = 2/3,   β = 1/6

    The theorem gives orders: s (`step`) and r (`radius`) are the problem's, and no count of queries follows.
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


def ogvr(*, dim: int, data_lipschitz: Any, shift: Any, noise: Any) -> FieldPlan:
    """ZO-OGVR (Hikima and Takeda 2025): how much an old observation is trusted, M = L_ξ²α²/σ².

    F is L_ξ-Lipschitz in ξ (`data_lipschitz`), Ξ moves by at most α (`shift`) when the decision moves by 1,
    and σ (`noise`) is the deviation of one value. The other numbers stay those of the paper's experiments.
    """
    size = dimension(dim)
    slope, moves = exact("data_lipschitz", data_lipschitz), exact("shift", shift)
    trust = float((slope * moves / exact("noise", noise)) ** 2)
    return FieldPlan("zo-ogvr", "the control value of least variance", size, {"trust": trust})


def _numbers(dim: Any, lipschitz: Any, epsilon: Any, delta: Any) -> tuple[int, Fraction, Fraction, Fraction]:
    return dimension(dim), exact("lipschitz", lipschitz), exact("epsilon", epsilon), exact("delta", delta)


def _promise(epsilon: Any, delta: Any) -> str:
    return f"E dist(0, ∂_δ f) ≤ {epsilon} at δ = {delta}, same ξ"
