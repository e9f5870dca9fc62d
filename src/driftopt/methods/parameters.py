"""The numbers that many methods take, by name: how each is checked, and what it means.

A method with a number of its own checks it in its `Entry`, and describes it under `Args:` in the docstring of
the function or class that builds it. A description there comes before the common one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftopt import checks
from driftopt.methods import output_rules

Check = Callable[[str, Any], Any]  # (name, the user's value) → the value to use, or a ValueError


class Parameter(NamedTuple):
    check: Check
    meaning: str


def number_with(words: str, holds: Callable[[np.ndarray], Any]) -> Check:
    """The check that a number, or every number of an array, is as the words say."""

    def check(name: str, value: Any) -> Any:
        number = checks.finite(name, value)
        if not np.all(holds(number)):
            raise ValueError(f"{name} must be {words}, got {checks.brief(value)}")
        return value if isinstance(value, float) else number[()]

    return check


def _side(name: str, value: Any) -> Any:
    """One finite side of a box, or one for each coordinate, as it was given."""
    checks.finite(name, value)
    return value


COMMON = {
    "radius": Parameter(
        checks.positive,
        "How far from the current decision a trial may be, in the units of x: the smoothing radius, the "
        "paper's δ (O2NC) or μ (baselines).",
    ),
    "step": Parameter(checks.positive, "Step size, the paper's η."),
    "block": Parameter(
        checks.count,
        "Iterations in a block, the paper's M (T in its experiments). The output rules `last-block` and "
        "`random-block` report the mean of a block's iterates.",
    ),
    "batch": Parameter(
        checks.count,
        "Fresh samples averaged at each queried point, the paper's m. Every one of them counts as a query.",
    ),
    "directions": Parameter(
        checks.shape,
        "Random directions averaged in one gradient estimate, the paper's N. It sets a shape, so all runs of "
        "one method share it.",
    ),
    "output": Parameter(
        partial(checks.choice, allowed=output_rules.RULES),
        "The decision that a run reports: `final`, the last iterate; `last-block`, the mean of the last "
        "whole block; `random-block`, the mean of a block drawn uniformly, as in the theorems.",
    ),
    "decay": Parameter(checks.positive, "The step's factor from one iteration to the next."),
    "shrink": Parameter(checks.positive, "The radius's factor from one iteration to the next."),
    "smallest": Parameter(checks.positive, "The radius does not get smaller than this."),
    "growth": Parameter(checks.whole, "By how many samples the batch grows from one iteration to the next."),
    "window": Parameter(checks.shape, "Past iterations whose observations are kept. It sets a shape."),
    "iterations": Parameter(checks.shape, "Iterations of the search for the minimum of a fitted model."),
    "low": Parameter(_side, "No coordinate of the decision gets below this."),
    "high": Parameter(_side, "No coordinate of the decision gets above this."),
    "budget": Parameter(
        checks.shape, "The queries of the whole run. `minimize`, `Study` and `simulate` fill it in."
    ),
}


def check_box(low: Any, high: Any) -> None:
    """Refuse sides that leave no room; None is an open side."""
    if low is None or high is None:
        return
    fits = np.ndim(low) == 0 or np.ndim(high) == 0 or np.shape(low) == np.shape(high)
    if not fits or not np.all(np.asarray(low) < np.asarray(high)):
        raise ValueError(f"low must be below high; got {checks.brief(low)} and {checks.brief(high)}")
