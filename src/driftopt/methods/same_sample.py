"""ZO-O2NC where both points of a pair see the same ξ.

Kornowski and Shamir, "An algorithm with optimal dimension-dependence for zero-order nonsmooth nonconvex
stochastic optimization", JMLR 2024. As Option I of the paper, but with one ξ for both points, an increment
that is carried over from block to block, and a reach of its own:

    ρ = min(δ/2, Δ/L),   D = (δ − ρ)/M,   the output is the mean of a uniformly drawn block

This is our reading of the paper's algorithm. With fresh samples, a reset at every block and D = ρ/M it is
Option I.
"""

from typing import Any

import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.methods.entry import Entry
from driftopt.methods.estimators import TwoPoint
from driftopt.methods.learners import OGD, AdaGradNorm
from driftopt.methods.o2nc import O2NC, State
from driftopt.oracle import Sight
from driftopt.pytree import module, static


@module
class SameSample(O2NC):
    """O2NC with shared noise; `same` and `resets` switch its two features."""

    # D: a number of its own; O2NC has radius/block.
    reach: ArrayLike = 1.0  # pyright: ignore[reportIncompatibleMethodOverride]
    same: bool = static(default=True)
    resets: bool = static(default=False)

    @property
    def sees(self) -> Sight:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Sight.SAME_SAMPLE if self.same else Sight.VALUES

    def streams(self, count: ArrayLike, dim: int) -> Any:
        place, pairs = np.arange(self.points(dim)), self.points(dim) // 2
        return place % pairs if self.same else place

    def _carried(self, state: State, ends: Array, increment: Array) -> Array:
        return super()._carried(state, ends, increment) if self.resets else increment


def _same_sample(
    radius: Any,
    step: Any = None,
    block: Any = 10,
    reach: Any = None,
    batch: Any = 1,
    output: str = "random-block",
    directions: Any = 1,
) -> SameSample:
    """O2NC on shared noise.

    Args:
        radius: ρ, the smoothing radius: min(δ/2, Δ/L) in theory.
        step: step size of the online learner. None: AdaGrad-norm, as for the other two.
        block: iterations in a block; the increment is carried over from one to the next.
        reach: D, how far one increment may go: (δ − ρ)/M in theory. None: radius/block.
    """
    if reach is None:
        reach = checks.positive("reach", np.asarray(radius) / np.asarray(block))
    learner = AdaGradNorm() if step is None else OGD(step)
    return SameSample(radius, block, batch, learner, TwoPoint(directions), output, reach)


ENTRIES = {
    "zo-o2nc-same": Entry(
        _same_sample,
        "ZO-O2NC on two points under the same noise (Kornowski and Shamir 2024)",
        checks={"reach": checks.positive},
    )
}
