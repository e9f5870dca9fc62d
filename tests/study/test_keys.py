"""A request that carries a key may be repeated: it is done once, whatever died between."""

import pytest

from driftopt import study as studies
from driftopt.study import Conflict, NoSuchStudy, NothingToAsk, Study, StudyExists
from support.study_worlds import PLAIN, bowl


def test_a_repeated_request_gives_the_same_deployment(any_url):
    study = Study.create(any_url, "a", budget=12, **PLAIN)
    first = study.ask(key="one")
    again = Study.open(any_url, "a").ask(key="one")  # another process, after a crash
    assert (again.id, again.x.tobytes()) == (first.id, first.x.tobytes())
    assert study.ask(key="two").id != first.id
    study.tell(first.id, 1.0)
    assert (study.ask(key="one").id, study.ask(key="one").state) == (first.id, "complete")
    assert len(study.trials()) == 2


def test_without_the_key_there_would_be_a_second_deployment(any_url):
    """The twin of the test above: what it holds is not true by itself."""
    study = Study.create(any_url, "a", budget=12, **PLAIN)
    assert study.ask().id != Study.open(any_url, "a").ask().id


def test_several_at_once_come_again_and_the_rest_with_them(any_url):
    study = Study.create(any_url, "a", budget=12, parallel=3, **PLAIN)
    first = study.ask_many(2, key="some")
    assert [trial.id for trial in study.ask_many(2, key="some")] == [trial.id for trial in first]
    assert len(study.trials()) == 2


def test_a_key_belongs_to_one_request(any_url):
    study = Study.create(any_url, "a", budget=12, **PLAIN)
    study.ask(key="one", holder="me")
    with pytest.raises(ValueError, match="key 'one' came before with another request"):
        study.ask(key="one", holder="you")
    with pytest.raises(ValueError, match="key"):
        study.ask(key="")


def test_what_was_refused_is_asked_again(any_url):
    study = Study.create(any_url, "a", budget=12, **PLAIN)
    first, second = study.ask_many(2)
    with pytest.raises(NothingToAsk):
        study.ask(key="later")
    for trial in (first, second):
        study.tell(trial.id, bowl(trial))
    assert study.ask(key="later").id not in (first.id, second.id)


def test_a_study_is_created_once(any_url):
    created = Study.create(any_url, "a", budget=12, key="one", x0=[1.0], radius=0.1)
    again = Study.create(any_url, "a", budget=12, key="one", x0=[1.0], radius=0.1)
    assert again.spec == created.spec  # its seed too, which was drawn
    with pytest.raises(ValueError, match="came before with another request"):
        Study.create(any_url, "b", budget=12, key="one", x0=[1.0], radius=0.1)
    with pytest.raises(StudyExists):
        Study.create(any_url, "a", budget=12, key="two", x0=[1.0], radius=0.1)


def test_keys_go_with_their_study(any_url):
    study = Study.create(any_url, "a", budget=12, key="creation", **PLAIN)
    study.ask(key="one")
    studies.delete(any_url, "a")
    with pytest.raises(NoSuchStudy, match="choose a new key"):
        Study.create(any_url, "a", budget=12, key="creation", **PLAIN)
    fresh = Study.create(any_url, "a", budget=12, **PLAIN)
    assert fresh.ask(key="one").state == "pending"
    assert len(fresh.trials()) == 1


def test_one_trial_by_its_number(any_url):
    study = Study.create(any_url, "a", budget=12, **PLAIN)
    first = study.ask()
    study.tell(first.id, 1.5)
    found = study.trial(first.id)
    assert (found.state, found.value, found.x.tobytes()) == ("complete", 1.5, first.x.tobytes())
    with pytest.raises(studies.UnknownTrial):
        study.trial(first.id + 1)


def test_a_watch_tells_what_is_new(any_url):
    study = Study.create(any_url, "a", budget=12, **PLAIN)
    first = study.ask(holder="me")
    watch, whole = study.watch(), study.watch(after=0)
    assert watch.new() == []
    Study.open(any_url, "a").tell(first.id, 2.5)
    (told,) = watch.new()
    assert (told.kind, told.trial_id, told.value) == ("complete", first.id, 2.5)
    assert [(change.row, change.kind) for change in whole.new()] == [
        (1, "opened"),
        (2, "asked"),
        (3, "complete"),
    ]
    assert watch.new() == whole.new() == []
    with pytest.raises(Conflict):
        study.tell(first.id, 3.0)
    assert watch.new() == []
    study.stop("enough", who="ana")
    assert [(change.kind, change.who, change.reason) for change in watch.new()] == [
        ("stopped", "ana", "enough")
    ]
