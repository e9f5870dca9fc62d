"""Answers that turn out wrong: the study becomes the one that was told so at once, to the bit."""

import csv
import json

import numpy as np
import pytest

from driftopt import methods
from driftopt.study import BudgetSpent, NothingToAsk, Study
from driftopt.study.sequential_rule import Replay
from support.study_worlds import PLAIN, drive


def world(trial):
    """A value that depends on the place alone: two studies hear the same whatever they deploy."""
    place = (len(trial.kind), trial.iteration, trial.point, trial.sample)
    return float(np.random.default_rng(place).standard_normal())


def walk(study, wrong=(), amend=lambda study, trial: None, at=()):
    """Drive a study, told a hundredfold at the deployments `wrong`; at deployments `at` these are amended."""
    mistaken = []
    for turn in range(200):
        try:
            trial = study.ask()
        except BudgetSpent:
            break
        study.tell(trial.id, 100 * world(trial) if turn in wrong else world(trial))
        mistaken += [trial] if turn in wrong else []
        if turn in at:
            for one in mistaken:
                amend(study, one)
    return study


def put_right(study, trial):
    study.correct(trial.id, world(trial), "lost decimal point", who="ana")


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("at", [(4,), (5,), (19,), (30,)])
def test_a_corrected_study_is_one_that_was_told_so_at_once(sqlite_url, at, batch):
    """Corrected in the open iteration, just after it, later, and at the end."""
    settings = PLAIN | {"params": {"radius": 0.3, "batch": batch}}
    told = walk(Study.create(sqlite_url, "told", budget=40, **settings))
    study = walk(Study.create(sqlite_url, "a", budget=40, **settings), wrong=(4,), amend=put_right, at=at)
    assert study.recommend().x.tobytes() == told.recommend().x.tobytes()
    assert Study.open(sqlite_url, "a").recommend().x.tobytes() == told.recommend().x.tobytes()
    assert [t.value for t in study.trials()] == [t.value for t in told.trials()]
    assert study.verify() == Study.open(sqlite_url, "a").verify() > 0


def test_every_method_can_be_put_right(name):
    settings = PLAIN | {"method": name, "params": dict(methods.entry(name).example)}
    told = walk(Study.create("sqlite://", "a", budget=48, **settings))
    study = walk(Study.create("sqlite://", "a", budget=48, **settings), wrong=(6,), amend=put_right, at=(30,))
    assert study.recommend().x.tobytes() == told.recommend().x.tobytes()


def test_what_is_asked_next_follows_from_what_stands(sqlite_url):
    """A correction moves the next deployment, not those that were made; another process sees it at once."""
    told, study = (Study.create(sqlite_url, name, budget=40, **PLAIN) for name in ("told", "a"))
    other = Study.open(sqlite_url, "a")
    for turn in range(11):
        right, trial = told.ask(), other.ask()
        told.tell(right.id, world(right))
        other.tell(trial.id, 100 * world(trial) if turn == 2 else world(trial))
    study.recommend()
    deployed = [t.x.tobytes() for t in study.trials()]
    put_right(study, study.trials()[2])
    for one in (study, other):
        assert one.recommend().x.tobytes() == told.recommend().x.tobytes()
    assert [t.x.tobytes() for t in study.trials()] == deployed
    # The open iteration was drawn before; the one after it starts from where the other study stands.
    for one in (told, other):
        trial = one.ask()
        one.tell(trial.id, world(trial))
    assert other.ask().x.tobytes() == told.ask().x.tobytes()
    study.verify()


def test_a_voided_iteration_is_passed_over_whenever_it_is_voided(sqlite_url):
    def void(study, trial):
        assert study.void(trial.id, "till was broken") == "voided"

    early = walk(Study.create(sqlite_url, "early", budget=40, **PLAIN), wrong=(4,), amend=void, at=(6,))
    late = walk(Study.create(sqlite_url, "late", budget=40, **PLAIN), wrong=(4,), amend=void, at=(33,))
    assert early.recommend().x.tobytes() == late.recommend().x.tobytes()
    steps = [np.array([t.value for t in late.trials() if t.iteration == i]) for i in range(20)]
    steps[2] = np.full(2, np.nan)
    by_hand = Replay(late.spec)
    by_hand.follow([step.astype(float) for step in steps])
    assert late.recommend().x.tobytes() == by_hand.recommendation().tobytes()
    assert np.isfinite(late.recommend().x).all()
    assert late.summary().states["voided"] == 1
    late.verify()


@pytest.mark.parametrize("output", ["final", "last-block", "random-block"])
def test_nothing_is_averaged_over_an_iteration_that_was_passed_over(output):
    """Every iterate is the start: so is any mean of them, with one iteration left out."""
    settings = PLAIN | {"params": {"radius": 0.3, "block": 4, "output": output}, "x0": [1000.0, -500.0]}
    study = Study.create("sqlite://", "a", budget=40, **settings)
    drive(study, lambda trial: 1.0)
    study.void(study.trials()[9].id)
    np.testing.assert_allclose(study.recommend().x, [1000.0, -500.0], rtol=1e-12)


def test_the_other_samples_of_a_voided_answer_stand(sqlite_url):
    settings = PLAIN | {"params": {"radius": 0.3, "batch": 3}}
    study = walk(Study.create(sqlite_url, "a", budget=42, **settings))
    trial = next(t for t in study.trials() if (t.iteration, t.point, t.sample) == (1, 0, 2))
    study.void(trial.id)
    rest = [t.value for t in study.trials() if (t.iteration, t.point) == (1, 0) and t.id != trial.id]
    filled = Study.create(sqlite_url, "b", budget=42, **settings)
    mean = sum(rest) / 2
    drive(filled, lambda t: mean if (t.iteration, t.point, t.sample) == (1, 0, 2) else world(t))
    np.testing.assert_allclose(study.recommend().x, filled.recommend().x, rtol=1e-12)


def test_a_point_voided_in_its_iteration_is_asked_again(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=20, **PLAIN)
    first = study.ask(holder="me")
    study.tell(first.id, 1.0)
    assert study.void(first.id) == study.void(first.id) == "voided"
    second, again = study.ask_many(2)
    assert again.x.tobytes() == first.x.tobytes() or second.x.tobytes() == first.x.tobytes()
    with pytest.raises(NothingToAsk):
        study.ask()


def test_history_is_kept_and_shown(sqlite_url, tmp_path, clock):
    study = Study.create(sqlite_url, "a", budget=12, clock=clock, control_every=3, **PLAIN)
    drive(study, world)
    one, other, control = study.trials()[1].id, study.trials()[2].id, study.trials(kind="control")[0].id
    study.correct(one, 2.5, "lost decimal point", who="ana", sem=0.1)
    study.void(other, "till was broken", who="bo")
    study.correct(control, 7.5, who="ana")
    trials = {t.id: t for t in study.trials()}
    first = trials[one].history[0]
    assert [event.kind for event in trials[one].history] == ["complete", "corrected"]
    assert (trials[one].value, trials[one].sem, trials[one].state) == (2.5, 0.1, "complete")
    assert trials[one].story == f"complete {first.value!r}; corrected 2.5 by ana (lost decimal point)"
    assert (trials[other].value, trials[other].state) == (None, "voided")
    assert trials[other].reason == "till was broken"
    assert trials[control].value == study.trials(kind="control")[0].value == 7.5
    rows = list(csv.DictReader(study.export(tmp_path / "a.csv").read_text().splitlines()))
    assert rows[1]["story"] == trials[one].story
    assert rows[3]["story"] == ""
    whole = json.loads(study.export(tmp_path / "a.json").read_text())["trials"]
    assert [event["who"] for event in whole[1]["history"]] == [None, "ana"]
    assert study.plot(tmp_path / "a.png").stat().st_size > 10_000


def test_what_cannot_be_amended_is_refused_and_nothing_changes(sqlite_url, clock):
    study = Study.create(sqlite_url, "a", budget=20, clock=clock, lease=10.0, **PLAIN)
    first, _ = study.ask_many(2)
    for amend in (lambda: study.correct(first.id, 1.0), lambda: study.void(first.id)):
        with pytest.raises(ValueError, match=f"trial {first.id} is pending: tell it"):
            amend()
    study.fail(first.id, "down")
    with pytest.raises(ValueError, match="no result to take back"):
        study.void(first.id)
    again = study.ask()
    study.tell(again.id, 1.0)
    for wrong in (np.nan, np.inf, 1e60):
        with pytest.raises(ValueError, match="value"):
            study.correct(again.id, wrong)
    for wrong in ({"sem": -1.0}, {"sem": np.inf}):
        with pytest.raises(ValueError, match="sem"):
            study.correct(again.id, 1.0, **wrong)
    with pytest.raises(ValueError, match="no trial 99"):
        study.correct(99, 1.0)
    rows = study.verify()
    assert study.correct(again.id, 1.0) == "complete"  # as it stands
    assert study.verify() == rows


def test_a_failure_can_turn_out_an_answer(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=20, **PLAIN)
    first = study.ask()
    study.fail(first.id, "till down")
    assert study.correct(first.id, 1.5, "found it") == "complete"
    assert study.summary().results == 1
    assert study.ask().point != first.point


def test_an_amended_study_is_confirmed_anew(sqlite_url):
    """Values at the recommendation that was then say nothing of the one that is now."""
    study = walk(Study.create(sqlite_url, "a", budget=60, reserve=40, **PLAIN))
    for _ in range(8):
        trial = study.ask("confirm")
        study.tell(trial.id, world(trial))
    assert study.recommend().improvement.recommended.n == 4
    study.correct(study.trials()[3].id, 20.0)
    assert study.recommend().improvement is None
    places = set()
    for _ in range(6):
        trial = study.ask("confirm")
        assert study.tell(trial.id, world(trial)) == "complete"
        places.add((trial.point, trial.sample))
        if trial.sample == 1:
            assert trial.x.tobytes() == study.recommend().x.tobytes()
    assert len(places) == 6
    assert study.recommend().improvement.recommended.n == 3


def test_an_answer_told_again_after_its_correction_changes_nothing(sqlite_url):
    """Sunday's job runs once more."""
    study = Study.create(sqlite_url, "a", budget=20, **PLAIN)
    trial = study.ask()
    study.tell(trial.id, 214.0)
    study.correct(trial.id, 21.4)
    rows = study.verify()
    assert study.tell(trial.id, 214.0) == "complete"
    assert (study.verify(), study.trials()[0].value) == (rows, 21.4)
