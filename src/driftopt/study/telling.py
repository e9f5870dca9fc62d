"""What an answer does to the log. Needs the trial's own rows alone, so it is quick however long the study."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.answers import Answer
from driftopt.answers.guard import RECENT
from driftopt.study.errors import Conflict, UnknownTrial
from driftopt.study.log import Asked, Happened, Known, Writer, stored, vector_as_json, vector_from_json
from driftopt.study.session import Session
from driftopt.study.trial import state_of

LONGEST_REASON = 2000
PARTS = ("id", "value", "sem", "x_deployed", "covariates", "metrics", "n", "control", "who")  # of an answer
_LONG = ("method", "control")  # the kinds of deployments of which there are many


@dataclass(frozen=True)
class Said:
    """What the caller said about a trial: a value, which may be held, or a failure with its reason."""

    kind: str  # complete, held or failed
    value: float | None = None
    sem: float | None = None
    x_deployed: str | None = None
    reason: str | None = None
    beside: str | None = None
    who: str | None = None

    def same(self, before: Happened) -> bool:
        """Is this what was said before, whoever says it? Two failures are the same whatever the words."""
        if self.kind == before.kind == "failed" and self.value is None:
            return True
        told = (before.kind == "failed", before.value, before.sem, before.x_deployed, before.beside)
        return (self.kind == "failed", self.value, self.sem, self.x_deployed, self.beside) == told


def tell(session: Session, **said: Any) -> str:
    """A value at the point asked; else a failure: not a number, or a value that belongs to another point."""
    answer = _Answer(session, **said)
    return session.write(answer.record, again=True)


def tell_many(session: Session, answers: Sequence[Mapping[str, Any]]) -> list[str]:
    """All of them or none; an error says which one it was."""
    where, checked = "", list[_Answer]()
    answers = checks.several("answers", answers)
    try:
        for index, one in enumerate(answers, start=1):
            where = f"answer {index} of {len(answers)}"
            checked.append(_Answer(session, **_arguments(one)))

        def work(log: Writer) -> list[str]:
            nonlocal where
            states: list[str] = []
            for index, answer in enumerate(checked, start=1):
                where = f"answer {index} of {len(answers)}, for trial {answer.id}"
                states.append(answer.record(log))
            return states

        return session.write(work, again=True)
    except (Conflict, UnknownTrial, ValueError) as error:
        raise type(error)(f"{where}: {error}. None of the {len(answers)} answers was recorded") from None


def _arguments(one: Any) -> dict[str, Any]:
    given = checks.table("each answer", one)
    if unknown := sorted(set(given) - set(PARTS)):
        raise ValueError(f"an answer has no {', '.join(unknown)}; it has {', '.join(PARTS)}")
    if missing := [name for name in ("id", "value") if name not in given]:
        raise ValueError(f"an answer needs {' and '.join(missing)}")
    return given


def fail(session: Session, id: Any, reason: Any, who: Any = None) -> str:
    """No value came."""
    number = trial_number(id)
    given = "no reason given" if reason is None or (isinstance(reason, str) and not reason) else reason
    said = Said("failed", reason=checks.text("reason", given, LONGEST_REASON), who=_who(who))
    return session.write(lambda log: _record(log, log.trial(number), said, session.clock()), again=True)


def _who(who: Any) -> str | None:
    return None if who is None else str(checks.text("who", who))


def trial_number(id: Any) -> int:
    """One whole number >= 1."""
    return checks.one_count("id", id)


class _Answer:
    """A value told, checked before the database is touched."""

    def __init__(
        self,
        session: Session,
        id: Any,
        value: Any,
        sem: Any = None,
        x_deployed: Any = None,
        who: Any = None,
        **more: Any,
    ):
        self._session = session
        self._who = _who(who)
        self._beside = session.spec.beside(more).as_json()
        self.id = trial_number(id)
        self._value = stored(checks.number("value", value))
        self._sem = None if sem is None else stored(checks.number("sem", sem))
        if self._sem is not None and not (math.isfinite(self._sem) and self._sem >= 0):
            raise ValueError(f"sem must be finite and >= 0, or None; got {checks.brief(sem)}")
        dim = session.spec.dim
        self._deployed = None if x_deployed is None else checks.vector("x_deployed", x_deployed, dim)

    def record(self, log: Writer) -> str:
        """Append it; returns the trial's state."""
        trial, now = log.trial(self.id), self._session.clock()
        trials, recent = self._recent(log, trial)
        said = self._judged(trial.asked, recent)
        if recent is not None and said.kind != "failed":
            said = self._reviewed(log, trials, recent, said, now)
        return _record(log, trial, replace(said, who=self._who), now)

    def _judged(self, asked: Asked, recent: np.ndarray | None) -> Said:
        """What the answer is by itself, and beside those before it."""
        text = None if self._deployed is None else vector_as_json(self._deployed)
        answer = Answer(self._value, self._sem, vector_from_json(asked.x), self._deployed, recent)
        against = self._session.spec.answers.judge(answer)
        if against is None:
            return Said("complete", self._value, self._sem, text, beside=self._beside)
        if not math.isfinite(self._value):  # no database keeps these
            return Said(against.state, x_deployed=text, reason=against.reason, beside=self._beside)
        return Said(against.state, self._value, self._sem, text, against.reason, self._beside)

    def _recent(self, log: Writer, trial: Known) -> tuple[list[int], np.ndarray | None]:
        """What it is compared with; nothing if it was told before, nor for the few evaluations."""
        many = trial.asked.kind in _LONG and trial.told is None
        if many and self._session.spec.answers.looks_back:
            return log.recent(trial.asked.kind, RECENT)
        return [], None

    def _reviewed(self, log: Writer, trials: list[int], recent: np.ndarray, said: Said, now: float) -> Said:
        """Judge those before it once more, now that there is one more; and itself by the same rule."""
        *before, this = self._session.spec.answers.review(np.append(recent, self._value))
        for id, against in zip(trials, before, strict=True):
            last = None if against is None else log.trial(id).happened[-1]
            if against is not None and last is not None and last.kind == "complete":
                told: dict[str, Any] = {"value": last.value, "sem": last.sem, "beside": last.beside}
                log.say(id, "doubted", now, reason=against.reason, **told)
        return said if this is None else replace(said, kind=this.state, reason=this.reason)


def _record(log: Writer, trial: Known, said: Said, now: float) -> str:
    """Append what was said; returns the trial's state. The same again appends nothing."""
    asked, happened = trial.asked, trial.happened
    before = trial.told
    if before is not None:
        if not said.same(before):
            raise Conflict(
                f"trial {asked.id} was already told {_words(before)}; it cannot also be {_words(said)}. "
                "Nothing was changed; `correct` replaces an answer"
            )
        return state_of([row.kind for row in happened])
    tries = log.tries(asked.place) if trial.tried_again else {}
    others = {id: kinds for id, kinds in tries.items() if id != asked.id}
    answered = any(state_of(kinds) == "complete" for kinds in others.values())
    late = said.kind != "failed" and (answered or trial.redrawn)
    _append(log, asked.id, "late" if late else said.kind, now, said)
    if late:
        return "superseded"
    if said.kind == "complete":
        # The same point was asked again while this answer was on its way: the other one is not needed now.
        for id in sorted(id for id, kinds in others.items() if not kinds):
            log.say(id, "superseded", now, reason=f"trial {asked.id} answered first")
    return said.kind


def _append(log: Writer, id: int, kind: str, now: float, said: Said) -> None:
    told: dict[str, Any] = {"value": said.value, "sem": said.sem, "x_deployed": said.x_deployed}
    log.say(id, kind, now, reason=said.reason, who=said.who, beside=said.beside, **told)


def _words(told: Said | Happened) -> str:
    if told.kind == "failed":
        return f"failed ({told.reason})"
    error = "" if told.sem is None else f" with sem {told.sem!r}"
    where = "" if told.x_deployed is None else f" at {told.x_deployed}"
    return f"{told.value!r}{error}{where}" + ("" if told.beside is None else f" with {told.beside}")
