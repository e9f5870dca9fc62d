"""Where the tests find real data: DRIFTOPT_DATA, or ../shared/data beside the repository; never inside it."""

import os
from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FOLDER = Path(os.environ["DRIFTOPT_DATA"]) if os.environ.get("DRIFTOPT_DATA") else _SHARED

needs_credit = pytest.mark.skipif(
    not any((FOLDER / name).is_file() for name in ("UCI_Credit_Card.csv", "credit_processed.csv")),
    reason="the credit data is not here: `driftopt data fetch credit`, or set DRIFTOPT_DATA",
)
needs_prices = pytest.mark.skipif(
    not (FOLDER / "prices_2022_08.csv").is_file(),
    reason="the weekly prices are not here: `driftopt data fetch prices`, or set DRIFTOPT_DATA",
)
