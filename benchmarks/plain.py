"""The alternative: one Python call a query, plain NumPy, as published scripts for this field are written.

They follow the formulas line by line: the response as a vector, the cost product by product. `tight` versions
are what a careful NumPy programmer would make of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Oracle = Callable[[np.ndarray], float]


def strategic(problem: Any, seed: int) -> Oracle:
    """One training row drawn, its best response, its hinge loss: the appendix's formulas in their order."""
    features, labels = np.asarray(problem.features, float), np.asarray(problem.labels, float)
    tau, rng = float(problem.tau), np.random.default_rng(seed)

    def response(x: np.ndarray, a: np.ndarray) -> np.ndarray:
        weights, intercept = x[:-1], x[-1]
        score = np.dot(weights, a) + intercept
        if score >= 0 or np.linalg.norm(weights) == 0:
            return a
        projected = a - score / np.linalg.norm(weights) ** 2 * weights
        if np.linalg.norm(projected - a) ** 2 <= tau:
            return projected
        return a

    def sample(x: np.ndarray) -> float:
        row = rng.choice(len(labels))
        moved = response(x, features[row])
        return float(np.maximum(0.0, 1.0 - labels[row] * (np.dot(x[:-1], moved) + x[-1])))

    return sample


def tight_strategic(problem: Any, seed: int) -> Oracle:
    """The same with the score alone: whoever moves ends at score 0."""
    features, labels = np.asarray(problem.features, float), np.asarray(problem.labels, float)
    tau, rng = float(problem.tau), np.random.default_rng(seed)

    def sample(x: np.ndarray) -> float:
        row, weights = rng.integers(len(labels)), x[:-1]
        score = weights @ features[row] + x[-1]
        if score < 0 and 0 < score * score <= tau * (weights @ weights):
            score = 0.0
        return max(0.0, 1 - labels[row] * score)

    return sample


def pricing(problem: Any, seed: int) -> Oracle:
    """One demand drawn buyer by buyer, its cost product by product."""
    theta, gamma, unit, outside, low, high = _market(problem)
    rng = np.random.default_rng(seed)

    def sample(x: np.ndarray) -> float:
        weights = np.exp(gamma * (theta - x))
        shares = np.append(weights, outside) / (outside + np.sum(weights))
        chosen = rng.choice(len(shares), size=problem.buyers, p=shares)
        sold = np.bincount(chosen, minlength=len(shares))[:-1]
        cost = np.zeros(len(sold))
        for i in range(len(sold)):
            if sold[i] <= low:
                cost[i] = 2 * unit[i] * sold[i]
            elif sold[i] <= high:
                cost[i] = unit[i] * (sold[i] - low) + 2 * unit[i] * low
            else:
                cost[i] = 3 * unit[i] * (sold[i] - high) + unit[i] * (high - low) + 2 * unit[i] * low
        return float(-np.sum(x * sold) + np.sum(cost))

    return sample


def tight_pricing(problem: Any, seed: int) -> Oracle:
    """The same with NumPy's multinomial and the cost as one expression."""
    theta, gamma, unit, outside, low, high = _market(problem)
    rng = np.random.default_rng(seed)

    def sample(x: np.ndarray) -> float:
        weights = np.exp(gamma * (theta - x))
        shares = np.append(weights, outside) / (weights.sum() + outside)
        sold = rng.multinomial(problem.buyers, shares)[:-1]
        steps = 2 * sold - np.maximum(sold - low, 0) + 2 * np.maximum(sold - high, 0)
        return float(-(x @ sold) + unit @ steps)

    return sample


def _market(problem: Any) -> tuple[Any, ...]:
    """A pricing problem's numbers in NumPy's double precision."""
    vectors = (np.asarray(part, float) for part in (problem.theta, problem.gamma, problem.unit_cost))
    return *vectors, float(problem.outside), *problem.thresholds


def o2nc(sample: Oracle, x0: np.ndarray, budget: int, seed: int) -> np.ndarray:
    """Two-point ZO-O2NC as a loop: radius 1, block 10, batch 1, step 1e-3."""
    rng, dim = np.random.default_rng(seed), len(x0)
    x, increment, radius, block = x0.copy(), np.zeros(dim), 1.0, 10
    for t in range(budget // 2):
        if t % block == 0:
            increment = np.zeros(dim)
        y = x + rng.uniform() * increment
        x = x + increment
        u = rng.normal(size=dim)
        u /= np.linalg.norm(u)
        gradient = dim / (2 * radius) * (sample(y + radius * u) - sample(y - radius * u)) * u
        increment = increment - 1e-3 * gradient
        size = np.linalg.norm(increment)
        if size > radius / block:
            increment *= radius / block / size
    return x
