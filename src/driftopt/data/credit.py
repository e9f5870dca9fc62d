"""The credit data: 30,000 people, 11 features each, and whether they paid next month.

Read from the raw table or from the processed one, whichever the cache holds; both give the same arrays.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftopt import checks
from driftopt.data import cache
from driftopt.data.credit_table import CreditTable
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
    from driftopt.data import stand_in

    return stand_in.generate()


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
        table: what `load_credit` gives.
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
