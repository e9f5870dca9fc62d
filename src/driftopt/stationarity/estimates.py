"""Estimates of ‖∇f_δ(x)‖ from pairs of values, before any confidence.

With u uniform on the sphere and fresh noise on each side, the two-point estimates

    g_i = d/(2δ) D_i u_i,   D_i = F(x + δu_i; ξ⁺) − F(x − δu_i; ξ⁻),        E g_i = ∇f_δ(x),

give, from n of them, the unbiased U-statistic

    U = 1/(n(n−1)) Σ_{i≠j} ⟨g_i, g_j⟩,                                   E U = ‖∇f_δ(x)‖².

Every function here takes (…, n, d): many data sets side by side.
"""

import numpy as np


def u_statistic(estimates: np.ndarray) -> np.ndarray:
    """U from the rows g_i.

    >>> float(u_statistic(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])))
    0.6666666666666666
    """
    n, total = estimates.shape[-2], estimates.sum(axis=-2)
    own = np.sum(estimates * estimates, axis=(-2, -1))
    return (np.sum(total * total, axis=-1) - own) / (n * (n - 1))


def spread(estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """λ, the covariance's largest eigenvalue, and 2 tr(Σ²)/(n(n−1)), the variance of U where ∇f_δ(x) = 0."""
    n, d = estimates.shape[-2:]
    centred = (estimates - estimates.mean(axis=-2, keepdims=True)) / np.sqrt(n - 1)
    turned = np.swapaxes(centred, -1, -2)
    # Both Gram matrices have the eigenvalues of Σ: take the smaller one.
    eigenvalues = np.linalg.eigvalsh(centred @ turned if n < d else turned @ centred)
    return np.maximum(eigenvalues[..., -1], 0), 2 * np.sum(eigenvalues**2, axis=-1) / (n * (n - 1))


def mean_projection(dim: int) -> float:
    """E |⟨u, v⟩| for u uniform on the sphere and any unit vector v: Γ(d/2) / (√π Γ((d+1)/2)).

    >>> [round(mean_projection(d), 3) for d in (1, 2, 3, 30)]
    [1.0, 0.637, 0.5, 0.147]
    """
    from scipy.special import gammaln  # loaded for a certificate alone

    return float(np.exp(gammaln(dim / 2) - gammaln((dim + 1) / 2)) / np.sqrt(np.pi))
