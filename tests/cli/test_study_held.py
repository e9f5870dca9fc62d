"""What the shell says of answers that are held: alike on a database and on a server."""

import json
import shlex

import pytest

from driftopt.study import Study
from support.study_worlds import PLAIN, bowl


@pytest.fixture
def begun(any_url):
    """The third of eleven answers is a hundred times what it should be: one more, and it is seen."""
    study = Study.create(any_url, "tea & oil", budget=60, **PLAIN)
    for turn in range(11):
        trial = study.ask()
        value = 1 + 0.1 * bowl(trial)
        study.tell(trial.id, 100 * value if turn == 2 else value)
        assert study.doubted == ()
    return study


def test_answers_that_turn_out_doubtful_are_named_wherever_the_study_is(begun, shell):
    """One script on every store: exit code, names of trials, and commands that work as they are printed."""
    place, name = begun.url.removeprefix("sqlite:///"), begun.name
    _, out, _ = shell("ask", place, name, "--json")
    asked = json.loads(out)
    third = begun.trials()[2].id
    code, out, err = shell("tell", place, name, asked["id"], 1.02)
    assert (code, out) == (6, f"trial {asked['id']}: complete\n")
    first, *commands = err.splitlines()
    assert first.startswith(f"driftopt: trial {third}: far from all other results, so it is held")
    assert begun.trial(third).state == "held"
    typed = [shlex.split(line) for line in commands]
    assert typed[1] == ["driftopt", "study", "correct", place, name, str(third), "VALUE"]
    code, out, _ = shell(*typed[0][2:])
    assert (code, out) == (0, f"trial {third}: complete\n")


def test_doubted_says_so_in_python_too(begun):
    third, trial = begun.trials()[2].id, begun.ask()
    assert begun.tell(trial.id, 1.02) == "complete"
    assert begun.doubted == begun.doubted_by(trial.id) == (third,)
    assert begun.doubted_by(third) == ()
    begun.tell(begun.ask().id, 1.03)
    assert begun.doubted == ()


def test_several_told_at_once(begun, shell):
    place, third = begun.url.removeprefix("sqlite:///"), begun.trials()[2].id
    before = begun.trials()[0]
    answers = [{"id": before.id, "value": before.value}, {"id": begun.ask().id, "value": 1.02}]
    code, _, err = shell("tell", place, begun.name, "--json", stdin=answers)
    said = json.loads(err)
    assert (code, said["kind"], said["code"]) == (6, "Held", 6)
    code, out, _ = shell(*shlex.split(said["commands"][0])[2:])
    assert (code, out) == (0, f"trial {third}: complete\n")
