"""The studies of a database as a whole: listed, stopped, deleted, moved by a file."""

import json

import pytest

from driftopt import study as live
from driftopt.study import BudgetSpent, NoSuchStudy, Study, StudyExists, UnknownTrial
from support.study_worlds import PLAIN, bowl, drive


def lively(url, name="a", clock=None):
    """A study with something of everything: failures, corrections, a pending trial, evaluations."""
    extra = {} if clock is None else {"clock": clock}
    study = Study.create(url, name, budget=40, control_every=5, reserve=6, **PLAIN, **extra)
    for turn in range(20):
        trial = study.ask(holder="till")
        if turn == 7:
            study.fail(trial.id, "no stock")
        else:
            study.tell(trial.id, bowl(trial), sem=0.1)
    first, second = study.trials(state="complete", kind="method")[:2]
    study.correct(first.id, 2.5, "lost decimal point", who="ana")
    study.void(second.id, "till was broken", who="bo")
    study.ask(holder="till")
    return study


def test_studies_are_listed_in_the_order_of_their_creation(url, clock):
    lively(url, "b", clock)
    clock.now += 5.0
    Study.create(url, "a", budget=8, direction="maximize", clock=clock, **PLAIN)
    first, second = live.studies(url)
    assert (first.name, first.budget, first.spent, first.direction) == ("b", 40, 21, "minimize")
    assert second == ("a", clock.now, "zo-o2nc-2pt", "maximize", 2, 8, 0, False)
    Study.open(url, "a").stop("the shop closes")
    assert [one.stopped for one in live.studies(url)] == [False, True]


def test_a_deleted_study_leaves_the_others(url):
    other, study = lively(url, "other"), lively(url, "a")
    before = other.recommend().x.tobytes()
    rows, last = study.verify(), study.trials()[-1].id
    assert live.delete(url, "a") == rows
    with pytest.raises(NoSuchStudy, match="it holds other"):
        Study.open(url, "a")
    for use in (study.ask, study.recommend, lambda: study.tell(last, 1.0)):
        with pytest.raises(NoSuchStudy, match="was deleted"):
            use()
    assert Study.open(url, "other").recommend().x.tobytes() == before
    assert other.verify() > 0
    again = Study.create(url, "a", budget=8, **PLAIN)
    assert again.ask().id > last  # a number is never used again
    with pytest.raises(NoSuchStudy):
        live.delete(url, "b")


@pytest.mark.parametrize("target", ["sqlite_url", "postgres_url"])
def test_an_exported_study_is_the_same_study_elsewhere(tmp_path, request, target):
    study = lively(tmp_path / "here.db")
    path = study.export(tmp_path / "a.json")
    moved = live.load(request.getfixturevalue(target), path)
    assert (moved.name, moved.spec) == ("a", study.spec)
    assert [repr(vars(t)) for t in moved.trials()] == [repr(vars(t)) for t in study.trials()]
    assert moved.verify() == study.verify()
    assert moved.recommend().x.tobytes() == study.recommend().x.tobytes()
    for one in (study, moved):
        pending = one.ask(holder="till")
        one.tell(pending.id, bowl(pending))
        drive(one)
    assert moved.recommend().x.tobytes() == study.recommend().x.tobytes()
    assert json.loads(moved.export(tmp_path / "b.json").read_text()) != {}


def test_beside_other_studies_an_imported_one_gets_numbers_of_its_own(url, tmp_path):
    study = lively(url)
    path = study.export(tmp_path / "a.json")
    with pytest.raises(StudyExists):
        live.load(url, path)
    copy = live.load(url, path, "copy")
    assert not {t.id for t in copy.trials()} & {t.id for t in study.trials()}
    assert [t.x.tobytes() for t in copy.trials()] == [t.x.tobytes() for t in study.trials()]
    assert copy.recommend().x.tobytes() == study.recommend().x.tobytes()
    assert copy.ask("confirm").id not in {t.id for t in study.trials()}
    with pytest.raises(UnknownTrial):
        copy.tell(study.trials()[0].id, 1.0)
    assert copy.verify() == study.verify() + 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda whole: whole["log"]["rows"].pop(), "not as `export` wrote it"),
        (lambda whole: whole["log"]["rows"][2].__setitem__(-2, 1.25), "not as `export` wrote it"),
        (lambda whole: whole["spec"].__setitem__("budget", 41), "not as `export` wrote it"),
        (lambda whole: whole.pop("log"), "no file that `export` wrote"),
        (lambda whole: whole["log"]["rows"].append(["unknown"]), "no file that `export` wrote"),
        (lambda whole: whole["log"].__setitem__("rows", 7), "no file that `export` wrote"),
    ],
)
def test_a_file_that_was_changed_is_refused_and_nothing_is_written(tmp_path, change, words):
    path = lively(tmp_path / "here.db").export(tmp_path / "a.json")
    whole = json.loads(path.read_text())
    change(whole)
    path.write_text(json.dumps(whole))
    with pytest.raises(ValueError, match=words):
        live.load(tmp_path / "there.db", path)
    assert not (tmp_path / "there.db").exists()


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "\x00"])
def test_a_file_of_another_kind_is_a_sentence(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match="no file that `export` wrote"):
        live.load(tmp_path / "there.db", tmp_path / "a.json")


def test_a_stopped_study_asks_for_nothing_but_evaluations(url):
    study = Study.create(url, "a", budget=20, reserve=4, **PLAIN)
    first, out = study.ask_many(2, holder="till")
    study.tell(first.id, 1.0)
    for why in ("the shop closes", "and is sold", "the shop closes", "", "and is sold"):
        study.stop(why, who="ana")  # what was said before is not said again
    for view in (study, Study.open(url, "a")):
        with pytest.raises(BudgetSpent, match=r"stopped \(the shop closes; and is sold\)"):
            view.ask()
        assert view.summary().stopped == "the shop closes; and is sold"
        assert view.ask(holder="till").id == out.id  # what is out may still be answered
    assert study.tell(out.id, 2.0) == "complete"
    assert study.ask("confirm").kind == "confirm"
    assert study.recommend().results == 2
    rows = study.verify()
    assert rows == Study.open(url, "a").verify()
