"""The alternative: one Python call a query, plain NumPy, as published scripts for this field are written."""

from collections.abc import Callable
from typing import Any

import numpy as np


def strategic(problem: Any, seed: int) -> Callable[[np.ndarray], float]:
    """One training row drawn, its response, its hinge loss."""
    features, labels = np.asarray(problem.features, float), np.asarray(problem.labels, float)
    tau, rng = float(problem.tau), np.random.default_rng(seed)

    def sample(x: np.ndarray) -> float:
        row = rng.integers(len(labels))
        a, weights = features[row], x[:-1]
        score = weights @ a + x[-1]
        norm = weights @ weights
        if score < 0 and norm > 0:
            moved = a - score / norm * weights
            if np.sum((moved - a) ** 2) <= tau:
                score = 0.0
        return max(0.0, 1 - labels[row] * score)

    return sample


def pricing(problem: Any, seed: int) -> Callable[[np.ndarray], float]:
    """One multinomial demand drawn, its negative profit."""
    theta, gamma = np.asarray(problem.theta, float), np.asarray(problem.gamma, float)
    cost, outside = np.asarray(problem.unit_cost, float), float(problem.outside)
    low, high = problem.thresholds
    rng = np.random.default_rng(seed)

    def sample(x: np.ndarray) -> float:
        weights = np.exp(gamma * (theta - x))
        shares = np.append(weights, outside) / (weights.sum() + outside)
        sold = rng.multinomial(problem.buyers, shares)[:-1]
        steps = 2 * sold - np.maximum(sold - low, 0) + 2 * np.maximum(sold - high, 0)
        return float(-(x @ sold) + cost @ steps)

    return sample


def o2nc(sample: Callable[[np.ndarray], float], x0: np.ndarray, budget: int, seed: int) -> np.ndarray:
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
