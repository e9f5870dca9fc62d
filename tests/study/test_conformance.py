"""What the log of a study promises, held to on every store: nothing told is lost, doubled or changed."""

import math

import numpy as np
import pytest
import sqlalchemy as sa

from driftopt.study import (
    Conflict,
    FormatError,
    NoSuchStudy,
    NothingToAsk,
    Study,
    StudyExists,
    UnknownTrial,
)
from support.study_worlds import PLAIN, bowl, drive, states

WEEK = 7 * 86400.0


def test_a_study_is_found_again_with_every_number(any_url):
    study = Study.create(
        any_url,
        "a",
        x0=[0.1, 1 / 3],
        budget=8,
        bounds=[(0, None), (None, 2)],
        names=["p", "q"],
        params={"radius": 0.2},
    )
    found = Study.open(any_url, "a")
    assert found.spec == study.spec
    assert found.spec.bounds == [[0, None], [None, 2]]
    assert study.ask().as_dict.keys() == {"p", "q"}


def test_names_are_unique_and_absent_ones_are_said(any_url):
    Study.create(any_url, "a", budget=8, **PLAIN)
    with pytest.raises(StudyExists, match="already holds a study 'a'"):
        Study.create(any_url, "a", budget=8, **PLAIN)
    with pytest.raises(NoSuchStudy, match="holds no study 'b'; it holds a"):
        Study.open(any_url, "b")


def test_an_empty_store_holds_no_study(any_url):
    with pytest.raises(NoSuchStudy):
        Study.open(any_url, "a")


def test_another_format_is_refused(url):
    study = Study.create(url, "a", budget=8, **PLAIN)
    with study.transport.log.database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE driftopt_format SET version = 99"))
    with pytest.raises(FormatError, match="format 99"):
        Study.open(url, "a")


def test_two_studies_in_one_store_do_not_meet(any_url):
    a, b = (Study.create(any_url, name, budget=8, **PLAIN) for name in "ab")
    first, second = a.ask(), b.ask()
    assert first.id != second.id
    assert np.array_equal(first.x, second.x)
    with pytest.raises(UnknownTrial):
        a.tell(second.id, 1.0)
    a.tell(first.id, bowl(first))
    drive(a)
    assert len(b.trials()) == 1


def test_the_run_ends_with_its_budget_and_resumes_to_the_bit(any_url):
    study = drive(Study.create(any_url, "a", budget=9, **PLAIN))
    assert [trial.state for trial in study.trials()] == [
        "complete"
    ] * 8  # two an iteration: the ninth pays for none
    assert np.array_equal(Study.open(any_url, "a").recommend().x, study.recommend().x)


def test_values_survive_the_store_to_the_bit(any_url):
    study = Study.create(any_url, "a", budget=8, **PLAIN)
    hard = [0.1, 1e-300, -1 / 3, 2.0**60 + 2.0**8, 5e-324, 0.0]
    for value in hard:
        study.tell(study.ask().id, value, sem=abs(value))
    told = Study.open(any_url, "a").trials()
    assert [trial.value.hex() for trial in told] == [value.hex() for value in hard]
    assert [trial.sem for trial in told] == [abs(value) for value in hard]


def test_zero_has_no_sign_on_any_store(any_url):
    study = Study.create(any_url, "a", budget=8, **PLAIN)
    study.tell(study.ask().id, -0.0)
    assert study.trials()[0].value.hex() == (0.0).hex()


def test_telling_twice_the_same_is_nothing_and_differently_an_error(any_url):
    study = Study.create(any_url, "a", budget=8, **PLAIN)
    trial = study.ask()
    assert study.tell(trial.id, 1.5, sem=0.1) == "complete"
    before = study.trials()
    assert study.tell(trial.id, 1.5, sem=0.1) == "complete"
    for other in ({"value": 1.6, "sem": 0.1}, {"value": 1.5}, {"value": math.nan}):
        with pytest.raises(Conflict, match="Nothing was changed"):
            study.tell(trial.id, **other)
    with pytest.raises(Conflict):
        study.fail(trial.id, "late regret")
    assert [vars(t) | {"x": None} for t in study.trials()] == [vars(t) | {"x": None} for t in before]


def test_a_failure_stands(any_url):
    study = Study.create(any_url, "a", budget=8, **PLAIN)
    trial = study.ask()
    assert study.fail(trial.id, "no stock") == "failed"
    assert study.fail(trial.id, "in other words") == "failed"
    with pytest.raises(Conflict, match="no stock"):
        study.tell(trial.id, 1.0)
    assert study.trials()[0].reason == "no stock"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_a_failure_and_the_point_is_asked_again(any_url, value):
    study = Study.create(any_url, "a", budget=8, **PLAIN)
    first = study.ask()
    assert study.tell(first.id, value) == "failed"
    again = study.ask()
    assert again.id != first.id
    assert again.x.tobytes() == first.x.tobytes()


def test_what_cannot_be_a_number_is_refused_at_the_door(any_url):
    study = Study.create(any_url, "a", budget=8, **PLAIN)
    trial = study.ask()
    for bad in (
        {"value": "much"},
        {"value": 10**400},
        {"value": 1.0, "sem": -1},
        {"value": 1.0, "x_deployed": [1.0]},
    ):
        with pytest.raises(ValueError):
            study.tell(trial.id, **bad)
    with pytest.raises(UnknownTrial, match="no trial 999"):
        study.tell(999, 1.0)
    assert states(study) == {trial.id: "pending"}


def test_answers_may_come_in_any_order(any_url):
    plain = drive(Study.create(any_url, "in order", budget=18, parallel=3, **PLAIN))
    study = Study.create(any_url, "backwards", budget=18, parallel=3, **PLAIN)
    for _ in range(3):
        for trial in reversed(study.ask_many(6)):
            study.tell(trial.id, bowl(trial))
    assert np.array_equal(study.recommend().x, plain.recommend().x)


def test_repeats_are_averaged_in_their_own_order(any_url):
    arguments = {**PLAIN, "params": {"radius": 0.3, "batch": 3}}
    plain = drive(Study.create(any_url, "in order", budget=12, **arguments))
    study = Study.create(any_url, "shuffled", budget=12, **arguments)
    for _ in range(2):
        trials = study.ask_many(6)
        assert [(t.sample, t.point) for t in trials] == [(s, p) for s in range(3) for p in range(2)]
        for k in (4, 0, 5, 2, 1, 3):
            study.tell(trials[k].id, bowl(trials[k]))
    assert np.array_equal(study.recommend().x, plain.recommend().x)


def test_when_all_is_out_the_caller_learns_who_holds_what(any_url, clock):
    study = Study.create(any_url, "a", budget=8, clock=clock, **PLAIN)
    mine, yours = study.ask(holder="me"), study.ask(holder="you")
    with pytest.raises(NothingToAsk, match=r"by me, 7 days left.*by you") as caught:
        study.ask()
    assert [(h.id, h.holder) for h in caught.value.holdings] == [(mine.id, "me"), (yours.id, "you")]
    with pytest.raises(NothingToAsk):
        study.ask_many(3)
    clock.now += WEEK - 1
    with pytest.raises(NothingToAsk):
        study.ask()


def test_after_the_lease_the_point_is_asked_again(any_url, clock):
    study = Study.create(any_url, "a", budget=8, clock=clock, **PLAIN)
    first, second = study.ask(), study.ask()
    clock.now += WEEK
    again = study.ask()
    assert again.x.tobytes() == first.x.tobytes()
    assert states(study) == {first.id: "expired", second.id: "expired", again.id: "pending"}


def test_without_a_lease_nothing_expires(any_url, clock):
    study = Study.create(any_url, "a", budget=8, lease=None, clock=clock, **PLAIN)
    study.ask_many(2)
    clock.now += 1000 * WEEK
    with pytest.raises(NothingToAsk, match="no end"):
        study.ask()


def test_a_late_answer_counts_as_if_it_had_come_in_time(any_url, clock):
    study = Study.create(any_url, "a", budget=8, clock=clock, **PLAIN)
    first, second = study.ask(), study.ask()
    clock.now += WEEK
    again = study.ask()
    assert study.tell(again.id, 99.0) == "complete"
    assert study.tell(first.id, 1.0) == "complete"
    study.tell(second.id, 2.0)
    other = Study.create(any_url, "b", budget=8, **PLAIN)
    for value in (1.0, 2.0):  # of two at one place, the first that was asked counts
        other.tell(other.ask().id, value)
    assert np.array_equal(study.recommend().x, other.recommend().x)


def test_after_enough_failures_the_iteration_is_passed_over(any_url):
    study = Study.create(any_url, "a", budget=20, max_failures=2, **PLAIN)
    first, second = study.ask(), study.ask()
    study.tell(second.id, 1.0)
    study.fail(first.id, "once")
    again = study.ask()
    assert (again.iteration, again.point) == (0, first.point)
    study.fail(again.id, "twice")
    fresh = study.ask()
    assert fresh.iteration == 1
    other = Study.create(any_url, "b", budget=20, **PLAIN)
    for value in (3.0, 1.0):
        other.tell(other.ask().id, value)
    # A value that comes after all counts as if it had come in time: what is drawn next follows from it.
    study.correct(again.id, 3.0, "found")
    study.tell_many([{"id": trial.id, "value": 2.0} for trial in (fresh, study.ask())])
    other.tell_many([{"id": trial.id, "value": 2.0} for trial in other.ask_many(2)])
    assert not np.array_equal(fresh.x, other.trials()[2].x)
    assert np.array_equal(study.ask().x, other.ask().x)
    for trial in study.trials("pending"):
        study.tell(trial.id, bowl(trial))
    drive(study)
    assert np.array_equal(Study.open(any_url, "a").recommend().x, study.recommend().x)


def test_failures_are_counted_by_whoever_reads_the_log(any_url, clock):
    """A shell asks from a new process each time; it must go on when one that watched all along would."""

    def opened():
        return Study.open(any_url, "a", clock=clock)

    Study.create(any_url, "a", budget=30, max_failures=3, clock=clock, **PLAIN)
    first, other = opened().ask_many(2)
    opened().tell(other.id, 1.0)
    opened().fail(first.id, "once")
    again = opened().ask()
    clock.now += WEEK
    third = opened().ask()
    opened().fail(again.id, "it expired before: still one failure")
    assert (again.iteration, third.iteration) == (0, 0)
    opened().fail(third.id, "thrice")
    assert opened().ask().iteration == 1


def test_a_value_from_elsewhere_is_recorded_and_asked_again(any_url):
    study = Study.create(any_url, "a", budget=8, tolerance=0.01, **PLAIN)
    first = study.ask()
    elsewhere = first.x + np.array([0.02, 0.0])
    assert study.tell(first.id, 1.0, x_deployed=elsewhere) == "failed"
    assert study.tell(first.id, 1.0, x_deployed=elsewhere) == "failed"
    assert study.fail(first.id, "not where it was asked") == "failed"  # a failure too, in other words
    with pytest.raises(Conflict, match="was already told failed"):
        study.tell(first.id, 2.0, x_deployed=elsewhere)
    again = study.ask()
    assert again.x.tobytes() == first.x.tobytes()
    assert study.tell(again.id, 1.0, x_deployed=again.x + np.array([0.005, 0.0])) == "complete"
    told, near = study.trials()
    assert (told.value, told.state) == (1.0, "failed")
    assert np.array_equal(told.x_deployed, elsewhere)
    assert "away from the asked point" in told.reason
    assert near.x_deployed is not None
