"""Hikima and Takeda's pricing setting (AAAI 2025): their one-point and two-point methods at equal budgets.

    python -m benchmarks.retail_prices

Prices are divided by their maximum, and the methods take the paper's numbers: μ_0 = 0.19, steps
0.001 · 0.95^k, batches 30 + 2k. Every sample of demand is charged: zo-ogvr pays for its first control value,
the two-point method for both of its points. The published weeks of 2022 are used where the cache holds them
(`driftopt data fetch prices`), else generated ones. The rest of the problem is `Pricing`'s: 30 products, 120
buyers, its costs and its start.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

import driftopt
from driftopt import methods
from driftopt.data import cache
from driftopt.data.prices import load_week, synthetic_prices, weeks
from driftopt.data.provenance import Provenance
from driftopt.data.registry import WEEKS
from driftopt.problems import Pricing

BUDGET, SEEDS, PRODUCTS = 10_000, 20, 30


def instance(prices: np.ndarray, cost_seed: int, provenance: Provenance) -> Pricing:
    """The pricing problem with θ = prices/max, where `from_prices` scales them into [0.1, 0.9]."""
    theta = prices[:PRODUCTS] / prices[:PRODUCTS].max()
    rho = np.random.default_rng(cost_seed).uniform(0.25, 0.5, theta.size)
    return Pricing(
        theta=jnp.asarray(theta, jnp.float32),
        gamma=jnp.asarray(2 * np.pi / (np.sqrt(6) * theta), jnp.float32),
        unit_cost=jnp.asarray(rho * theta, jnp.float32),
        outside=jnp.float32(0.1 * theta.size),
        provenance=provenance,
    )


def instances() -> list[Pricing]:
    """Four weeks: the published ones, or generated ones that say so."""
    if all(cache.present(file) for file in WEEKS.values()):
        real = Provenance("prices over their maximum")
        return [instance(load_week(week), int(week.replace("-", "")), real) for week in weeks()]
    return [
        instance(synthetic_prices(seed), seed, Provenance("prices over their maximum (stand-in)"))
        for seed in range(4)
    ]


def contenders() -> dict[str, Any]:
    """The paper's two methods with its numbers, and the variant of the first that sees values alone."""
    return {name: methods.get(name) for name in ("zo-ogvr", "zo-ogvr-v", "zo-ga-scheduled")}


def main() -> None:
    """Print one row a method: the exact profit at the end of its runs, and how many ended below the start."""
    problems = instances()
    start = np.array([float(p.objective(p.x0)) for p in problems])
    best = np.array([p.optimum().value for p in problems])
    print(f"{problems[0].provenance.source}; {len(problems)} weeks, {SEEDS} seeds each")
    print(f"mean profit at the start {-start.mean():.2f}, at the best known prices {-best.mean():.2f}")
    print("| method | median profit | mean profit | standard error | ended below the start | queries |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, method in contenders().items():
        trace = driftopt.simulate_many(method, driftopt.stack(problems), budget=BUDGET, seeds=range(SEEDS))
        ends = -np.asarray(trace.fun)[:, :, 0]  # weeks × seeds
        error = float(np.sqrt((ends.var(axis=1, ddof=1) / SEEDS).sum()) / len(problems))
        worse = int((ends < -start[:, None]).sum())
        figures = f"{np.median(ends):.2f} | {ends.mean():.2f} | {error:.2f} | {worse} of {ends.size}"
        print(f"| {name} | {figures} | {int(trace.queries[0, 0, 0]):,} |")


if __name__ == "__main__":
    main()
