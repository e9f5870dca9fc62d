"""A verb that somebody adds is in Python, over HTTP, in the description and in the shell, from one call."""

import subprocess
import sys

import pytest

from driftopt.study import Study
from driftopt.study.records import Reason
from driftopt.study.trial import Status
from driftopt.study.verbs import VERBS, Verb, add_verb
from support.servers import OTHERS, client, serving, settings
from support.study_worlds import PLAIN


def note(session, record):
    """Write a line into the log."""
    session.say(None, "note", reason=record.reason, who=record.who)
    return session.status()


@pytest.fixture
def added():
    add_verb(Verb("note", Reason, note, Status, "operate", True))
    yield
    del VERBS["note"]


def test_an_added_verb_is_everywhere(added, tmp_path):
    with serving(settings(tmp_path / "a.db")) as (address, running), client(address) as http:
        study = Study.create(running.label, "a", budget=12, **PLAIN)
        study.note(reason="in Python")
        post = {"json": {"reason": "over HTTP"}}
        assert http.post("/v1/studies/a:note", **post).json()["rows"] == 2
        with client(address, OTHERS["looker"][0]) as looker:
            assert looker.post("/v1/studies/a:note", **post).status_code == 403
        described = http.get("/openapi.json").json()["paths"]["/v1/studies/{name}:note"]["post"]
        assert described["summary"] == "Write a line into the log."
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        assert set(schema["properties"]) == {"reason", "who"}
        said = [(one.reason, one.who) for one in study.watch(0).new()]
        assert said == [("in Python", None), ("over HTTP", "admin")]
    program = """
        from driftopt.study.records import Reason
        from driftopt.study.trial import Status
        from driftopt.study.verbs import Verb, add_verb
        def note(session, record):
            "Write a line into the log."
            session.say(None, "note", reason=record.reason, who=record.who)
            return session.status()
        add_verb(Verb("note", Reason, note, Status, "operate", True))
        from driftopt.cli import main
        main()
    """
    program = "\n".join(line[8:] for line in program.splitlines())
    command = [sys.executable, "-c", program, "study", "note", str(tmp_path / "a.db"), "a", "in the shell"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert study.watch(2).new()[0].reason == "in the shell"
