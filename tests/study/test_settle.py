"""settle=k: a decision stays deployed for k periods, and only the last answer counts."""

from itertools import pairwise

import numpy as np
import pytest

from driftopt.study import BudgetSpent, NothingToAsk, Study
from support.study_worlds import PLAIN, bowl, drive


def slow(last):
    """A world that remembers: only what is told in the last period of a decision is worth anything."""

    def world(trial):
        return bowl(trial) if trial.kind not in ("settle", "way") else last

    return world


def test_the_method_sees_what_it_would_without_settling(sqlite_url):
    """k times the budget, k − 1 of every k answers being noise: the same walk to the bit."""
    plain = drive(Study.create(sqlite_url, "plain", **PLAIN, budget=20))
    held = drive(Study.create(sqlite_url, "held", **PLAIN, budget=60, settle=3), slow(1e6))
    method = held.trials(kind="method")
    assert [t.x.tolist() for t in method] == [t.x.tolist() for t in plain.trials()]
    assert held.recommend().x.tobytes() == plain.recommend().x.tobytes()
    assert [t.kind for t in held.trials()] == ["settle", "settle", "method"] * 20
    assert [t.keep for t in held.trials()] == [False, True, True] * 20
    assert held.recommend().spent == 60
    assert Study.open(sqlite_url, "held").verify()


def test_control_and_confirmation_settle_too():
    study = Study.create("sqlite://", "a", **PLAIN, budget=60, settle=2, control_every=3, reserve=8)
    drive(study, slow(0.0))
    while study.recommend().improvement is None:
        trial = study.ask("confirm")
        study.tell(trial.id, bowl(trial))
    asked = study.trials()
    for before, trial in pairwise(asked):
        if trial.kind != "settle":
            assert before.kind == "settle"
            assert before.x.tolist() == trial.x.tolist()


def test_one_decision_is_out_at_a_time_and_a_failure_begins_anew(clock):
    study = Study.create("sqlite://", "a", **PLAIN, budget=60, settle=3, lease=10.0, clock=clock)
    first = study.ask(holder="ana")
    assert (first.kind, first.keep) == ("settle", False)
    assert study.ask(holder="ana").id == first.id
    with pytest.raises(NothingToAsk, match="settles"):
        study.ask(holder="bo")
    study.tell(first.id, 1.0)
    second = study.ask()  # a script that runs once a day is another process each day
    assert (second.kind, second.keep) == ("settle", True)
    assert study.trials()[-1].keep
    study.fail(second.id, "nobody knows what was deployed")
    anew = study.ask()
    assert (anew.kind, anew.keep, anew.x.tolist()) == ("settle", False, first.x.tolist())
    clock.now += 11
    assert [study.ask().keep for _ in range(1)] == [False]
    assert study.trials(state="expired")[0].id == anew.id


def test_a_correction_of_the_answer_that_counts_and_of_one_that_does_not():
    studies = [Study.create("sqlite://", str(k), **PLAIN, budget=24, settle=2) for k in range(2)]
    for wrong, study in zip((7.0, 0.0), studies, strict=True):
        for _ in range(8):
            trial = study.ask()
            study.tell(trial.id, wrong if trial.id == 2 else bowl(trial))
    trials = studies[0].trials()
    assert [t.kind for t in trials[:2]] == ["settle", "method"]
    studies[0].correct(trials[0].id, 99.0)
    studies[0].correct(trials[1].id, 0.0)
    assert studies[0].recommend().x.tobytes() == studies[1].recommend().x.tobytes()


def test_settling_and_parallel_exclude_each_other():
    with pytest.raises(ValueError, match="one decision at a time"):
        Study.create("sqlite://", "a", **PLAIN, budget=60, settle=2, parallel=2)
    with pytest.raises(ValueError, match="too small"):
        Study.create("sqlite://", "a", **PLAIN, budget=3, settle=2)
    with pytest.raises(ValueError, match="settle"):
        Study.create("sqlite://", "a", **PLAIN, budget=30, settle=0)


def test_a_stopped_study_says_so_while_a_decision_settles():
    study = Study.create("sqlite://", "a", **PLAIN, budget=60, settle=2)
    out = study.ask(holder="till")
    study.stop("the shop closes")
    with pytest.raises(BudgetSpent, match="stopped"):
        study.ask()
    assert study.ask(holder="till").id == out.id


def test_settling_with_steps_that_are_limited():
    study = Study.create(
        "sqlite://",
        "a",
        x0=[1.0, -0.5],
        budget=90,
        settle=2,
        max_change=0.3,
        reserve=20,
        rng=1,
        method="zo-o2nc-2pt",
    )
    drive(study, slow(5.0))
    drive(study, slow(5.0), purpose="confirm")
    points = np.array([study.spec.start, *(trial.x for trial in study.trials())])
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).max() <= 0.3
    assert study.recommend().spent <= 90


@pytest.mark.parametrize("meanwhile", [0, 1])
def test_a_corrected_failure_settles_as_if_it_had_been_told_at_once(sqlite_url, meanwhile):
    """The till was down and its answer is found later: also where the decision was asked again by then."""
    told, study = (Study.create(sqlite_url, name, **PLAIN, budget=60, settle=3) for name in ("told", "a"))
    for one in (told, study):
        one.tell(one.ask().id, 1.0)
    told.tell(told.ask().id, 2.0)
    second = study.ask()
    study.fail(second.id, "the till was down")
    for _ in range(meanwhile):
        anew = study.ask()
        assert (anew.kind, anew.keep) == ("settle", False)
        study.tell(anew.id, 3.0)
    study.correct(second.id, 2.0, "found the paper roll")
    for one in (Study.open(sqlite_url, "a"), study):
        assert one.summary().next.commands[0].startswith("driftopt study ask")
    right, trial = told.ask(), Study.open(sqlite_url, "a").ask()
    assert (trial.kind, trial.keep, trial.x.tobytes()) == ("method", right.keep, right.x.tobytes())
    for one, out in ((told, right), (study, trial)):
        one.tell(out.id, bowl(out))
    drive(told, slow(0.0))
    drive(study, slow(0.0))
    points = [t.x.tobytes() for t in study.trials()[meanwhile:]]
    assert points == [t.x.tobytes() for t in told.trials()][: len(points)]


def test_an_answer_that_comes_late_settles_as_if_it_had_come_in_time(sqlite_url, clock):
    study = Study.create(sqlite_url, "a", **PLAIN, budget=60, settle=3, lease=10.0, clock=clock)
    first = study.ask()
    clock.now += 11
    again = study.ask()
    assert (again.kind, again.keep, again.x.tobytes()) == ("settle", False, first.x.tobytes())
    study.tell(again.id, 1.0)
    study.tell(first.id, 1.0)
    assert Study.open(sqlite_url, "a", clock=clock).ask().kind == "method"
