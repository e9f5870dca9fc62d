"""Whether a new result is implausible: by what all others predict, and next to the slips that people make.

A slip reports c times the truth. With a prior of SLIP for each, the new value v is held if

    Σ_c SLIP · p(v/c)/|c|  >  p(v)      or      P(as far from the prediction as v) < FAR

where p is the density that the posterior predicts of a result at that decision.
"""

import numpy as np
from scipy import special  # scipy.stats takes three times as long to import

from driftopt.model.belief import Belief, Curve
from driftopt.model.posterior import Inputs

SLIPS = {10.0: "ten times", 0.1: "a tenth of", 100.0: "100 times", 0.01: "a hundredth of", -1.0: "minus"}
SLIP = 1 / 1000  # one report in 200 is such a slip
FAR = 1e-4
FEWEST = 8  # results before anything is predicted


def implausible(curve: Curve, where: Inputs, v: float) -> str | None:
    """Why a new v is held, in words that follow "it is"; None if it is plausible.

    Args:
        curve: the posterior of the other results.
        where: the decision, time and context of the new one.
        v: what was reported.
    """
    n = len(curve.posterior.y)
    if n < FEWEST:
        return None
    mean, variance = curve.posterior.joint(where)
    sd = float(np.sqrt(max(variance[0, 0], 0) + curve.posterior.sigma**2)) or 1e-300

    def density(one: float) -> float:
        if curve.scale.sign * one < 0:
            return -np.inf
        t = float(curve.scale(np.array([one]))[0])
        tail = np.log1p(((t - mean[0]) / sd) ** 2 / n)  # Student's density, as far as t moves it
        return -(n + 1) / 2 * float(tail) + curve.scale.bend(np.array([one]))

    plain = density(v)
    slips = {c: density(v / c) - np.log(abs(c)) + np.log(SLIP) for c in SLIPS}
    likeliest = max(slips, key=lambda c: slips[c])
    if np.logaddexp.reduce(list(slips.values())) > plain and v != 0:
        return f"about {SLIPS[likeliest]} what was expected"
    t = float(curve.scale(np.array([v]))[0])
    if curve.scale.sign * v < 0 or 2 * special.stdtr(n, -abs(t - mean[0]) / sd) < FAR:
        return "far from what was expected"
    return None


def reason(belief: Belief, where: Inputs, value: float, outputs: np.ndarray) -> str | None:
    """Why a new result is held; None if all of it is plausible."""
    if belief.objective is None and belief.value is not None and np.isfinite(value):
        return implausible(belief.value, where, belief.sign * value)
    for curve, y in zip(belief.outputs, outputs, strict=False):
        if np.isfinite(y) and (why := implausible(curve, where, float(y))):
            return why
    return None
