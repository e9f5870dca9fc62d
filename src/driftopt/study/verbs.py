"""What may be done with a study: one table. Python, the shell, HTTP and its client are loops over it.

A verb of your own is one call of `add_verb`:

    add_verb(Verb("note", Reason, write_note, Status, "operate", True))

where `write_note(session, record)` returns the answer; `session.state` is what the log says, and
`session.say(None, "note", reason=record.reason)` appends to it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

from driftopt.study import asking, looking, money, rules
from driftopt.study.errors import StudyError
from driftopt.study.facts import Course, Summary
from driftopt.study.looking import Changes, LogData, Verified
from driftopt.study.recommendation import Recommendation
from driftopt.study.records import (
    After,
    Ahead,
    Amendment,
    Called,
    Correction,
    Extension,
    Here,
    Nothing,
    Question,
    Reason,
    Result,
    Results,
    Sureness,
    TrialId,
    Wanted,
    Window,
    decode,
    fields_of,
)
from driftopt.study.session import Session
from driftopt.study.trial import Status, Trial, Trials, TrialState, TrialStates


@dataclass(frozen=True)
class Verb:
    """Something that may be done with a study."""

    name: str
    record: type  # what it takes
    rule: Callable[[Session, Any], Any]  # what it does; its docstring's first line is the verb's help
    answer: Any  # the type that it returns, or where that is, as "package.module:Name"
    role: Literal["read", "operate", "admin"]  # what a server's token must allow
    changes: bool = False  # whether it may append to the log
    path: Any = None  # of HTTP, below the study's, with {id} for the record's; by default from its name
    before: Callable[[Session, Any], None] | None = None  # what is computed while nothing is locked

    @property
    def answer_type(self) -> Any:
        """The type of the answer."""
        if not isinstance(self.answer, str):
            return self.answer
        home, _, name = self.answer.partition(":")
        return getattr(import_module(home), name)

    @property
    def help(self) -> str:
        """The verb in a sentence."""
        return (self.rule.__doc__ or "").partition("\n")[0]


def _path(verb: Verb) -> str:
    """Where a server has it, unless it says so itself."""
    if not verb.changes:
        return f"/{verb.name}"
    of_trial = any(part.name == "id" for part in fields_of(verb.record))
    return f"/trials/{{id}}:{verb.name}" if of_trial else f":{verb.name}"


VERBS: dict[str, Verb] = {}


def add_verb(verb: Verb) -> None:
    """Make a verb known everywhere."""
    if verb.name in VERBS:
        raise ValueError(f"there is a verb {verb.name} already: choose another name")
    VERBS[verb.name] = verb if verb.path is not None else replace(verb, path=_path(verb))


for _verb in (
    Verb("ask", Question, asking.ask, Trials, "operate", True, "/trials:ask", asking.prepare),
    Verb("tell", Result, rules.tell, TrialState, "operate", True),
    Verb("tell_many", Results, rules.tell_many, TrialStates, "operate", True, "/trials:tell"),
    Verb("fail", Amendment, rules.fail, TrialState, "operate", True),
    Verb("correct", Correction, rules.correct, TrialState, "operate", True),
    Verb("void", Amendment, rules.void, TrialState, "operate", True),
    Verb("accept", Amendment, rules.accept, TrialState, "operate", True),
    Verb("hold", Amendment, rules.hold, TrialState, "operate", True),
    Verb("extend", Extension, rules.extend, Status, "admin", True),
    Verb("stop", Reason, rules.stop, Status, "admin", True),
    Verb("resume", Reason, rules.resume, Status, "admin", True),
    Verb("status", Nothing, looking.status, Status, "read", path=""),
    Verb("trials", Wanted, looking.trials, Trials, "read"),
    Verb("trial", TrialId, looking.trial, Trial, "read", path="/trials/{id}"),
    Verb("changes", After, looking.changes, Changes, "read"),
    Verb("recommend", Here, looking.recommend, Recommendation, "read", path="/recommendation"),
    Verb("why", Here, money.why, money.Why, "read"),
    Verb("outlook", Ahead, money.outlook, money.Outlook, "read"),
    Verb("summary", Called, looking.summary, Summary, "read"),
    Verb("course", Window, looking.course, Course, "read"),
    Verb("stationarity", Sureness, looking.stationarity, "driftopt.stationarity:Stationarity", "read"),
    Verb("verify", Nothing, looking.verify, Verified, "read", path="/verification"),
    Verb("log", Nothing, looking.log, LogData, "read"),
):
    add_verb(_verb)


def verb_of(name: str) -> Verb:
    """A verb by its name."""
    if name not in VERBS:
        raise ValueError(f"verb must be one of {', '.join(VERBS)}; got {name!r}")
    return VERBS[name]


def record_of(name: str, given: Any, fields: Mapping[str, Any]) -> Any:
    """What a verb takes: a record, or its fields."""
    kind = verb_of(name).record
    return given if isinstance(given, kind) else decode(kind, {**(given or {}), **fields})


class Local(Session):
    """The transport to a log: a verb's rule runs in one transaction."""

    def do(self, name: str, record: Any) -> Any:
        """The answer."""
        (outcome,) = self.do_together(name, [record], alone=True)
        return outcome

    def do_together(self, name: str, records: Sequence[Any], alone: bool = False) -> list[Any]:
        """For each record in turn its answer or its refusal, all in one transaction.

        One that is refused after it appended something takes all others with it.
        """
        verb = verb_of(name)

        def work() -> list[Any]:
            outcomes: list[Any] = []
            for record in records:
                before = self.appended if verb.changes else 0
                try:
                    outcomes.append(verb.rule(self, record))
                except (StudyError, ValueError) as error:
                    if alone or (verb.changes and self.appended != before):
                        raise
                    outcomes.append(error)
            return outcomes

        with self.lock:
            if not verb.changes:
                return self.read(work)
            if verb.before is not None:
                for record in records:
                    verb.before(self, record)
            again = all(getattr(record, "key", "") is not None for record in records)
            return self.write(work, again=again)
