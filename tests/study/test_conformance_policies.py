"""What a study's policies promise on every store: budget, control, confirmation, summary, export."""

import json
import math

import numpy as np
import polars as pl
import pytest

from driftopt.study import (
    BudgetSpent,
    Study,
)
from driftopt.study.trial import STATES
from support.study_worlds import PLAIN, bowl, drive, states

WEEK = 7 * 86400.0


def test_the_budget_is_never_passed_whatever_fails(any_url, clock):
    study = Study.create(any_url, "a", budget=11, max_failures=2, control_every=3, clock=clock, **PLAIN)

    def misfortune(turn):
        trial = study.ask()
        clock.now += 2 * WEEK
        if turn % 3 == 0:
            study.fail(trial.id, "down")
        elif turn % 3 == 1:
            study.tell(trial.id, math.nan)

    for turn in range(9):
        misfortune(turn)
    with pytest.raises(BudgetSpent):
        list(map(misfortune, range(9, 100)))
    assert len(study.trials()) <= 11
    with pytest.raises(BudgetSpent):
        study.ask()


def test_maximizing_is_minimizing_the_negative(any_url):
    up = drive(Study.create(any_url, "up", budget=12, direction="maximize", **PLAIN), lambda t: -bowl(t))
    down = drive(Study.create(any_url, "down", budget=12, **PLAIN))
    assert np.array_equal(up.recommend().x, down.recommend().x)
    assert up.trials()[0].value == -down.trials()[0].value


def test_control_watches_the_world_and_moves_nothing(any_url, clock):
    study = Study.create(any_url, "a", budget=40, control_every=3, clock=clock, **PLAIN)

    def world(trial):
        clock.now += 86400.0
        return 5.0 + 0.25 * (clock.now / 86400) if trial.kind == "control" else bowl(trial)

    drive(study, world)
    kinds = [trial.kind for trial in study.trials()]
    assert [k for k, kind in enumerate(kinds) if kind == "control"] == list(range(0, 40, 4))
    assert all(np.array_equal(t.x, study.spec.start) for t in study.trials(kind="control"))
    drift = study.summary().drift
    assert drift.n == 10
    assert drift.slope == pytest.approx(0.25, rel=1e-6)
    plain = drive(Study.create(any_url, "b", budget=30, **{**PLAIN, "params": study.spec.params}))
    assert np.array_equal(study.recommend().x, plain.recommend().x)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_improvement_is_measured_by_fresh_deployments(any_url, direction):
    sign = 1 if direction == "minimize" else -1
    study = Study.create(any_url, "a", budget=60, reserve=20, direction=direction, **PLAIN)
    drive(study, lambda trial: sign * bowl(trial))
    assert study.recommend().improvement is None
    with pytest.raises(BudgetSpent, match="20 kept to evaluate the recommendation"):
        study.ask()
    drive(study, lambda trial: sign * bowl(trial), purpose="confirm")
    found = study.recommend()
    gain = found.improvement
    assert (gain.recommended.n, gain.start.n) == (10, 10)
    truth = study.spec.start @ study.spec.start - found.x @ found.x
    assert 0 < gain.sem < 0.1
    assert abs(gain.mean - truth) < 6 * gain.sem
    assert len(study.trials()) == 60


def test_a_new_recommendation_is_not_confirmed_by_old_values(any_url):
    study = Study.create(any_url, "a", budget=40, **PLAIN)
    for _ in range(6):
        trial = study.ask(purpose="confirm")
        study.tell(trial.id, bowl(trial))
    assert study.recommend().improvement is not None
    while study.recommend().x.tolist() == study.spec.x0:
        for trial in study.ask_many(2):
            study.tell(trial.id, bowl(trial))
    assert study.recommend().improvement is None


def test_extra_deployments_that_fail_or_expire_are_asked_again(any_url, clock):
    study = Study.create(any_url, "a", budget=40, clock=clock, **PLAIN)
    first, second = study.ask_many(2, purpose="confirm")
    study.fail(first.id, "down")
    clock.now += WEEK
    again, more = study.ask_many(2, purpose="confirm")
    assert [(t.point, t.sample) for t in (again, more)] == [(0, 0), (0, 1)]
    assert states(study)[second.id] == "expired"


def test_a_start_on_a_bound_is_left(sqlite_url):
    """The start is recommended until something is learned; then the recommendation moves."""
    world = {"budget": 40, "bounds": [(0, 50)], "radius": 5.0, "rng": 1, "names": ["price"]}
    study = Study.create(sqlite_url, "a", x0=[0.0], **world)
    assert study.recommend().x.tolist() == [0.0]
    drive(study, lambda trial: abs(trial.x[0] - 25.0))
    assert 0.1 < study.recommend().x[0] <= 50
    assert all(0 <= trial.x[0] <= 50 for trial in study.trials())
    again = Study.open(sqlite_url, "a")
    assert again.recommend().x.tolist() == study.recommend().x.tolist()


def test_stationarity_of_the_recommendation(any_url):
    study = Study.create(any_url, "a", budget=200, reserve=100, **PLAIN)
    with pytest.raises(ValueError, match="0 pairs are told"):
        study.stationarity()
    drive(study)
    drive(study, lambda trial: bowl(trial, noise=0.0), purpose="stationarity")
    report = study.stationarity()
    truth = 2 * np.linalg.norm(study.recommend().x)
    assert report.queries == 100
    assert report.epsilon >= truth
    assert report.squared_norm == pytest.approx(truth**2, rel=0.5)
    assert "Goldstein stationary at 95 % (100 queries)" in report.sentence


def test_the_summary_counts_every_state(any_url, clock):
    study = Study.create(any_url, "a", budget=20, clock=clock, **PLAIN)
    first, second = study.ask(), study.ask(holder="you")
    study.fail(first.id, "down")
    study.tell(study.ask().id, 1.0)
    summary = study.summary()
    assert summary.states == {**dict.fromkeys(STATES, 0), "pending": 1, "complete": 1, "failed": 1}
    assert (summary.spent, summary.results) == (3, 1)
    assert [(h.id, h.holder) for h in summary.out] == [(second.id, "you")]
    json.dumps(summary.as_dict)


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_export_keeps_every_trial(any_url, tmp_path, suffix):
    study = Study.create(any_url, "a", budget=6, names=["p", "q"], **PLAIN)
    study.fail(study.ask().id, "no, stock")
    drive(study)
    path = study.export(tmp_path / f"trials.{suffix}")
    if suffix == "json":
        rows = json.loads(path.read_text())["trials"]
    else:
        table = pl.read_csv(path) if suffix == "csv" else pl.read_parquet(path)
        rows = table.to_dicts()
    trials = study.trials()
    assert [row["id"] for row in rows] == [t.id for t in trials]
    assert [row["value"] for row in rows] == [t.value for t in trials]
    assert [[row["x:p"], row["x:q"]] for row in rows] == [t.x.tolist() for t in trials]
    assert rows[0]["reason"] == "no, stock"
