"""A noisy function for examples/compare_function.toml: how people feel about two set temperatures.

The people who come depend on the temperature (a cold room is for those who like it cold), so the decision
changes the data.
"""

import numpy as np


def discomfort(x: np.ndarray, rng: np.random.Generator) -> float:
    """One visitor's discomfort in two rooms set to x degrees; each call is another visitor."""
    wanted = 21 + 0.3 * (x - 21) + rng.normal(0, 1.5, size=2)
    return float(np.abs(x - wanted).sum() + 0.02 * np.sum(x))
