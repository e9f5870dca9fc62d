"""What a study promises, held to on every store."""

import json
import math

import numpy as np
import polars as pl
import pytest
import sqlalchemy as sa

from driftopt.stationarity import from_pairs
from driftopt.study import (
    BudgetSpent,
    Conflict,
    FormatError,
    NoSuchStudy,
    NothingToAsk,
    Study,
    StudyExists,
    UnknownTrial,
    evaluation,
)
from driftopt.study.trial import STATES
from support.study_worlds import PLAIN, bowl, drive, states

WEEK = 7 * 86400.0


def test_a_study_is_found_again_with_every_number(url):
    made = Study.create(
        url,
        "a",
        x0=[0.1, 1 / 3],
        budget=8,
        bounds=[(0, None), (None, 2)],
        names=["p", "q"],
        params={"radius": 0.2},
    )
    found = Study.open(url, "a")
    assert found.spec == made.spec
    assert found.spec.bounds == [[0, None], [None, 2]]
    assert made.ask().as_dict.keys() == {"p", "q"}


def test_names_are_unique_and_absent_ones_are_said(url):
    Study.create(url, "a", budget=8, **PLAIN)
    with pytest.raises(StudyExists, match="already holds a study 'a'"):
        Study.create(url, "a", budget=8, **PLAIN)
    with pytest.raises(NoSuchStudy, match="holds no study 'b'; it holds a"):
        Study.open(url, "b")


def test_an_empty_store_holds_no_study(url):
    with pytest.raises(NoSuchStudy):
        Study.open(url, "a")


def test_another_format_is_refused(url):
    study = Study.create(url, "a", budget=8, **PLAIN)
    with study._log.database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE driftopt_format SET version = 2"))
    with pytest.raises(FormatError, match="format 2"):
        Study.open(url, "a")


def test_two_studies_in_one_store_do_not_meet(url):
    a, b = (Study.create(url, name, budget=8, **PLAIN) for name in "ab")
    first, second = a.ask(), b.ask()
    assert first.id != second.id
    assert np.array_equal(first.x, second.x)
    with pytest.raises(UnknownTrial):
        a.tell(second.id, 1.0)
    a.tell(first.id, bowl(first))
    drive(a)
    assert len(b.trials()) == 1


def test_the_run_ends_with_its_budget_and_resumes_to_the_bit(url):
    study = drive(Study.create(url, "a", budget=9, **PLAIN))
    assert [trial.state for trial in study.trials()] == [
        "complete"
    ] * 8  # two an iteration: the ninth pays for none
    assert np.array_equal(Study.open(url, "a").recommend().x, study.recommend().x)


def test_values_survive_the_store_to_the_bit(url):
    study = Study.create(url, "a", budget=8, **PLAIN)
    hard = [0.1, 1e-300, -1 / 3, 2.0**60 + 2.0**8, 5e-324, 0.0]
    for value in hard:
        study.tell(study.ask().id, value, sem=abs(value))
    told = Study.open(url, "a").trials()
    assert [trial.value.hex() for trial in told] == [value.hex() for value in hard]
    assert [trial.sem for trial in told] == [abs(value) for value in hard]


def test_zero_has_no_sign_on_any_store(url):
    study = Study.create(url, "a", budget=8, **PLAIN)
    study.tell(study.ask().id, -0.0)
    assert study.trials()[0].value.hex() == (0.0).hex()


def test_telling_twice_the_same_is_nothing_and_differently_an_error(url):
    study = Study.create(url, "a", budget=8, **PLAIN)
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


def test_a_failure_stands(url):
    study = Study.create(url, "a", budget=8, **PLAIN)
    trial = study.ask()
    assert study.fail(trial.id, "no stock") == "failed"
    assert study.fail(trial.id, "in other words") == "failed"
    with pytest.raises(Conflict, match="no stock"):
        study.tell(trial.id, 1.0)
    assert study.trials()[0].reason == "no stock"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_a_failure_and_the_point_is_asked_again(url, value):
    study = Study.create(url, "a", budget=8, **PLAIN)
    first = study.ask()
    assert study.tell(first.id, value) == "failed"
    again = study.ask()
    assert again.id != first.id
    assert again.x.tobytes() == first.x.tobytes()


def test_what_cannot_be_a_number_is_refused_at_the_door(url):
    study = Study.create(url, "a", budget=8, **PLAIN)
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


def test_answers_may_come_in_any_order(url):
    plain = drive(Study.create(url, "in order", budget=18, parallel=3, **PLAIN))
    study = Study.create(url, "backwards", budget=18, parallel=3, **PLAIN)
    for _ in range(3):
        for trial in reversed(study.ask_many(6)):
            study.tell(trial.id, bowl(trial))
    assert np.array_equal(study.recommend().x, plain.recommend().x)


def test_repeats_are_averaged_in_their_own_order(url):
    made = {**PLAIN, "params": {"radius": 0.3, "batch": 3}}
    plain = drive(Study.create(url, "in order", budget=12, **made))
    study = Study.create(url, "shuffled", budget=12, **made)
    for _ in range(2):
        trials = study.ask_many(6)
        assert [(t.sample, t.point) for t in trials] == [(s, p) for s in range(3) for p in range(2)]
        for k in (4, 0, 5, 2, 1, 3):
            study.tell(trials[k].id, bowl(trials[k]))
    assert np.array_equal(study.recommend().x, plain.recommend().x)


def test_when_all_is_out_the_caller_learns_who_holds_what(url, clock):
    study = Study.create(url, "a", budget=8, clock=clock, **PLAIN)
    mine, yours = study.ask(holder="me"), study.ask(holder="you")
    with pytest.raises(NothingToAsk, match=r"by me, lease ends in 604800 s.*by you") as caught:
        study.ask()
    assert [(h.id, h.holder) for h in caught.value.holdings] == [(mine.id, "me"), (yours.id, "you")]
    with pytest.raises(NothingToAsk):
        study.ask_many(3)
    clock.now += WEEK - 1
    with pytest.raises(NothingToAsk):
        study.ask()


def test_after_the_lease_the_point_is_asked_again(url, clock):
    study = Study.create(url, "a", budget=8, clock=clock, **PLAIN)
    first, second = study.ask(), study.ask()
    clock.now += WEEK
    again = study.ask()
    assert again.x.tobytes() == first.x.tobytes()
    assert states(study) == {first.id: "expired", second.id: "pending", again.id: "pending"}


def test_without_a_lease_nothing_expires(url, clock):
    study = Study.create(url, "a", budget=8, lease=None, clock=clock, **PLAIN)
    study.ask_many(2)
    clock.now += 1000 * WEEK
    with pytest.raises(NothingToAsk, match="without a lease"):
        study.ask()


def test_a_late_answer_counts_while_its_point_is_open(url, clock):
    study = Study.create(url, "a", budget=8, clock=clock, **PLAIN)
    first, second = study.ask(), study.ask()
    clock.now += WEEK
    again = study.ask()
    assert study.tell(first.id, 1.0) == "complete"
    assert states(study)[again.id] == "superseded"
    # The deployment that was not needed is kept on record, told or failed, and moves nothing.
    assert study.tell(again.id, 99.0) == "superseded"
    assert study.tell(again.id, 99.0) == "superseded"
    study.tell(second.id, 2.0)
    other = Study.create(url, "b", budget=8, **PLAIN)
    for value in (1.0, 2.0):
        other.tell(other.ask().id, value)
    assert np.array_equal(study.recommend().x, other.recommend().x)


def test_an_answer_after_its_point_is_closed_is_kept_and_unused(url, clock):
    study = Study.create(url, "a", budget=8, clock=clock, **PLAIN)
    first, second = study.ask(), study.ask()
    clock.now += WEEK
    study.tell(study.ask().id, 1.0)
    assert study.tell(first.id, 99.0) == "superseded"
    with pytest.raises(Conflict):
        study.tell(first.id, 98.0)
    study.tell(second.id, 2.0)
    assert study.recommend().iterations == 1
    assert study.trials()[0].value == 99.0


def test_after_enough_failures_the_iteration_is_redrawn(url):
    study = Study.create(url, "a", budget=20, max_failures=2, **PLAIN)
    first, second = study.ask(), study.ask()
    study.tell(second.id, 1.0)
    study.fail(first.id, "once")
    again = study.ask()
    study.fail(again.id, "twice")
    fresh = study.ask()
    assert fresh.draw == 1
    assert not np.allclose(fresh.x, first.x)
    assert states(study)[second.id] == "superseded"
    assert study.tell(second.id, 1.0) == "superseded"  # telling the same again is still nothing
    assert study.tell(fresh.id, bowl(fresh)) == "complete"
    drive(study)
    assert study.recommend().iterations == 8
    assert np.array_equal(Study.open(url, "a").recommend().x, study.recommend().x)


def test_failures_are_counted_by_whoever_reads_the_log(url, clock):
    """A shell asks from a new process each time; it must redraw when one that watched all along would."""

    def opened():
        return Study.open(url, "a", clock=clock)

    Study.create(url, "a", budget=30, max_failures=3, clock=clock, **PLAIN)
    first, other = opened().ask_many(2)
    opened().tell(other.id, 1.0)
    opened().fail(first.id, "once")
    again = opened().ask()
    clock.now += WEEK
    third = opened().ask()
    opened().fail(again.id, "it expired before: still one failure")
    assert (again.draw, third.draw) == (0, 0)
    opened().fail(third.id, "thrice")
    assert opened().ask().draw == 1


def test_a_redrawn_iteration_does_not_wait_for_its_old_points(url):
    study = Study.create(url, "a", budget=20, max_failures=1, **PLAIN)
    first, pending = study.ask(), study.ask()
    study.fail(first.id, "once")
    assert study.ask().draw == 1
    assert states(study)[pending.id] == "superseded"
    assert study.tell(pending.id, 3.0) == "superseded"


def test_a_value_from_elsewhere_is_recorded_and_asked_again(url):
    study = Study.create(url, "a", budget=8, tolerance=0.01, **PLAIN)
    first = study.ask()
    elsewhere = first.x + np.array([0.02, 0.0])
    assert study.tell(first.id, 1.0, x_deployed=elsewhere) == "failed"
    assert study.tell(first.id, 1.0, x_deployed=elsewhere) == "failed"
    again = study.ask()
    assert again.x.tobytes() == first.x.tobytes()
    assert study.tell(again.id, 1.0, x_deployed=again.x + np.array([0.005, 0.0])) == "complete"
    told, near = study.trials()
    assert (told.value, told.state) == (1.0, "failed")
    assert np.array_equal(told.x_deployed, elsewhere)
    assert "away from the asked point" in told.reason
    assert near.x_deployed is not None


def test_the_budget_is_never_passed_whatever_fails(url, clock):
    study = Study.create(url, "a", budget=11, max_failures=2, control_every=3, clock=clock, **PLAIN)

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


def test_maximizing_is_minimizing_the_negative(url):
    up = drive(Study.create(url, "up", budget=12, direction="maximize", **PLAIN), lambda t: -bowl(t))
    down = drive(Study.create(url, "down", budget=12, **PLAIN))
    assert np.array_equal(up.recommend().x, down.recommend().x)
    assert up.trials()[0].value == -down.trials()[0].value


def test_control_watches_the_world_and_moves_nothing(url, clock):
    study = Study.create(url, "a", budget=40, control_every=3, clock=clock, **PLAIN)

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
    plain = drive(Study.create(url, "b", budget=30, **{**PLAIN, "params": study.spec.params}))
    assert np.array_equal(study.recommend().x, plain.recommend().x)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_improvement_is_measured_by_fresh_deployments(url, direction):
    sign = 1 if direction == "minimize" else -1
    study = Study.create(url, "a", budget=60, reserve=20, direction=direction, **PLAIN)
    drive(study, lambda trial: sign * bowl(trial))
    assert study.recommend().improvement is None
    with pytest.raises(BudgetSpent, match="20 of them in reserve"):
        study.ask()
    drive(study, lambda trial: sign * bowl(trial), purpose="confirm")
    found = study.recommend()
    gain = found.improvement
    assert (gain.recommended.n, gain.start.n) == (10, 10)
    truth = study.spec.start @ study.spec.start - found.x @ found.x
    assert 0 < gain.sem < 0.1
    assert abs(gain.mean - truth) < 6 * gain.sem
    assert len(study.trials()) == 60


def test_a_new_recommendation_is_not_confirmed_by_old_values(url):
    study = Study.create(url, "a", budget=40, **PLAIN)
    for _ in range(6):
        trial = study.ask(purpose="confirm")
        study.tell(trial.id, bowl(trial))
    assert study.recommend().improvement is not None
    for trial in study.ask_many(2):
        study.tell(trial.id, bowl(trial))
    assert study.recommend().improvement is None


def test_extra_deployments_that_fail_or_expire_are_asked_again(url, clock):
    study = Study.create(url, "a", budget=40, clock=clock, **PLAIN)
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


def test_stationarity_of_the_recommendation(url):
    study = Study.create(url, "a", budget=200, reserve=100, **PLAIN)
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


def test_stationarity_where_events_are_rare(url, clock):
    """Without a range there is no bound from zeros; with one, from two pairs on, in order of completion."""
    study = Study.create(url, "a", budget=60, reserve=56, clock=clock, **PLAIN)
    drive(study)
    trials = study.ask_many(4, purpose="stationarity")
    with pytest.raises(ValueError, match="0 pairs are told at the present recommendation and 2 are needed"):
        study.stationarity(value_range=(0, 1))
    for trial, value in zip(reversed(trials), [0.0, 0.0, 0.0, 1.0], strict=True):
        clock.now += 1
        study.tell(trial.id, value)
    found = study.stationarity(value_range=(0, 1))
    pairs = [evaluation.direction(study.spec, point) for point in (1, 0)]  # the second was complete first
    wanted = from_pairs([0, 1], [0, 0], pairs, radius=study.spec.radius, value_range=(0, 1))
    assert found == wanted
    with pytest.raises(ValueError, match="2 pairs are told at the present recommendation and 10 are needed"):
        study.stationarity()
    drive(study, lambda trial: 0.0, purpose="stationarity")
    assert study.stationarity().epsilon is None
    assert study.stationarity(value_range=(0, 1)).epsilon > 0
    with pytest.raises(ValueError, match="value_range must hold for every value"):
        study.stationarity(value_range=(0, 0.5))


def test_the_summary_counts_every_state(url, clock):
    study = Study.create(url, "a", budget=20, clock=clock, **PLAIN)
    first, second = study.ask(), study.ask(holder="you")
    study.fail(first.id, "down")
    study.tell(study.ask().id, 1.0)
    summary = study.summary()
    assert summary.states == {**dict.fromkeys(STATES, 0), "pending": 1, "complete": 1, "failed": 1}
    assert (summary.spent, summary.answered, summary.size, summary.iterations) == (3, 1, 2, 0)
    assert [(h.id, h.holder) for h in summary.out] == [(second.id, "you")]
    json.dumps(summary.as_dict)


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_export_keeps_every_trial(url, tmp_path, suffix):
    study = Study.create(url, "a", budget=6, names=["p", "q"], **PLAIN)
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


def test_export_says_what_it_can_write(url, tmp_path):
    study = Study.create(url, "a", budget=6, **PLAIN)
    with pytest.raises(ValueError, match=r"\.csv, \.json, \.parquet"):
        study.export(tmp_path / "trials.xlsx")
