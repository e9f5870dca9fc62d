"""What does it cost `auto` to have several pairs out at once, and what did the method before it reach?

    python -m benchmarks.auto_parallel

The share of the start's gap to the optimum that is left, with 1, 2, 4 and 8 pairs asked around one decision,
and with zo-o2nc-2pt, whose step needs no tuning, averaging as many directions. 20 runs of each.
"""

import numpy as np

import driftopt
from driftopt import methods
from driftopt.methods import defaults
from driftopt.problem import Problem
from driftopt.problems import Pricing, kink, location_shift, two_wells

BUDGETS = (64, 320, 2000)
WIDTHS = (1, 2, 4, 8)
SEEDS = range(9100, 9120)


def instances() -> list[tuple[str, float, Problem]]:
    """Name, the length that all are told, the instance. None was used in the making of auto."""
    plain: list[tuple[str, Problem]] = [
        ("kink, d = 2", kink(2, noise=0.5, rng=3202)),
        ("kink, d = 10", kink(10, noise=0.5, rng=3210)),
        ("two wells, d = 10", two_wells(10, noise=0.5, rng=3210)),
        ("location shift, d = 10", location_shift(10, noise=0.5, rng=3210)),
    ]
    lists: list[tuple[str, Problem]] = [
        (f"prices, {n} products", Pricing.synthetic(3200 + n, buyers=120, products=n)) for n in (3, 10)
    ]
    return [(name, 0.25 * p.dim**0.5, p) for name, p in plain] + [(name, 0.5, p) for name, p in lists]


def lowest(problem: Problem, radius: float) -> float:
    """f at the optimum, or where nobody knows it at the best of a few long runs."""
    known = problem.optimum()
    if known is not None:
        return float(known.value)
    long = driftopt.simulate_many(
        methods.get("auto", radius=radius), driftopt.stack([problem]), budget=50_000, seeds=range(8)
    )
    return float(long.fun.min())


def main() -> None:
    print("| instance | deployments | " + " | ".join(f"auto, {k}" for k in WIDTHS) + " | zo-o2nc-2pt, 4 |")
    print("|---|---|" + "---|" * (len(WIDTHS) + 1))
    for name, radius, problem in instances():
        best = lowest(problem, radius)
        gap = float(problem.objective(problem.x0)) - best
        for budget in BUDGETS:
            tried = [methods.get("auto", radius=radius, directions=k) for k in WIDTHS]
            rival, _ = defaults.resolve(
                "zo-o2nc-2pt", radius=radius, dim=problem.dim, budget=budget, params={"directions": 4}
            )
            left = [
                (
                    np.asarray(
                        driftopt.simulate_many(
                            m, driftopt.stack([problem]), budget=budget, seeds=list(SEEDS)
                        ).fun
                    )
                    - best
                )
                / gap
                for m in (*tried, rival)
            ]
            cells = " | ".join(f"{x.mean():.3f} ± {x.std(ddof=1) / x.size**0.5:.3f}" for x in left)
            print(f"| {name} | {budget:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
