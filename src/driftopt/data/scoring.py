"""The scoring data: who applied for credit, ten features each, and who was seriously late within two years.

Read from a zip file inside a wheel, or generated as a stand-in. Rows with missing values are dropped,
features are standardised over all rows that are left, and of these all defaulters and the first 10,000 others
are kept, as Perdomo, Zrnic, Mendler-Dünner and Hardt (ICML 2020) do.
"""

import io
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftopt.data import cache
from driftopt.data.provenance import Provenance
from driftopt.data.registry import SCORING

DEFAULTERS, OTHERS = 8_357, 10_000
STAND_IN_SEED = 20_110_919

# Means of the defaulters' standardised features; the others' are near 0. Features 2, 6 and 8, which count
# late payments, move together.
_DEFAULTERS_MEANS = (-0.01, -0.38, 0.45, -0.01, -0.07, -0.10, 0.41, -0.01, 0.34, 0.17)
_TOGETHER, _LOADING = (2, 6, 8), 0.98


class ScoringTable(NamedTuple):
    """Standardised features (n, 10), labels (n,) with 1 for a default, and their source."""

    features: np.ndarray  # (n, 10), standardised
    labels: np.ndarray  # (n,), 1 for a default and 0 otherwise
    provenance: Provenance  # the source of the rows


def load_scoring(*, allow_fetch: bool = False, allow_stand_in: bool = False) -> ScoringTable:
    """The scoring table from the cache; fetched, or generated as a stand-in, only where that is allowed.

    The table's `provenance` tells which source it was: "scoring" or "scoring (stand-in)".

    Args:
        allow_fetch: download what is not in the cache.
        allow_stand_in: generate a table of the same form where there is none.
    """
    try:
        if allow_fetch and not cache.present(SCORING):
            from driftopt.data.fetch import fetch_file

            fetch_file(SCORING)
        return read_scoring(cache.verified(SCORING))
    except cache.DataError:
        if not allow_stand_in or cache.present(SCORING):
            raise
    return generate_scoring()


def read_scoring(path: Path) -> ScoringTable:
    """The table from the zip file of the wheel: rows without gaps; all defaulters, then 10,000 others."""
    with zipfile.ZipFile(path) as archive:
        text = archive.read(archive.namelist()[0]).decode("utf-8-sig")
    numbers = np.genfromtxt(io.StringIO(text), delimiter=",", skip_header=1, missing_values="NA")
    labels, features = numbers[:, 1], numbers[:, 2:]  # the first column numbers the rows
    whole = ~np.isnan(features).any(axis=1)
    features, labels = features[whole], labels[whole]
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    kept = np.concatenate([np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)[:OTHERS]])
    return ScoringTable(scaled[kept], labels[kept], Provenance("scoring"))


def generate_scoring(seed: int = STAND_IN_SEED) -> ScoringTable:
    """Normal features with the real classes' sizes and means; no row is a real person's."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([1.0, 0.0], [DEFAULTERS, OTHERS])
    features = rng.standard_normal((labels.size, len(_DEFAULTERS_MEANS)))
    common = rng.standard_normal(labels.size)
    for column in _TOGETHER:
        features[:, column] = _LOADING * common + np.sqrt(1 - _LOADING**2) * features[:, column]
    features += labels[:, None] * np.array(_DEFAULTERS_MEANS)
    return ScoringTable(features, labels, Provenance("scoring (stand-in)", f"seed {seed}"))
