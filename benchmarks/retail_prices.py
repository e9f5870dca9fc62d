"""Hikima and Takeda's pricing setting (AAAI 2025): their one-point and two-point methods, beside their table.

    python -m benchmarks.retail_prices

Ten products, prices divided by the largest of them, 40 buyers, 5,000 samples of demand, 20 instances of each
week with costs of their own. The methods take the paper's numbers: μ_0 = 0.19, steps 0.001 · 0.95^(k+1),
batches 30 + 2k; the conventional one-point method has c = 0, steps 1e-5 · 0.95^(k+1) and radius 0.001 (the
paper's text says 1e-5 alone; steps that stay that long diverge, those that decay give its figures). Every
sample is charged: zo-ogvr pays for its first control value, the two-point method for both of its points.

A second table asks what those numbers do in a larger shop. The published weeks of 2022 are used where the
cache holds them (`driftopt data fetch prices`), else generated ones, which have no column of the paper's.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

import driftopt
from driftopt import methods
from driftopt.data import cache
from driftopt.data.prices import load_week, synthetic_prices, weeks
from driftopt.data.provenance import Provenance
from driftopt.data.registry import WEEKS
from driftopt.methods.ogvr import Recorded
from driftopt.oracle import Sight
from driftopt.problems import Pricing
from driftopt.pytree import module

PRODUCTS, BUYERS, BUDGET, INSTANCES, STEP = 10, 40, 5_000, 20, 1e-3
RATIO = STEP * 0.95 / 0.19  # β_k/μ_k, the same in every iteration: both shrink by 0.95
CLAIMED = {  # the paper's Table 1, mini-batch: Proposed-1, Proposed-2, CZO-1
    "2022-08": (-7.39, -7.26, 1.83),
    "2022-12": (-7.61, -7.78, 2.41),
    "2022-21": (-5.28, -6.38, 0.21),
    "2022-25": (-5.58, -5.54, 7.04),
}


@module
class Uncontrolled(Recorded):
    """The Gaussian one-point method: ZO-OGVR with c = 0."""

    sees: ClassVar[Sight] = Sight.VALUES

    def tell(self, state: Any, values: Any, noise: Any = None) -> Any:
        """As ZO-OGVR, without what it would remember."""
        return super().tell(state, values, noise)._replace(control=jnp.zeros_like(state.control))


def conventional() -> Any:
    """CZO-1 of the paper; the first answer, which makes no control value here, is one sample."""
    flat = {"shrink": 1.0, "decay": 0.95, "smallest": 1e-3, "first": 1, "window": 1}
    return Uncontrolled(**vars(methods.get("zo-ogvr-v", radius=1e-3, step=1e-5, **flat)))


def instance(prices: np.ndarray, seed: int, products: int, buyers: int) -> Pricing:
    """The pricing problem with θ = prices/max, where `from_prices` scales them into [0.1, 0.9]."""
    theta = prices[:products] / prices[:products].max()
    rho = np.random.default_rng(seed).uniform(0.25, 0.5, products)
    return Pricing(
        theta=jnp.asarray(theta, jnp.float32),
        gamma=jnp.asarray(2 * np.pi / (np.sqrt(6) * theta), jnp.float32),
        unit_cost=jnp.asarray(rho * theta, jnp.float32),
        outside=jnp.float32(0.1 * products),
        buyers=buyers,
        provenance=Provenance("prices over their maximum"),
    )


def price_lists() -> dict[str, np.ndarray]:
    """Four weeks: the published ones, or generated ones that say so."""
    if all(cache.present(file) for file in WEEKS.values()):
        return {week: load_week(week) for week in weeks()}
    return {f"generated {seed}": synthetic_prices(seed) for seed in range(4)}


def ends(method: Any, problems: list[Pricing], budget: int) -> np.ndarray:
    """(instances,) the exact objective at the end of a run on each."""
    trace = driftopt.simulate_many(method, driftopt.stack(problems), budget=budget, seeds=[7])
    return np.asarray(trace.fun, float)[:, 0, 0]


def loop_gain(problem: Pricing, draws: int = 200) -> float:
    """How far an error of the control value comes back in the next one, at the start.

    An error δ moves x by (β/μ) δ z. Old demand then misjudges the new prices by s‖move‖, where s is how fast
    E F(x; ξ), ξ ~ Ξ(y), leaves f(x) as y leaves x; here at y = x + μ_0 z, by its root mean square.
    """
    x, moves = problem.x0, 0.19 * jax.random.normal(jax.random.key(0), (draws, problem.dim), jnp.float32)

    def misjudged(move: jax.Array) -> jax.Array:
        old = problem.objective(x + move) + jnp.sum((x + move) * problem.demand(x + move).sales)  # costs
        return old - jnp.sum(x * problem.demand(x + move).sales) - problem.objective(x)

    gaps = np.asarray(jax.jit(jax.vmap(misjudged))(moves), float)
    slope = np.sqrt(np.mean(gaps**2) / np.mean(np.sum(np.asarray(moves, float) ** 2, axis=1)))
    return float(RATIO * slope * problem.dim**0.5)


def their_setting(lists: dict[str, np.ndarray]) -> None:
    """One row a week: the mean loss and its deviation over instances, and the paper's means."""
    contenders = (methods.get("zo-ogvr"), methods.get("zo-ga-scheduled"), conventional())
    print("| week | start | zo-ogvr | theirs | zo-ga-scheduled | theirs | one point, c = 0 | theirs |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for week, prices in lists.items():
        problems = [instance(prices, seed, PRODUCTS, BUYERS) for seed in range(INSTANCES)]
        row = [week, f"{np.mean([float(p.objective(p.x0)) for p in problems]):.2f}"]
        for place, method in enumerate(contenders):
            found = ends(method, problems, BUDGET)
            row.append(f"{found.mean():.2f} ± {found.std(ddof=1):.2f}")
            row.append(f"{CLAIMED[week][place]:.2f}" if week in CLAIMED else "–")
        print(f"| {' | '.join(row)} |")


def larger_shops(lists: dict[str, np.ndarray]) -> None:
    """One row a shop: what the paper's numbers do there, and a step that falls as the buyers grow."""
    print("| products | buyers | loop gain | zo-ogvr | zo-ogvr-v | zo-ga-scheduled | zo-ogvr, shorter |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for products, buyers in ((10, 40), (30, 40), (10, 120), (30, 120)):
        problems = [
            instance(prices, seed, products, buyers) for prices in lists.values() for seed in range(INSTANCES)
        ]
        shorter = methods.get("zo-ogvr", step=STEP * BUYERS / buyers)
        contenders = [methods.get(name) for name in ("zo-ogvr", "zo-ogvr-v", "zo-ga-scheduled")]
        medians = [np.median(ends(m, problems, BUDGET)) / buyers for m in (*contenders, shorter)]
        gain = np.mean([loop_gain(problem) for problem in problems[::INSTANCES]])
        print(
            f"| {products} | {buyers} | {gain:.2f} | "
            + " | ".join(f"{value:.3f}" for value in medians)
            + " |"
        )


def main() -> None:
    """Print both tables."""
    lists = price_lists()
    print(f"loss (negative profit), {INSTANCES} instances a week, mean ± standard deviation")
    their_setting(lists)
    print(f"\nmedian loss for each buyer after {BUDGET:,} samples, all weeks")
    larger_shops(lists)


if __name__ == "__main__":
    main()
