"""How often the certificate's bounds cover and how long they are: `python -m benchmarks.certificate`.

Beside the bound for values of known range stand two that textbooks offer for the same purpose:

- coordinates: Maurer and Pontil's empirical Bernstein bound for each coordinate, both signs, α shared by all
- vector: the norm of the mean plus McDiarmid's bound on its error, B (1 + √(2 log(1/α)))/√n
"""

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from driftopt.stationarity import asymptotic, bounded
from driftopt.stationarity.estimates import mean_projection

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.noisy_slopes import RADIUS, RANGED, WILD, Slope

RUNS, LEVEL = 2000, 0.95


def coordinates(estimates: np.ndarray) -> np.ndarray:
    """In units of B, as `bounded.bound` gives it."""
    n, d = estimates.shape[-2:]
    evidence = np.log(4 * d / (1 - LEVEL))
    variance = estimates.var(axis=-2, ddof=1)
    each = np.abs(estimates.mean(axis=-2)) + np.sqrt(2 * variance * evidence / n)
    return np.minimum(np.linalg.norm(each + 14 * evidence / (3 * (n - 1)), axis=-1), mean_projection(d))


def vector(estimates: np.ndarray) -> np.ndarray:
    n, d = estimates.shape[-2:]
    error = (1 + np.sqrt(-2 * np.log1p(-LEVEL))) / np.sqrt(n)
    return np.minimum(np.linalg.norm(estimates.mean(axis=-2), axis=-1) + error, mean_projection(d))


def ranged(slope: Slope, n: int, dim: int) -> list[str]:
    plus, minus, u = slope.pairs(np.random.default_rng(0), RUNS, n, dim)
    assert slope.value_range is not None
    width = slope.value_range[1] - slope.value_range[0]
    estimates, unit = ((plus - minus) / width)[..., None] * u, width * dim / (2 * RADIUS)
    ours = bounded.bound(estimates, LEVEL, planned=True) * unit
    looked = bounded.bound(estimates, LEVEL, planned=False) * unit
    lengths = [ours, looked, coordinates(estimates) * unit, vector(estimates) * unit]
    return [
        f"{100 * np.mean(ours >= slope.norm):.1f} %",
        *(f"{np.median(length) / slope.norm:.1f}" for length in lengths),
    ]


def plain(slope: Slope, n: int, dim: int) -> list[str]:
    plus, minus, u = slope.pairs(np.random.default_rng(0), RUNS, n, dim)
    differences = plus - minus
    bound = asymptotic.bound(differences[..., None] * u * dim / (2 * RADIUS), LEVEL)[0]
    given = asymptotic.changed(differences) >= asymptotic.LEAST_CHANGED
    light = asymptotic.tail_index(differences, u) >= asymptotic.HEAVY
    trusted, missed = given & light & (n >= asymptotic.ENOUGH_PAIRS), bound < slope.norm
    return [
        f"{100 * np.mean(~given):.0f} %",
        f"{100 * np.mean(given & ~trusted):.0f} %",
        f"{100 * np.mean(trusted):.0f} %",
        f"{100 * np.mean(trusted & missed):.1f} %",
        f"{100 * np.mean(missed):.1f} %",
    ]


def main() -> None:
    console = Console(width=140)
    known = Table(
        "law",
        "n",
        "d",
        "covers",
        "length/norm",
        "looked at often",
        "coordinates",
        "vector",
        title="known range",
    )
    unknown = Table(
        "law",
        "n",
        "d",
        "no bound",
        "with caution",
        "without",
        "of all: without and missed",
        "missed, were none judged",
        title="no range",
    )
    for law in WILD:
        for n, dim in ((10, 1), (50, 1), (50, 10), (1000, 1), (1000, 10)):
            known.add_row(law, str(n), str(dim), *ranged(RANGED[law], n, dim))
            unknown.add_row(law, str(n), str(dim), *plain(WILD[law], n, dim))
    console.print(known, unknown)


if __name__ == "__main__":
    main()
