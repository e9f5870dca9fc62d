"""What the shell says of results that are held: alike on a database and on a server."""

import json
import shlex

import pytest

from driftopt.study import Study
from support.study_worlds import PLAIN, bowl


@pytest.fixture
def begun(any_url):
    """A study that knows what to expect."""
    study = Study.create(any_url, "tea & oil", budget=60, **PLAIN | {"outliers": True})
    for _ in range(12):
        trial = study.ask()
        study.tell(trial.id, 1 + 0.1 * bowl(trial))
    return study


def test_results_that_are_held_are_named_wherever_the_study_is(begun, shell):
    """One script on every store: exit code, names of trials, and commands that work as they are printed."""
    place, name = begun.url.removeprefix("sqlite:///"), begun.name
    _, out, _ = shell("ask", place, name, "--json")
    asked = json.loads(out)["id"]
    code, out, err = shell("tell", place, name, asked, 102.0)
    assert (code, out) == (6, f"trial {asked}: held\n")
    first, *commands = err.splitlines()
    assert first.startswith(f"driftopt: trial {asked}: implausible, given all other results, so it is held")
    typed = [shlex.split(line) for line in commands]
    assert typed[1] == ["driftopt", "study", "correct", place, name, str(asked), "VALUE"]
    code, out, _ = shell(*typed[0][2:])
    assert (code, out) == (0, f"trial {asked}: complete\n")


def test_several_told_at_once(begun, shell):
    place, wrong = begun.url.removeprefix("sqlite:///"), begun.ask()
    before = begun.trials()[0]
    answers = [{"id": before.id, "value": before.value}, {"id": wrong.id, "value": 102.0}]
    code, _, err = shell("tell", place, begun.name, "--json", stdin=answers)
    said = json.loads(err)
    assert (code, said["kind"], said["code"]) == (6, "Held", 6)
    code, out, _ = shell(*shlex.split(said["commands"][0])[2:])
    assert (code, out) == (0, f"trial {wrong.id}: complete\n")
