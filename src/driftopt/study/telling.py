"""What an answer does to the log. Needs the trial's own rows alone, so it is quick however long the study."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from driftopt import answers, checks
from driftopt.study.errors import Conflict, UnknownTrial
from driftopt.study.schema import events, iterations, trials
from driftopt.study.spec import Spec, vector_as_json
from driftopt.study.trial import state_of

# Built once: SQLAlchemy takes longer to build a statement than to run it.
_SPOT = ("study_id", "kind", "iteration", "draw", "point", "sample")
_TRIAL = sa.select(trials).where(
    trials.c.study_id == sa.bindparam("study"), trials.c.id == sa.bindparam("trial")
)
_EVENTS = sa.select(events).where(events.c.trial_id == sa.bindparam("trial")).order_by(events.c.id)
_SIBLINGS = (
    sa.select(trials.c.id, events.c.kind)
    .join_from(trials, events, events.c.trial_id == trials.c.id, isouter=True)
    .where(*(trials.c[name] == sa.bindparam(name) for name in _SPOT), trials.c.id != sa.bindparam("trial"))
)
_DRAWN = sa.select(iterations.c.id).where(
    *(iterations.c[name] == sa.bindparam(name) for name in ("study_id", "iteration", "draw"))
)
_APPEND = sa.insert(events)


@dataclass(frozen=True)
class Answer:
    """What the caller said about a trial: a value, or a failure with its reason."""

    kind: str  # complete or failed
    value: float | None = None
    sem: float | None = None
    x_deployed: str | None = None
    reason: str | None = None

    def same(self, event: Any) -> bool:
        """Is this what was told before? Two failures are the same whatever the words."""
        if self.kind == "failed" and event.kind == "failed" and self.value is None:
            return True
        failed = self.kind == "failed"
        before = (event.kind == "failed", event.value, event.sem, event.x_deployed)
        return (failed, self.value, self.sem, self.x_deployed) == before


def value_answer(spec: Spec, x: np.ndarray, value: Any, sem: Any, x_deployed: Any) -> Answer:
    """A value at the point asked; else a failure: not a number, or a value that belongs to another point."""
    number = _number("value", value) + 0.0  # SQLite drops the sign of zero, so every store does
    error = None if sem is None else _number("sem", sem)
    if error is not None and not (math.isfinite(error) and error >= 0):
        raise ValueError(f"sem must be finite and >= 0, or None; got {sem!r}")
    deployed = None if x_deployed is None else checks.vector("x_deployed", x_deployed, spec.dim)
    text = None if deployed is None else vector_as_json(deployed)
    against = spec.answers.judge(answers.Answer(number, error, x, deployed))
    if against is None:
        return Answer("complete", number, error, text)
    if not math.isfinite(number):  # no database keeps these
        return Answer(against.state, x_deployed=text, reason=against.reason)
    return Answer(against.state, number, error, text, against.reason)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, got {value!r:.60}") from None


def find(connection: sa.Connection, study_id: int, trial_id: int) -> Any:
    """The trial's row."""
    row = connection.execute(_TRIAL, {"study": study_id, "trial": trial_id}).first()
    if row is None:
        raise UnknownTrial(f"this study has no trial {trial_id}")
    return row


def record(connection: sa.Connection, trial: Any, answer: Answer, now: float) -> str:
    """Append the answer's events; returns the trial's state. The same answer again appends nothing."""
    before = connection.execute(_EVENTS, {"trial": trial.id}).all()
    told = next((event for event in before if event.kind in ("complete", "failed", "late")), None)
    if told is not None:
        if not answer.same(told):
            raise Conflict(
                f"trial {trial.id} was already told {_words(told)}; it cannot also be {_words(answer)}. "
                "Nothing was changed"
            )
        return state_of([event.kind for event in before])
    siblings = _siblings(connection, trial)
    wanted = not _redrawn(connection, trial) and not any(kind == "complete" for _, kind in siblings)
    if answer.kind == "complete" and not wanted:
        _append(connection, trial.study_id, trial.id, "late", now, answer)
        return "superseded"
    _append(connection, trial.study_id, trial.id, answer.kind, now, answer)
    if answer.kind == "complete":
        # The same point was asked again while this answer was on its way: the other one is not needed now.
        ended = {id for id, kind in siblings if kind is not None}
        for id in sorted({id for id, _ in siblings} - ended):
            _append(
                connection, trial.study_id, id, "superseded", now, reason=f"trial {trial.id} answered first"
            )
    return answer.kind


def _words(told: Any) -> str:
    return f"failed ({told.reason})" if told.kind == "failed" else f"{told.value!r}"


def _siblings(connection: sa.Connection, trial: Any) -> list[tuple[int, str | None]]:
    """(id, kind of event or None) for the other trials at the same spot."""
    spot = {name: getattr(trial, name) for name in _SPOT}
    return [(row.id, row.kind) for row in connection.execute(_SIBLINGS, spot | {"trial": trial.id})]


def _redrawn(connection: sa.Connection, trial: Any) -> bool:
    if trial.kind != "method":
        return False
    draw = {"study_id": trial.study_id, "iteration": trial.iteration, "draw": trial.draw + 1}
    return connection.execute(_DRAWN, draw).first() is not None


def _append(
    connection: sa.Connection,
    study_id: int,
    id: int,
    kind: str,
    now: float,
    answer: Answer | None = None,
    reason: str | None = None,
) -> None:
    row: dict[str, Any] = {"study_id": study_id, "trial_id": id, "kind": kind, "at": now}
    told = answer or Answer(kind, reason=reason)
    row |= {"value": told.value, "sem": told.sem, "x_deployed": told.x_deployed, "reason": told.reason}
    connection.execute(_APPEND, row)


def expire(connection: sa.Connection, study_id: int, id: int, now: float) -> None:
    """The lease ran out and the point is wanted by someone else."""
    _append(connection, study_id, id, "expired", now, reason="the lease ran out")


def supersede_draw(connection: sa.Connection, study_id: int, iteration: int, draw: int, now: float) -> None:
    """The iteration is redrawn: what was asked or told in this draw is not used."""
    c = trials.c
    slot = (c.study_id == study_id, c.kind == "method", c.iteration == iteration, c.draw == draw)
    states: dict[int, list[str]] = {}
    query = sa.select(c.id, events.c.kind).join_from(trials, events, events.c.trial_id == c.id, isouter=True)
    for id, kind in connection.execute(query.where(*slot).order_by(c.id, events.c.id)):
        states.setdefault(id, []).extend([kind] if kind else [])
    for id, kinds in states.items():
        if state_of(kinds) in ("pending", "complete"):
            _append(connection, study_id, id, "superseded", now, reason="the iteration was redrawn")
