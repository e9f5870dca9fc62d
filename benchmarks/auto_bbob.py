"""`auto` on functions that nobody here wrote: COCO's bbob, f1 to f24, with noise of 5 % of the start's gap.

    python -m benchmarks.auto_bbob                  the validation instances; runs what is missing, prints
    python -m benchmarks.auto_bbob --development    instances 11 to 13 instead
    python -m benchmarks.auto_bbob --budgets 200 --dims 5 10

Every run begins at 0 with trials about √d away, the domain being [-5, 5]; the noise is Gaussian, its standard
deviation of 0.05 (f(0) − f*), the same everywhere. A run's result is the share of the gap that is left at its
recommendation, not below 1e-8; an entry of the table is the geometric mean over functions and instances. Each
part (a function, a dimension, a budget and an optimiser) is kept in results/auto_bbob as soon as it is done,
those of `auto` by the edition of its rule.
Needs coco-experiment (`pip install 'driftopt[bench]'`).
"""

import argparse
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import driftopt
from driftopt.methods.auto import EDITION
from driftopt.outside.cma_es import CMA, AdaptedCMA
from driftopt.outside.contract import Outside, Spent, World

FUNCTIONS = range(1, 25)
VALIDATION, DEVELOPMENT = (1, 2, 3), (11, 12, 13)
KEPT = Path("results/auto_bbob")
NOISE, LEAST = 0.05, 1e-8
OPTIMISERS = ("auto", "CMA-ES (cma)", "CMA-ES, adapted (cmaes)")


def share_left(function: int, dim: int, instance: int, budget: int, optimiser: str) -> float:
    """What is left of the start's gap at the recommendation of one run."""
    import cocoex

    exact = cocoex.BareProblem("bbob", function, dim, instance)
    start, low = float(exact(np.zeros(dim))), float(exact.best_value())
    rng = np.random.default_rng([function, dim, instance, budget])

    def noisy(x: np.ndarray) -> float:
        return float(exact(x)) + NOISE * (start - low) * rng.normal()

    run: Callable[..., np.ndarray] = _ours if optimiser == "auto" else _theirs
    x = run(noisy, dim, budget, instance, optimiser)
    left = (float(exact(x)) - low) / (start - low)
    return max(left, LEAST) if np.isfinite(left) else 1e8


def _ours(noisy: Any, dim: int, budget: int, seed: int, optimiser: str) -> np.ndarray:
    return driftopt.minimize(noisy, np.zeros(dim), budget=budget, radius=dim**0.5, rng=seed).x


def _theirs(noisy: Any, dim: int, budget: int, seed: int, optimiser: str) -> np.ndarray:
    search: Outside = CMA(dim**0.5) if optimiser == OPTIMISERS[1] else AdaptedCMA(dim**0.5)
    world = World(
        lambda points: np.array([noisy(x) for x in points]), np.zeros(dim), points=budget, seed=seed
    )
    with suppress(Spent):
        search.run(world)
    return world.finish()[-1]


def part(function: int, dim: int, budget: int, optimiser: str, instances: tuple[int, ...]) -> list[float]:
    """One run an instance; kept."""
    word = f"auto-{EDITION}" if optimiser == "auto" else optimiser.replace(" ", "_")
    file = KEPT / f"f{function}_d{dim}_{budget}_{word}_{instances[0]}-{instances[-1]}.json"
    if not file.exists():
        found = [share_left(function, dim, i, budget, optimiser) for i in instances]
        KEPT.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found))
    return json.loads(file.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--development", action="store_true", help="instances 11 to 13")
    parser.add_argument("--budgets", type=int, nargs="+", default=[200, 2_000, 10_000])
    parser.add_argument("--dims", type=int, nargs="+", default=[5, 10, 20])
    chosen = parser.parse_args()
    instances = DEVELOPMENT if chosen.development else VALIDATION
    lines = ["| d | queries | " + " | ".join(OPTIMISERS) + " | auto lower on |", "|---|---|---|---|---|---|"]
    for budget in chosen.budgets:
        for dim in chosen.dims:
            found = {}
            for optimiser in OPTIMISERS:
                began = time.process_time()
                found[optimiser] = np.array([part(f, dim, budget, optimiser, instances) for f in FUNCTIONS])
                took = time.process_time() - began
                print(f"d = {dim}, {budget} queries, {optimiser}: {took:.0f} s of computing", flush=True)
            means = {name: float(np.exp(np.log(left).mean())) for name, left in found.items()}
            logs = {name: np.log(left).mean(axis=1) for name, left in found.items()}
            best = np.minimum(*(logs[name] for name in OPTIMISERS[1:]))
            wins = int((logs["auto"] < best).sum())
            cells = " | ".join(f"{means[name]:.3f}" for name in OPTIMISERS)
            lines.append(f"| {dim} | {budget:,} | {cells} | {wins} of 24 functions |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
