"""A study with the model is a function of the set of results: their order does not count."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftopt.study import BudgetSpent, Conflict, Study, load
from driftopt.study.model_rule import results_of
from driftopt.study.trial import Place

PLAN = {"x0": [1.0, -0.5], "radius": 0.3, "rng": 7}
VALUES = (1.1, 0.9, 1.3, 1.0, 1.2, 0.8)


def cost(x, noise=0.0):
    return float(x @ x) + noise


def begun(clock):
    """A study with six results and six trials that are out."""
    study = Study.create("sqlite://", "a", outliers=False, lease=10.0, clock=lambda: clock[0], **PLAN)
    rng = np.random.default_rng(0)
    for _ in range(6):
        trial = study.ask()
        study.tell(trial.id, cost(trial.x, 0.1 * rng.standard_normal()))
    return study, [trial.id for trial in study.ask_many(6)]


def said(study, id, value, how, clock):
    """Report a result, the short way or a longer one; the fifth and the sixth value do not stand."""
    if how == "late":
        clock[0] += 20.0
    if value in VALUES[4:] and how == "straight":
        study.fail(id, "no stock")
        return
    study.tell(id, value + (how == "corrected"))
    if how == "voided" or value in VALUES[4:]:
        study.void(id, "the till was broken")
    if how == "doubted":
        study.hold(id) if study.trial(id).state == "complete" else None
    if value in VALUES[:4] and study.trial(id).state == "held":
        study.accept(id)
    if value in VALUES[:4] and study.trial(id).value != value:
        study.correct(id, value, "found the paper roll")


def outcome(study):
    """The next decision, and what is known."""
    found = study.recommend()
    return study.ask(new=True).x.tobytes(), found.x.tobytes(), found.gain, found.results


@pytest.fixture(scope="module")
def straight():
    clock = [0.0]
    study, ids = begun(clock)
    for id, value in zip(ids, VALUES, strict=True):
        said(study, id, value, "straight", clock)
    return outcome(study)


WAYS = st.sampled_from(["straight", "corrected", "voided", "doubted", "late"])


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(order=st.permutations(range(6)), ways=st.lists(WAYS, min_size=6, max_size=6))
def test_any_order_and_any_detour_to_the_same_results_gives_the_same_decision(straight, order, ways):
    clock = [0.0]
    study, ids = begun(clock)
    for k in order:
        said(study, ids[k], VALUES[k], ways[k], clock)
    assert outcome(study) == straight


def test_a_study_that_is_opened_again_decides_alike(any_url):
    plan = PLAN | {"outliers": False, "control_every": 3}
    watched = Study.create(any_url, "watched", **plan)
    Study.create(any_url, "opened", **plan)
    for _ in range(8):
        pair = watched.ask(), Study.open(any_url, "opened").ask()
        assert pair[0].x.tobytes() == pair[1].x.tobytes()
        watched.tell(pair[0].id, cost(pair[0].x))
        Study.open(any_url, "opened").tell(pair[1].id, cost(pair[1].x))
    assert [trial.kind for trial in watched.trials()] == (["control"] + ["method"] * 3) * 2
    assert Study.open(any_url, "opened").recommend().gain == watched.recommend().gain


def test_a_long_log_is_one_fold(sqlite_url):
    """Whoever reads all of it at once knows every result."""
    study, x = Study.create(sqlite_url, "a", **PLAN), np.array(PLAN["x0"])

    def written(log):
        for turn in range(5000):
            id = log.ask(Place("method"), x, None, "till", float(turn), None)
            log.say(id, "complete", float(turn), value=float(turn))

    study.transport.log.write(written)
    trials = Study.open(sqlite_url, "a").trials()
    assert [trial.value for trial in trials] == list(range(5000))
    assert study.verify() == 10_000


def test_any_number_of_trials_can_be_out_and_there_is_no_end(clock):
    study = Study.create("sqlite://", "a", clock=clock, **PLAN)
    assert len(study.ask_many(12)) == 12
    assert study.status().budget is None
    with pytest.raises(ValueError, match="without end"):
        study.extend(100)
    assert "12 deployments" in repr(study.summary())
    study.stop("enough")
    with pytest.raises(BudgetSpent, match="stopped"):
        study.ask()


@pytest.mark.parametrize("factor", [10.0, 0.1, -1.0])
def test_a_slip_is_held_until_someone_says_what_it_is(factor):
    """On either side, and without its sign: it moves nothing until it is accepted or corrected."""
    study = Study.create("sqlite://", "a", **PLAN)
    rng = np.random.default_rng(1)
    for _ in range(12):
        trial = study.ask()
        assert study.tell(trial.id, 100 + cost(trial.x, 0.1 * rng.standard_normal())) == "complete"
    trial = study.ask()
    value = 100 + cost(trial.x)
    assert study.tell(trial.id, factor * value) == "held"
    assert study.recommend().results == 12
    assert study.tell(trial.id, factor * value) == "held"
    with pytest.raises(Conflict):
        study.tell(trial.id, value)
    assert study.correct(trial.id, value) == "complete"
    assert study.recommend().results == 13


def test_outputs_make_the_value_and_are_kept(any_url, tmp_path):
    plan = {"x0": [3.0, 4.0], "radius": 0.3, "rng": 1, "direction": "maximize", "outputs": ["tea", "mug"]}
    objective = {"margin": {"cost": [1.0, 2.0], "fixed": 5.0}}
    study = Study.create(any_url, "a", objective=objective, **plan)
    for _ in range(3):
        trial = study.ask()
        assert study.tell(trial.id, outputs={"tea": 10.0, "mug": 20.0}) == "complete"
        assert study.tell(trial.id, outputs={"tea": 10.0, "mug": 20.0}) == "complete"
        with pytest.raises(Conflict):
            study.tell(trial.id, outputs={"tea": 11.0, "mug": 20.0})
    first = Study.open(any_url, "a").trials()[0]
    assert (first.outputs, first.value) == ({"tea": 10.0, "mug": 20.0}, 55.0)
    assert study.tell(study.ask().id, 50.0, outputs={"tea": 9.0, "mug": 19.0}) == "complete"
    study.correct(first.id, outputs={"tea": 12.0, "mug": 20.0})
    assert study.trial(first.id).value == 59.0
    study.export(tmp_path / "a.json")
    again = load("sqlite://", tmp_path / "a.json")
    arrays = results_of(again.spec, again.transport.read(lambda: again.transport.state.standing))
    assert arrays.outputs.tolist() == [[12.0, 20.0], [10.0, 20.0], [10.0, 20.0], [9.0, 19.0]]
    np.testing.assert_array_equal(arrays.value, [np.nan, np.nan, np.nan, 50.0])
    assert [trial.outputs for trial in again.trials()] == [trial.outputs for trial in study.trials()]
    assert again.recommend().gain == study.recommend().gain
    with pytest.raises(ValueError, match="value is needed, or outputs"):
        study.tell(study.ask().id)
    with pytest.raises(ValueError, match="none of them; they are tea, mug"):
        study.tell(study.ask(new=True).id, outputs={"cup": 1.0})


def test_a_limit_on_the_loss_is_kept_from_the_first_trial():
    """A cliff beside the start: without the limit, trials go over it."""

    def profit(x):
        return 100.0 - 40.0 * max(float(x[0]) - 1.0, 0.0) - 0.1 * float(x[1])

    worst = {}
    for loss in (0.03, None):
        study = Study.create("sqlite://", "a", direction="maximize", max_loss=loss, **PLAN | {"rng": 8})
        found = []
        for _ in range(14):
            trial = study.ask()
            found.append(profit(trial.x))
            study.tell(trial.id, found[-1])
        worst[loss] = (100.05 - min(found)) / 100.05
    assert worst[0.03] <= 0.03 < worst[None]


def test_contexts_come_with_every_question(any_url, tmp_path):
    study = Study.create(any_url, "a", contexts={"day": ["week", "sat"]}, **PLAN)
    with pytest.raises(ValueError, match="context is needed"):
        study.ask()
    with pytest.raises(ValueError, match="must be one of week, sat"):
        study.ask(context={"day": "sun"})
    for day in ("week", "sat", "week", "sat"):
        trial = study.ask(holder="till", context={"day": day})
        assert trial.context == {"day": day}
        study.tell(trial.id, cost(trial.x))
    assert [trial.context["day"] for trial in Study.open(any_url, "a").trials()] == ["week", "sat"] * 2
    study.export(tmp_path / "a.json")
    again = load("sqlite://", tmp_path / "a.json")
    here = {"context": {"day": "sat"}}
    assert again.recommend(**here).x.tobytes() == study.recommend(**here).x.tobytes()


WITHOUT_JAX = """
import sys
from driftopt.cli import app
from driftopt.study import Study
plan = {"x0": [1.0, -0.5], "budget": 8, "reserve": 2, "limits": {"calls": {"max": 9}}}
with Study.create(sys.argv[1], "a", **plan) as study:
    for _ in range(4):
        trial = study.ask()
        study.tell(trial.id, float(trial.x @ trial.x), metrics={"calls": 3})
    study.correct(1, 2.0)
    study.ask("confirm")
    study.recommend(), study.summary(), study.verify(), study.page()
for command in (["ask"], ["recommend"], ["trials"], ["show"]):
    app(["study", *command, sys.argv[1], "a"], result_action="return_value")
loaded = [name for name in sys.modules if name == "jax" or name.startswith("jax.")]
assert not loaded, loaded[:3]
"""


def test_a_study_with_the_model_needs_no_jax(tmp_path):
    command = [sys.executable, "-c", WITHOUT_JAX, str(tmp_path / "a.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
