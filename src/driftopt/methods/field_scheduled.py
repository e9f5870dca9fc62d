"""Registry lines of methods whose radius, step and batch follow a schedule (Hikima and Takeda 2025)."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from driftopt import checks
from driftopt.method import Method
from driftopt.methods.entry import Entry
from driftopt.methods.guided import NewSamples, OldSamples
from driftopt.methods.ogvr import OGVR, Recorded, TwoPointScheduled
from driftopt.methods.schedules import PARAMETERS, Schedule

_LATER = {"decay": 0.95, "shrink": 0.95, "smallest": 1e-4, "batch": 30, "growth": 2}


def _scheduled(radius: float, step: float) -> Callable[[Callable[..., Method]], Callable[..., Method]]:
    """A builder takes the schedule's numbers by name, with these defaults, before its own."""
    defaults: dict[str, Any] = {"radius": radius, "step": step, **_LATER}

    def decorate(build: Callable[..., Method]) -> Callable[..., Method]:
        @functools.wraps(build)
        def whole(**given: Any) -> Method:
            schedule = Schedule.checked(**{name: given.pop(name, defaults[name]) for name in PARAMETERS})
            return build(schedule, **given)

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        first = [inspect.Parameter(name, kind, default=defaults[name]) for name in PARAMETERS]
        own = list(inspect.signature(build).parameters.values())[1:]  # without the schedule
        whole.__signature__ = inspect.Signature([*first, *own])  # pyright: ignore[reportAttributeAccessIssue]
        return whole

    return decorate


def _ogvr(kind: type[OGVR]) -> Callable[..., Method]:
    @_scheduled(radius=0.19, step=1e-3)
    def build(schedule: Schedule, first: Any = 20, trust: Any = 0.1, window: Any = 10) -> Method:
        """One point with a control value.

        Args:
            first: values at the start that make the first control value; they count.
            trust: how much worse an old observation is for having been made elsewhere: the paper's M, in
                theory L_ξ²α²/σ².
        """
        return kind(
            schedule=schedule,
            first=checks.count("first", first),
            trust=checks.positive("trust", trust),
            window=checks.shape("window", window),
        )

    return build


@_scheduled(radius=0.19, step=1e-3)
def _two_point_scheduled(schedule: Schedule) -> Method:
    return TwoPointScheduled(schedule)


@_scheduled(radius=0.2, step=0.01)
def _guided_new(schedule: Schedule, free: Any = 0.0, trust: Any = 0.98) -> Method:
    return NewSamples(schedule=schedule, free=_share(free), trust=checks.positive("trust", trust))


@_scheduled(radius=0.2, step=0.01)
def _guided_old(schedule: Schedule, free: Any = 0.0, trust: Any = 0.98, window: Any = 10) -> Method:
    return OldSamples(
        schedule=schedule,
        free=_share(free),
        trust=checks.positive("trust", trust),
        window=checks.shape("window", window),
    )


def _share(free: Any) -> Any:
    share = checks.finite("free", free)
    if not ((share >= 0) & (share <= 1)).all():
        raise ValueError(f"free must be between 0 and 1, got {checks.brief(free)}")
    return free if isinstance(free, float) else share[()]


_GUIDED = (*PARAMETERS, "free", "trust")
_SOON = {"radius": 0.5, "step": 0.01, "batch": 3, "growth": 1}  # small batches, so that a short run has steps

SCHEDULED: Mapping[str, Entry] = {
    "zo-ogvr": Entry(
        _ogvr(OGVR),
        "one point with a control value from past ξ (Hikima and Takeda 2025)",
        (*PARAMETERS, "first", "trust", "window"),
        {**_SOON, "first": 2, "window": 3},
    ),
    "zo-ogvr-v": Entry(
        _ogvr(Recorded),
        "zo-ogvr from past values alone (our variant)",
        (*PARAMETERS, "first", "trust", "window"),
        {**_SOON, "first": 2, "window": 3},
    ),
    "zo-ga-scheduled": Entry(
        _two_point_scheduled,
        "SGD on two points, Gaussian, with the schedule of zo-ogvr (its companion)",
        PARAMETERS,
        _SOON,
    ),
    "gzo-ns": Entry(
        _guided_new, "two points along a guided direction, new ξ for the guide (Hikima 2025)", _GUIDED, _SOON
    ),
    "gzo-hs": Entry(
        _guided_old,
        "gzo-ns with the guide from past ξ",
        (*_GUIDED, "window"),
        {**_SOON, "window": 3, "free": 0.2},
    ),
}
