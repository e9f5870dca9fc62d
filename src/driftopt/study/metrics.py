"""What each metric with a limit is at the recommendation, with its standard error."""

from collections.abc import Sequence

import numpy as np

from driftopt import averages
from driftopt.answers.limits import limits_of
from driftopt.study.recommendation import Metric
from driftopt.study.records import StudySpec
from driftopt.study.trial import Trial

_LATE, _FEWEST = 8, 4  # the last eighth of the answers, four at the least


def estimates(spec: StudySpec, x: np.ndarray, trials: Sequence[Trial]) -> tuple[Metric, ...]:
    """From deployments of the recommendation itself, if there are two; else from the last trials."""
    told = [trial for trial in trials if trial.state == "complete"]
    there = [t for t in told if t.kind == "confirm" and t.sample == 1 and np.array_equal(t.x, x)]
    around = [t for t in told if t.kind == "method"]
    late = around[-max(len(around) // _LATE, _FEWEST) :]

    def metric(name: str, words: str) -> Metric:
        for group, basis in ((there, "confirming deployments"), (late, "last trials around it")):
            values = np.array([t.metrics[name] for t in group if name in t.metrics], np.float64)
            if values.size > 1 or (values.size and group is late):
                error = averages.standard_error(values) if values.size > 1 else None
                basis = basis if values.size > 1 else "trial around it"
                return Metric(name, float(averages.mean(values)), error, values.size, words, basis)
        return Metric(name, None, None, 0, words, "")

    return tuple(metric(limit.name, limit.words) for limit in limits_of(spec.limits))
