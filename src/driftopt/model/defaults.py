"""What `auto` is, and how far a first trial goes where nobody has said so: the same in every driver."""

from typing import Any

import numpy as np

from driftopt import checks
from driftopt.space import Space
from driftopt.space import units as units_step

FEW = 1000  # values: beyond, a sequential method ends as low for a thousandth of the computing
DIM = 50  # coordinates: beyond, few values say little about a whole region


def takes_model(method: Any, values: int | None, dim: int) -> bool:
    """Whether a run uses the model: "auto" does for at most 1,000 values in at most 50 dimensions.

    Args:
        method: the name that the user gave, or a Method.
        values: how many values there will be; None: without end.
        dim: the number of coordinates.

    >>> takes_model("auto", 300, 5), takes_model("auto", 5000, 5), takes_model("model", 5000, 5)
    (True, False, True)
    """
    few = dim <= DIM and (values is None or values <= FEW)
    return isinstance(method, str) and (method == "model" or (method == "auto" and few))


def units_of(space: Space, radius: Any) -> tuple[Space, np.ndarray]:
    """The space in its units, and the radius of each coordinate in units of x, (d,).

    Without a radius a trial moves each coordinate by about a tenth: of the width of its bounds; else of its
    value at the start; of 1 where that is 0.

    >>> units_of(Space.build([40.0, 0.5]), None)[1].round(3)
    array([5.657, 0.071])
    """
    if radius is not None and np.ndim(radius) == 0:
        checks.one_positive("radius", radius)
    space, size = space.sized(radius)
    if size is None:
        size = np.sqrt(space.dim) / 10 * np.where(space.start == 0, 1.0, abs(space.start))
    return space, np.broadcast_to(np.asarray(size, float) * units_step.of(space.steps), (space.dim,)).copy()
