"""The sides of the box that a method keeps to, where it has one."""

from typing import Any

import numpy as np

from driftopt import checks


def checked_box(low: Any, high: Any) -> dict[str, Any]:
    """Finite numbers, or None for an open side."""
    for name, side in (("low", low), ("high", high)):
        if side is not None:
            checks.finite(name, side)
    if low is not None and high is not None:
        fits = np.ndim(low) == 0 or np.ndim(high) == 0 or np.shape(low) == np.shape(high)
        if not fits or not np.all(np.asarray(low) < np.asarray(high)):
            raise ValueError(f"low must be below high; got {checks.brief(low)} and {checks.brief(high)}")
    return {"low": low, "high": high}
