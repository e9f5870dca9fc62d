"""Implausible answers are held: they move nothing until someone says what they are."""

import numpy as np
import pytest

from driftopt.study import BudgetSpent, Study
from support.study_worlds import PLAIN, about_20, drive, states


def tell(study, trial, times=1.0):
    return study.tell(trial.id, times * about_20(trial))


def spend(study, wrong=()):
    """Drive a study to its end; at the deployments `wrong`, counted from 0, the decimal point is lost."""
    mistyped = []
    for turn in range(300):
        try:
            trial = study.ask()
        except BudgetSpent:
            return mistyped
        state = tell(study, trial, 100 if turn in wrong else 1)
        mistyped += [(trial, state)] if turn in wrong else []
    raise AssertionError("the budget is never spent")


def test_a_lost_decimal_point_is_held_and_its_point_asked_again(sqlite_url):
    study, tidy = (Study.create(sqlite_url, name, budget=41, **PLAIN) for name in ("a", "tidy"))
    ((trial, state),) = spend(study, wrong=[20])
    spend(tidy)
    assert state == "held"
    again = [t for t in study.trials() if (t.iteration, t.point) == (trial.iteration, trial.point)]
    assert [t.state for t in again] == ["held", "complete"]
    assert np.array_equal(again[0].x, again[1].x)
    # It cost a deployment and nothing else: with one more, the tidy study is this one to the bit.
    shorter = Study.create(sqlite_url, "shorter", budget=41, **PLAIN)
    for _ in range(40):
        tell(shorter, shorter.ask())
    assert study.recommend().x.tobytes() == shorter.recommend().x.tobytes()
    assert study.recommend().x.tobytes() == Study.open(sqlite_url, "a").recommend().x.tobytes()
    assert Study.open(sqlite_url, "a").verify() == study.verify()


def test_the_first_answers_are_judged_when_a_dozen_are_in(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=60, **PLAIN)
    trials = []
    for turn in range(11):
        trials.append(study.ask())
        assert tell(study, trials[-1], 100 if turn == 1 else 1) == "complete"
    before = study.recommend().x
    assert tell(study, study.ask()) == "complete"
    assert states(study)[trials[1].id] == "held"
    after = study.recommend().x
    assert not np.array_equal(before, after)
    # The study is one whose second answer was voided.
    voided = Study.create(sqlite_url, "voided", budget=60, **PLAIN | {"guard": None})
    second = None
    for turn in range(12):
        trial = voided.ask()
        second = trial if turn == 1 else second
        tell(voided, trial, 100 if turn == 1 else 1)
    voided.void(second.id)
    assert voided.recommend().x.tobytes() == after.tobytes()
    # Accepted, it is what it would have been without a guard.
    study.accept(trials[1].id, "a fair in town", who="ana")
    free = Study.create(sqlite_url, "free", budget=60, **PLAIN | {"guard": None})
    for turn in range(12):
        tell(free, free.ask(), 100 if turn == 1 else 1)
    assert study.recommend().x.tobytes() == free.recommend().x.tobytes()
    assert Study.open(sqlite_url, "a").recommend().x.tobytes() == free.recommend().x.tobytes()
    kinds = [event.kind for event in study.trials()[1].history]
    assert kinds == ["complete", "doubted", "accepted"]


@pytest.mark.parametrize("how", ["accept", "correct"])
def test_released_before_its_point_was_asked_again(sqlite_url, how):
    """The study is then one that was told so at once."""
    study, told = (Study.create(sqlite_url, name, budget=60, **PLAIN) for name in ("a", "told"))
    told_without_guard = Study.create(sqlite_url, "free", budget=60, **PLAIN | {"guard": None})
    for _ in range(15):
        for one in (study, told, told_without_guard):
            tell(one, one.ask())
    trial, same, free = study.ask(), told.ask(), told_without_guard.ask()
    assert tell(study, trial, 100) == "held"
    if how == "accept":
        study.accept(trial.id)
        tell(told_without_guard, free, 100)
        expected = told_without_guard
    else:
        study.correct(trial.id, about_20(trial))
        tell(told, same)
        expected = told
    for _ in range(5):
        for one in (study, expected):
            tell(one, one.ask())
    assert study.recommend().x.tobytes() == expected.recommend().x.tobytes()
    assert states(study)[trial.id] == "complete"


@pytest.mark.parametrize("how", ["accept", "correct"])
def test_released_too_late_the_answer_in_its_place_stands(sqlite_url, how):
    study = Study.create(sqlite_url, "a", budget=60, **PLAIN)
    for _ in range(15):
        tell(study, study.ask())
    trial = study.ask()
    assert tell(study, trial, 100) == "held"
    other = study.ask()
    tell(study, other)
    before = study.recommend().x.tobytes()
    released = getattr(study, how)(trial.id, *([2.5] if how == "correct" else []), reason="a fair", who="ana")
    assert released == states(study)[trial.id] == "superseded"
    last = study.trial(trial.id).history[-1]
    assert f"trial {other.id} was asked in its place, and that answer stands: a fair" in last.reason
    assert (last.who, last.value) == ("ana", 2.5 if how == "correct" else 100 * about_20(trial))
    assert study.recommend().x.tobytes() == Study.open(sqlite_url, "a").recommend().x.tobytes() == before
    assert not study.trials(state="held")
    assert study.accept(trial.id) == "superseded"  # once more is nothing
    assert study.accept(other.id) == "complete"  # it counts already
    assert len(study.trial(trial.id).history) == 2
    with pytest.raises(ValueError, match="its answer is not used"):
        study.void(trial.id)


def test_what_was_accepted_by_mistake_is_held_again(any_url):
    """While its iteration is open, the study is to the bit the one that never accepted it."""
    study, other = (Study.create(any_url, name, budget=60, **PLAIN) for name in ("a", "other"))
    for one in (study, other):
        for _ in range(16):
            tell(one, one.ask())
    trial, same = study.ask(), other.ask()
    assert (tell(study, trial, 100), tell(other, same, 100)) == ("held", "held")
    assert [study.accept(trial.id), study.hold(trial.id, "typed wrongly", who="ana")] == ["complete", "held"]
    assert study.hold(trial.id) == "held"  # once is enough
    event = study.trial(trial.id).history[-1]
    assert (event.kind, event.who, event.reason) == ("doubted", "ana", "typed wrongly")
    assert study.trial(trial.id).value == other.trial(same.id).value
    for _ in range(6):
        for one in (study, other):
            tell(one, one.ask())
    assert study.recommend().x.tobytes() == other.recommend().x.tobytes()
    study.void(trial.id)
    with pytest.raises(ValueError, match="is voided: only an answer that counts can be held"):
        study.hold(trial.id)


def test_while_its_point_is_out_again_a_release_calls_that_back(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=60, **PLAIN)
    for _ in range(15):
        tell(study, study.ask())
    trial = study.ask()
    tell(study, trial, 100)
    other = study.ask()
    study.accept(trial.id)
    assert states(study)[other.id] == "superseded"
    assert tell(study, other) == "superseded"


def test_the_same_answer_again_is_held_still_and_another_is_a_conflict(sqlite_url):
    from driftopt.study import Conflict

    study = Study.create(sqlite_url, "a", budget=60, **PLAIN)
    for _ in range(15):
        tell(study, study.ask())
    trial = study.ask()
    assert [tell(study, trial, 100) for _ in range(2)] == ["held", "held"]
    with pytest.raises(Conflict, match="already told"):
        tell(study, trial)
    assert [e.kind for e in study.trials(state="held")[0].history] == ["held"]


def test_a_world_that_has_changed_is_believed_after_a_while(sqlite_url):
    """Not everything is held for ever: those that are held are the new median in the end."""
    study = Study.create(sqlite_url, "a", budget=200, **PLAIN)
    held = 0
    for turn in range(150):
        held += tell(study, study.ask(), 100 if turn >= 40 else 1) == "held"
    assert 0 < held < 25


def test_a_point_held_too_often_is_drawn_anew_and_then_nothing_there_can_be_accepted(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=60, **PLAIN)
    for _ in range(16):
        tell(study, study.ask())
    tried = [study.ask()]
    while tried[-1].draw == 0:
        assert len(tried) <= study.spec.max_failures
        assert study.tell(tried[-1].id, 2000.0 + len(tried)) == "held"
        tried.append(study.ask())
    assert len(tried) == study.spec.max_failures + 1
    assert study.accept(tried[0].id) == "superseded"
    assert "its iteration was drawn anew without it" in study.trial(tried[0].id).history[-1].reason


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.1, 10.0])
@pytest.mark.parametrize("method", ["auto", "zo-o2nc-2pt", "zo-o2nc-1pt"])
def test_a_tidy_walk_downhill_is_not_held(method, noise):
    """Not even where there is no noise, and all that answers show is the way down."""
    settings = {"x0": [9.0, -5.0, 3.0], "budget": 160, "radius": 0.4, "method": method, "rng": 3}
    study = Study.create("sqlite://", "a", **settings)

    def bowl(trial):
        place = (len(trial.kind), trial.iteration, trial.draw, trial.point, trial.sample)
        return float(trial.x @ trial.x) + noise * np.random.default_rng(place).standard_normal()

    assert "held" not in states(drive(study, bowl)).values()


def test_a_mark_that_comes_now_and_then_is_never_believed(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=200, **PLAIN)
    for turn in range(120):
        marked = turn > 12 and turn % 4 == 0
        state = study.tell((trial := study.ask()).id, -999_999.0 if marked else about_20(trial))
        assert state == ("held" if marked else "complete")


@pytest.mark.parametrize("early", [True, False])
def test_a_correction_counts_and_an_implausible_one_is_said_to_be_so(sqlite_url, early):
    from driftopt.study import Implausible

    study = Study.create(sqlite_url, "a", budget=60, **PLAIN)
    for _ in range(20):
        tell(study, study.ask())
    trial = study.trials()[1 if early else -1]
    with pytest.warns(Implausible, match=f"2030 is .* times as far .* correct trial {trial.id} again"):
        assert study.correct(trial.id, 2030.0) == "complete"
    assert study.trial(trial.id).value == 2030.0
    assert study.correct(trial.id, 20.3) == "complete"  # nothing is said: warnings are errors here
    assert study.correct(trial.id, 20.3) == "complete"
