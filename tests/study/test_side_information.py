"""What is told beside a value: through the store, replay, corrections, files, pages and the command line."""

import json
import math

import numpy as np
import pytest

from driftopt import minimize
from driftopt.study import Halted, Study, load
from support.study_worlds import PLAIN, bowl

CROWD = {**PLAIN, "covariates": ["crowd", "rain"], "rng": 5}


def crowd(trial):
    """Two covariates, functions of the trial's place alone."""
    place = (1, trial.iteration, trial.point, trial.sample)
    loud, rain = np.random.default_rng([9, *place]).standard_normal(2)
    return {"crowd": float(loud), "rain": float(rain > 1)}


def value(trial):
    return bowl(trial) + 2 * crowd(trial)["crowd"]


def driven(url, name="shop", count=40, wrong=(), **more):
    study = Study.create(url, name, budget=60, **{**CROWD, **more})
    for turn in range(count):
        trial = study.ask()
        told = crowd(trial)
        if turn in wrong:
            told = {"crowd": 50.0, "rain": 1.0}
        study.tell(trial.id, value(trial), covariates=told)
    return study


def test_a_study_is_told_what_minimize_is_told(tmp_path):
    """The same answers, the same adjustment, the same walk to rounding."""
    study = driven(tmp_path / "a.db", count=60)
    told = {trial.x.tobytes(): trial for trial in study.trials()}
    trials = iter(study.trials())

    def fun(x):
        trial = next(trials)
        np.testing.assert_allclose(x, trial.x, atol=1e-6)
        return trial.value, trial.covariates

    result = minimize(
        fun, CROWD["x0"], budget=60, radius=0.3, rng=5, method=CROWD["method"], covariates=CROWD["covariates"]
    )
    np.testing.assert_allclose(result.x, study.recommend().x, atol=1e-6)
    effects = {one.name: one.effect for one in study.summary().covariates}
    assert effects["crowd"] == pytest.approx(result.covariates["crowd"].effect, rel=1e-6)
    assert abs(effects["crowd"] - 2) < 0.2
    assert len(told) > 1


def test_a_study_without_an_answer_that_counts_can_be_shown(tmp_path):
    """A fresh one; with a failure, with what was held and taken back, with control alone."""
    study = Study.create(tmp_path / "a.db", "a", budget=60, control_every=50, **CROWD)

    def shown():
        study.page()
        for one in study.summary().covariates:
            assert (one.known, one.effect, one.p_value) == (0, 0, None)

    shown()
    study.tell(study.ask().id, 1.0, covariates={"crowd": 2.0})  # control
    shown()
    study.fail(study.ask().id)
    shown()
    trial = study.ask()
    study.tell(trial.id, 1.0, covariates={"crowd": 2.0})
    study.hold(trial.id)
    shown()
    study.void(trial.id)
    shown()
    study.write_page(tmp_path / "a.html")


def test_a_corrected_covariate_corrects_its_effect(tmp_path):
    """Told wrongly and corrected is, to the bit, told rightly at once."""
    right = driven(tmp_path / "a.db")
    wrong = driven(tmp_path / "b.db", count=11, wrong=(10,))
    trial = wrong.trials()[10]
    wrong.correct(trial.id, value(trial), "the counter was broken", covariates=crowd(trial))
    assert wrong.trials()[10].covariates == crowd(trial)
    for _ in range(29):
        trial = wrong.ask()
        wrong.tell(trial.id, value(trial), covariates=crowd(trial))
    assert wrong.summary().covariates[0].effect == right.summary().covariates[0].effect
    np.testing.assert_array_equal(right.recommend().x, wrong.recommend().x)


def test_a_corrected_value_keeps_its_covariates(tmp_path):
    study = driven(tmp_path / "a.db", count=6)
    before = study.trials()[2]
    study.correct(before.id, 3.5)
    assert study.trials()[2].covariates == before.covariates
    study.correct(before.id, 3.5, covariates={"rain": 0.0})
    assert study.trials()[2].covariates == {"rain": 0.0}
    rows = study.verify()
    study.correct(before.id, 3.5, covariates={"rain": 0.0})
    assert study.verify() == rows, "the same again is nothing"


def test_what_was_not_named_is_refused(tmp_path):
    study = driven(tmp_path / "a.db", count=0)
    trial = study.ask()
    with pytest.raises(ValueError, match="has wind, which is none of them; they are crowd, rain"):
        study.tell(trial.id, 1.0, covariates={"wind": 1.0})
    with pytest.raises(ValueError, match="must be a number"):
        study.tell(trial.id, 1.0, covariates={"rain": "much"})
    with pytest.raises(ValueError, match="different names"):
        Study.create(tmp_path / "a.db", "b", budget=20, **{**CROWD, "covariates": ["a", "a"]})
    plain = Study.create(tmp_path / "a.db", "plain", budget=20, **PLAIN)
    with pytest.raises(ValueError, match="give covariates="):
        plain.tell(plain.ask().id, 1.0, covariates={"rain": 1.0})


def test_files_and_imports_keep_them(tmp_path):
    study = driven(tmp_path / "a.db", count=12)
    study.correct(study.trials()[3].id, 1.5, covariates={"crowd": 4.0})
    header, first, *_ = study.export(tmp_path / "a.csv").read_text().splitlines()
    assert header.endswith("covariate:crowd,covariate:rain")
    assert first.split(",")[-2] == repr(study.trials()[0].covariates["crowd"])
    study.export(tmp_path / "a.json")
    again = load(tmp_path / "b.db", tmp_path / "a.json")
    assert [t.covariates for t in again.trials()] == [t.covariates for t in study.trials()]
    np.testing.assert_array_equal(again.recommend().x, study.recommend().x)
    polars = pytest.importorskip("polars")
    table = polars.read_parquet(study.export(tmp_path / "a.parquet"))
    assert table["covariate:crowd"].null_count() == 0


def test_a_covariate_that_moves_with_the_decision_is_warned_of(tmp_path):
    study = Study.create(tmp_path / "a.db", "shop", budget=60, **CROWD)
    for _ in range(50):
        trial = study.ask()
        study.tell(trial.id, value(trial), covariates={"crowd": float(trial.x.sum())})
    summary = study.summary()
    assert len(summary.warnings) == 1
    assert "'crowd' moves with the decision" in summary.warnings[0]
    assert json.dumps(summary.as_dict)
    from rich.console import Console

    console = Console(width=80, record=True)
    console.print(study.page())
    text = console.export_text()
    assert "moves with the decision" in text
    assert "rain" in text


# Precision, metrics and control


def test_sem_and_n_are_kept_and_weigh(tmp_path):
    same, other = (Study.create(tmp_path / "a.db", name, budget=40, **PLAIN) for name in ("same", "other"))
    plain = Study.create(tmp_path / "a.db", "plain", budget=40, **PLAIN)
    for turn in range(30):
        for study, more in ((same, {"sem": 0.2}), (other, {"n": 1 + turn // 2 % 5}), (plain, {})):
            trial = study.ask()
            study.tell(trial.id, bowl(trial), **more)
    np.testing.assert_array_equal(same.recommend().x, plain.recommend().x)
    assert not np.array_equal(other.recommend().x, plain.recommend().x)
    assert other.trials()[4].n == 3
    assert other.export(tmp_path / "n.csv").read_text().splitlines()[0].endswith(",n")
    again = Study.open(tmp_path / "a.db", "other")
    np.testing.assert_array_equal(again.recommend().x, other.recommend().x)
    with pytest.raises(ValueError, match="n"):
        other.tell(other.ask().id, 1.0, n=0)


LIMITS = {"limits": {"complaints": {"max": 5.0, "hard": True}, "calls": {}}}


def test_metrics_come_with_the_recommendation(tmp_path):
    study = Study.create(tmp_path / "a.db", "a", budget=40, **PLAIN, **LIMITS)
    for turn in range(16):
        trial = study.ask()
        study.tell(trial.id, bowl(trial), metrics={"complaints": 3 + turn % 2, "calls": 10.0})
    complaints, calls = study.recommend().metrics
    assert (complaints.mean, calls.mean, calls.sem) == (3.5, 10.0, 0.0)
    assert complaints.sem > 0
    assert "at most 5, hard" in complaints.words
    assert study.trials()[1].metrics == {"complaints": 4.0, "calls": 10.0}
    again = Study.open(tmp_path / "a.db", "a")
    np.testing.assert_array_equal(again.recommend().x, study.recommend().x)
    study.export(tmp_path / "a.json")
    assert load(tmp_path / "b.db", tmp_path / "a.json").recommend().metrics == study.recommend().metrics


def test_a_hard_limit_broken_twice_in_a_row_halts_until_someone_resumes(tmp_path):
    study = Study.create(tmp_path / "a.db", "a", budget=40, **PLAIN, **LIMITS)

    def tell(complaints):
        trial = study.ask()
        study.tell(trial.id, bowl(trial), metrics={"complaints": complaints})
        return trial.id

    for complaints in (9, 2, 9, 5, 9):
        tell(complaints)
    last = tell(8)
    with pytest.raises(Halted, match=r"x0 1, x1 −0\.5"):
        study.ask()
    assert "complaints is 8" in study.summary().halted
    assert study.summary().next.commands[0].startswith("driftopt study resume")
    other = Study.open(tmp_path / "a.db", "a")
    with pytest.raises(Halted):
        other.ask()
    other.resume("the counter was broken", who="ana")
    assert study.ask().state == "pending"
    rows = study.verify()
    study.resume()
    assert study.verify() == rows, "one that goes on is left alone"
    assert last


def watched(url, limits=LIMITS["limits"], **more):
    """A study with hard limits, and what tells the next trial its metrics."""
    study = Study.create(url, "a", budget=60, **{**PLAIN, **more}, limits=limits)

    def tell(value=1.0, **metrics):
        trial = study.ask()
        study.tell(trial.id, value, metrics=metrics)
        return trial

    return study, tell


def test_a_broken_answer_counts_once_however_often_it_is_corrected(tmp_path):
    study, tell = watched(tmp_path / "a.db")
    trial = tell(complaints=9)
    study.correct(trial.id, 2.0)
    study.correct(trial.id, 3.0)
    assert study.ask().state == "pending"
    assert study.summary().halted is None


def test_a_halted_study_hands_nothing_out(tmp_path):
    """Not for any purpose, and not what its holder has not answered yet."""
    study, _ = watched(tmp_path / "a.db", parallel=4)
    out = [study.ask(new=True) for _ in range(3)]
    for trial in out[:2]:
        study.tell(trial.id, 1.0, metrics={"complaints": 9})
    for purpose in ("method", "confirm", "stationarity"):
        for new in (False, True):
            with pytest.raises(Halted):
                study.ask(purpose, new=new)
    assert study.summary().next.commands[0].startswith("driftopt study resume")
    assert study.tell(out[2].id, 1.0) == "complete"


def test_a_corrected_value_keeps_its_sem(tmp_path):
    study = Study.create(tmp_path / "a.db", "a", budget=40, **PLAIN)
    trial = study.ask()
    study.tell(trial.id, 1.0, sem=0.5)
    study.correct(trial.id, 2.0)
    assert (study.trial(trial.id).value, study.trial(trial.id).sem) == (2.0, 0.5)
    rows = study.verify()
    study.correct(trial.id, 2.0)
    assert study.verify() == rows, "the same again is nothing"
    study.correct(trial.id, 2.0, sem=0.7)
    assert study.trial(trial.id).sem == 0.7


def test_what_was_told_beside_a_value_can_be_taken_away(any_url):
    """NaN says that there is none: on a database and on a server alike."""
    study = Study.create(any_url, "a", budget=40, relative_to_control=True, **PLAIN)
    trial = study.ask()
    study.tell(trial.id, 1.0, control=2.0)
    before = study.trial(trial.id)
    study.correct(trial.id, 2.0, sem=20.0, n=5, control=3.0)
    study.correct(trial.id, 1.0, sem=math.nan, n=math.nan, control=math.nan)
    after = study.trial(trial.id)
    assert (after.value, after.sem, after.n, after.control) == (1.0, None, None, None)
    study.correct(trial.id, 1.0, control=2.0)
    after = study.trial(trial.id)
    told = ("value", "sem", "covariates", "metrics", "n", "control")
    assert [getattr(after, name) for name in told] == [getattr(before, name) for name in told]
    with pytest.raises(ValueError, match="sem"):
        study.correct(trial.id, 1.0, sem=math.inf)


def test_values_relative_to_control(tmp_path):
    """Told beside, or deployed by the study itself: the last one counts."""
    study = Study.create(tmp_path / "a.db", "a", budget=60, **PLAIN, relative_to_control=True)
    plain = Study.create(tmp_path / "a.db", "plain", budget=60, **PLAIN)
    rng = np.random.default_rng(0)
    for _ in range(40):
        trial, other, common = study.ask(), plain.ask(), 5 * rng.normal()
        study.tell(trial.id, bowl(trial) + common, control=common)
        plain.tell(other.id, bowl(other))
    np.testing.assert_allclose(study.recommend().x, plain.recommend().x, atol=1e-6)
    with pytest.raises(ValueError, match="relative_to_control"):
        plain.tell(plain.ask().id, 1.0, control=2.0)


def steps(study):
    """What the method was told."""
    study.recommend()
    return np.array(study.transport.rule._host._steps)


def test_a_corrected_control_corrects_what_it_was_taken_out_of(tmp_path):
    """Told wrongly and corrected is, to the bit, told rightly at once; the log is still verified."""
    how = {**PLAIN, "control_every": 2, "relative_to_control": True}
    right, wrong = (Study.create(tmp_path / "a.db", name, budget=60, **how) for name in ("right", "wrong"))
    for turn in range(9):
        for study in (right, wrong):
            trial = study.ask()
            study.tell(trial.id, bowl(trial) + (5.0 if turn == 3 and study is wrong else 0.0))
    control = wrong.trials(kind="control")[1]
    assert not np.array_equal(steps(wrong), steps(right))
    wrong.correct(control.id, bowl(control))
    np.testing.assert_array_equal(steps(wrong), steps(right))
    again = Study.open(tmp_path / "a.db", "wrong")
    np.testing.assert_array_equal(steps(again), steps(right))
    assert again.verify() > 0


def test_a_world_that_changes_is_noticed(tmp_path):
    study = Study.create(tmp_path / "a.db", "a", budget=120, **PLAIN, control_every=1)
    rng = np.random.default_rng(1)
    for turn in range(80):
        trial = study.ask()
        study.tell(trial.id, (10.0 if turn > 40 else 0.0) + rng.normal())
    found = study.summary()
    assert found.change.higher
    assert any("the world has changed" in warning for warning in found.warnings)
    assert json.loads(json.dumps(found.as_dict))["change"]["began"] > 15


def test_all_of_it_goes_through_every_store_and_the_server(any_url, tmp_path):
    """Told, corrected and halted over HTTP or on PostgreSQL, a study is what it is in a file."""
    limits = {"complaints": {"max": 5.0, "hard": True}, "calls": {}}
    plan = {**PLAIN, "budget": 60, "rng": 1, "covariates": ["crowd", "rain"]}
    told = []
    for url in (any_url, tmp_path / "plain.db"):
        study, rng = Study.create(url, "all", **plan, limits=limits, relative_to_control=True), _numbers()
        for number in range(20):
            trial = study.ask()
            crowd, own, n = next(rng), next(rng), float(10 + number)
            cost = float(trial.x @ trial.x) + 3 * crowd + 0.1 * own
            metrics = {"complaints": 3 + float(trial.x[0]), "calls": 7.0}
            beside = {"covariates": {"crowd": crowd}, "metrics": metrics, "control": 2 + 3 * crowd}
            study.tell(trial.id, cost, n=n, **beside)
        study.correct(trial.id, cost, covariates={"crowd": 99.0})
        for _ in range(2):
            trial = study.ask()
            study.tell(trial.id, 1.0, metrics={"complaints": 9.0}, control=2.0)
        with pytest.raises(Halted, match="complaints is 9"):
            study.ask()
        study.resume("the counter was broken")
        study.ask()
        told.append((study.summary(), study.recommend(), study.trial(trial.id - 2)))
    (summary, found, trial), (plain, expected, other) = told
    assert summary.covariates == plain.covariates
    assert found.metrics == expected.metrics
    np.testing.assert_array_equal(found.x, expected.x)
    assert (trial.covariates, trial.metrics, trial.n, trial.control) == (
        other.covariates,
        other.metrics,
        other.n,
        other.control,
    )
    assert trial.covariates == {"crowd": 99.0}


def _numbers():
    rng = np.random.default_rng(3)
    while True:
        yield float(rng.normal())
