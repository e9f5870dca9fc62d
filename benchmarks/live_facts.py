"""Are cost, gain, advice and outlook right? Simulated studies of which the truth is known.

    python benchmarks/live_facts.py --studies 100 --days 60

A share below its level says that intervals are too narrow. Each study has a problem of its own: a concave
profit with cross effects and a kink, as far from its best as a tenth to a third of the value, noise of 2 to
20 % a day, and a start from which the search costs something.
"""

import argparse
from collections.abc import Callable

import numpy as np

from driftopt.model import Model, Results
from driftopt.model.facts import sums
from driftopt.model.forecast import forecast
from driftopt.space import Space

MORE = 30  # days that the outlook is about


def world(rng: np.random.Generator) -> tuple[int, Callable[[np.ndarray], float], float, float]:
    """Coordinates, the expected profit of a decision in radii, its best, and the noise."""
    dim = int(rng.integers(2, 7))
    root = np.linalg.qr(rng.standard_normal((dim, dim)))[0] * np.exp(rng.uniform(-1, 0.5, dim))
    best = rng.standard_normal(dim) * rng.uniform(1, 3)
    size, kink = rng.uniform(0.1, 0.35), rng.uniform(0, 0.02)

    def slope(x: np.ndarray) -> float:
        away = float(np.linalg.norm((x - best) @ root))
        return away**2 / (1 + away / 2)

    def profit(x: np.ndarray) -> float:
        return 100 * (1 - size * slope(x) / slope(np.zeros(dim)) - kink * abs(x - best).max())

    return dim, profit, profit(best), 100 * float(np.exp(rng.uniform(np.log(0.02), np.log(0.2))))


def study(seed: int, days: int) -> dict[str, bool | float]:
    """One study: whether each statement was right, and what it said."""
    rng = np.random.default_rng([seed, 38])
    dim, profit, best, noise = world(rng)
    model = Model(Space.build(np.zeros(dim)), np.ones(dim) * dim**0.5 / 2, seed=seed, maximize=True)
    decisions, values = np.zeros((0, dim)), list[float]()

    def deploy(until: int) -> None:
        nonlocal decisions
        for number in range(len(values) + 1, until + 1):
            one = model.ask(Results.of(decisions, values), number)
            decisions = np.vstack([decisions, one])
            values.append(profit(one) + noise * rng.standard_normal())

    deploy(days)
    results = Results.of(decisions, values)
    advised = model.recommend(results, days + 1)
    facts, inputs, start = model.facts(results), results.inputs(model.units), profit(np.zeros(dim))
    (cost,) = sums(*facts.costs(inputs), [np.arange(days)])
    true_cost = sum(start - profit(x) for x in decisions)
    here = inputs.moved(advised.x[None] / model.units)
    candidates = facts.candidates(model.space, model.units, here, 0)
    bound, outlook = facts.forgone(candidates, here, 0), facts.outlook(candidates, here, MORE, 0)
    stays = profit(advised.x)
    (before,) = forecast(start, noise, dim, (days,), seed=seed)
    deploy(days + MORE)
    later = model.recommend(Results.of(decisions, values), days + MORE + 1)
    added = profit(later.x) - stays
    spent = sum(stays - profit(x) for x in decisions[days:])

    def within(estimate: tuple[float, float], truth: float) -> bool:
        return abs(estimate[0] - truth) < 1.645 * estimate[1]

    return {
        "forecast: gain": before.gain.low <= stays - start <= before.gain.high,
        "forecast: cost": before.cost.low <= true_cost <= before.cost.high,
        "cost": within(cost, true_cost),
        "gain": within(advised.gain, stays - start),
        "stopping forgoes less": best - stays <= bound,
        "outlook: gain": within(outlook.gain, added),
        "outlook: cost": within(outlook.cost, spent),
        "z of cost": (cost.mean - true_cost) / cost.sd,
        "z of gain": (advised.gain.mean - (stays - start)) / advised.gain.sd,
        "bound over best - here": bound / max(best - stays, 1e-9),
        "outlook gain": outlook.gain.mean,
        "true": added,
        "outlook cost": outlook.cost.mean,
        "true cost": spent,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--days", type=int, default=60)
    given = parser.parse_args()
    found = [study(seed, given.days) for seed in range(given.studies)]
    for name in found[0]:
        values = np.array([one[name] for one in found], float)
        if isinstance(found[0][name], bool | np.bool_):
            print(f"{name:28} {values.mean():6.1%}")
        else:
            low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
            size = float(np.sqrt((values**2).mean()))
            print(f"{name:28} median {middle:8.2f}   80 %: {low:8.2f} to {high:8.2f}   rms {size:8.2f}")
