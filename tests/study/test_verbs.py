"""One record for what is given, one table for what may be done: each is written once and is everywhere."""

import inspect
import json
from dataclasses import dataclass, fields, is_dataclass

import pytest

from driftopt.study import Study
from driftopt.study.records import (
    REQUIRED,
    Correction,
    Reason,
    Result,
    StudyOptions,
    answer_from_json,
    as_json,
    decode,
    fields_of,
    request_from_json,
)
from driftopt.study.trial import Status
from driftopt.study.verbs import VERBS, Verb, add_verb
from support.study_worlds import PLAIN, drive

RECORDS = sorted({verb.record for verb in VERBS.values()} | {StudyOptions}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_is_explained_and_checked(record):
    """In the record's docstring, in its order; and a field that does not exist is named."""
    for part in fields_of(record):
        assert part.help, part.name
        if part.default not in (REQUIRED, None):
            assert part.check(part.name, part.default) == part.default
    if is_dataclass(record):
        assert {part.name for part in fields_of(record)} == {field.name for field in fields(record)}
    with pytest.raises(ValueError, match=r"colour: unknown\. The .* takes "):
        decode(record, {"colour": 1})


def test_the_signature_of_create_is_that_of_its_options():
    """Types for editors are those of StudyOptions; defaults and help are seen when it runs."""
    taken = inspect.signature(Study.create).parameters
    options = fields_of(StudyOptions)
    assert [*taken] == ["url", "name", *(part.name for part in options), "clock", "key", "token"]
    for part in options:
        assert taken[part.name].default == (
            inspect.Parameter.empty if part.default is REQUIRED else part.default
        )
        assert f"            {part.name}: {part.help}" in Study.create.__doc__


@pytest.mark.parametrize("name", [name for name in VERBS if hasattr(Study, name)])
def test_a_method_takes_what_its_verb_takes_and_explains_it(name):
    """Or says otherwise itself."""
    method, parts = getattr(Study, name), {part.name for part in fields_of(VERBS[name].record)}
    taken = {*inspect.signature(method).parameters} - {"self"}
    own = {"stationarity": {"value_range"}}.get(name, set())
    assert taken - own <= parts
    assert all(f"{one}: " in method.__doc__ for one in taken)


def test_a_verb_that_is_added_is_a_method(tmp_path):
    """In one place: what it takes, what it does, what it answers."""

    def note(session, said):
        """Write a line into the log."""
        session.say(None, "stopped", reason=said.reason, who=said.who)
        return session.status()

    add_verb(Verb("note", Reason, note, Status, "operate", changes=True))
    try:
        with pytest.raises(ValueError, match="there is a verb note already"):
            add_verb(Verb("note", Reason, note, Status, "operate", changes=True))
        study = Study.create(tmp_path / "a.db", "a", budget=8, **PLAIN)
        assert study.do("note", reason="a", who="ana").stopped == "a"
        assert study.note(reason="b").stopped == "a; b"
        assert (VERBS["note"].path, VERBS["note"].help) == (":note", "Write a line into the log.")
        with pytest.raises(ValueError, match=r"colour: unknown\. The reason takes reason, who"):
            study.note(colour="red")
    finally:
        del VERBS["note"]
    with pytest.raises(AttributeError, match="has no 'note'"):
        study.note(reason="c")
    with pytest.raises(ValueError, match="verb must be one of ask, tell, "):
        study.do("note", reason="c")


LOOKS = [name for name, verb in VERBS.items() if not verb.changes and name not in ("stationarity",)]


@pytest.mark.parametrize("name", LOOKS)
def test_answers_come_back_from_json_as_they_were(name):
    plan = {"x0": [1.0, 2.0], "radius": 0.3, "rng": 0, "control_every": 3}
    study = drive(Study.create("sqlite://", "a", budget=14, reserve=6, limits={"calls": {}}, **plan))
    for value in (10.0, 5.0, 10.1, 5.1):
        study.tell(study.ask("confirm").id, value, metrics={"calls": 3.0})
    answer = study.do(name, {"id": 3} if name == "trial" else None)
    sent = json.loads(json.dumps(as_json(answer), allow_nan=False))
    again = answer_from_json(VERBS[name].answer_type, sent)
    assert type(again) is type(answer)
    assert as_json(again) == sent


@dataclass(frozen=True)
class Odd:
    value: float


def test_numbers_that_json_does_not_have_are_words():
    assert as_json(Odd(float("inf"))) == {"value": "Infinity"}
    result = request_from_json(Result, {"id": 1, "value": "NaN", "sem": 0.5, "x_deployed": {"tea": 2}})
    assert result.value != result.value
    assert result.x_deployed == {"tea": 2.0}
    assert request_from_json(Correction, {"id": 1, "value": 2, "sem": "NaN"}).sem != 0
    with pytest.raises(ValueError, match="x_deployed tea must be finite, got inf"):
        decode(Result, {"id": 1, "x_deployed": {"tea": float("inf")}})
