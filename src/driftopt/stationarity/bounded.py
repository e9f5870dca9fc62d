"""A bound on ‖∇f_δ(x)‖ for values of known range: its level holds for every law and every number of pairs.

**Setting.** Values lie in [low, high], R = high − low. One pair gives g = d/(2δ) D u with |D| ≤ R, so
‖g‖ ≤ B = dR/(2δ), and E g = m, the gradient in question. All is computed in units of B.

**One direction is enough.** Let v = m/‖m‖, unknown but fixed. Then ‖m‖ = ⟨m, v⟩ is the mean of the real
numbers ⟨g_i, v⟩. If U_v is an upper confidence bound on the mean of ⟨g, v⟩ at level 1 − α for each v
separately,

    ε = sup over all unit vectors w of U_w  ≥  U_v  ≥  ‖m‖      with probability at least 1 − α.

There is one event of failure, that of the true v: no union over coordinates, no factor for the dimension.

**The bound for one direction** is a bet against "the mean of ⟨g, v⟩ is θ" (Waudby-Smith and Ramdas 2024; the
inequality is Fan, Grama and Liu's). Let ĝ_i be the mean of the estimates before pair i (shrunk by one zero),
c_i = B + ‖ĝ_i‖, λ_i ∈ (0, 1) any function of earlier pairs, ψ(λ) = −log(1 − λ) − λ, and

    y_i = (θ − ⟨g_i, v⟩)/c_i,   ŷ_i = (θ − ⟨ĝ_i, v⟩)/c_i,   so that  y_i − ŷ_i = ⟨ĝ_i − g_i, v⟩/c_i ≥ −1.

For every z ≥ −1, exp(λz − ψ(λ)z²) ≤ 1 + λz. With z = y_i − ŷ_i, and E[y_i | the past] = 0 if θ is true,

    E exp(λ_i y_i − ψ(λ_i)(y_i − ŷ_i)²) ≤ exp(λ_i ŷ_i) (1 − λ_i ŷ_i) ≤ 1,

so the product over pairs is a supermartingale that begins at 1. By Ville's inequality it reaches 1/α with
probability at most α, at any time whatever: the number of pairs need not be fixed beforehand. Taking
logarithms, θ = ‖m‖ satisfies with probability at least 1 − α

    θ Σ λ_i/c_i  ≤  log(1/α) + ⟨b, v⟩ + v'Av,
    b = Σ (λ_i/c_i) g_i,      A = Σ ψ(λ_i)/c_i² (g_i − ĝ_i)(g_i − ĝ_i)'.

**The supremum** of ⟨b, v⟩ + v'Av over unit vectors is an eigenvalue problem with a linear term. By duality
it is at most μ + Σ_k ⟨b, q_k⟩²/(4(μ − w_k)) for every μ above the largest eigenvalue, with (w_k, q_k) the
eigenpairs of A, and equal to it at the best μ; so an inexact μ makes the bound longer, never false.

**The bets** aim at the shortest bound, (log(1/α) + N V ψ(λ)) / (N λ) at its least: near s/(1 + 0.78 s) for
s = √(2 log(1/α)/(V N)), cut at λ_max. V is the mean square of y − ŷ in an average direction so far, and N is
n where the number of pairs is planned, else i log(i + 1).

Where nothing was seen but zeros the bound is (1/λ_max) log(1/α) B/n: the rule of three. In no case is it
above B E|⟨u, v⟩|, which the range alone implies.
"""

import numpy as np

from driftopt.stationarity.estimates import mean_projection

LARGEST_BET = 0.8  # λ_max: a bet of 1 would lose all at the first value on the edge of the range
HALVINGS = 60


def bound(estimates: np.ndarray, confidence: float, *, planned: bool) -> np.ndarray:
    """The upper bound on the norm of the mean, in units of B, from (…, n, d) estimates in the unit ball.

    Args:
        estimates: the rows g_i / B, in the order in which they were measured.
        confidence: 1 − α.
        planned: n was fixed before the first value was seen. If not, the bound holds however often
            one has looked, and is up to a third longer.
    """
    n, d = estimates.shape[-2:]
    evidence = -np.log1p(-confidence)  # log(1/α)
    earlier = np.arange(n, dtype=float)
    before = np.cumsum(estimates, axis=-2) - estimates
    centre = before / (earlier[:, None] + 1)
    reach = 1 + np.linalg.norm(centre, axis=-1)  # c_i
    deviation = (estimates - centre) / reach[..., None]
    squares = np.sum(deviation**2, axis=-1) / d
    # One pseudo-observation: differences of half the range.
    variance = (0.25 / d + np.cumsum(squares, axis=-1) - squares) / (earlier + 1)
    horizon = n if planned else (earlier + 1) * np.log(earlier + 2)
    ratio = np.sqrt(2 * evidence / (variance * horizon))
    bet = np.minimum(LARGEST_BET, ratio / (1 + 0.78 * ratio))
    weight = bet / reach
    linear = np.sum(weight[..., None] * estimates, axis=-2)
    root = np.sqrt(-np.log1p(-bet) - bet)[..., None] * deviation  # A = root' root
    epsilon = (evidence + largest_on_sphere(root, linear)) / weight.sum(axis=-1)
    return np.minimum(epsilon, mean_projection(d))


def largest_on_sphere(root: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """sup of ⟨b, v⟩ + ‖root v‖² over unit vectors v, never too small; root is (…, n, d), b = linear (…, d).

    >>> float(largest_on_sphere(np.diag([2.0, 1.0]), np.array([0.0, 0.0])))
    4.0
    """
    _, values, vectors = np.linalg.svd(root, full_matrices=False)
    w, largest = values**2, values[..., :1] ** 2
    squares = np.einsum("...kd,...d->...k", vectors, linear) ** 2
    # What lies outside the span of the rows has the eigenvalue 0.
    rest = np.maximum(np.sum(linear**2, axis=-1, keepdims=True) - squares.sum(axis=-1, keepdims=True), 0)
    w, squares = np.concatenate([w, 0 * rest], axis=-1), np.concatenate([squares, rest], axis=-1)
    # At the best μ, Σ ⟨b, q_k⟩²/(4(μ − w_k)²) = 1; it is at most ‖b‖/2 above the largest eigenvalue.
    low, high = largest, largest + np.sqrt(squares.sum(axis=-1, keepdims=True)) / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        gap = np.where(middle > w, middle - w, np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            below = np.sum(squares / gap / gap, axis=-1, keepdims=True) > 4
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    gap = np.where(high > w, high - w, np.inf)  # where they are equal, b has no part along q_k
    return high[..., 0] + np.sum(squares / gap, axis=-1) / 4
