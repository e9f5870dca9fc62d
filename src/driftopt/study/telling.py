"""What an answer does to the log. Needs the trial's own rows alone, so it is quick however long the study."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from driftopt import checks
from driftopt.study.errors import Conflict, UnknownTrial
from driftopt.study.schema import events, iterations, trials
from driftopt.study.spec import Spec, vector_as_json
from driftopt.study.trial import state_of


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
    number = _number("value", value)
    error = None if sem is None else _number("sem", sem)
    if error is not None and not (math.isfinite(error) and error >= 0):
        raise ValueError(f"sem must be finite and >= 0, or None; got {sem!r}")
    deployed = None if x_deployed is None else checks.vector("x_deployed", x_deployed, spec.dim)
    text = None if deployed is None else vector_as_json(deployed)
    if not math.isfinite(number):
        return Answer("failed", x_deployed=text, reason=f"the value is {number}")
    away = 0.0 if deployed is None else float(np.linalg.norm(deployed - x))
    if away > spec.tolerance:
        reason = f"deployed {away:.6g} away from the asked point (tolerance {spec.tolerance:.6g})"
        return Answer("failed", number, error, text, reason)
    return Answer("complete", number, error, text)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None


def find(connection: sa.Connection, study_id: int, trial_id: int) -> Any:
    """The trial's row."""
    query = sa.select(trials).where(trials.c.study_id == study_id, trials.c.id == trial_id)
    row = connection.execute(query).first()
    if row is None:
        raise UnknownTrial(f"this study has no trial {trial_id}")
    return row


def record(connection: sa.Connection, trial: Any, answer: Answer, now: float) -> str:
    """Append the answer's events; returns the trial's state. The same answer again appends nothing."""
    c = events.c
    before = connection.execute(sa.select(events).where(c.trial_id == trial.id).order_by(c.id)).all()
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
        _append(connection, trial, now, answer, kind="late")
        return "superseded"
    _append(connection, trial, now, answer, kind=answer.kind)
    if answer.kind == "complete":
        # The same point was asked again while this answer was on its way: the other one is not needed now.
        ended = {id for id, kind in siblings if kind is not None}
        for id in sorted({id for id, _ in siblings} - ended):
            _append_plain(
                connection, trial.study_id, id, "superseded", now, f"trial {trial.id} answered first"
            )
    return answer.kind


def _words(told: Any) -> str:
    return f"failed ({told.reason})" if told.kind == "failed" else f"{told.value!r}"


def _siblings(connection: sa.Connection, trial: Any) -> list[tuple[int, str | None]]:
    """(id, kind of event or None) for the other trials at the same slot."""
    c = trials.c
    query = sa.select(c.id, events.c.kind).join_from(trials, events, events.c.trial_id == c.id, isouter=True)
    slot = [
        c[name] == getattr(trial, name)
        for name in ("study_id", "kind", "iteration", "draw", "point", "sample")
    ]
    return [(row.id, row.kind) for row in connection.execute(query.where(*slot, c.id != trial.id))]


def _redrawn(connection: sa.Connection, trial: Any) -> bool:
    if trial.kind != "method":
        return False
    c = iterations.c
    query = sa.select(c.id).where(
        c.study_id == trial.study_id, c.iteration == trial.iteration, c.draw == trial.draw + 1
    )
    return connection.execute(query).first() is not None


def _append(connection: sa.Connection, trial: Any, now: float, answer: Answer, kind: str) -> None:
    row = {"study_id": trial.study_id, "trial_id": trial.id, "kind": kind, "at": now, "reason": answer.reason}
    row |= {"value": answer.value, "sem": answer.sem, "x_deployed": answer.x_deployed}
    connection.execute(sa.insert(events).values(row))


def _append_plain(
    connection: sa.Connection, study_id: int, id: int, kind: str, now: float, reason: str
) -> None:
    row = {"study_id": study_id, "trial_id": id, "kind": kind, "at": now, "reason": reason}
    connection.execute(sa.insert(events).values(row))


def expire(connection: sa.Connection, study_id: int, id: int, now: float) -> None:
    """The lease ran out and the point is wanted by someone else."""
    _append_plain(connection, study_id, id, "expired", now, "the lease ran out")


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
            _append_plain(connection, study_id, id, "superseded", now, "the iteration was redrawn")
