"""Registry lines of others' descent methods: worlds with memory, the same noise twice, filters."""

from collections.abc import Mapping
from math import log
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.method import Method
from driftopt.methods import output_rules
from driftopt.methods.box_bounds import checked_box
from driftopt.methods.dfo import DFO
from driftopt.methods.entry import Entry
from driftopt.methods.epoch import Epochs
from driftopt.methods.estimators import TwoPoint
from driftopt.methods.gfm import GFM, GFMPlus
from driftopt.methods.hlf import HLF
from driftopt.methods.learners import OGD, AdaGradNorm
from driftopt.methods.same_sample import SameSample


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
        slowest = max(float(np.max(checks.finite("forget", forget))), float(checks.number("mixing", mixing)))
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
        **checked_box(low, high),
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
        output=checks.choice("output", output, output_rules.RULES),
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
        output=checks.choice("output", output, output_rules.RULES),
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
        step: step size of the online learner. None: AdaGrad-norm, as for the other two.
        block: iterations in a block; the increment is carried over from one to the next.
        reach: D, how far one increment may go: (δ − ρ)/M in theory. None: radius/block.
    """
    rho, length = checks.positive("radius", radius), checks.count("block", block)
    return SameSample(
        radius=rho,
        block=length,
        batch=checks.count("batch", batch),
        learner=AdaGradNorm() if step is None else OGD(checks.positive("step", step)),
        estimator=TwoPoint(count=checks.shape("directions", directions)),
        output=checks.choice("output", output, output_rules.RULES),
        reach=checks.positive("reach", np.asarray(rho) / np.asarray(length) if reach is None else reach),
    )


def _hlf(radius: Any, step: Any, filter: Any = 1.0, momentum: Any = 0.9, batch: Any = 1) -> Method:
    """One-point descent with two filters.

    Args:
        filter: β of the high-pass filter, between 0 and 2; 1 is the residual estimate.
        momentum: α of the low-pass filter, at least 0 and below 1.
    """
    low_pass = checks.finite("momentum", momentum)
    if not ((low_pass >= 0) & (low_pass < 1)).all():
        raise ValueError(f"momentum must be at least 0 and below 1, got {checks.brief(momentum)}")
    return HLF(
        radius=checks.positive("radius", radius),
        step=checks.positive("step", step),
        filter=checks.positive("filter", filter),
        momentum=momentum if isinstance(momentum, float) else low_pass[()],
        batch=checks.count("batch", batch),
    )


DESCENT: Mapping[str, Entry] = {
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
}
