"""What reports do to the log: results, failures, corrections, and what holds for the study as a whole."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driftopt import checks
from driftopt.answers import Answer, Beside
from driftopt.study.errors import Conflict, Implausible, UnknownTrial
from driftopt.study.log import Happened, Writer, stored, vector_as_json
from driftopt.study.session import Session
from driftopt.study.state import Entry
from driftopt.study.trial import FOR_ANOTHER

LONGEST_REASON = 2000
NO_REASON = "no reason given"
BESIDE = ("covariates", "metrics", "n", "control", "outputs")
PARTS = ("id", "value", "sem", "x_deployed", *BESIDE, "who")  # of a result


@dataclass(frozen=True)
class Said:
    """What the caller said about a trial, checked."""

    kind: str  # complete, held or failed
    value: float | None = None
    sem: float | None = None
    x_deployed: str | None = None
    reason: str | None = None
    beside: str | None = None

    def same(self, entry: Entry, before: Happened) -> bool:
        """Is this what was said before, or what stands since? Two failures are the same in any words."""
        if self.kind == before.kind == "failed" and self.value is None and self.beside is None:
            return True
        told = (before.kind == "failed", before.value, before.sem, before.x_deployed, before.beside)
        if (self.kind == "failed", self.value, self.sem, self.x_deployed, self.beside) == told:
            return True
        if self.value is None and self.beside is None:
            return entry.state == "voided"
        now, where = entry.last_said, self.x_deployed in (None, before.x_deployed)
        if now is None or now.kind == "failed":
            return False
        return where and (self.value, self.sem, self.beside) == (now.value, now.sem, now.beside)

    @property
    def words(self) -> str:
        if self.kind == "failed" and self.reason is not None:
            return f"failed ({self.reason})"
        error = "" if self.sem is None else f" with sem {self.sem!r}"
        where = "" if self.x_deployed is None else f" at {self.x_deployed}"
        return f"{self.value!r}{error}{where}" + ("" if self.beside is None else f" with {self.beside}")

    @classmethod
    def of(cls, row: Happened) -> "Said":
        """What a row says."""
        return cls(row.kind, row.value, row.sem, row.x_deployed, row.reason, row.beside)


class _Report:
    """The arguments of `tell`, checked before the database is touched."""

    def __init__(self, session: Session, id: Any, value: Any = None, **more: Any):
        spec = session.spec
        self.id = trial_number(id)
        self._who = None if more.get("who") is None else str(checks.text("who", more["who"]))
        self._beside = spec.beside({name: more.get(name) for name in BESIDE})
        if value is None and not self._beside.outputs:
            raise ValueError("value is needed" + (", or outputs" if spec.outputs else ""))
        self._value = None if value is None else stored(checks.number("value", value))
        sem, where = more.get("sem"), more.get("x_deployed")
        self._sem = None if sem is None else stored(checks.number("sem", sem))
        if self._sem is not None and not (math.isfinite(self._sem) and self._sem >= 0):
            raise ValueError(f"sem must be finite and >= 0, or None; got {checks.brief(sem)}")
        self._deployed = None if where is None else checks.vector("x_deployed", where, spec.dim)

    def record(self, session: Session, log: Writer) -> str:
        """Append it; returns the trial's state. The same again appends nothing."""
        state, now = session.state, session.clock()
        entry = state.entry(self.id)
        text = None if self._deployed is None else vector_as_json(self._deployed)
        verdict = None
        if self._value is not None:
            verdict = session.spec.answers.judge(Answer(self._value, self._sem, entry.x, self._deployed))
        beside = self._beside.as_json()
        if verdict is None:
            said = Said("complete", self._value, self._sem, text, None, beside)
        elif self._value is None or not math.isfinite(self._value):  # no database keeps these
            said = Said("failed", None, None, text, verdict.reason, beside)
        else:
            said = Said("failed", self._value, self._sem, text, verdict.reason, beside)
        if (before := entry.told) is not None:
            return _again(entry, before, said)
        if said.kind == "complete":
            told = (said.value, said.sem, said.x_deployed, None, self._who, now, said.beside)
            row = Happened(0, self.id, said.kind, *told)
            if why := _outlier(session, entry, row):
                said = Said("held", said.value, said.sem, said.x_deployed, why, said.beside)
        _append(session, log, self.id, said, self._who)
        return said.kind


def _outlier(session: Session, entry: Entry, row: Happened) -> str | None:
    """Why a result is implausible; None: it is not, or nobody asks."""
    if not session.spec.outliers or entry.asked.kind in FOR_ANOTHER:
        return None
    from driftopt.study.model_rule import outlier  # SciPy

    return outlier(session.state, entry, row)


def _append(session: Session, log: Writer, id: int, said: Said, who: str | None) -> None:
    told: dict[str, Any] = {"value": said.value, "sem": said.sem, "x_deployed": said.x_deployed}
    log.say(id, said.kind, session.clock(), reason=said.reason, who=who, beside=said.beside, **told)
    session.follow(log)


def _again(entry: Entry, before: Happened, said: Said) -> str:
    """The trial's state, where this is what was said before; Conflict where it is something else."""
    if said.same(entry, before):
        return entry.state
    now, words = entry.last_said, Said.of(before).words
    since = "" if now in (None, before) else f", then {now.kind} {Said.of(now).words}"
    works = "`void` takes a result back" if said.value is None else "`correct` replaces a result"
    raise Conflict(
        f"trial {entry.asked.id} was already told {words}{since}; it cannot also be {said.words}. Nothing "
        f"was changed; {works}"
    )


def tell(session: Session, **said: Any) -> str:
    """Record a result; returns the trial's state."""
    report = _Report(session, **said)
    return session.write(lambda log: report.record(session, log), again=True)


def tell_many(session: Session, results: Sequence[Mapping[str, Any]]) -> list[str]:
    """All of them or none; an error says which one it was."""
    where, results = "", checks.several("answers", results)

    def work(log: Writer) -> list[str]:
        nonlocal where
        states, new = list[str](), set[int]()
        for index, report in enumerate(reports, start=1):
            where = f"answer {index} of {len(results)}, for trial {report.id}"
            before = log.appended
            try:
                states.append(report.record(session, log))
            except Conflict:
                if report.id in new:  # none of it is recorded, so that there is nothing to correct
                    raise Conflict("it is told twice here, differently") from None
                raise
            if log.appended != before:
                new.add(report.id)
        return states

    try:
        reports: list[_Report] = []
        for index, one in enumerate(results, start=1):
            where = f"answer {index} of {len(results)}"
            reports.append(_Report(session, **_arguments(one)))
        return session.write(work, again=True)
    except (Conflict, UnknownTrial, ValueError) as error:
        raise type(error)(f"{where}: {error}. None of the {len(results)} answers was recorded") from None


def _arguments(one: Any) -> dict[str, Any]:
    given = checks.table("each answer", one)
    if unknown := sorted(set(given) - set(PARTS)):
        raise ValueError(f"an answer has no {', '.join(unknown)}; it has {', '.join(PARTS)}")
    if "id" not in given:
        raise ValueError("an answer needs id")
    return given


def fail(session: Session, id: Any, reason: Any, who: Any = None) -> str:
    """No result came."""
    number = trial_number(id)
    by = None if who is None else str(checks.text("who", who))
    said = Said("failed", reason=_reason(reason))

    def work(log: Writer) -> str:
        entry = session.state.entry(number)
        if (before := entry.told) is not None:
            return _again(entry, before, said)
        _append(session, log, number, said, by)
        return "failed"

    return session.write(work, again=True)


def trial_number(id: Any) -> int:
    """One whole number >= 1."""
    return checks.one_count("id", id)


def _reason(reason: Any) -> str:
    given = NO_REASON if reason is None or (isinstance(reason, str) and not reason) else reason
    return checks.text("reason", given, LONGEST_REASON)


# What was reported is put right


def correct(
    session: Session, id: Any, value: Any, sem: Any, reason: Any, who: Any, more: Mapping[str, Any]
) -> str:
    """Another result in the place of what was reported."""
    number, why, by = trial_number(id), _reason(reason), str(checks.text("who", who))
    new = None if value is None else stored(checks.number("value", value))
    given = None if sem is None else stored(checks.number("sem", sem))
    none = given is not None and math.isnan(given)
    if given is not None and not none and not (math.isfinite(given) and given >= 0):
        raise ValueError(f"sem must be finite and >= 0, NaN where there is none, or None; got {sem!r}")
    beside = session.spec.beside(more)
    if new is None and not beside.outputs:
        raise ValueError("value is needed" + (", or outputs" if session.spec.outputs else ""))
    doubts: list[str] = []

    def work(log: Writer) -> str:
        doubts.clear()
        entry = session.state.entry(number)
        before = entry.last_said
        if before is None:
            raise ValueError(f"trial {number} is {entry.state}: tell it, or say that it failed")
        stays = Beside.from_json(before.beside)
        now = stays._replace(
            **{name: getattr(beside, name) for name, said in more.items() if said is not None}
        )
        error = None if none else before.sem if given is None else given
        against = None if new is None else session.spec.answers.judge(Answer(new, error, entry.x))
        if against is not None:
            raise ValueError(f"value cannot be a correction: {against.reason}; `void` takes a result back")
        if entry.state == "complete" and (before.value, before.sem, before.beside) == (
            new,
            error,
            now.as_json(),
        ):
            return "complete"
        where = entry.told and entry.told.x_deployed
        if entry.state == "failed" and where is not None and not session.spec.uses_model:
            doubts.append(f"trial {number} was not deployed as asked, but at {where}")
        at = session.clock()
        row = Happened(0, number, "corrected", new, error, where, why, by, at, now.as_json())
        if found := _outlier(session, entry, row):
            doubts.append(found)
        log.say(number, "corrected", at, value=new, sem=error, reason=why, who=by, beside=now.as_json())
        session.follow(log)
        return "complete"

    state = session.write(work, again=True)
    for doubt in doubts:
        words = f"{doubt}; it counts, because someone says so. If it is a slip, correct trial {number} again"
        warnings.warn(words, Implausible, stacklevel=3)
    return state


def amend(session: Session, id: Any, kind: str, reason: Any, who: Any) -> str:
    """A result is voided, accepted or doubted; what is so already stays as it is."""
    number, why, by = trial_number(id), _reason(reason), str(checks.text("who", who))
    after, allowed, what = {
        "voided": ("voided", ("complete", "held"), "there is no result to take back"),
        "accepted": ("complete", ("held",), "only a result that is held can be accepted"),
        "doubted": ("held", ("complete",), "only a result that counts can be held"),
    }[kind]

    def work(log: Writer) -> str:
        entry = session.state.entry(number)
        if entry.state in allowed:
            said = entry.last_said
            told: dict[str, Any] = {}
            if kind != "voided" and said is not None:
                told = {"value": said.value, "sem": said.sem, "beside": said.beside}
            log.say(number, kind, session.clock(), reason=why, who=by, **told)
            session.follow(log)
        elif entry.state != after:
            advice = what if entry.happened else "tell it, or say that it failed"
            raise ValueError(f"trial {number} is {entry.state}: {advice}")
        return after

    return session.write(work, again=True)


# The study as a whole


def extend(session: Session, budget: Any, reason: Any, who: Any) -> None:
    """A larger budget from here on; the same again is nothing."""
    total = int(checks.count("budget", budget))

    def work(say: Callable[..., None]) -> None:
        _check_not_stopped(session)
        now = session.state.budget
        if now is None:
            raise ValueError("this study has no budget: it goes on without end")
        if total < now:
            raise ValueError(f"budget must be more than the present {now} deployments, got {total}")
        if total > now:
            say("extended", value=stored(total))

    _of_study(session, reason, who, work)


def resume(session: Session, reason: Any, who: Any) -> None:
    """A study that is halted goes on; one that goes on anyway is left alone."""

    def work(say: Callable[..., None]) -> None:
        if session.state.halted is not None:
            say("resumed")
        else:
            _check_not_stopped(session)

    _of_study(session, reason, who, work)


def stop(session: Session, reason: Any, who: Any) -> None:
    """Nothing more is asked for the search. Once is enough; another reason is written down as well."""
    why = _reason(reason)

    def work(say: Callable[..., None]) -> None:
        before = session.state.stopped
        if before is None or (why != NO_REASON and f"; {why}; " not in f"; {before}; "):
            say("stopped")

    _of_study(session, reason, who, work)


def _of_study(session: Session, reason: Any, who: Any, work: Callable[[Callable[..., None]], None]) -> None:
    why, by = _reason(reason), str(checks.text("who", who))

    def written(log: Writer) -> None:
        def say(kind: str, **told: Any) -> None:
            log.say(None, kind, session.clock(), reason=why, who=by, **told)
            session.follow(log)

        work(say)

    session.write(written, again=True)


def _check_not_stopped(session: Session) -> None:
    if (stopped := session.state.stopped) is not None:
        raise ValueError(f"the study was stopped ({stopped}): create another one from its recommendation")
