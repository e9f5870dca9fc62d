"""What an answer does to the log. Needs few rows beside the trial's own: it is quick however long the study.

Whether an answer counts is for the steps of `answers` to say. Here they are given what to compare it with:
only the log knows which deployments are of the same kind.

A little longer than 300 lines: one answer's way, from what was given to the rows that are appended.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.answers import Answer, Beside, Peers, Verdict
from driftopt.answers.guard import ENOUGH, RECENT
from driftopt.study.errors import Conflict, UnknownTrial
from driftopt.study.log import (
    Answered,
    Asked,
    Happened,
    KnownTrial,
    Writer,
    stored,
    vector_as_json,
    vector_from_json,
)
from driftopt.study.session import Session
from driftopt.study.spec import Spec
from driftopt.study.standing import advice, last_said
from driftopt.study.trial import FOR_ANOTHER, state_of

LONGEST_REASON = 2000
PARTS = ("id", "value", "sem", "x_deployed", "covariates", "metrics", "n", "control", "who")  # of an answer
_MANY = ("method", "control")  # the kinds of deployments of which there are many


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

    def stands(self, trial: KnownTrial) -> bool:
        """Is this what stands now, after what was said before was amended?

        A correction says nothing of where: what was deployed may be told with it as before, or left out.
        """
        now, first = last_said(trial), trial.told
        if self.value is None or now is None or first is None:
            return self.value is None and state_of([row.kind for row in trial.happened]) == "voided"
        if now.kind == "failed":  # a value of another point, which says nothing of this one
            return False
        where = self.x_deployed is None or self.x_deployed == first.x_deployed
        return where and (self.value, self.sem, self.beside) == (now.value, now.sem, now.beside)


def tell(session: Session, **said: Any) -> str:
    """A value at the point asked; else a failure: not a number, or a value that belongs to another point."""
    answer = _Answer(session, **said)
    state = session.write(answer.record, again=True)
    _after(session, [answer])
    return state


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
            states, new = list[str](), set[int]()
            for index, answer in enumerate(checked, start=1):
                where = f"answer {index} of {len(answers)}, for trial {answer.id}"
                rows = log.appended
                try:
                    states.append(answer.record(log))
                except Conflict:
                    if answer.id in new:  # none of it is recorded, so that there is nothing to correct
                        raise Conflict("it is told twice here, differently") from None
                    raise
                if log.appended != rows:
                    new.add(answer.id)
            return states

        states = session.write(work, again=True)
        _after(session, checked)
        return states
    except (Conflict, UnknownTrial, ValueError) as error:
        raise type(error)(f"{where}: {error}. None of the {len(answers)} answers was recorded") from None


def _after(session: Session, answers: Sequence["_Answer"]) -> None:
    """Remember which answers are held since these came in, and warn of values without their control."""
    doubted: dict[int, list[int]] = {}
    for answer in answers:
        doubted.setdefault(answer.id, []).extend(answer.doubted)
    session.doubted = doubted
    if without := [str(answer.id) for answer in answers if answer.without_control]:
        warnings.warn(
            f"trial {', '.join(without)}: values are relative to control here, and none was told. Tell "
            "control=… with each value, NaN where it is not known, or create the study with control_every; "
            "until then a value counts as it is, or less the mean of the controls told so far",
            stacklevel=4,
        )


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
    return session.write(lambda log: _record(session, log, log.trial(number), said), again=True)


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
        told_beside = session.spec.beside(more)
        self._control_said = more.get("control") is not None
        self._beside, self._control = told_beside.as_json(), told_beside.control
        self.id = trial_number(id)
        self._value = stored(checks.number("value", value))
        self._sem = None if sem is None else stored(checks.number("sem", sem))
        if self._sem is not None and not (math.isfinite(self._sem) and self._sem >= 0):
            raise ValueError(f"sem must be finite and >= 0, or None; got {checks.brief(sem)}")
        dim = session.spec.dim
        self._deployed = None if x_deployed is None else checks.vector("x_deployed", x_deployed, dim)
        self.doubted: list[int] = []  # answers before it that are held since it came in
        self.without_control = False  # whether nobody will ever know what it should be compared with

    def record(self, log: Writer) -> str:
        """Append it; returns the trial's state."""
        spec, self.doubted = self._session.spec, []
        trial, now = log.trial(self.id), self._session.clock()
        # Looked at before anything is appended: what is not committed yet must not be taken in.
        gone_on = trial.told is None and trial.tried_again and self._session.is_over(log, trial.asked)
        missing = spec.relative_to_control and spec.control_every is None and not self._control_said
        new = trial.told is None and trial.asked.kind == "method" and math.isfinite(self._value)
        self.without_control = missing and new
        compared = peers(spec, log, trial) if trial.told is None else None
        said = self._judged(trial.asked, compared)
        if compared is not None and said.kind != "failed" and _new(compared):
            said = self._reviewed(log, trial.asked, said, now)
        return _record(self._session, log, trial, replace(said, who=self._who), gone_on)

    def _judged(self, asked: Asked, compared: Peers | None) -> Said:
        """What the answer is by itself, and beside those before it."""
        text = None if self._deployed is None else vector_as_json(self._deployed)
        where = vector_from_json(asked.x), self._deployed
        against = self._session.spec.answers.judge(
            Answer(self._value, self._sem, *where, compared, self._control)
        )
        if against is None:
            return Said("complete", self._value, self._sem, text, beside=self._beside)
        if not math.isfinite(self._value):  # no database keeps these
            return Said(against.state, x_deployed=text, reason=against.reason, beside=self._beside)
        return Said(against.state, self._value, self._sem, text, against.reason, self._beside)

    def _reviewed(self, log: Writer, asked: Asked, said: Said, now: float) -> Said:
        """Judge those before it once more, now that there is one more; and itself by the same rule."""
        if asked.kind not in _MANY:
            return said
        alike = log.last(asked.kind, RECENT)
        told = np.append(_values(alike), self._value)
        beside = [*_controls(alike), np.nan if self._control is None else self._control]
        *before, this = self._session.spec.answers.review(told, np.array(beside, np.float64))
        self.doubted += _doubt(log, dict(zip(alike, before, strict=True)), now)
        if asked.kind == "method" and len(told) == ENOUGH:  # now the first controls can be judged
            self.doubted += _doubt(log, _against_controls(self._session.spec, log, told), now)
        return said if this is None else replace(said, kind=this.state, reason=this.reason)


def _new(compared: Peers) -> bool:
    """Whether so few values or controls were told before that these may have to be judged once more."""
    controls = compared.controls
    return len(compared.alike) < ENOUGH or (controls is not None and len(controls.alike) < ENOUGH)


def _controls(told: Mapping[int, Answered]) -> list[float]:
    """What was told as control beside each; NaN where nothing was."""
    said = (Beside.from_json(one.beside).control for one in told.values())
    return [math.nan if one is None else one for one in said]


def peers(spec: Spec, log: Writer, trial: KnownTrial) -> Peers | None:
    """What an answer to a trial is compared with: those before it, or before what it was first told.

    None where nothing is compared, or it is deployed for another's sake: its answer moves nothing.
    """
    asked, before = trial.asked, None if trial.told is None else trial.told.row
    if asked.kind in FOR_ANOTHER or not spec.answers.looks_back:
        return None
    many = asked.kind in _MANY
    alike = log.last(asked.kind, RECENT, before) if many else log.evaluations(asked.place, before)
    held = np.array([one.held for one in alike.values()], dtype=bool)
    controls = None
    if spec.relative_to_control and asked.kind == "method":
        beside = np.array(_controls(alike), np.float64)
        known = ~np.isnan(beside)
        controls = Peers(beside[known], held=held[known])
    if len(alike) >= ENOUGH:
        return Peers(_values(alike), held=held, controls=controls)
    others = [log.first("method", ENOUGH + 1)]
    if asked.kind != "method":
        others.append(log.last("method", RECENT, before))
    if not many and spec.control_every is not None:
        others.append(log.last("control", RECENT, before))
    return Peers(_values(alike), tuple(_standing(one, asked.id) for one in others), held, controls)


def _values(told: Mapping[int, Answered]) -> np.ndarray:
    return np.array([one.value for one in told.values()], dtype=np.float64)


def _standing(told: Mapping[int, Answered], but: int) -> np.ndarray:
    """Those that are not held, but for one trial's."""
    return _values({id: one for id, one in told.items() if id != but and not one.held})


def _against_controls(spec: Spec, log: Writer, method: np.ndarray) -> dict[int, Verdict | None]:
    """What is to be said now against the controls so far, each beside the others and the method's answers."""
    found = log.last("control", RECENT) if spec.control_every is not None else {}
    rest = {id: Peers(_standing(found, id), (method,)) for id in found}
    return {id: spec.answers.judge(Answer(one.value, peers=rest[id])) for id, one in found.items()}


def _doubt(log: Writer, against: Mapping[int, Verdict | None], now: float) -> list[int]:
    """Hold answers that counted until now, and say which; what a person has put right stays."""
    doubted: list[int] = []
    for id, verdict in against.items():
        last = None if verdict is None else log.trial(id).happened[-1]
        if verdict is not None and last is not None and last.kind == "complete":
            told: dict[str, Any] = {"value": last.value, "sem": last.sem, "beside": last.beside}
            log.say(id, "doubted", now, reason=verdict.reason, **told)
            doubted.append(id)
    return doubted


def _record(session: Session, log: Writer, trial: KnownTrial, said: Said, gone_on: bool = False) -> str:
    """Append what was said; returns the trial's state. The same again, or what stands now, appends nothing.

    `gone_on`: whether its iteration was over without it. The answer that stood then may have been taken back
    since; but the study went on with it, and it alone can be put right.
    """
    asked, happened, now = trial.asked, trial.happened, session.clock()
    before = trial.told
    if before is not None:
        if not (said.same(before) or said.stands(trial)):
            now_stands = last_said(trial)
            moved = said.x_deployed not in (None, before.x_deployed)
            elsewhere = moved and (said.kind == "failed" or said.value == (now_stands and now_stands.value))
            works = advice(session, log, trial, said.value is None, elsewhere)
            since = now_stands and {"doubted": "held"}.get(now_stands.kind, now_stands.kind)
            amended = "" if now_stands in (None, before) else f", then {since} {_words(now_stands)}"
            raise Conflict(
                f"trial {asked.id} was already told {_words(before)}{amended}; it cannot also be "
                f"{_words(said)}. Nothing was changed; {works}"
            )
        return state_of([row.kind for row in happened])
    tries = log.tries(asked.place) if trial.tried_again else {}
    others = {id: kinds for id, kinds in tries.items() if id != asked.id}
    answered = any(state_of(kinds) == "complete" for kinds in others.values())
    late = said.kind != "failed" and (answered or trial.redrawn or gone_on)
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
