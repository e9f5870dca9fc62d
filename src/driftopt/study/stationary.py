"""How stationary a study's recommendation is, from the pairs deployed around it."""

from collections.abc import Sequence

import numpy as np

from driftopt.space import units
from driftopt.stationarity import Stationarity, from_pairs, least_pairs
from driftopt.study.asking import direction, evaluated
from driftopt.study.records import StudySpec
from driftopt.study.trial import Trial


def stationarity(
    spec: StudySpec,
    x: np.ndarray,
    trials: Sequence[Trial],
    confidence: float,
    value_range: tuple[float, float] | None,
) -> Stationarity:
    """The report from the pairs whose results stand on both sides, around the recommendation x."""
    sides: dict[int, dict[int, Trial]] = {}
    for trial in trials:
        if trial.kind != "stationarity" or trial.state != "complete":
            continue
        if np.array_equal(trial.x, evaluated(spec, trial.kind, trial.point, trial.sample, x)):
            sides.setdefault(trial.point, {})[trial.sample] = trial
    pairs = [(pair[0], pair[1]) for pair in sides.values() if len(pair) == 2]
    if len(pairs) < (least := least_pairs(value_range)):
        raise ValueError(
            f"{len(pairs)} pairs are told at the present recommendation and {least} are needed: "
            "ask for the purpose stationarity and tell"
        )
    # In the order in which they were completed: the level then holds however often one has looked.
    pairs.sort(key=lambda pair: (max(t.answered_at or 0.0 for t in pair), pair[0].point))
    sizes = np.array(spec.units) / units.of(spec.space.steps)
    radius = float(sizes[0]) if np.ptp(sizes) == 0 else 1.0  # else each coordinate is measured in its own
    return from_pairs(
        [ahead.value for ahead, _ in pairs],
        [behind.value for _, behind in pairs],
        np.array([direction(spec, ahead.point) for ahead, _ in pairs]),
        radius=radius,
        confidence=confidence,
        value_range=value_range,
    )
