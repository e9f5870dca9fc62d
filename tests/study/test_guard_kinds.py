"""Answers of every kind are judged: control from the first on, and those that evaluate."""

import pytest

from driftopt.study import Study
from support.study_worlds import PLAIN, about_20, drive, states


def test_control_is_compared_with_control(url):
    study = Study.create(url, "a", budget=200, control_every=2, **PLAIN)
    controls = 0
    for _ in range(60):
        trial = study.ask()
        level = 1000.0 if trial.kind == "control" else 0.0
        wild = trial.kind == "control" and controls == 15
        controls += trial.kind == "control"
        state = study.tell(trial.id, level + about_20(trial) + (1e6 if wild else 0))
        assert state == ("held" if wild else "complete")
    assert abs(study.summary().drift.mean - 1020) < 2


def test_the_first_controls_are_judged_when_the_methods_answers_can_judge_them(url):
    """And those after them at once, long before there are a dozen of them."""
    study = Study.create(url, "a", budget=200, control_every=5, **PLAIN)
    controls = {}
    for turn in range(40):
        trial = study.ask()
        wild = trial.kind == "control" and len(controls) in (0, 4)
        state = study.tell(trial.id, about_20(trial) * (100 if wild else 1))
        if trial.kind == "control":
            controls[trial.id] = state
        if turn == 13:  # a control first and after every five: the twelfth of the method's own is next
            assert [t.state for t in study.trials(kind="control")] == ["complete"] * 3
    assert list(controls.values()) == ["complete"] * 4 + ["held"] + ["complete"] * (len(controls) - 5)
    assert [t.state for t in study.trials(kind="control")] == ["held", *list(controls.values())[1:]]
    assert abs(study.summary().drift.mean - 20) < 2
    first = study.trials(kind="control")[0]
    assert [event.kind for event in first.history] == ["complete", "doubted"]
    study.accept(first.id)
    assert study.trial(first.id).value == first.value > 1000
    assert Study.open(url, "a").verify() == study.verify()


@pytest.mark.parametrize("purpose", ["confirm", "stationarity"])
@pytest.mark.parametrize("control", [None, 7])
def test_answers_that_evaluate_are_judged_too_and_asked_again(purpose, control):
    """The first of them already: the method's answers have shown what is usual."""
    study = Study.create("sqlite://", "a", budget=60, reserve=30, control_every=control, **PLAIN)
    drive(study, about_20)
    for wild in (True, False) * 3:
        trial = study.ask(purpose)
        assert study.tell(trial.id, about_20(trial) * (100 if wild else 1)) == (
            "held" if wild else "complete"
        )
        if wild:
            again = study.ask(purpose)
            assert (again.point, again.sample) == (trial.point, trial.sample)
            assert again.x.tobytes() == trial.x.tobytes()
            study.tell(again.id, about_20(again))
    assert [t.state for t in study.trials(kind=purpose)].count("held") == 3
    if purpose == "confirm":
        assert abs(study.recommend().improvement.mean) < 5


def test_confirming_a_great_improvement_holds_nothing():
    """The start is then far from all that was told of late, and near what was told at first."""
    study = Study.create("sqlite://", "a", budget=140, reserve=8, x0=[9.0, -9.0], radius=1.0, rng=1)

    def bowl(trial):
        return float(trial.x @ trial.x) + 0.01 * about_20(trial)

    drive(drive(study, bowl), bowl, purpose="confirm")
    assert study.recommend().improvement.mean > 100
    assert "held" not in states(study).values()
