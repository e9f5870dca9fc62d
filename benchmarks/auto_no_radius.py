"""What does it cost `auto` to be told no radius at all, against the best of the radii × 1/8 to 4?

    python -m benchmarks.auto_no_radius

Without bounds the first guess is then a tenth of |x0|, or √d/10 where x0 is 0. 20 runs of each; what is lost
is a share of the start's gap to the best mean of the row.
"""

import numpy as np

import driftopt
from driftopt import methods
from driftopt.methods import defaults
from driftopt.problem import Problem
from driftopt.problems import Pricing, kink, location_shift, two_wells

FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
SEEDS = range(9000, 9020)
WITHIN = 0.04


def groups() -> list[tuple[str, float, int, list[Problem]]]:
    """Instances of one shape: name, the right radius, the budget, the instances. None was used before."""
    found: list[tuple[str, float, int, list[Problem]]] = []
    for dim, budget in ((2, 60), (2, 300), (10, 300), (10, 2000)):
        for name, make, noise in (("kink", kink, 0.5), ("location shift", location_shift, 0.5)):
            some: list[Problem] = [make(dim, noise=noise, rng=seed) for seed in (3101, 3102)]
            found.append((f"{name}, d = {dim}", 0.25 * dim**0.5, budget, some))
    wells: list[Problem] = [two_wells(10, noise=0.5, rng=seed) for seed in (3101, 3102)]
    found.append(("two wells, d = 10", 0.25 * 10**0.5, 2000, wells))
    for products, budget in ((10, 300), (10, 2000), (30, 5000)):
        lists: list[Problem] = [Pricing.synthetic(s, buyers=120, products=products) for s in (3101, 3102)]
        found.append((f"prices, {products} products", 0.5, budget, lists))
    return found


def main() -> None:
    good = total = 0
    print("| instance | queries | guess / right radius | best radius | no radius | lost |")
    print("|---|---|---|---|---|---|")
    for name, radius, budget, problems in groups():
        guesses = [defaults.first_radius(np.asarray(p.x0, float)) for p in problems]
        auto = methods.get("auto", radius=np.array([*(radius * f for f in FACTORS), *guesses]))
        runs = driftopt.simulate_many(auto, driftopt.stack(problems), budget=budget, seeds=list(SEEDS)).fun
        for k, problem in enumerate(problems):
            means = runs[k].mean(axis=0)
            best, none = float(means[: len(FACTORS)].min()), float(means[len(FACTORS) + k])
            lost = (none - best) / (float(problem.objective(problem.x0)) - min(best, none))
            good, total = good + (lost <= WITHIN), total + 1
            print(
                f"| {name}, {k + 1} | {budget:,} | {guesses[k] / radius:.2g} | {best:.3f} | {none:.3f} "
                f"| {max(lost, 0):.1%} |",
                flush=True,
            )
    print(f"\nWithin {WITHIN:.0%} of the start's gap on {good} of {total} instances ({good / total:.0%}).")


if __name__ == "__main__":
    main()
