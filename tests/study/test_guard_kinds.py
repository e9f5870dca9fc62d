"""Answers of every kind are judged: control from the first on, and those that evaluate."""

import numpy as np
import pytest

from driftopt.cli import app
from driftopt.study import Study
from support.study_worlds import PLAIN, about_20, drive, states


def test_control_is_compared_with_control(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=200, control_every=2, **PLAIN)
    controls = 0
    for _ in range(60):
        trial = study.ask()
        level = 1000.0 if trial.kind == "control" else 0.0
        wild = trial.kind == "control" and controls == 15
        controls += trial.kind == "control"
        state = study.tell(trial.id, level + about_20(trial) + (1e6 if wild else 0))
        assert state == ("held" if wild else "complete")
    assert abs(study.summary().drift.mean - 1020) < 2


def test_the_first_controls_are_judged_when_the_methods_answers_can_judge_them(sqlite_url):
    """And those after them at once, long before there are a dozen of them."""
    study = Study.create(sqlite_url, "a", budget=200, control_every=5, **PLAIN)
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
    assert Study.open(sqlite_url, "a").verify() == study.verify()


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


@pytest.mark.parametrize("place", [3, 25])
def test_a_mistyped_control_told_beside_a_value_holds_the_answer(place):
    """As a mistyped value does: at once where enough is known, else when a dozen are in."""
    study = Study.create(
        "sqlite://", "a", x0=[1.0, -0.5], radius=0.3, budget=80, rng=1, relative_to_control=True
    )
    rng, wrong = np.random.default_rng(0), None
    for turn in range(30):
        trial = study.ask()
        control = 20.0 + rng.normal()
        if turn == place:
            wrong = trial.id
        state = study.tell(trial.id, 21.0 + rng.normal(), control=2000.0 if turn == place else control)
        assert state == ("held" if turn == place == 25 else "complete")
    assert [t.id for t in study.trials(state="held")] == [wrong]
    assert "control 2000 is" in study.trial(wrong).history[-1].reason
    study.correct(wrong, 21.0, control=20.0)
    assert study.trial(wrong).state in ("complete", "superseded")


@pytest.mark.parametrize(("turn", "held_at"), [(0, 13), (14, 14)])
def test_the_shell_ends_with_6_for_a_held_control_too(tmp_path, capsys, turn, held_at):
    """At once where enough is known; else for the answer with which a dozen are in."""
    path = str(tmp_path / "a.db")
    study = Study.create(path, "a", budget=200, control_every=6, **PLAIN)
    codes = []
    for number in range(20):
        trial = study.ask()
        value = about_20(trial) * (100 if number == turn else 1)
        try:
            app(["study", "tell", path, "a", str(trial.id), str(value)], result_action="return_value")
            codes.append(0)
        except SystemExit as end:
            codes.append(end.code)
            (wrong,) = study.trials(kind="control", state="held")
            assert f"trial {wrong.id}: far from all other results" in capsys.readouterr().err
    assert [i for i, code in enumerate(codes) if code == 6] == [held_at]
    assert set(codes) == {0, 6}
