"""Plans of runs by the paper's theorems: parameters and query counts."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

from driftopt import checks
from driftopt.theory.arithmetic import ROOT_2PI, dimension, exact, root, table

if TYPE_CHECKING:
    from driftopt.method import Method


@dataclass(frozen=True)
class Plan:
    """A method and its numbers, for which the theorem's bound holds; prints as a table."""

    name: str  # the method's name in the registry
    promise: str  # the theorem's statement on the output
    dim: int  # d
    radius: float  # the smoothing radius to run with
    moment: float  # G², the bound on E‖g‖²
    block: int  # M; 1 for SGD, whose output is a single iterate
    blocks: int  # K
    step: float  # η
    directions: int  # B, the mini-batch of SGD
    queries: int  # of all iterations together

    @property
    def iterations(self) -> int:
        """T = K·M."""
        return self.block * self.blocks

    @property
    def reach(self) -> float | None:
        """D = δ/M, how far one increment of O2NC may go; SGD has no such bound."""
        return self.radius / self.block if self.name.startswith("zo-o2nc") else None

    def method(self, output: str = "random-block") -> "Method":
        """The method with these numbers, reporting a uniformly drawn block's mean, as the theorem does."""
        from driftopt import methods

        for what, number in (
            ("block", self.block),
            ("mini-batch", self.directions),
            ("run", self.iterations),
        ):
            if number >= 2**31:
                raise ValueError(
                    f"this plan's {what} of {number:,} is too long to run (at most {2**31 - 1:,}); "
                    "ask for a larger epsilon or delta"
                )
        extra = {"directions": self.directions} if self.directions > 1 else {}
        return methods.get(
            self.name, radius=self.radius, step=self.step, block=self.block, output=output, **extra
        )

    def __str__(self) -> str:
        rows = [
            ("method", self.name),
            ("promise", self.promise),
            ("dimension d", f"{self.dim:,}"),
            ("radius δ to run with", f"{self.radius:.6g}"),
            ("moment bound G²", f"{self.moment:.6g}"),
            ("step η", f"{self.step:.6g}"),
        ]
        if self.reach is not None:
            rows += [("reach D = δ/M", f"{self.reach:.6g}"), ("block M", f"{self.block:,}")]
            rows += [("blocks K", f"{self.blocks:,}")]
        else:
            rows += [("mini-batch B", f"{self.directions:,}")]
        rows += [("iterations T", f"{self.iterations:,}"), ("queries", f"{self.queries:,}")]
        return table(rows)


def o2nc(
    *,
    option: str = "I",
    dim: int,
    lipschitz: Any,
    noise: Any,
    gap: Any,
    epsilon: Any,
    delta: Any,
    goldstein: bool = True,
) -> Plan:
    """thm:O2NC-NSNC. With `goldstein`, the (δ, ε)-Goldstein output rule: run with δ/2 in place of δ.

    G_I² = d²σ²/(2δ²) + 16√(2π) d L²          G_II² = 6d²σ²/δ² + 385 d²L²
    M = ⌈16G²/ε²⌉,  K = ⌈2(γ + δL)/(δε)⌉,  T = KM,  D = δ/M,  η = D/(G√M)
    queries: 2T (Option I), T + 1 (Option II)

    Args:
        option: "I" with two points an iteration, "II" with one.
        dim: the number of coordinates.
        lipschitz: L: |f(x) − f(y)| ≤ L‖x − y‖.
        noise: σ, the standard deviation of a value, at most.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        delta: δ, how far around a point gradients may be averaged.
        goldstein: True if the output shall be (δ, ε)-Goldstein stationary.
    """
    given, target = exact("delta", delta), exact("epsilon", epsilon)
    goldstein = checks.flag("goldstein", goldstein)
    promise = (
        f"E dist(0, ∂_δ f) ≤ {epsilon} at δ = {delta}"
        if goldstein
        else f"E‖mean ∇f_δ‖ ≤ {epsilon}, δ = {delta}"
    )
    radius = given / 2 if goldstein else given
    return _o2nc(option, promise, dim, lipschitz, noise, gap, target, radius, radius * radius)


def smooth(
    *,
    option: str = "I",
    dim: int,
    lipschitz: Any,
    noise: Any,
    gap: Any,
    epsilon: Any,
    gradient_lipschitz: Any,
) -> Plan:
    """thm:smooth-gradient, ∇f L_g-Lipschitz: δ = ε/(4L_g) and target ε/2 give E‖∇f(ȳ)‖ ≤ ε.

    Args:
        option: "I" with two points an iteration, "II" with one.
        dim: the number of coordinates.
        lipschitz: L: |f(x) − f(y)| ≤ L‖x − y‖.
        noise: σ, the standard deviation of a value, at most.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        gradient_lipschitz: L_g: the gradient of f is L_g-Lipschitz.
    """
    target = exact("epsilon", epsilon)
    radius = target / (4 * exact("gradient_lipschitz", gradient_lipschitz))
    promise = f"E‖∇f‖ ≤ {epsilon}, gradient {gradient_lipschitz}-Lipschitz"
    return _o2nc(option, promise, dim, lipschitz, noise, gap, target / 2, radius, radius * radius)


def hessian_lipschitz(
    *, option: str = "I", dim: int, lipschitz: Any, noise: Any, gap: Any, epsilon: Any, hessian_lipschitz: Any
) -> Plan:
    """thm:smooth-hessian, ∇²f L_H-Lipschitz: δ = √(ε/(2L_H)) and target ε/2 give E‖∇f(ȳ)‖ ≤ ε.

    Args:
        option: "I" with two points an iteration, "II" with one.
        dim: the number of coordinates.
        lipschitz: L: |f(x) − f(y)| ≤ L‖x − y‖.
        noise: σ, the standard deviation of a value, at most.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        hessian_lipschitz: L_H: the Hessian of f is L_H-Lipschitz.
    """
    target = exact("epsilon", epsilon)
    square = target / (2 * exact("hessian_lipschitz", hessian_lipschitz))
    promise = f"E‖∇f‖ ≤ {epsilon}, Hessian {hessian_lipschitz}-Lipschitz"
    return _o2nc(option, promise, dim, lipschitz, noise, gap, target / 2, root(square), square)


def minibatch_sgd(
    *, dim: int, lipschitz: Any, noise: Any, gap: Any, epsilon: Any, delta: Any, constant: Any = 1
) -> Plan:
    """thm:mb-sgd, mini-batch two-point SGD on f_δ, whose random iterate is (δ, ε)-Goldstein stationary.

        V = d²σ²/(2δ²) + 16√(2π) d L²,   β = c√d L/δ
        η = 1/β,  B = ⌈2V/ε²⌉,  T = ⌈4β(γ + δL)/ε²⌉,  queries 2BT

    The universal constant c (`constant`) of prop:f-delta-smooth(d) is not stated by the paper; 1 is this
    function's default, and T is proportional to it.

    Args:
        dim: the number of coordinates.
        lipschitz: L: |f(x) − f(y)| ≤ L‖x − y‖.
        noise: σ, the standard deviation of a value, at most.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        delta: δ, how far around a point gradients may be averaged.
        constant: c, a universal constant that no theorem states.
    """
    dim = dimension(dim)
    slope, sigma = exact("lipschitz", lipschitz), exact("noise", noise, zero=True)
    drop, target, radius = exact("gap", gap, zero=True), exact("epsilon", epsilon), exact("delta", delta)
    moment = _moment("I", dim, slope, sigma, radius * radius)
    beta = exact("constant", constant) * root(Fraction(dim)) * slope / radius
    batch = ceil(2 * moment / target**2)
    iterations = ceil(4 * beta * (drop + radius * slope) / target**2)
    promise = f"E dist(0, ∂_δ f) ≤ {epsilon} at δ = {delta}"
    return Plan(
        "zo-sgd", promise, dim, float(radius), float(moment), 1, iterations, float(1 / beta), batch,
        2 * batch * iterations,
    )  # fmt: skip


def _o2nc(
    option: str, promise: str, dim: int, lipschitz: Any, noise: Any, gap: Any,
    target: Fraction, radius: Fraction, square: Fraction,
) -> Plan:  # fmt: skip
    option = checks.choice("option", option, ("I", "II"))
    dim = dimension(dim)
    slope, sigma = exact("lipschitz", lipschitz), exact("noise", noise, zero=True)
    moment = _moment(option, dim, slope, sigma, square)
    block = ceil(16 * moment / target**2)
    blocks = ceil(2 * (exact("gap", gap, zero=True) + radius * slope) / (radius * target))
    step = float(radius / block) / sqrt(moment * block)
    name, queries = (
        ("zo-o2nc-2pt", 2 * block * blocks) if option == "I" else ("zo-o2nc-1pt", block * blocks + 1)
    )
    return Plan(name, promise, dim, float(radius), float(moment), block, blocks, step, 1, queries)


def _moment(option: str, dim: int, slope: Fraction, sigma: Fraction, square: Fraction) -> Fraction:
    """G² of lem:zo-var (I) and of lem:one-point-o2nc-moment (II); `square` is δ²."""
    if option == "I":
        return dim**2 * sigma**2 / (2 * square) + 16 * ROOT_2PI * dim * slope**2
    return 6 * dim**2 * sigma**2 / square + 385 * dim**2 * slope**2
