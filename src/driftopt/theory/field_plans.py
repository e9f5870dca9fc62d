"""The theorems of the field's other methods: what a plan of theirs is, and those that see the same ξ twice.

GFM, GFM+ and the same-sample O2NC assume that F(·; ξ) is L-Lipschitz for every ξ: the noise cancels, and σ
plays no part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

from driftopt.theory.arithmetic import ROOT_2PI, dimension, exact, root, table

if TYPE_CHECKING:
    from driftopt.method import Method


@dataclass(frozen=True)
class FieldPlan:
    """A method of the field with its theorem's numbers; prints as a table."""

    name: str  # the method's name in the registry
    promise: str  # what the theorem says of the output
    dim: int  # d
    parameters: Mapping[str, Any]  # the numbers to run with
    iterations: int | None = None  # None: the theorem gives an order alone
    queries: int | None = None  # of all iterations together

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

    Args:
        dim: the number of coordinates.
        lipschitz: L, the Lipschitz constant of F in x under the same ξ.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        delta: δ, how far around a point gradients may be averaged.
        constant: c, a universal constant that no theorem states.
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

    Args:
        dim: the number of coordinates.
        lipschitz: L, the Lipschitz constant of F in x under the same ξ.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        delta: δ, how far around a point gradients may be averaged.
        constant: c, a universal constant that no theorem states.
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


def o2nc_same(*, dim: int, lipschitz: Any, gap: Any, epsilon: Any, delta: Any) -> FieldPlan:
    """Same-sample two-point O2NC (Kornowski and Shamir 2024), whose increment is carried from block to block.

        ρ = min(δ/2, Δ/L),   G² = 16√(2π) d L²
        M = ⌈36G²/ε²⌉,   K = ⌈2(Δ + ρL)/((δ − ρ)ε)⌉,   D = (δ − ρ)/M,   η = 2D/(G√M),   queries 2KM

    The points of a block lie within DM = δ − ρ of each other, and each gradient of f_ρ within ρ of its point.
    ρ and D are the paper's, the counts are of this derivation: carried over, an increment may begin a block
    anywhere in its ball, so descent's regret is (2D)²/(2η) + ηMG²/2 = 2DG√M, and the estimates' own noise
    adds DG√M; over DM that is 3G/√M ≤ ε/2, and the drop of f_ρ the other half.

    Args:
        dim: the number of coordinates.
        lipschitz: L, the Lipschitz constant of F in x under the same ξ.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        delta: δ, how far around a point gradients may be averaged.
    """
    size, slope, target, reached = _numbers(dim, lipschitz, epsilon, delta)
    drop = exact("gap", gap, zero=True)
    radius = min(reached / 2, drop / slope) if drop else reached / 2
    moment = 16 * ROOT_2PI * size * slope**2
    block = ceil(36 * moment / target**2)
    blocks = ceil(2 * (drop + radius * slope) / ((reached - radius) * target))
    reach = (reached - radius) / block
    numbers = {
        "radius": float(radius),
        "step": float(2 * reach) / sqrt(moment * block),
        "block": block,
        "reach": float(reach),
    }
    iterations = block * blocks
    return FieldPlan("zo-o2nc-same", _promise(epsilon, delta), size, numbers, iterations, 2 * iterations)


def _numbers(dim: Any, lipschitz: Any, epsilon: Any, delta: Any) -> tuple[int, Fraction, Fraction, Fraction]:
    return dimension(dim), exact("lipschitz", lipschitz), exact("epsilon", epsilon), exact("delta", delta)


def _promise(epsilon: Any, delta: Any) -> str:
    return f"E dist(0, ∂_δ f) ≤ {epsilon} at δ = {delta}, same ξ"
