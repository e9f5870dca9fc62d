"""The sides of the box that a method keeps to, where it has one."""

from typing import Any

import numpy as np


def checked_sides(low: Any, high: Any) -> dict[str, Any]:
    """Finite numbers, or None for an open side."""
    for name, side in (("low", low), ("high", high)):
        if side is not None and not np.isfinite(side).all():
            raise ValueError(f"{name} must be a finite number, or None for an open side; got {side!r}")
    if low is not None and high is not None and not np.all(np.asarray(low) < np.asarray(high)):
        raise ValueError(f"low must be below high; got {low!r} and {high!r}")
    return {"low": low, "high": high}
