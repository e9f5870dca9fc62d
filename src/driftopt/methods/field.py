"""The methods of others that a comparison needs: builders that check numbers, and their registry lines.

Over 300 lines, because every number of every method is described where it is checked.
"""

from collections.abc import Callable, Mapping
from math import log
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.method import Method
from driftopt.methods import output_rules
from driftopt.methods.confidence import ConfidenceBounds
from driftopt.methods.dfo import DFO
from driftopt.methods.entry import Entry
from driftopt.methods.epoch import Epochs
from driftopt.methods.estimators import TwoPoint
from driftopt.methods.gfm import GFM, GFMPlus
from driftopt.methods.guided import NewSamples, OldSamples
from driftopt.methods.hlf import HLF
from driftopt.methods.learners import OGD, AdaGradNorm
from driftopt.methods.ogvr import OGVR, Recorded, TwoPointScheduled
from driftopt.methods.performative import PerfGD
from driftopt.methods.plug_in import PlugIn, TwoStage
from driftopt.methods.repeated import RGD, RRM
from driftopt.methods.same_sample import SameSample
from driftopt.methods.schedules import PARAMETERS, Schedule


def _ogvr(kind: type[OGVR]) -> Callable[..., Method]:
    def build(
        radius: Any = 0.19,
        step: Any = 1e-3,
        decay: Any = 0.95,
        shrink: Any = 0.95,
        smallest: Any = 1e-4,
        batch: Any = 30,
        growth: Any = 2,
        first: Any = 20,
        trust: Any = 0.1,
        window: Any = 10,
    ) -> Method:
        """One point with a control value.

        Args:
            first: Values at the start that make the first control value; they count.
            trust: How much worse an old observation is for having been made elsewhere: the paper's M, in
                theory L_ξ²α²/σ².
        """
        return kind(
            schedule=Schedule.checked(radius, step, decay, shrink, smallest, batch, growth),
            first=checks.count("first", first),
            trust=checks.positive("trust", trust),
            window=checks.shape("window", window),
        )

    return build


def _two_point_scheduled(
    radius: Any = 0.19,
    step: Any = 1e-3,
    decay: Any = 0.95,
    shrink: Any = 0.95,
    smallest: Any = 1e-4,
    batch: Any = 30,
    growth: Any = 2,
) -> Method:
    return TwoPointScheduled(Schedule.checked(radius, step, decay, shrink, smallest, batch, growth))


def _guided(
    radius: Any = 0.2,
    step: Any = 0.01,
    decay: Any = 0.95,
    shrink: Any = 0.95,
    smallest: Any = 1e-4,
    batch: Any = 30,
    growth: Any = 2,
    free: Any = 0.0,
    trust: Any = 0.98,
) -> dict[str, Any]:
    share = np.asarray(free, float)
    if not ((share >= 0) & (share <= 1)).all():
        raise ValueError(f"free must be between 0 and 1, got {free!r}")
    return {
        "schedule": Schedule.checked(radius, step, decay, shrink, smallest, batch, growth),
        "free": free if isinstance(free, float) else share[()],
        "trust": checks.positive("trust", trust),
    }


def _guided_new(
    radius: Any = 0.2,
    step: Any = 0.01,
    decay: Any = 0.95,
    shrink: Any = 0.95,
    smallest: Any = 1e-4,
    batch: Any = 30,
    growth: Any = 2,
    free: Any = 0.0,
    trust: Any = 0.98,
) -> Method:
    return NewSamples(**_guided(radius, step, decay, shrink, smallest, batch, growth, free, trust))


def _guided_old(
    radius: Any = 0.2,
    step: Any = 0.01,
    decay: Any = 0.95,
    shrink: Any = 0.95,
    smallest: Any = 1e-4,
    batch: Any = 30,
    growth: Any = 2,
    free: Any = 0.0,
    trust: Any = 0.98,
    window: Any = 10,
) -> Method:
    numbers = _guided(radius, step, decay, shrink, smallest, batch, growth, free, trust)
    return OldSamples(**numbers, window=checks.shape("window", window))


def _dfo(
    radius: Any,
    step: Any,
    forget: Any = 0.5,
    mixing: float = 0.5,
    hold: Any = None,
    step_power: Any = 2 / 3,
    radius_power: Any = 1 / 6,
) -> Method:
    """One-point steps on two time scales.

    Args:
        radius: δ_0, the radius of the first stage; the theorem's grows as d^(1/6).
        step: η_0, the step of the first stage; the theorem's falls as d^(−2/3).
        forget: λ, what an earlier deployment of a stage counts for against the next one: above 0, at most 1.
        mixing: ρ, the share of its state that the world keeps from one deployment to the next.
        hold: τ_0: a stage k is held for max(1, ⌊τ_0 log(1 + k)⌋) deployments. None: 2/log(1/max(ρ, λ)), the
            theorem's.
        step_power: α, how fast steps fall.
        radius_power: β, how fast the radius falls.
    """
    if hold is None:
        slowest = max(float(np.max(forget)), float(mixing))
        if not 0 < slowest < 1:
            raise ValueError(f"forget and mixing must be above 0 and below 1, or give hold; got {slowest}")
        hold = 2 / log(1 / slowest)
    return DFO(
        radius=checks.positive("radius", radius),
        step=checks.positive("step", step),
        forget=checks.positive("forget", forget),
        hold=checks.positive("hold", hold),
        step_power=checks.positive("step_power", step_power),
        radius_power=checks.positive("radius_power", radius_power),
    )


def _epochs(radius: Any, step: Any, hold: Any = 10, low: Any = None, high: Any = None) -> Method:
    """One-point steps in epochs.

    Args:
        hold: n, deployments of one decision, of which the last is used.
    """
    return Epochs(
        radius=checks.positive("radius", radius),
        step=checks.positive("step", step),
        hold=checks.count("hold", hold),
        **_sides(low, high),
    )


def _gfm(
    radius: Any, step: Any, directions: Any = 1, batch: Any = 1, block: Any = 1, output: str = "random-block"
) -> Method:
    return GFM(
        radius=checks.positive("radius", radius),
        step=checks.positive("step", step),
        block=checks.count("block", block),
        batch=checks.count("batch", batch),
        estimator=TwoPoint(count=checks.shape("directions", directions)),
        rule=checks.choice("output", output, output_rules.RULES),
    )


def _gfm_plus(
    radius: Any,
    step: Any,
    period: Any = 10,
    pairs: Any = 1,
    fresh_pairs: Any = None,
    output: str = "random-block",
) -> Method:
    """Descent with a recursive correction.

    Args:
        period: m: every m-th iteration the estimate is made afresh.
        pairs: b, pairs in between, at two centres each: 4b queries.
        fresh_pairs: b′, pairs of a fresh estimate: 2b′ queries. None: m times b.
    """
    several = checks.shape("pairs", pairs)
    if fresh_pairs is None:
        fresh_pairs = checks.shape("period", period) * several
    return GFMPlus(
        radius=checks.positive("radius", radius),
        step=checks.positive("step", step),
        period=checks.count("period", period),
        pairs=several,
        fresh_pairs=checks.shape("fresh_pairs", fresh_pairs),
        rule=checks.choice("output", output, output_rules.RULES),
    )


def _same_sample(
    radius: Any,
    step: Any = None,
    block: Any = 10,
    reach: Any = None,
    batch: Any = 1,
    output: str = "random-block",
    directions: Any = 1,
) -> Method:
    """O2NC on shared noise.

    Args:
        radius: ρ, the smoothing radius: min(δ/2, Δ/L) in theory.
        step: Step size of the online learner. None: AdaGrad-norm, as for the other two.
        block: Iterations in a block; the increment is carried over from one to the next.
        reach: D, how far one increment may go: (δ − ρ)/M in theory. None: radius/block.
    """
    rho, length = checks.positive("radius", radius), checks.count("block", block)
    return SameSample(
        radius=rho,
        block=length,
        batch=checks.count("batch", batch),
        learner=AdaGradNorm() if step is None else OGD(checks.positive("step", step)),
        estimator=TwoPoint(count=checks.shape("directions", directions)),
        rule=checks.choice("output", output, output_rules.RULES),
        limit=checks.positive("reach", np.asarray(rho) / np.asarray(length) if reach is None else reach),
    )


def _hlf(radius: Any, step: Any, filter: Any = 1.0, momentum: Any = 0.9, batch: Any = 1) -> Method:
    """One-point descent with two filters.

    Args:
        filter: β of the high-pass filter, between 0 and 2; 1 is the residual estimate.
        momentum: α of the low-pass filter, at least 0 and below 1.
    """
    low_pass = np.asarray(momentum, float)
    if not ((low_pass >= 0) & (low_pass < 1)).all():
        raise ValueError(f"momentum must be at least 0 and below 1, got {momentum!r}")
    return HLF(
        radius=checks.positive("radius", radius),
        step=checks.positive("step", step),
        filter=checks.positive("filter", filter),
        momentum=momentum if isinstance(momentum, float) else low_pass[()],
        batch=checks.count("batch", batch),
    )


def _rgd(step: Any, batch: Any = 1, low: Any = None, high: Any = None) -> Method:
    return RGD(step=checks.positive("step", step), batch=checks.count("batch", batch), **_sides(low, high))


def _rrm(batch: Any = 100, iterations: Any = 50, low: Any = None, high: Any = None) -> Method:
    """Repeated risk minimisation.

    Args:
        iterations: Iterations of the search for one batch's minimum.
    """
    return RRM(
        batch=checks.count("batch", batch),
        iterations=checks.shape("iterations", iterations),
        **_sides(low, high),
    )


def _perfgd(step: Any, batch: Any = 50, window: Any = 50, low: Any = None, high: Any = None) -> Method:
    """Gradient descent with the part through Ξ.

    Args:
        batch: Samples at each decision; they also give the data's mean and covariance, so at least 2.
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
        **_sides(low, high),
    )


def _two_stage(
    radius: Any = 1.0, budget: Any = None, iterations: Any = 50, low: Any = None, high: Any = None
) -> Method:
    """Explore, fit a location family, minimise.

    Args:
        radius: Standard deviation of the explored decisions around the start, in every coordinate.
        iterations: Iterations of the search for the fitted model's minimum.
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
        radius: Standard deviation of the explored decisions around the start, in every coordinate.
        model: "problem", the family that the problem or `model=` brings; or "linear", ξ ~ N(b + Ax, Σ),
            whether or not it holds.
        draws: Draws from the fitted model that stand for its expectation.
        iterations: Iterations of the search for the fitted model's minimum.
    """
    return PlugIn(
        **_explored(radius, budget, iterations, low, high),
        draws=checks.shape("draws", draws),
        family=checks.choice("model", model, ("problem", "linear")),
    )


def _explored(radius: Any, budget: Any, iterations: Any, low: Any, high: Any) -> dict[str, Any]:
    return {
        "radius": checks.positive("radius", radius),
        "budget": None if budget is None else checks.shape("budget", budget),
        "iterations": checks.shape("iterations", iterations),
        **_sides(low, high),
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
        low: The smallest value of every coordinate.
        high: The largest.
        sensitivity: L_z ε: how far the mean of F moves, at most, when the data's decision moves by 1.
        complexity: C, a bound on the Rademacher complexity of F; 0 trusts that few values are enough.
        tolerance: γ of the first phase, in the units of F.
        grid: Points of the grid in each coordinate.
    """
    sides = _sides(low, high)
    spread = np.asarray(complexity, float)
    if not (np.isfinite(spread) & (spread >= 0)).all():
        raise ValueError(f"complexity must be finite and >= 0, got {complexity!r}")
    return ConfidenceBounds(
        **sides,
        sensitivity=checks.positive("sensitivity", sensitivity),
        complexity=complexity if isinstance(complexity, float) else spread[()],
        tolerance=checks.positive("tolerance", tolerance),
        batch=checks.count("batch", batch),
        grid=checks.shape("grid", grid),
        horizon=None if budget is None else checks.shape("budget", budget),
    )


def _sides(low: Any, high: Any) -> dict[str, Any]:
    """Finite numbers, or None for an open side."""
    for name, side in (("low", low), ("high", high)):
        if side is not None and not np.isfinite(side).all():
            raise ValueError(f"{name} must be a finite number, or None for an open side; got {side!r}")
    if low is not None and high is not None and not np.all(np.asarray(low) < np.asarray(high)):
        raise ValueError(f"low must be below high; got {low!r} and {high!r}")
    return {"low": low, "high": high}


_GUIDED = (*PARAMETERS, "free", "trust")
_SOON = {"radius": 0.5, "step": 0.01, "batch": 3, "growth": 1}  # small batches, so that a short run has steps
_RETRAINS = "stable point"

FIELD: Mapping[str, Entry] = {
    "zo-ogvr": Entry(
        _ogvr(OGVR),
        "one point with a control value from past ξ (Hikima and Takeda 2025)",
        (*PARAMETERS, "first", "trust", "window"),
        {**_SOON, "first": 2, "window": 3},
    ),
    "zo-ogvr-v": Entry(
        _ogvr(Recorded),
        "zo-ogvr from past values alone (our variant)",
        (*PARAMETERS, "first", "trust", "window"),
        {**_SOON, "first": 2, "window": 3},
    ),
    "zo-ga-scheduled": Entry(
        _two_point_scheduled,
        "SGD on two points, Gaussian, with the schedule of zo-ogvr (its companion)",
        PARAMETERS,
        _SOON,
    ),
    "gzo-ns": Entry(
        _guided_new, "two points along a guided direction, new ξ for the guide (Hikima 2025)", _GUIDED, _SOON
    ),
    "gzo-hs": Entry(
        _guided_old,
        "gzo-ns with the guide from past ξ",
        (*_GUIDED, "window"),
        {**_SOON, "window": 3, "free": 0.2},
    ),
    "dfo": Entry(
        _dfo,
        "one point on two time scales, for a world with memory (Liu, Li and Wai 2024)",
        ("radius", "step", "forget", "mixing", "hold", "step_power", "radius_power"),
    ),
    "zo-epoch": Entry(
        _epochs,
        "one point, held until the world is at rest (Ray et al. 2022)",
        ("radius", "step", "hold", "low", "high"),
        {"radius": 0.5, "step": 0.01, "hold": 3},
    ),
    "gfm": Entry(
        _gfm,
        "SGD on two points under the same noise (Lin, Zheng and Jordan 2022)",
        ("radius", "step", "directions", "batch", "block", "output"),
    ),
    "gfm+": Entry(
        _gfm_plus,
        "gfm with recursive variance reduction (Chen, Xu and Luo 2023)",
        ("radius", "step", "period", "pairs", "fresh_pairs", "output"),
        {"radius": 0.5, "step": 0.01, "period": 4, "pairs": 2},
    ),
    "zo-o2nc-same": Entry(
        _same_sample,
        "ZO-O2NC on two points under the same noise (Kornowski and Shamir 2024)",
        ("radius", "step", "block", "reach", "batch", "output", "directions"),
    ),
    "hlf-szo": Entry(
        _hlf,
        "one-point residual with high-pass and low-pass filters (Chen, Tang and Li 2022)",
        ("radius", "step", "filter", "momentum", "batch"),
    ),
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
