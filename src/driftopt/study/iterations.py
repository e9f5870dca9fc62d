"""The iterations of a sequential method: which of their places still need a result. Needs no JAX."""

from collections.abc import Sequence

from driftopt.study.log import Opened
from driftopt.study.state import Entry, State, answered
from driftopt.study.trial import Place


def slots(opened: Opened) -> list[Place]:
    """The places of an iteration: the points in turn, and repeats of them a round later.

    A world that drifts slowly then biases both sides of a difference alike.
    """
    pairs = [(point, sample) for sample in range(opened.repeats) for point in range(opened.count)]
    return [Place("method", opened.iteration, point, sample) for point, sample in pairs]


def over(state: State, opened: Opened, now: float) -> bool:
    """Whether an iteration can be told: each place has a result, or one of them has failed too often.

    So can one that another iteration was opened after.
    """

    def lost(tries: Sequence[Entry]) -> bool:
        return sum(not one.out(now) for one in tries) >= state.spec.max_failures and not answered(tries)

    tries = [state.places.get(place, []) for place in slots(opened)]
    begun = opened.iteration + 1 < len(state.opened)
    return begun or all(answered(one) for one in tries) or any(lost(one) for one in tries)


def open_one(state: State, now: float) -> Opened | None:
    """The iteration whose results are awaited; None: the next question opens one."""
    last = state.opened[-1] if state.opened else None
    return None if last is None or over(state, last, now) else last


def free(state: State, opened: Opened, now: float) -> Place | None:
    """The first place of an iteration that needs a deployment and has none out."""
    for place in slots(opened):
        tries = state.places.get(place, [])
        if not answered(tries) and not any(one.out(now) for one in tries):
            return place
    return None
