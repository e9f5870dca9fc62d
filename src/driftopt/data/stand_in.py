"""A generated table in place of the credit data, for work without a network. Never mistaken for it.

Correlated normal variables, pushed through the published quantiles of each feature (a Gaussian copula):
shape, means, spreads and correlations are like those of the real table; no row is a real person's.
"""

import numpy as np
from scipy.special import ndtr

from driftopt.data.credit_table import CreditTable
from driftopt.data.provenance import Provenance

SEED, ROWS = 20_090_101, 30_000

# Money features: tens of dollars at these quantiles, linear in between.
_QUANTILES = (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.9995, 1)
_BILL_MAX = (0, 2, 6, 22, 43, 64, 95, 147, 198, 298, 479, 662, 927, 1132, 1331, 1546, 1874, 5081)
_PAYMENT_MAX = (0, 1, 4, 6, 8, 11, 15, 21, 31, 50, 112, 220, 394, 548, 702, 947, 1294, 5143)
_BILL_LAST = (0, 0, 1, 6, 18, 41, 68, 113, 159, 255, 434, 614, 862, 1069, 1267, 1490, 1737, 2945)
_PAYMENT_LAST = (0, 0, 0, 1, 4, 5, 6, 9, 13, 19, 31, 56, 122, 203, 305, 501, 799, 2667)

# Counts: the share of people at or below each value.
_EDUCATION = (0.0156, 0.1795, 0.6472, 1)
_ZERO_BALANCE = (0.6072, 0.7606, 0.8839, 0.9677, 0.9934, 0.9984, 1)
_LOW_SPENDING = (0.4291, 0.4736, 0.5120, 0.5470, 0.5815, 0.6237, 1)
_HIGH_SPENDING = (0.6807, 0.7225, 0.7680, 0.8299, 0.8811, 0.9095, 1)
_OVERDUE_RUNS = (0.6644, 0.9642, 0.9998, 1)
_OVERDUE_MONTHS = (0.6644, 0.7199, 0.8120, 0.8369, 0.8714, 0.9084, 0.9385, 0.9509, 0.9822, 0.9932, 0.9969, 1)
_OVERDUE_VALUES = (0, 1, 2, 3, 4, 6, 8, 9, 12, 14, 19, 30)
_DEFAULTS = 0.2212

# Correlations of the normal variables, below the diagonal: ten features in the table's order, then the label.
# Fitted so that the generated table has the real one's correlations.
_CORRELATIONS = (
    (),
    (0.01,),
    (0.10, 0.57),
    (0.20, -0.41, 0.37),
    (0.22, -0.68, 0.01, 0.80),
    (-0.18, 0.40, -0.07, -0.66, -0.84),
    (-0.02, 0.94, 0.28, -0.61, -0.75, 0.44),
    (0.10, 0.50, 0.74, 0.21, -0.12, 0.03, 0.29),
    (-0.04, -0.15, -0.24, -0.17, -0.15, 0.18, -0.13, -0.23),
    (-0.09, -0.06, -0.28, -0.40, -0.34, 0.29, -0.02, -0.28, 0.82),
    (0.05, 0.07, 0.22, 0.21, 0.16, -0.19, 0.03, 0.25, -0.52, -0.57),
)


def generate(seed: int = SEED) -> CreditTable:
    """The whole table: 30,000 rows, 11 features, labels ±1; the same for the same seed."""
    uniform = _correlated_uniforms(seed)

    def money(column: int, values: tuple[int, ...]) -> np.ndarray:
        return 10 * np.round(np.interp(uniform[:, column], _QUANTILES, values))

    def count(column: int, shares: tuple[float, ...]) -> np.ndarray:
        return np.minimum(np.searchsorted(shares, uniform[:, column]), len(shares) - 1).astype(float)

    runs = count(8, _OVERDUE_RUNS)
    months = np.array(_OVERDUE_VALUES, float)[count(9, _OVERDUE_MONTHS).astype(int)]
    months = np.where(runs > 0, np.maximum(months, 1), 0)
    features = (
        count(0, _EDUCATION),
        money(1, _BILL_MAX),
        money(2, _PAYMENT_MAX),
        count(3, _ZERO_BALANCE),
        count(4, _LOW_SPENDING),
        count(5, _HIGH_SPENDING),
        money(6, _BILL_LAST),
        money(7, _PAYMENT_LAST),
        runs,
        months,
        (runs > 0).astype(float),
    )
    labels = np.where(uniform[:, 10] < _DEFAULTS, -1.0, 1.0)
    return CreditTable(np.stack(features, axis=1), labels, Provenance("credit (stand-in)", f"seed {seed}"))


def _correlated_uniforms(seed: int) -> np.ndarray:
    size = len(_CORRELATIONS)
    correlation = np.eye(size)
    for row, values in enumerate(_CORRELATIONS):
        correlation[row, :row] = correlation[:row, row] = values
    # Two decimals may leave a slightly negative eigenvalue: lift it and scale back to unit variances.
    eigenvalues, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 1e-3))
    # Eigenvectors are unique up to their sign: choose it, so that every platform gives the same rows.
    root *= np.sign(root[np.abs(root).argmax(axis=0), np.arange(size)])
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return ndtr(np.random.default_rng(seed).standard_normal((ROWS, size)) @ root.T)
