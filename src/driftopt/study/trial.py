"""One deployment, as the caller sees it and as the rows tell it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from driftopt.study.schema import events, trials
from driftopt.study.spec import Spec, vector_from_json

STATES = ("pending", "complete", "failed", "expired", "superseded")
KINDS = ("method", "control", "confirm", "stationarity")


@dataclass(frozen=True, eq=False)
class Trial:
    """A point to deploy, and what became of it."""

    id: int
    x: np.ndarray
    names: tuple[str, ...]
    kind: str
    iteration: int
    draw: int
    point: int  # which point of the iteration
    sample: int  # which repeat of that point
    holder: str
    asked_at: float
    expires_at: float | None
    state: str = "pending"
    value: float | None = None
    sem: float | None = None
    x_deployed: np.ndarray | None = None
    reason: str | None = None
    answered_at: float | None = None

    @property
    def as_dict(self) -> dict[str, float]:
        """The decision by name."""
        return dict(zip(self.names, self.x.tolist(), strict=True))


def state_of(kinds: Sequence[str]) -> str:
    """A trial's state from its events, oldest first; an answer that came too late leaves it superseded."""
    if not kinds:
        return "pending"
    return "superseded" if kinds[-1] == "late" else kinds[-1]


def load(connection: sa.Connection, study_id: int, spec: Spec, where: Iterable[Any] = ()) -> list[Trial]:
    """Trials with their states, in the order in which they were asked."""
    where = list(where)
    happened: dict[int, list[Any]] = {}
    query = sa.select(events).join_from(events, trials, events.c.trial_id == trials.c.id)
    for event in connection.execute(query.where(events.c.study_id == study_id, *where).order_by(events.c.id)):
        happened.setdefault(event.trial_id, []).append(event)
    rows = connection.execute(
        sa.select(trials).where(trials.c.study_id == study_id, *where).order_by(trials.c.id)
    )
    names = tuple(spec.names)
    return [_trial(row, happened.get(row.id, ()), names) for row in rows]


def _trial(row: Any, happened: Sequence[Any], names: tuple[str, ...]) -> Trial:
    told = next((event for event in reversed(happened) if event.kind in ("complete", "late", "failed")), None)
    deployed = None if told is None or told.x_deployed is None else vector_from_json(told.x_deployed)
    return Trial(
        id=row.id,
        x=vector_from_json(row.x),
        names=names,
        kind=row.kind,
        iteration=row.iteration,
        draw=row.draw,
        point=row.point,
        sample=row.sample,
        holder=row.holder,
        asked_at=row.asked_at,
        expires_at=row.expires_at,
        state=state_of([event.kind for event in happened]),
        value=None if told is None else told.value,
        sem=None if told is None else told.sem,
        x_deployed=deployed,
        reason=None if told is None else told.reason,
        answered_at=None if told is None else told.at,
    )
