"""The table that the real credit data and its stand-in both are."""

from typing import NamedTuple

import numpy as np

from driftopt.data.provenance import Provenance


class CreditTable(NamedTuple):
    """Features (30000, 11) in their own units, labels ±1 (+1 = no default), and where they come from."""

    features: np.ndarray  # (30000, 11), in their own units
    labels: np.ndarray  # (30000,), +1 for no default and −1 for one
    provenance: Provenance  # where they come from
