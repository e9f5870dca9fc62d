"""What an answer does to the log. Needs the trial's own rows alone, so it is quick however long the study."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.answers import Answer
from driftopt.study.errors import Conflict
from driftopt.study.log import Asked, Happened, Writer, vector_as_json, vector_from_json
from driftopt.study.session import Session
from driftopt.study.trial import state_of


@dataclass(frozen=True)
class Said:
    """What the caller said about a trial: a value, or a failure with its reason."""

    kind: str  # complete or failed
    value: float | None = None
    sem: float | None = None
    x_deployed: str | None = None
    reason: str | None = None

    def same(self, before: Happened) -> bool:
        """Is this what was said before? Two failures are the same whatever the words."""
        if self.kind == before.kind == "failed" and self.value is None:
            return True
        told = (before.kind == "failed", before.value, before.sem, before.x_deployed)
        return (self.kind == "failed", self.value, self.sem, self.x_deployed) == told


def tell(session: Session, id: int, value: Any, sem: Any, x_deployed: Any) -> str:
    """A value at the point asked; else a failure: not a number, or a value that belongs to another point."""
    number = _number("value", value) + 0.0  # SQLite drops the sign of zero, so every database does
    error = None if sem is None else _number("sem", sem)
    if error is not None and not (math.isfinite(error) and error >= 0):
        raise ValueError(f"sem must be finite and >= 0, or None; got {sem!r}")
    deployed = None if x_deployed is None else checks.vector("x_deployed", x_deployed, session.spec.dim)

    def work(log: Writer) -> str:
        asked = log.trial(id)
        said = _judged(session, asked, number, error, deployed)
        return _record(log, asked, said, session.clock())

    return session.log.write(work)


def fail(session: Session, id: int, reason: str) -> str:
    """No value came."""
    said = Said("failed", reason=reason or "no reason given")
    return session.log.write(lambda log: _record(log, log.trial(id), said, session.clock()))


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, got {value!r:.60}") from None


def _judged(
    session: Session, asked: Asked, value: float, sem: float | None, deployed: np.ndarray | None
) -> Said:
    text = None if deployed is None else vector_as_json(deployed)
    against = session.spec.answers.judge(Answer(value, sem, vector_from_json(asked.x), deployed))
    if against is None:
        return Said("complete", value, sem, text)
    if not math.isfinite(value):  # no database keeps these
        return Said(against.state, x_deployed=text, reason=against.reason)
    return Said(against.state, value, sem, text, against.reason)


def _record(log: Writer, asked: Asked, said: Said, now: float) -> str:
    """Append what was said; returns the trial's state. The same again appends nothing."""
    happened = log.told(asked.id)
    before = next((row for row in happened if row.kind in ("complete", "failed", "late")), None)
    if before is not None:
        if not said.same(before):
            raise Conflict(
                f"trial {asked.id} was already told {_words(before)}; it cannot also be {_words(said)}. "
                "Nothing was changed"
            )
        return state_of([row.kind for row in happened])
    others = {id: kinds for id, kinds in log.tries(asked.place).items() if id != asked.id}
    answered = any("complete" in kinds for kinds in others.values())
    late = said.kind == "complete" and (answered or _redrawn(log, asked))
    _append(log, asked.id, "late" if late else said.kind, now, said)
    if late:
        return "superseded"
    if said.kind == "complete":
        # The same point was asked again while this answer was on its way: the other one is not needed now.
        for id in sorted(id for id, kinds in others.items() if not kinds):
            log.say(id, "superseded", now, reason=f"trial {asked.id} answered first")
    return said.kind


def _append(log: Writer, id: int, kind: str, now: float, said: Said) -> None:
    log.say(id, kind, now, value=said.value, sem=said.sem, x_deployed=said.x_deployed, reason=said.reason)


def _words(told: Said | Happened) -> str:
    return f"failed ({told.reason})" if told.kind == "failed" else f"{told.value!r}"


def _redrawn(log: Writer, asked: Asked) -> bool:
    return asked.kind == "method" and log.points(asked.iteration, asked.draw + 1) is not None
