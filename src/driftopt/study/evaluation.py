"""Deployments that evaluate the recommendation: is it better than the start, and how stationary is it?

They belong to one recommendation, named by the number of closed iterations, and come in pairs numbered
by `point`: confirm pairs are (start, recommendation), stationarity pairs (x + δu, x − δu).
"""

from collections.abc import Sequence

import numpy as np

from driftopt.stationarity import Stationarity, from_pairs, least_pairs
from driftopt.study.spec import Spec
from driftopt.study.trial import Place, Trial

_STREAM = 0x57A7  # sets these directions apart from every other use of the study's seed


def next_place(
    trials: Sequence[Trial], purpose: str, closed: int, max_failures: int, now: float, first: int = 0
) -> tuple[Place, int | None]:
    """The first place that failed or whose lease ran out, with the trial to take back, else a fresh one.

    Pairs are numbered from `first` on.
    """
    tried: dict[tuple[int, int], list[Trial]] = {}
    for trial in trials:
        tried.setdefault((trial.point, trial.sample), []).append(trial)
    for at, tries in sorted(tried.items()):
        if any(trial.state == "complete" for trial in tries) or len(tries) >= max_failures:
            continue
        pending = [trial for trial in tries if trial.state == "pending"]
        if not pending:
            return Place(purpose, closed, 0, *at), None
        if pending[0].expires_at is not None and pending[0].expires_at <= now:
            return Place(purpose, closed, 0, *at), pending[0].id
    pair = max((point for point, _ in tried), default=first)
    fresh = next(at for at in ((pair, 0), (pair, 1), (pair + 1, 0)) if at not in tried)
    return Place(purpose, closed, 0, *fresh), None


def direction(spec: Spec, pair: int) -> np.ndarray:
    """The pair's direction, uniform on the sphere, a function of the study's seed."""
    u = np.random.default_rng([spec.seed, _STREAM, pair]).standard_normal(spec.dim)
    return u / np.linalg.norm(u)


def decision(spec: Spec, place: Place, center: np.ndarray) -> np.ndarray:
    """What to deploy there."""
    if place.kind == "confirm":
        return spec.space.start if place.sample == 0 else center
    side, point = spec.radius * direction(spec, place.point), spec.space.lift(center)
    draw = (spec.seed, _STREAM, place.point)  # both sides of a pair are rounded alike
    return spec.space.deploy(point + side if place.sample == 0 else point - side, draw)


def stationarity(
    spec: Spec,
    closed: int,
    trials: Sequence[Trial],
    confidence: float,
    value_range: tuple[float, float] | None = None,
) -> Stationarity:
    """The report from the pairs told on both sides, at the recommendation after `closed` iterations."""
    told = {(t.point, t.sample): t for t in trials if t.iteration == closed and t.state == "complete"}
    pairs = [(told[point, 0], told[point, 1]) for point, side in told if side == 0 and (point, 1) in told]
    if len(pairs) < (least := least_pairs(value_range)):
        raise ValueError(
            f"{len(pairs)} pairs are told at the present recommendation and {least} are needed: "
            "ask for the purpose stationarity and tell"
        )
    # In the order in which they were completed: the level then holds however often one has looked.
    pairs.sort(key=lambda pair: (max(t.answered_at or 0.0 for t in pair), pair[0].point))
    return from_pairs(
        [ahead.value for ahead, _ in pairs],
        [behind.value for _, behind in pairs],
        np.array([direction(spec, ahead.point) for ahead, _ in pairs]),
        radius=spec.radius,
        confidence=confidence,
        value_range=value_range,
    )
