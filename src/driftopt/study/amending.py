"""What is put right by a row more: answers corrected, voided or accepted, a study stopped."""

import math
import warnings
from collections.abc import Mapping
from typing import Any

from driftopt import checks
from driftopt.answers import Answer, Beside, Verdict
from driftopt.study.errors import Implausible
from driftopt.study.log import Happened, KnownTrial, Writer, as_trial, stored, vector_from_json
from driftopt.study.session import Session
from driftopt.study.standing import instead, last_said, others, unused
from driftopt.study.telling import LONGEST_REASON, peers, trial_number
from driftopt.study.trial import Trial, state_of


def correct(
    session: Session, id: Any, value: Any, sem: Any, reason: Any, who: Any, more: Mapping[str, Any]
) -> str:
    """Another value in the place of what was told."""
    number, why, by = trial_number(id), _reason(reason), str(checks.text("who", who))
    new = stored(checks.number("value", value))
    given = None if sem is None else stored(checks.number("sem", sem))
    none = given is not None and math.isnan(given)
    if given is not None and not none and not (math.isfinite(given) and given >= 0):
        raise ValueError(f"sem must be finite and >= 0, NaN where there is none, or None; got {sem!r}")

    said_beside = session.spec.beside(more)
    doubts: list[Verdict] = []

    def work(log: Writer) -> str:
        doubts.clear()
        known = log.trial(number)
        trial = _trial(session, known)
        beside = _kept(known, more, said_beside)
        before = last_said(known)
        stays = None if before is None else before.sem
        error = None if none else stays if given is None else given
        last = known.happened[-1] if known.happened else None
        if last is not None and (last.kind, last.value, last.sem) == ("superseded", new, error):
            return trial.state  # the same correction again, which another answer has made needless
        if trial.state not in ("complete", "failed", "voided", "held"):
            raise ValueError(_refusal(session, log, known, trial.state))
        against = session.spec.answers.judge(Answer(new, error, vector_from_json(known.asked.x)))
        if against is not None:
            raise ValueError(f"value cannot be a correction: {against.reason}; `void` takes an answer back")
        as_now = (trial.state, trial.value, trial.sem, _beside(known))
        if as_now == ("complete", new, error, beside):
            return trial.state
        answer = Answer(new, error, peers=peers(session.spec, log, known), control=said_beside.control)
        doubts.extend(filter(None, [session.spec.answers.judge(answer)]))
        if trial.state == "failed" and before is not None and before.x_deployed is not None:
            where = f"trial {number} was not deployed as asked, but at {before.x_deployed}"
            doubts.append(Verdict("failed", where))
        said = Happened(0, number, "corrected", new, error, None, why, by, session.clock(), beside)
        return _stands(session, log, known, said)

    state = session.write(work, again=True)
    for doubt in doubts if state == "complete" else ():
        words = f"{doubt.reason}; it counts, because someone says so. If it is a slip, correct trial {number}"
        warnings.warn(f"{words} again", Implausible, stacklevel=3)
    return state


def accept(session: Session, id: Any, reason: Any, who: Any) -> str:
    """The value that was held, as it was told."""
    number, why, by = trial_number(id), _reason(reason), str(checks.text("who", who))

    def work(log: Writer) -> str:
        known = log.trial(number)
        trial = _trial(session, known)
        if trial.state == "complete" or _was_held(trial):
            return trial.state
        if trial.state != "held":
            raise ValueError(f"trial {number} is {trial.state}, not held: there is nothing to accept")
        told = (trial.value, trial.sem, None, why, by, session.clock(), _beside(known))
        said = Happened(0, number, "accepted", *told)
        return _stands(session, log, known, said)

    return session.write(work, again=True)


def _was_held(trial: Trial) -> bool:
    """Whether it was released when another answer stood in its place."""
    return trial.state == "superseded" and any(event.kind in ("held", "doubted") for event in trial.history)


def _stands(session: Session, log: Writer, known: KnownTrial, said: Happened) -> str:
    """Append what stands now in the place of what was told; a deployment asked in its place is not needed.

    Where the study went on without an answer that was held, what came instead stands: the trial is then
    superseded, as it is where an answer comes late.
    """
    id, other = known.asked.id, instead(session, log, known)
    told: dict[str, Any] = {"value": said.value, "sem": said.sem, "beside": said.beside}
    if other is not None:
        if state_of([row.kind for row in known.happened]) != "held":
            raise ValueError(f"trial {id} is not used: {other.why}")
        why = f"{said.kind}, but {other.why}: {said.reason}"
        log.say(id, "superseded", said.at, reason=why[:LONGEST_REASON], who=said.who, **told)
        return "superseded"
    log.say(id, said.kind, said.at, reason=said.reason, who=said.who, **told)
    for one in sorted(one for one, kinds in others(log, known).items() if not kinds):
        log.say(one, "superseded", said.at, reason=f"trial {id} was {said.kind}")
    return "complete"


def void(session: Session, id: Any, reason: Any, who: Any) -> str:
    """No value in the place of what was told."""
    number, why, by = trial_number(id), _reason(reason), str(checks.text("who", who))

    def work(log: Writer) -> str:
        known = log.trial(number)
        state = _trial(session, known).state
        if state in ("complete", "held"):
            log.say(number, "voided", session.clock(), reason=why, who=by)
        elif state != "voided":
            raise ValueError(_refusal(session, log, known, state))
        return "voided"

    return session.write(work, again=True)


def hold(session: Session, id: Any, reason: Any, who: Any) -> str:
    """The value that counted no longer does, until it is accepted or corrected."""
    number, why, by = trial_number(id), _reason(reason), str(checks.text("who", who))

    def work(log: Writer) -> str:
        known = log.trial(number)
        trial = _trial(session, known)
        if trial.state == "complete":
            told: dict[str, Any] = {"value": trial.value, "sem": trial.sem, "beside": _beside(known)}
            log.say(number, "doubted", session.clock(), reason=why, who=by, **told)
        elif trial.state != "held":
            raise ValueError(f"trial {number} is {trial.state}: only an answer that counts can be held")
        return "held"

    return session.write(work, again=True)


def extend(session: Session, budget: Any, reason: Any, who: Any) -> None:
    """A larger budget from here on; the same again is nothing."""
    total, why, by = int(checks.count("budget", budget)), _reason(reason), str(checks.text("who", who))

    def work(log: Writer) -> None:
        session.catch_up(log)
        _check_not_stopped(session)
        now = session.progress.budget
        if total < now:
            raise ValueError(f"budget must be more than the present {now} deployments, got {total}")
        if total > now:
            log.say(None, "extended", session.clock(), value=stored(total), reason=why, who=by)

    session.write(work, again=True)


def resume(session: Session, reason: Any, who: Any) -> None:
    """A study that is halted goes on; one that goes on anyway is left alone.

    One that was stopped as well can be confirmed from then on, as it could before.
    """
    why, by = _reason(reason), str(checks.text("who", who))

    def work(log: Writer) -> None:
        session.catch_up(log)
        if session.progress.halted is not None:
            log.say(None, "resumed", session.clock(), reason=why, who=by)
        else:
            _check_not_stopped(session)

    session.write(work, again=True)


def _check_not_stopped(session: Session) -> None:
    if (stopped := session.progress.stopped) is not None:
        raise ValueError(f"the study was stopped ({stopped}): create another one from its recommendation")


def stop(session: Session, reason: Any, who: Any) -> None:
    """Nothing more is asked for the method. Once is enough; another reason is written down as well."""
    why, by = _reason(reason), str(checks.text("who", who))

    def work(log: Writer) -> None:
        session.catch_up(log)
        before = session.progress.stopped
        if before is None or (why != _NO_REASON and f"; {why}; " not in f"; {before}; "):
            log.say(None, "stopped", session.clock(), reason=why, who=by)

    session.write(work, again=True)


_NO_REASON = "no reason given"
_ADVICE = {
    "pending": "tell it, or say that it failed",
    "expired": "tell it, or say that it failed",
    "failed": "there is no answer to take back",
    "superseded": "its answer is not used",
}


def _refusal(session: Session, log: Writer, known: KnownTrial, state: str) -> str:
    why = unused(session, log, known) if state == "superseded" else ""
    return f"trial {known.asked.id} is {state}: {_ADVICE[state]}{why}"


def _reason(reason: Any) -> str:
    given = _NO_REASON if reason is None or (isinstance(reason, str) and not reason) else reason
    return checks.text("reason", given, LONGEST_REASON)


def _trial(session: Session, known: KnownTrial) -> Trial:
    return as_trial(known.asked, known.happened, tuple(session.spec.names))


def _beside(known: KnownTrial) -> str | None:
    """What stands beside its value."""
    said = last_said(known)
    return None if said is None else said.beside


def _kept(known: KnownTrial, more: Mapping[str, Any], said: Beside) -> str | None:
    """What was said before, but for what is said now."""
    before = Beside.from_json(_beside(known))
    now = {name: getattr(said, name) for name, given in more.items() if given is not None}
    return before._replace(**now).as_json()
