"""Weekly retail prices: published weeks, price files, and synthetic weeks with the published moments."""

from pathlib import Path

import numpy as np

from driftopt import checks
from driftopt.data import cache
from driftopt.data.registry import WEEKS

# Of all 400 prices of the eight published weeks of 2022.
LOG_MEAN, LOG_DEVIATION, LOG_SKEWNESS = 5.447, 0.656, 1.07
LOWEST, HIGHEST = 76, 3099


def weeks() -> tuple[str, ...]:
    """The weeks that `load_week` knows."""
    return tuple(WEEKS)


def read_prices(path: str | Path) -> np.ndarray:
    """The numbers of a text file, separated by white space or commas; a byte-order mark is ignored."""
    path = checks.path("path", path)
    if not path.is_file():
        raise FileNotFoundError(f"no price file at {path}")
    words = path.read_text(encoding="utf-8-sig").replace(",", " ").split()
    try:
        return np.array([float(word) for word in words])
    except ValueError as error:
        raise ValueError(f"{path} must hold numbers alone: {error}") from None


def load_week(week: str, *, allow_fetch: bool = False) -> np.ndarray:
    """All prices of a published week, from the cache; fetched first where that is allowed.

    Args:
        week: one of the published weeks, such as 2022-24.
        allow_fetch: download what is not in the cache.
    """
    file = WEEKS[checks.choice("week", week, WEEKS)]
    if checks.flag("allow_fetch", allow_fetch) and not cache.present(file):
        from driftopt.data.fetch import fetch_file

        fetch_file(file)
    return read_prices(cache.verified(file))


def synthetic_prices(seed: int, products: int = 30) -> np.ndarray:
    """Whole prices whose logarithms have the published mean, standard deviation and skewness.

    The law is a shifted gamma: with shape k its skewness is 2/√k, so k = 4/skewness²; scale and shift
    follow. Prices stay within the published range.

    Args:
        seed: another seed is another list.
        products: the number of prices.
    """
    shape = 4 / LOG_SKEWNESS**2
    scale = LOG_DEVIATION / np.sqrt(shape)
    draws = np.random.default_rng(checks.seed("seed", seed))
    size = checks.one_count("products", products)
    checks.fits(f"products={size:,} needs several vectors of that length", 16 * size, "choose fewer products")
    logs = LOG_MEAN + scale * (draws.gamma(shape, size=size) - shape)
    return np.clip(np.round(np.exp(logs)), LOWEST, HIGHEST)
