"""The theorems of the field's methods for smooth f: control values, guided directions, filters.

H (`gradient_lipschitz`) is the Lipschitz constant of ∇f, σ (`noise`) the deviation of one value. Where a
theorem gives orders alone, its constants are taken as `constant`, and the plan says so.
"""

from fractions import Fraction
from math import ceil
from typing import Any

from driftopt import checks
from driftopt.theory.arithmetic import dimension, exact, root
from driftopt.theory.field_plans import FieldPlan

_FLAT = {"decay": 1.0, "shrink": 1.0, "growth": 0}  # of a schedule whose numbers stay as they are
_PROMISE = "E‖∇f‖² of the order {}², constants as given"  # of a theorem that gives orders alone


def ogvr(
    *,
    dim: int,
    data_lipschitz: Any,
    shift: Any,
    noise: Any,
    gradient_lipschitz: Any = None,
    epsilon: Any = None,
    constant: Any = 1,
) -> FieldPlan:
    """ZO-OGVR (Hikima and Takeda 2025, Theorem 1): how much an old observation is trusted, and the rest.

        M = L_ξ²α²/σ²
        μ = cεd^(−3/2),   m = ⌈cd²/ε²⌉,   T + 1 iterations with T = ⌈cd^(5/2)/ε⁴⌉
        β = min{1/(12(d + 4)H), 1/(√(T + 1) d^(3/4)), μ/(2L_ξα√(6d))}

    F is L_ξ-Lipschitz in ξ (`data_lipschitz`), Ξ moves by at most α (`shift`) when the decision moves by 1.
    The last of the three keeps an error of the control value from growing: it moves the decision by β/μ times
    itself, and the decision moves the data by α. The theorem gives μ, m and T as orders; c is `constant`.
    Without `gradient_lipschitz` and `epsilon` there is M alone, and the rest stays as in the paper's
    experiments.

    Args:
        dim: the number of coordinates.
        data_lipschitz: L_ξ: F is L_ξ-Lipschitz in ξ.
        shift: α: Ξ moves by at most α when the decision moves by 1.
        noise: σ, the standard deviation of a value, at most.
        gradient_lipschitz: H: the gradient of f is H-Lipschitz.
        epsilon: ε, how small the gradient shall be.
        constant: c, by which the theorem's orders are multiplied.
    """
    size, moved = dimension(dim), exact("data_lipschitz", data_lipschitz) * exact("shift", shift)
    numbers: dict[str, Any] = {"trust": float((moved / exact("noise", noise)) ** 2)}
    if gradient_lipschitz is None and epsilon is None:
        return FieldPlan("zo-ogvr", "the control value of least variance", size, numbers)
    if gradient_lipschitz is None or epsilon is None:
        raise ValueError("gradient_lipschitz and epsilon go together: give both, or neither")
    radius, batch, iterations, step = _orders(size, gradient_lipschitz, epsilon, constant)
    step = min(step, radius / (2 * moved * root(Fraction(6 * size))))
    numbers = {**_schedule(radius, step, batch), "first": batch, **numbers}
    queries = batch + batch * iterations
    return FieldPlan("zo-ogvr", _PROMISE.format(epsilon), size, numbers, iterations, queries)


def ogvr_pair(*, dim: int, gradient_lipschitz: Any, epsilon: Any, constant: Any = 1) -> FieldPlan:
    """ZO-OGVR's companion with two points (Theorem 2): the same numbers, without the third bound on β.

    Args:
        dim: the number of coordinates.
        gradient_lipschitz: H: the gradient of f is H-Lipschitz.
        epsilon: ε, how small the gradient shall be.
        constant: c, by which the theorem's orders are multiplied.
    """
    size = dimension(dim)
    radius, batch, iterations, step = _orders(size, gradient_lipschitz, epsilon, constant)
    numbers = _schedule(radius, step, batch)
    queries = 2 * batch * iterations
    return FieldPlan("zo-ga-scheduled", _PROMISE.format(epsilon), size, numbers, iterations, queries)


def guided(
    *,
    history: bool = False,
    dim: int,
    gradient_lipschitz: Any,
    noise: Any,
    gap: Any,
    epsilon: Any,
    free: Any = 0.5,
) -> FieldPlan:
    """GZO-NS, or with `history` GZO-HS (Hikima, Sawada and Fujino 2025), with a free share α that stays.

        μ² = 4αε²/(33dH²),   m = ⌈dσ²/(4αε²μ²)⌉,   β = 1/(12H),   T = ⌈144dHγ/(αε²)⌉
        queries 3mT (NS), 2mT (HS)

    A derivation of ours, for which any guide of length 1 will do. Given the guide v, a direction is normal
    with A = (α/d)I + (1 − α)vvᵀ, so E‖w‖² = 1, E‖w‖⁴ ≤ 3, E‖w‖⁶ ≤ 15; with q = ∇fᵀA∇f ≥ (α/d)‖∇f‖²

        E ∇fᵀg ≥ q/2 − 3μ²H²/8,   E‖g‖² ≤ 6q + 15μ²H²/2 + σ²/(2mμ²)

    and with β = 1/(12H) a step lowers f by β(q/4 − 11H²μ²/16 − σ²/(48mμ²)) on average. Each of γ/(βT) and the
    two losses is a third of αε²/(4d), so the mean of E‖∇f‖² over the run is at most ε². The count grows as
    d³ε⁻⁶.

    Args:
        history: past gradients are the guide: GZO-HS.
        dim: the number of coordinates.
        gradient_lipschitz: H: the gradient of f is H-Lipschitz.
        noise: σ, the standard deviation of a value, at most.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        free: α, the share of the direction that is not guided.
    """
    size, bend, target = (
        dimension(dim),
        exact("gradient_lipschitz", gradient_lipschitz),
        exact("epsilon", epsilon),
    )
    drop, share = exact("gap", gap, zero=True), exact("free", free)
    if share > 1:
        raise ValueError(f"free must be above 0 and at most 1, got {checks.brief(free)}")
    square = 4 * share * target**2 / (33 * size * bend**2)
    batch = max(1, ceil(size * exact("noise", noise, zero=True) ** 2 / (4 * share * target**2 * square)))
    iterations = max(1, ceil(144 * size * bend * drop / (share * target**2)))
    numbers = {**_schedule(root(square), 1 / (12 * bend), batch), "free": float(share), "trust": 1.0}
    name, each = ("gzo-hs", 2) if checks.flag("history", history) else ("gzo-ns", 3)
    promise = f"mean E‖∇f‖² ≤ {epsilon}² over the run"
    return FieldPlan(name, promise, size, numbers, iterations, each * batch * iterations)


def hlf(
    *,
    dim: int,
    lipschitz: Any,
    gradient_lipschitz: Any,
    gap: Any,
    epsilon: Any,
    filter: Any = 1,
    momentum: Any = 0.9,
) -> FieldPlan:
    """HLF-SZO (Chen, Tang and Li, ICML 2022, Theorem 4.3), for values without noise.

        κ = 1 − |1 − β|,   T = ⌈((80dHγ/κ² + 8L²)/ε²)^(3/2)⌉
        η = (1 − α)κ²/(20HdT^(1/3)),   r = L/(HT^(1/3)),   queries T + 1

    The theorem bounds the mean of E‖∇f‖² over the run by d T^(−2/3)(80Hγ/κ² + 8L²/d) + O(d/T), for T large
    enough; T makes its first part ε². r is the largest that it allows; where values are noisy a larger one
    is better.

    Args:
        dim: the number of coordinates.
        lipschitz: L: |f(x) − f(y)| ≤ L‖x − y‖.
        gradient_lipschitz: H: the gradient of f is H-Lipschitz.
        gap: f at the start minus the smallest f, at most: γ or Δ.
        epsilon: ε, how small the gradient shall be.
        filter: β of the high-pass filter.
        momentum: α of the low-pass filter.
    """
    size, slope = dimension(dim), exact("lipschitz", lipschitz)
    bend = exact("gradient_lipschitz", gradient_lipschitz)
    high, low = exact("filter", filter), exact("momentum", momentum, zero=True)
    if not (high < 2 and low < 1):
        raise ValueError(f"filter must be below 2 and momentum below 1; got {filter!r} and {momentum!r}")
    kept, drop = 1 - abs(1 - high), exact("gap", gap, zero=True)
    first = (80 * size * bend * drop / kept**2 + 8 * slope**2) / exact("epsilon", epsilon) ** 2
    iterations = ceil(root(first**3))
    third = iterations ** (1 / 3)
    numbers = {
        "radius": float(slope / bend) / third,
        "step": float((1 - low) * kept**2 / (20 * bend * size)) / third,
        "filter": float(high),
        "momentum": float(low),
    }
    promise = f"mean E‖∇f‖² ≤ {epsilon}² + O(d/T), no noise"
    return FieldPlan("hlf-szo", promise, size, numbers, iterations, iterations + 1)


def _orders(size: int, bend: Any, epsilon: Any, constant: Any) -> tuple[Fraction, int, int, Fraction]:
    """μ, m, T + 1 and β of Hikima and Takeda's theorems, without the control value's bound."""
    target, c = exact("epsilon", epsilon), exact("constant", constant)
    radius = c * target / root(Fraction(size**3))
    batch = ceil(c * size**2 / target**2)
    iterations = ceil(c * root(Fraction(size**5)) / target**4) + 1
    step = min(
        1 / (12 * (size + 4) * exact("gradient_lipschitz", bend)),
        1 / root(iterations * root(Fraction(size**3))),
    )
    return radius, batch, iterations, step


def _schedule(radius: Fraction, step: Fraction, batch: int) -> dict[str, Any]:
    return {"radius": float(radius), "smallest": float(radius), "step": float(step), "batch": batch, **_FLAT}
