"""The credit data: 30,000 people, 11 features each, and whether they paid next month.

Read from the raw table or from the processed one, whichever the cache holds; both give the same arrays. Or
generated as a stand-in, for work without a network.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftopt import checks
from driftopt.data import cache
from driftopt.data.provenance import Provenance
from driftopt.data.registry import CREDIT_PROCESSED, CREDIT_RAW

FEATURES = (
    "EducationLevel",
    "MaxBillAmountOverLast6Months",
    "MaxPaymentAmountOverLast6Months",
    "MonthsWithZeroBalanceOverLast6Months",
    "MonthsWithLowSpendingOverLast6Months",
    "MonthsWithHighSpendingOverLast6Months",
    "MostRecentBillAmount",
    "MostRecentPaymentAmount",
    "TotalOverdueCounts",
    "TotalMonthsOverdue",
    "HistoryOfOverduePayments",
)
SAMPLE, TEST = 13_272, 1_000  # the paper's records per instance, and how many of them are for testing
STAND_IN_SEED, ROWS = 20_090_101, 30_000

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


class CreditTable(NamedTuple):
    """Features (30000, 11) in their own units, labels ±1 (+1 = no default), and their source."""

    features: np.ndarray  # (30000, 11), in their own units
    labels: np.ndarray  # (30000,), +1 for no default and −1 for one
    provenance: Provenance  # the source of the rows


class Split(NamedTuple):
    """One standardised instance."""

    features: np.ndarray
    labels: np.ndarray
    test_features: np.ndarray
    test_labels: np.ndarray


def load_credit(*, allow_fetch: bool = False, allow_stand_in: bool = False) -> CreditTable:
    """The credit table from the cache; fetched, or generated as a stand-in, only where that is allowed.

    The table's `provenance` tells which source it was: "credit" or "credit (stand-in)".

    Args:
        allow_fetch: download what is not in the cache.
        allow_stand_in: generate a table of the same form where there is none.
    """
    fetch, generate = checks.flag("allow_fetch", allow_fetch), checks.flag("allow_stand_in", allow_stand_in)
    if not cache.present(CREDIT_RAW) and cache.present(CREDIT_PROCESSED):
        return read_processed(cache.verified(CREDIT_PROCESSED))
    try:
        if fetch and not cache.present(CREDIT_RAW):
            from driftopt.data.fetch import fetch_file

            fetch_file(CREDIT_RAW)
        return read_raw(cache.verified(CREDIT_RAW))
    except cache.DataError:
        if not generate or cache.present(CREDIT_RAW):
            raise
    return generate_credit()


def generate_credit(seed: int = STAND_IN_SEED) -> CreditTable:
    """A generated table in place of the real one: 30,000 rows, 11 features, labels ±1.

    Correlated normal variables, pushed through the published quantiles of each feature (a Gaussian copula):
    shape, means, spreads and correlations are like those of the real table; no row is a real person's.
    """
    from scipy.special import ndtr  # seldom needed

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
    uniform = ndtr(np.random.default_rng(seed).standard_normal((ROWS, size)) @ root.T)

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


def read_raw(path: Path) -> CreditTable:
    """The 11 features from the raw columns, as Ustun, Spangher and Liu (2019) define them.

    Money is in US dollars, rounded to tens. A bill is compared with the limit after that rounding.
    """
    column = _columns(path)

    def dollars(*names: str) -> np.ndarray:
        return 10 * np.round(np.stack([column[name] for name in names], axis=1) / 32.75 / 10)

    bills = dollars(*(f"BILL_AMT{month}" for month in range(1, 7)))
    payments = dollars(*(f"PAY_AMT{month}" for month in range(1, 7)))
    used = bills / dollars("LIMIT_BAL")
    # −2 and −1 mean that nothing was due or all was paid.
    overdue = np.maximum(np.stack([column[f"PAY_{month}"] for month in (0, 2, 3, 4, 5, 6)], axis=1), 0)
    late = overdue > 0
    features: dict[str, Any] = {
        "EducationLevel": 3 * column["EDUCATION_1"] + 2 * column["EDUCATION_2"] + column["EDUCATION_3"],
        "MaxBillAmountOverLast6Months": np.maximum(bills.max(axis=1), 0),
        "MaxPaymentAmountOverLast6Months": np.maximum(payments.max(axis=1), 0),
        "MonthsWithZeroBalanceOverLast6Months": (payments > bills).sum(axis=1),
        "MonthsWithLowSpendingOverLast6Months": (used < 0.20).sum(axis=1),
        "MonthsWithHighSpendingOverLast6Months": (used > 0.80).sum(axis=1),
        "MostRecentBillAmount": np.maximum(bills[:, 0], 0),
        "MostRecentPaymentAmount": np.maximum(payments[:, 0], 0),
        "TotalOverdueCounts": late[:, 0] + (late[:, 1:] & ~late[:, :-1]).sum(axis=1),
        "TotalMonthsOverdue": overdue.sum(axis=1),
        "HistoryOfOverduePayments": late.any(axis=1),
    }
    return _table(features, 1 - column["default-payment-next-month"])


def read_processed(path: Path) -> CreditTable:
    """The same table, features ready made; marital status and age are left out."""
    column = _columns(path)
    return _table(column, column["NoDefaultNextMonth"])


def split_credit(table: CreditTable, split_seed: int) -> Split:
    """One instance: a random sample, a stratified test set, standardised by the training part.

    1. `default_rng(split_seed).permutation(rows)`, of which the first 13,272 are the sample, in that order;
    2. of each class, the first ⌊1000·share⌉ rows of the sample are for testing, the others for training
       (the class +1 takes what rounding leaves);
    3. every feature minus the training mean, over the training standard deviation (ddof 0).

    Args:
        table: as `load_credit` gives it.
        split_seed: another seed is another instance; the paper's are 101 to 104.
    """
    if not isinstance(table, CreditTable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"table must be a CreditTable, as load_credit gives it; got {checks.brief(table)}")
    rng = np.random.default_rng(checks.seed("split_seed", split_seed))
    order = rng.permutation(len(table.labels))[:SAMPLE]
    positive = table.labels[order] > 0
    negatives = round(TEST * float(np.mean(~positive)))
    rank = np.where(positive, np.cumsum(positive), np.cumsum(~positive))
    testing = rank <= np.where(positive, TEST - negatives, negatives)
    train, test = order[~testing], order[testing]
    mean, deviation = table.features[train].mean(axis=0), table.features[train].std(axis=0)
    scaled = (table.features - mean) / deviation
    return Split(scaled[train], table.labels[train], scaled[test], table.labels[test])


def _columns(path: Path) -> dict[str, np.ndarray]:
    with path.open(encoding="utf-8-sig") as stream:
        names = stream.readline().strip().split(",")
        values = np.loadtxt(stream, delimiter=",")
    return dict(zip(names, values.T, strict=True))


def _table(columns: Mapping[str, Any], paid: np.ndarray) -> CreditTable:
    features = np.stack([columns[name].astype(float) for name in FEATURES], axis=1)
    return CreditTable(features, np.where(paid > 0, 1.0, -1.0), Provenance("credit"))
