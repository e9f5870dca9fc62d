"""Is what `auto` recommends after few deployments ever worse than the start, beyond chance?

    python -m benchmarks.auto_never_worse

30, 60 and 120 deployments in 10 and 30 dimensions, and 60 to 2,000 in credit scoring with one applicant
each, whose answers are heavy-tailed; with the radius that is right and with those that bounds four and
sixteen times as wide would give. A cell is an instance, a budget and a radius; it fails where the mean of
the exact objective at the recommendation, over 20 runs, is above the start's by more than two standard
errors. About one cell in 40 would fail by chance where nothing at all is gained or lost.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import driftopt
from benchmarks.rows import row
from driftopt import methods
from driftopt.paper.best_known import search
from driftopt.problem import Problem
from driftopt.problems import Pricing, StrategicClassification, kink, location_shift

DIMS, BUDGETS, FACTORS = (10, 30), (30, 60, 120), (1.0, 4.0, 16.0)
SEEDS = range(8000, 8020)
INSTANCES = (2801, 2802, 2803)  # none took part in the making of the rule
SPLITS, CREDIT_BUDGETS = (931, 932), (60, 300, 1000, 2000)  # nor these


def groups(dim: int) -> dict[str, list[Problem]]:
    """Instances of one shape, which run side by side."""
    return {
        "location shift": [location_shift(dim, noise=0.5, rng=seed) for seed in INSTANCES],
        "location shift, loud": [location_shift(dim, noise=2.0, rng=seed) for seed in INSTANCES],
        "kink": [kink(dim, noise=1.0, rng=seed) for seed in INSTANCES],
        "prices": [Pricing.synthetic(seed, buyers=120, products=dim) for seed in INSTANCES],
    }


def credit() -> dict[str, list[Problem]]:
    return {
        f"credit, {loss}": [StrategicClassification.from_credit(split, loss=loss) for split in SPLITS]
        for loss in ("hinge", "logistic")
    }


def cells(dims: Any = DIMS, budgets: Any = BUDGETS) -> Iterator[tuple[str, int, int, np.ndarray, np.ndarray]]:
    """A group's name, its dimension, the budget; (instances, radii) of the share left and of what failed."""
    for dim in dims:
        for name, problems in groups(dim).items():
            radius = 0.25 * dim**0.5 if name != "prices" else 0.5
            yield from _cells_of(name, problems, radius, budgets)
    for name, problems in credit().items() if dims == DIMS else ():
        yield from _cells_of(name, problems, 2.0, CREDIT_BUDGETS)


def _cells_of(name: str, problems: list[Problem], radius: float, budgets: Any) -> Iterator[Any]:
    starts = np.array([float(p.objective(p.x0)) for p in problems])
    known = [p.optimum() for p in problems]
    lows = np.array(
        [search(p) if best is None else float(best.value) for p, best in zip(problems, known, strict=True)]
    )
    for budget in budgets:
        auto = methods.get("auto", radius=radius * np.array(FACTORS))
        runs = driftopt.simulate_many(auto, driftopt.stack(problems), budget=budget, seeds=list(SEEDS))
        above = runs.fun - starts[:, None, None]
        error = above.std(axis=1, ddof=1) / len(SEEDS) ** 0.5
        mean = above.mean(axis=1)
        yield name, problems[0].dim, budget, 1 + mean / (starts - lows)[:, None], mean > 2 * error


def rows() -> Iterator[dict[str, Any]]:
    """The small part of it for `make bench`: 30 deployments in 10 dimensions."""
    for name, dim, budget, _, failed in cells((10,), (30,)):
        yield row(
            f"{name}, d = {dim}, {budget} deployments: auto worse than the start",
            f"{int(failed.sum())} of {failed.size} cells",
            "",
            None,
            "0",
            not failed.any(),
        )


def main() -> None:
    total = bad = 0
    head = " | ".join("radius given" if f == 1 else f"× {f:g}" for f in FACTORS)
    print(f"| instances | d | deployments | {head} |\n|---|---|---|---|---|---|")
    for name, dim, budget, left, failed in cells():
        total, bad = total + failed.size, bad + int(failed.sum())
        shares = [
            f"{a:.2f}{' ✗' * int(b)}" for a, b in zip(left.mean(axis=0), failed.sum(axis=0), strict=True)
        ]
        print(f"| {name} | {dim} | {budget} | {' | '.join(shares)} |", flush=True)
    print(f"\nAbove the start beyond two standard errors in {bad} of {total} cells.")


if __name__ == "__main__":
    main()
