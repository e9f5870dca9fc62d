"""What is deployed before a decision can be: the way there in allowed steps, and the time to settle.

`max_change` limits how far the next deployment may be from the one before, `settle` how long a decision is
held before its answer counts. Whatever is to be deployed next, for the method, for control or to evaluate, in
whatever order it is asked, goes through `first`: so both hold for every pair of consecutive deployments.

Why this is no step of `Space`: a step makes a decision of a method's point alone, while both of these depend
on what is deployed now, whoever asked for it, and answer with another deployment that is paid for. What is a
matter of decisions, distances and the next one on an allowed way, is the space's (`distance`, `toward`).

**The promise.** With a reserve under `max_change`, after every deployment of the method or of control

    deployments left ≥ way(deployed → start) + settle + way(start → recommendation) + settle

for every recommendation that may stand when the answers are in, so that a confirming pair can be paid. The
first way is known. The second is not: answers are still out, and any may be corrected or voided later. But a
replay has as many iterations as were opened, each of which moves the iterate by the method's reach D at most,
and what is reported is an iterate or a mean of them. So after n iterations it is within n D of where the walk
has begun, or at least within the bounds, and `Space.steps_between` bounds the way there. `kept` is the right
side; whoever hands a deployment out for the method checks it first (`asking.py`). It holds at the start,
where creation has checked it, and no tell, failure, correction or larger budget changes it for the worse:
none moves what is deployed, and none opens an iteration. Deployments that evaluate may spend what is kept: it
is theirs.
"""

import math
from itertools import pairwise

import numpy as np

from driftopt.study.log import vector_from_json
from driftopt.study.progress import Progress
from driftopt.study.spec import Spec
from driftopt.study.trial import Place

# Directions are unit vectors in float32, and steps are added up in float64.
_ROUNDING = 1 + 1e-6


def first(spec: Spec, progress: Progress, place: Place, x: np.ndarray) -> tuple[Place, np.ndarray]:
    """What to deploy now so that x can be deployed at `place`: x itself, if nothing comes before it."""
    way = _way(spec, progress, x)
    if way:
        return Place("way", progress.closed, 0, progress.spent, 0), way[0]
    if _unsettled(spec, progress, x):
        return Place("settle", progress.closed, 0, progress.spent, 0), x
    return place, x


def price(spec: Spec, progress: Progress, x: np.ndarray, *others: np.ndarray) -> int:
    """How many deployments it takes until x, and then the others in turn, are deployed and their answers
    count, these included.
    """
    alone = len(_way(spec, progress, x)) + _unsettled(spec, progress, x) + 1
    between = sum(ways(spec, *pair, progress.budget) for pair in pairwise((x, *others)))
    return alone + between + len(others) * spec.settle


def way(spec: Spec, progress: Progress, x: np.ndarray) -> int:
    """How many deployments lie between what is deployed now and x."""
    return len(_way(spec, progress, x))


def ways(spec: Spec, here: np.ndarray, there: np.ndarray, budget: int) -> int:
    """How many deployments lie between two decisions; some number above the budget where it is more."""
    return len(_between(spec, here, there, budget))


def kept(spec: Spec, x: np.ndarray, iterations: int, budget: int) -> int:
    """Deployments to leave for evaluations once x is deployed and so many iterations were opened.

    The reserve; under `max_change` at least a confirming pair with its ways, wherever the recommendation is.
    """
    if spec.max_change is None or spec.reserve == 0:
        return spec.reserve
    there = ways(spec, x, spec.start, budget)
    back = farthest_way(spec, iterations)
    if math.isinf(back):  # studies of old do not say how far their walk goes: as far as it stands
        back = there
    return max(spec.reserve, there + int(back) + 2 * spec.settle)


def farthest_way(spec: Spec, iterations: int, beyond: float = 0.0) -> float:
    """No recommendation after so many iterations is more deployments away from the start than this.

    Nor is any decision `beyond` where the iterate stands.
    """
    assert spec.max_change is not None
    walked = math.inf if spec.reach is None else iterations * spec.reach * _ROUNDING + beyond
    begun = spec.space.lift(spec.start) if spec.begun is None else np.array(spec.begun)
    return spec.space.steps_between(spec.space.farthest(begun, walked), spec.max_change)


def _way(spec: Spec, progress: Progress, x: np.ndarray) -> list[np.ndarray]:
    deployed = progress.deployed.x
    here = spec.start if deployed is None else vector_from_json(deployed)
    return _between(spec, here, x, progress.budget)


def _between(spec: Spec, here: np.ndarray, there: np.ndarray, budget: int) -> list[np.ndarray]:
    """Decisions on the straight line, each within `max_change` of the one before, the last of x."""
    found: list[np.ndarray] = []
    if spec.max_change is None:
        return found
    # Longer ways than a study has deployments are as good as endless.
    while spec.space.distance(here, there) > spec.max_change and len(found) <= budget:
        here = spec.space.toward(here, there, spec.max_change)
        found.append(here)
    return found


def _unsettled(spec: Spec, progress: Progress, x: np.ndarray) -> int:
    """For how many periods x must still be held before the one whose answer counts."""
    return max(0, spec.settle - 1 - progress.deployed.held(x))
