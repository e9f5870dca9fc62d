"""What is deployed before a decision can be: the way there in allowed steps, and the time to settle.

`max_change` limits how far the next deployment may be from the one before, `settle` how long a decision is
held before its answer counts. Whatever is to be deployed next, for the method, for control or to evaluate, in
whatever order it is asked, goes through `first`: so both hold for every pair of consecutive deployments.

Why this is no step of `Space`: a step makes a decision of a method's point alone, while both of these depend
on what is deployed now, whoever asked for it, and answer with another deployment that is paid for. What is a
matter of decisions, distances and the next one on an allowed way, is the space's (`distance`, `toward`).
"""

import numpy as np

from driftopt.study.log import vector_from_json
from driftopt.study.progress import Progress
from driftopt.study.spec import Spec
from driftopt.study.trial import Place


def first(spec: Spec, progress: Progress, place: Place, x: np.ndarray) -> tuple[Place, np.ndarray]:
    """What to deploy now so that x can be deployed at `place`: x itself, if nothing comes before it."""
    way = _way(spec, progress, x)
    if way:
        return Place("way", progress.closed, 0, progress.spent, 0), way[0]
    if _unsettled(spec, progress, x):
        return Place("settle", progress.closed, 0, progress.spent, 0), x
    return place, x


def price(spec: Spec, progress: Progress, x: np.ndarray) -> int:
    """How many deployments it takes until x is deployed and its answer counts, that one included."""
    return len(_way(spec, progress, x)) + _unsettled(spec, progress, x) + 1


def way(spec: Spec, progress: Progress, x: np.ndarray) -> int:
    """How many deployments lie between what is deployed now and x."""
    return len(_way(spec, progress, x))


def ways(spec: Spec, here: np.ndarray, there: np.ndarray) -> int:
    """How many deployments lie between two decisions."""
    return len(_between(spec, here, there))


def kept_back(spec: Spec, here: np.ndarray) -> int:
    """Deployments that the method leaves for evaluations once it stands at `here`.

    The reserve; under `max_change` at least what it takes to go to the start and back once, so that a
    recommendation far off can be confirmed.
    """
    if spec.max_change is None or spec.reserve == 0:
        return spec.reserve
    both = ways(spec, here, spec.start) + ways(spec, spec.start, here)
    return max(spec.reserve, both + 2 * spec.settle)


def _way(spec: Spec, progress: Progress, x: np.ndarray) -> list[np.ndarray]:
    deployed = progress.deployed.x
    return _between(spec, spec.start if deployed is None else vector_from_json(deployed), x)


def _between(spec: Spec, here: np.ndarray, there: np.ndarray) -> list[np.ndarray]:
    """Decisions on the straight line, each within `max_change` of the one before, the last of x."""
    found: list[np.ndarray] = []
    if spec.max_change is None:
        return found
    # Longer ways than a study has deployments are as good as endless.
    while spec.space.distance(here, there) > spec.max_change and len(found) <= spec.budget:
        here = spec.space.toward(here, there, spec.max_change)
        found.append(here)
    return found


def _unsettled(spec: Spec, progress: Progress, x: np.ndarray) -> int:
    """For how many periods x must still be held before the one whose answer counts."""
    return max(0, spec.settle - 1 - progress.deployed.held(x))
