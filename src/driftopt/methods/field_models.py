"""Registry lines of others' methods that use ξ: retraining, gradients from past data, models of Ξ."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.method import Method
from driftopt.methods.box_bounds import checked_box
from driftopt.methods.confidence import ConfidenceBounds
from driftopt.methods.entry import Entry
from driftopt.methods.performative import PerfGD
from driftopt.methods.plug_in import PlugIn, TwoStage
from driftopt.methods.repeated import RGD, RRM

_RETRAINS = "stable point"


def _rgd(step: Any, batch: Any = 1, low: Any = None, high: Any = None) -> Method:
    return RGD(
        step=checks.positive("step", step), batch=checks.count("batch", batch), **checked_box(low, high)
    )


def _rrm(batch: Any = 100, iterations: Any = 50, low: Any = None, high: Any = None) -> Method:
    """Repeated risk minimisation.

    Args:
        iterations: iterations of the search for one batch's minimum.
    """
    return RRM(
        batch=checks.count("batch", batch),
        iterations=checks.shape("iterations", iterations),
        **checked_box(low, high),
    )


def _perfgd(step: Any, batch: Any = 50, window: Any = 50, low: Any = None, high: Any = None) -> Method:
    """Gradient descent with the part through Ξ.

    Args:
        batch: samples at each decision; they also give the data's mean and covariance, so at least 2.
        window: H, past decisions whose data tells how the mean moves. Near the end decisions lie close
            together and their differences are mostly noise, so a window that still holds the first ones is
            steadier: as few as there are coordinates do not arrive.
    """
    if np.min(checks.count("batch", batch)) < 2:
        raise ValueError(f"batch must be at least 2, for a covariance; got {batch!r}")
    return PerfGD(
        step=checks.positive("step", step),
        batch=checks.count("batch", batch),
        window=checks.shape("window", window),
        **checked_box(low, high),
    )


def _two_stage(
    radius: Any = 1.0, budget: Any = None, iterations: Any = 50, low: Any = None, high: Any = None
) -> Method:
    """Explore, fit a location family, minimise.

    Args:
        radius: standard deviation of the explored decisions around the start, in every coordinate.
        iterations: iterations of the search for the fitted model's minimum.
    """
    return TwoStage(**_explored(radius, budget, iterations, low, high))


def _plug_in(
    radius: Any = 1.0,
    model: str = "problem",
    budget: Any = None,
    draws: Any = 1000,
    iterations: Any = 50,
    low: Any = None,
    high: Any = None,
) -> Method:
    """Explore, fit a model, minimise under it.

    Args:
        radius: standard deviation of the explored decisions around the start, in every coordinate.
        model: "problem", the family that the problem or `model=` brings; or "linear", ξ ~ N(b + Ax, Σ),
            whether or not it holds.
        draws: draws from the fitted model that stand for its expectation.
        iterations: iterations of the search for the fitted model's minimum.
    """
    return PlugIn(
        **_explored(radius, budget, iterations, low, high),
        draws=checks.shape("draws", draws),
        model=checks.choice("model", model, ("problem", "linear")),
    )


def _explored(radius: Any, budget: Any, iterations: Any, low: Any, high: Any) -> dict[str, Any]:
    return {
        "radius": checks.positive("radius", radius),
        "budget": None if budget is None else checks.shape("budget", budget),
        "iterations": checks.shape("iterations", iterations),
        **checked_box(low, high),
    }


def _confidence(
    low: Any,
    high: Any,
    sensitivity: Any,
    complexity: Any = 0.0,
    tolerance: Any = 1.0,
    batch: Any = 10,
    grid: Any = 21,
    budget: Any = None,
) -> Method:
    """Elimination by confidence bounds, for at most three coordinates.

    Args:
        low: the smallest value of every coordinate.
        high: the largest.
        sensitivity: L_z ε: how far the mean of F moves, at most, when the data's decision moves by 1.
        complexity: C, a bound on the Rademacher complexity of F; 0 trusts that few values are enough.
        tolerance: γ of the first phase, in the units of F.
        grid: points of the grid in each coordinate.
    """
    sides = checked_box(low, high)
    spread = checks.finite("complexity", complexity)
    if not (spread >= 0).all():
        raise ValueError(f"complexity must be finite and >= 0, got {checks.brief(complexity)}")
    return ConfidenceBounds(
        **sides,
        sensitivity=checks.positive("sensitivity", sensitivity),
        complexity=complexity if isinstance(complexity, float) else spread[()],
        tolerance=checks.positive("tolerance", tolerance),
        batch=checks.count("batch", batch),
        grid=checks.shape("grid", grid),
        horizon=None if budget is None else checks.shape("budget", budget),
    )


MODELS: Mapping[str, Entry] = {
    "rgd": Entry(
        _rgd,
        "repeated gradient descent on one's own data (Perdomo et al. 2020)",
        ("step", "batch", "low", "high"),
        {"step": 0.1, "batch": 3},
        finds=_RETRAINS,
    ),
    "rrm": Entry(
        _rrm,
        "repeated risk minimisation on one's own data (Perdomo et al. 2020)",
        ("batch", "iterations", "low", "high"),
        {"batch": 10, "iterations": 20},
        finds=_RETRAINS,
    ),
    "perfgd": Entry(
        _perfgd,
        "gradient descent with the part through Ξ from past data (Izzo, Ying and Zou 2021)",
        ("step", "batch", "window", "low", "high"),
        {"step": 0.1, "batch": 25, "window": 8},
    ),
    "two-stage": Entry(
        _two_stage,
        "explore, fit a location family, minimise (Miller, Perdomo and Zrnic 2021)",
        ("radius", "budget", "iterations", "low", "high"),
        {"radius": 0.5, "budget": 40, "iterations": 20},
    ),
    "plug-in": Entry(
        _plug_in,
        "explore, fit a model of Ξ, minimise under it (Lin and Zrnic 2024)",
        ("radius", "model", "budget", "draws", "iterations", "low", "high"),
        {"radius": 0.5, "budget": 40, "draws": 50, "iterations": 20},
        finds="optimum of the model",
    ),
    "pcb": Entry(
        _confidence,
        "elimination by performative confidence bounds, d ≤ 3 (Jagadeesan et al. 2022)",
        ("low", "high", "sensitivity", "complexity", "tolerance", "batch", "grid", "budget"),
        {
            "low": -1.0,
            "high": 1.0,
            "sensitivity": 1.0,
            "tolerance": 4.0,
            "batch": 5,
            "grid": 5,
            "budget": 200,
        },
    ),
}
