"""The methods of others, from the papers that the comparison needs.

Their builders, numbers and registry lines.
"""

from collections.abc import Callable, Mapping
from typing import Any

from driftopt import checks
from driftopt.method import Method
from driftopt.methods.entry import Entry
from driftopt.methods.ogvr import OGVR, Recorded


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
        return kind(
            radius=checks.positive("radius", radius),
            step=checks.positive("step", step),
            decay=checks.positive("decay", decay),
            shrink=checks.positive("shrink", shrink),
            smallest=checks.positive("smallest", smallest),
            batch=checks.count("batch", batch),
            growth=checks.whole("growth", growth),
            first=checks.count("first", first),
            trust=checks.positive("trust", trust),
            window=checks.shape("window", window),
        )

    return build


_OGVR = ("radius", "step", "decay", "shrink", "smallest", "batch", "growth", "first", "trust", "window")
_SMALL = {"radius": 0.5, "step": 0.01, "batch": 3, "growth": 1, "first": 2, "window": 3}

FIELD: Mapping[str, Entry] = {
    "zo-ogvr": Entry(
        _ogvr(OGVR), "one point with a control value from past ξ (Hikima and Takeda 2025)", _OGVR, _SMALL
    ),
    "zo-ogvr-v": Entry(_ogvr(Recorded), "the same from past values alone (our variant)", _OGVR, _SMALL),
}
