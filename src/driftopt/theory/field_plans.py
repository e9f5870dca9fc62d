"""Plans by the theorems of the field's other methods: same-sample queries, and worlds with memory.

GFM, GFM+ and the same-sample O2NC assume that F(·; ξ) is L-Lipschitz for every ξ: the noise cancels, and σ
plays no part. DFO and the epochs hold each decision for some deployments, because the world remembers.
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
    promise: str  # the theorem's statement on the output
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


def _numbers(dim: Any, lipschitz: Any, epsilon: Any, delta: Any) -> tuple[int, Fraction, Fraction, Fraction]:
    return dimension(dim), exact("lipschitz", lipschitz), exact("epsilon", epsilon), exact("delta", delta)


def _promise(epsilon: Any, delta: Any) -> str:
    return f"E dist(0, ∂_δ f) ≤ {epsilon} at δ = {delta}, same ξ"
