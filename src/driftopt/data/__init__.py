"""Real data: download, checksum and cache. NumPy only; nothing here imports JAX."""

from driftopt.data.credit import CreditTable, load_credit, split_credit
from driftopt.data.prices import load_week, read_prices, synthetic_prices, weeks
from driftopt.data.provenance import Provenance
from driftopt.data.scoring import ScoringTable, load_scoring

__all__ = [
    "CreditTable",
    "Provenance",
    "ScoringTable",
    "load_credit",
    "load_scoring",
    "load_week",
    "read_prices",
    "split_credit",
    "synthetic_prices",
    "weeks",
]
