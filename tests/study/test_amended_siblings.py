"""A deployment that was asked twice: the study goes on with one answer, and that alone can be put right."""

import numpy as np
import pytest

from driftopt.study import Study
from support.study_worlds import PLAIN


def begun(url, **more):
    """A study of pairs whose first pair is told."""
    study = Study.create(url, "a", budget=40, **PLAIN, **more)
    for value in (10.0, 11.0):
        study.tell(study.ask().id, value)
    return study


def close_with(study, used):
    """Tell the pair's other side, which ends the iteration; then the answer it went on with is taken back."""
    study.tell(study.ask().id, 11.0)
    study.void(used.id, "the wrong shop")


def assert_it_alone_can_be_put_right(study, first, used):
    assert study.trial(first.id).state != "complete"
    assert study.correct(used.id, 9.4, "found it") == "complete"
    told = begun("sqlite://")
    told.tell(told.ask().id, 9.4)
    told.tell(told.ask().id, 11.0)
    assert study.recommend().x.tobytes() == told.recommend().x.tobytes()
    # Every answer that is said to be complete is one that is used.
    used_values = [trial.value for trial in study.trials() if trial.state == "complete"]
    assert sorted(used_values) == [9.4, 10.0, 11.0, 11.0]


def test_a_failure_cannot_be_corrected_after_the_study_went_on(sqlite_url):
    study = begun(sqlite_url)
    first = study.ask()
    study.fail(first.id, "till down")
    used = study.ask()
    study.tell(used.id, 9.5)
    close_with(study, used)
    with pytest.raises(ValueError, match=f"trial {used.id} was asked in its place, and the study went on"):
        study.correct(first.id, 9.2, "found it")
    assert_it_alone_can_be_put_right(study, first, used)


def test_an_answer_that_was_held_is_superseded_after_the_study_went_on(sqlite_url):
    study = begun(sqlite_url)
    first = study.ask()
    study.tell(first.id, 9.0)
    study.hold(first.id, "is that so?")
    used = study.ask()
    study.tell(used.id, 9.5)
    close_with(study, used)
    assert study.accept(first.id) == "superseded"
    assert_it_alone_can_be_put_right(study, first, used)


@pytest.mark.parametrize("together", [False, True])
def test_an_answer_that_comes_late_is_superseded_after_the_study_went_on(sqlite_url, clock, together):
    study = begun(sqlite_url, clock=clock, lease=10.0)
    first, other = study.ask_many(2)
    study.tell(other.id, 11.0)
    clock.now += 11
    used = study.ask()
    assert used.point == first.point
    study.tell(used.id, 9.5)
    study.void(used.id, "the wrong shop")
    late = {"id": first.id, "value": 9.0}
    assert (study.tell_many([late])[0] if together else study.tell(**late)) == "superseded"
    assert_it_alone_can_be_put_right(study, first, used)


def test_who_asks_to_confirm_after_an_amendment_gets_the_present_recommendation(sqlite_url):
    study = begun(sqlite_url)
    for turn in range(18):
        study.tell(study.ask().id, 9.0 - turn / 10)
    before = study.ask("confirm", holder="ana")
    study.correct(5, 8.7, "another week")
    after = study.ask("confirm", holder="ana")
    assert after.id != before.id
    study.tell(after.id, 9.0)
    again = study.ask("confirm", holder="ana")
    assert {tuple(after.x), tuple(again.x)} >= {tuple(study.recommend().x)}


def test_amended_in_any_order_what_is_usual_is_the_same(sqlite_url):
    """The guard learns from neighbours in the order in which they were asked."""
    study = Study.create(sqlite_url, "a", budget=60, **PLAIN)
    for turn in range(20):
        study.tell(study.ask().id, 100.0 + 3 * turn)
    for id in np.random.default_rng(0).permutation(np.arange(1, 21)).tolist():
        study.correct(id, study.trial(id).value + 1, "without the tax")
    assert study.tell(study.ask().id, 350.0) == "held"
