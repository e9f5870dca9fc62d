"""A bound on ‖∇f_δ(x)‖ for values of unknown range, and whether its level can be trusted.

With Σ the covariance of one estimate, Var U = 4 m'Σm/n + 2 tr(Σ²)/(n(n−1)) where m = ∇f_δ(x), and
m'Σm ≤ λ ‖m‖², λ the largest eigenvalue of Σ. The first part of the bound is the largest θ that the data do
not refuse,

    θ² − max(U, 0) ≤ t √(4 λ θ²/n + 2 tr(Σ²)/(n(n−1))),

with t Student's quantile at n − 1 degrees of freedom and the sample covariance for Σ. The variance is taken
at the norm in question, not at the measured one: a U that is small by luck would otherwise come with an
error that is small by the same luck.

The second part allows for what n pairs have not met. An event of probability log(1/α)/n stays unseen with
probability α; were it as large as the largest difference seen, it would add to the norm

    d/(2δ) max_i |D_i| · E|⟨u, v⟩| · log(1/α)/n.

Skewed noise needs it: where the noise grows with the decision, rare large values carry the slope, and a
sample without them has a small mean and a small variance together.

No bound from the data alone can hold for every law: values that never occurred and exceed all
that did leave no trace. So the level is trusted only where there are at least ENOUGH_PAIRS pairs, at least
LEAST_CHANGED of the differences are not 0, and the residuals' tail is lighter than that of an infinite
variance (Hill's estimate of its index is at least HEAVY). With fewer differences that are not 0 there is no
bound at all.
"""

import numpy as np

from driftopt.stationarity.estimates import mean_projection, spread, u_statistic

LEAST_PAIRS = 10  # the fewest pairs from which a variance is estimated
ENOUGH_PAIRS = 50  # from which a heavy tail can be distinguished from a light one
LEAST_CHANGED = 10
HEAVY = 2.0  # tails of a smaller index have no variance
NEGLIGIBLE = 1e-9  # residuals this small relative to the differences have no tail


def bound(estimates: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """The upper bound on the norm of the mean, and U's standard error, from (…, n, d) estimates."""
    from scipy.stats import t as student

    n, d = estimates.shape[-2:]
    seen, t = np.maximum(u_statistic(estimates), 0), float(student.ppf(confidence, n - 1))
    largest, floor = spread(estimates)
    # The larger root q = θ² of (q − U)² = t² (4 λ q/n + floor).
    half = 2 * t**2 * largest / n
    measured = np.sqrt(seen + half + np.sqrt(2 * half * seen + half**2 + t**2 * floor))
    unmet = mean_projection(d) * np.linalg.norm(estimates, axis=-1).max(axis=-1) * -np.log1p(-confidence) / n
    return measured + unmet, np.sqrt(4 * largest * seen / n + floor)


def tail_index(differences: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Hill's estimate of the tail index of what the mean gradient does not explain; inf where that is 0.

    From the k = √n largest of |r_i|, r_i = D_i − 2δ⟨ḡ, u_i⟩:  1 / mean log(|r|_(j) / |r|_(k+1)), j ≤ k.
    """
    n, d = directions.shape[-2:]
    mean = np.mean(differences[..., None] * directions, axis=-2)
    residuals = np.abs(differences - d * np.einsum("...nd,...d->...n", directions, mean))
    k = round(n**0.5)
    largest = -np.sort(-residuals, axis=-1)[..., : k + 1]
    floor = NEGLIGIBLE * np.abs(differences).max(axis=-1)
    limit = np.maximum(largest[..., k], floor)[..., None]
    limit = np.where(limit > 0, limit, 1)
    excess = np.mean(np.log(np.maximum(largest[..., :k], limit) / limit), axis=-1)
    return np.where(excess > 0, 1 / np.where(excess > 0, excess, 1), np.inf)


def changed(differences: np.ndarray) -> np.ndarray:
    """The number of differences that are not 0."""
    return np.count_nonzero(differences, axis=-1)


def caution(differences: np.ndarray, directions: np.ndarray) -> str | None:
    """The reason not to trust the level for these (n,) differences; None if there is none."""
    n, unequal = len(differences), int(changed(differences))
    if unequal < LEAST_CHANGED:
        return (
            f"only {unequal} of {n} differences are not 0: rare events cannot be judged from so few; "
            "give value_range=(low, high), the range that values cannot leave, or more pairs"
        )
    if n < ENOUGH_PAIRS:
        return (
            f"{n} pairs are too few to see heavy tails: take {ENOUGH_PAIRS}, or give value_range=(low, high)"
        )
    if (index := float(tail_index(differences, directions))) < HEAVY:
        return (
            f"tails are heavy (index {index:.2g}): the slope may hang on values larger than any met; "
            "give value_range=(low, high) if values have a range, or measure a bounded quantity"
        )
    return None
