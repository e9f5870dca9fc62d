"""The verbs that report: results, corrections, and decisions on the study as a whole.

Each rule is a function of (session, record), run in one transaction of the log; each but `tell_many` may be
repeated, and then changes nothing.
"""

import math
from typing import Any

import numpy as np

from driftopt.answers import Answer, Beside
from driftopt.study.errors import Conflict, UnknownTrial
from driftopt.study.log import Happened, stored, vector_as_json, vector_from_json
from driftopt.study.records import Amendment, Correction, Extension, Reason, Result, Results
from driftopt.study.session import Session
from driftopt.study.state import Entry
from driftopt.study.trial import FOR_ANOTHER, Status, TrialState, TrialStates

NO_REASON = "no reason given"


def tell(session: Session, result: Result) -> TrialState:
    """Report the result of a deployment; one that is not finite, or from too far off, is a failure."""
    entry = session.state.entry(result.id)
    beside, deployed = result.beside(session.spec), result.deployed(session.spec)
    if result.early and not session.spec.uses_model:
        raise ValueError("early values are for the model: report the final one")
    if result.value is None and not beside.outputs:
        raise ValueError("value is needed" + (", or outputs" if session.spec.outputs else ""))
    if result.sem is not None and math.isnan(result.sem):
        raise ValueError("sem must be finite and >= 0, or None; got nan")
    value = None if result.value is None else stored(result.value)
    sem = None if result.sem is None else stored(result.sem)
    text = None if deployed is None else vector_as_json(deployed)
    row = Happened(0, result.id, "complete", value, sem, text, None, result.who, session.clock(), None)
    row = row._replace(beside=beside.as_json())
    verdict = None if value is None else session.spec.answers.judge(Answer(value, sem, entry.x, deployed))
    if verdict is not None:
        row = row._replace(kind="failed", reason=verdict.reason)
        if value is None or not math.isfinite(value):  # no database keeps these
            row = row._replace(value=None, sem=None)
    before = entry.last_said
    if (
        before is not None
        and entry.beside.early
        and entry.state in ("complete", "held")
        and row.kind != "failed"
    ):
        if (row.value, row.sem, row.beside) == (before.value, before.sem, before.beside):
            return TrialState(result.id, entry.state)
        if row.x_deployed is not None and not np.array_equal(
            vector_from_json(row.x_deployed), entry.deployed
        ):
            raise Conflict(
                f"trial {result.id} was deployed elsewhere by its early value; nothing was changed"
            )
        why = _outlier(session, entry, row)
        return _append(
            session, row._replace(kind="doubted" if why else "updated", reason=why, x_deployed=None)
        )
    if entry.told is not None:
        return _again(entry, row)
    if row.kind == "complete" and (why := _outlier(session, entry, row)):
        row = row._replace(kind="held", reason=why)
    return _append(session, row)


def _outlier(session: Session, entry: Entry, row: Happened) -> str | None:
    """Why a result is implausible; None: it is not, or nobody asks."""
    if not session.spec.outliers or entry.asked.kind in FOR_ANOTHER:
        return None
    from driftopt.study.model_rule import outlier  # SciPy

    return outlier(session.state, entry, row)


def _append(session: Session, row: Happened) -> TrialState:
    session.say(**row._asdict())
    assert row.trial_id is not None
    return TrialState(row.trial_id, session.state.entry(row.trial_id).state)


def _again(entry: Entry, row: Happened) -> TrialState:
    """The trial's state, where this is what was said before; Conflict where it is something else."""
    before, now = entry.told, entry.last_said
    assert before is not None
    assert now is not None

    def said(one: Happened) -> tuple[Any, ...]:
        return one.kind == "failed", one.value, one.sem, one.x_deployed, one.beside

    empty = row.value is None and row.beside is None
    same = said(row) == said(before) or (before.kind == row.kind == "failed" and empty)
    if not same and empty:
        same = entry.state == "voided"
    elif not same and now.kind != "failed":
        where = row.x_deployed in (None, before.x_deployed)
        same = where and (row.value, row.sem, row.beside) == (now.value, now.sem, now.beside)
    if same:
        return TrialState(entry.asked.id, entry.state)
    since = "" if now is before else f", then {now.kind} {_words(now)}"
    works = "`void` takes a result back" if row.value is None else "`correct` replaces a result"
    raise Conflict(
        f"trial {entry.asked.id} was already told {_words(before)}{since}; it cannot also be {_words(row)}. "
        f"Nothing was changed; {works}"
    )


def _words(row: Happened) -> str:
    if row.kind == "failed" and row.reason is not None:
        return f"failed ({row.reason})"
    error = "" if row.sem is None else f" with sem {row.sem!r}"
    where = "" if row.x_deployed is None else f" at {row.x_deployed}"
    return f"{row.value!r}{error}{where}" + ("" if row.beside is None else f" with {row.beside}")


def tell_many(session: Session, results: Results) -> TrialStates:
    """Report several results, all or none; an error says which one it was."""
    states, new, count = list[TrialState](), set[int](), len(results.answers)
    for index, result in enumerate(results.answers, start=1):
        before = session.appended
        try:
            states.append(tell(session, result))
        except (Conflict, UnknownTrial, ValueError) as error:
            twice = isinstance(error, Conflict) and result.id in new  # nothing is recorded to correct
            why = "it is told twice here, differently" if twice else error
            where = f"answer {index} of {count}, for trial {result.id}"
            raise type(error)(f"{where}: {why}. None of the {count} answers was recorded") from None
        if session.appended != before:
            new.add(result.id)
    return TrialStates(tuple(states))


def fail(session: Session, said: Amendment) -> TrialState:
    """Report that a deployment gave no result."""
    entry = session.state.entry(said.id)
    told = (None, None, None, said.reason or NO_REASON, said.who, session.clock(), None)
    row = Happened(0, said.id, "failed", *told)
    return _append(session, row) if entry.told is None else _again(entry, row)


# What was reported is put right


def correct(session: Session, new: Correction) -> TrialState:
    """Replace a wrong result of a trial; the old one stays in its history."""
    spec, entry = session.spec, session.state.entry(new.id)
    none = new.sem is not None and math.isnan(new.sem)
    beside = new.beside(spec)
    if new.value is None and not beside.outputs:
        raise ValueError("value is needed" + (", or outputs" if spec.outputs else ""))
    before, told = entry.last_said, entry.told
    if before is None or told is None:
        raise ValueError(f"trial {new.id} is {entry.state}: tell it, or say that it failed")
    given = {name: said for name, said in beside._asdict().items() if getattr(new, name, None) is not None}
    text = Beside.from_json(before.beside)._replace(**given, early=None).as_json()
    value = None if new.value is None else stored(new.value)
    sem = None if none else before.sem if new.sem is None else stored(new.sem)
    against = None if value is None else spec.answers.judge(Answer(value, sem, entry.x))
    if against is not None:
        raise ValueError(f"value cannot be a correction: {against.reason}; `void` takes a result back")
    if entry.state == "complete" and (before.value, before.sem, before.beside) == (value, sem, text):
        return TrialState(new.id, "complete")
    doubts: list[str] = []
    if entry.state == "failed" and told.x_deployed is not None and not spec.uses_model:
        doubts.append(f"trial {new.id} was not deployed as asked, but at {told.x_deployed}")
    at, why = session.clock(), new.reason or NO_REASON
    row = Happened(0, new.id, "corrected", value, sem, told.x_deployed, why, new.who, at, text)
    if found := _outlier(session, entry, row):
        doubts.append(found)
    return _append(session, row._replace(x_deployed=None))._replace(doubts=tuple(doubts))


def _amend(
    session: Session, said: Amendment, kind: str, after: str, allowed: tuple[str, ...], what: str
) -> TrialState:
    """A result is voided, accepted or doubted; what is so already stays as it is."""
    entry = session.state.entry(said.id)
    if entry.state in allowed:
        last = entry.last_said
        told: dict[str, Any] = {}
        if kind != "voided" and last is not None:
            told = {"value": last.value, "sem": last.sem, "beside": last.beside}
        session.say(said.id, kind, reason=said.reason or NO_REASON, who=said.who, **told)
    elif entry.state != after:
        advice = what if entry.happened else "tell it, or say that it failed"
        raise ValueError(f"trial {said.id} is {entry.state}: {advice}")
    return TrialState(said.id, after)


def void(session: Session, said: Amendment) -> TrialState:
    """Take back a trial's result; it stays in the history."""
    return _amend(session, said, "voided", "voided", ("complete", "held"), "there is no result to take back")


def accept(session: Session, said: Amendment) -> TrialState:
    """Let a held result count, because it is true."""
    return _amend(session, said, "accepted", "complete", ("held",), "only a held result can be accepted")


def hold(session: Session, said: Amendment) -> TrialState:
    """Hold a result that may be wrong, so that it does not count; `accept` reverses this."""
    return _amend(session, said, "doubted", "held", ("complete",), "only a result that counts can be held")


# The study as a whole


def extend(session: Session, said: Extension) -> Status:
    """Allow more deployments; the same budget again changes nothing."""
    now = session.state.budget
    _check_not_stopped(session)
    if now is None:
        raise ValueError("this study has no budget: it goes on without end")
    if said.budget < now:
        raise ValueError(f"budget must be more than the present {now} deployments, got {said.budget}")
    if said.budget > now:
        why = said.reason or NO_REASON
        session.say(None, "extended", value=stored(said.budget), reason=why, who=said.who)
    return session.status()


def resume(session: Session, said: Reason) -> Status:
    """Continue a study that a hard limit has halted; a stopped study cannot continue."""
    if session.state.halted is not None:
        session.say(None, "resumed", reason=said.reason or NO_REASON, who=said.who)
    else:
        _check_not_stopped(session)
    return session.status()


def stop(session: Session, said: Reason) -> Status:
    """End a study before its budget, permanently; the recommendation may still be confirmed."""
    before, why = session.state.stopped, said.reason or NO_REASON
    if before is None or (why != NO_REASON and f"; {why}; " not in f"; {before}; "):
        session.say(None, "stopped", reason=why, who=said.who)
    return session.status()


def _check_not_stopped(session: Session) -> None:
    if (stopped := session.state.stopped) is not None:
        raise ValueError(f"the study was stopped ({stopped}): create another one from its recommendation")
