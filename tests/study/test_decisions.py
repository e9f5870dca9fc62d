"""Decisions as they are deployed: units, grid and constraints in a study, its replay and its commands."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt.cli import app
from driftopt.study import BudgetSpent, Study
from support.study_worlds import bowl

FAST = settings(max_examples=10, deadline=None, derandomize=True)
SHOP = {
    "x0": [2.2, 5.4, 12.0],
    "radius": [0.2, 0.5, 2.0],
    "bounds": [(1, 5), (2, 12), (4, 20)],
    "constraints": {"A": [[1, -1, 0], [1, 1, 0.5]], "ub": [-1, 15]},
    "grid": [0.05, 0.1, 1],
    "rng": 3,
}


def allowed(points, spec=SHOP):
    counts = points / np.array(spec["grid"])
    on_grid = np.abs(counts - np.rint(counts)) <= 1e-9 * (1 + np.abs(counts))
    low, high = np.array(spec["bounds"]).T
    rows, limits = np.array(spec["constraints"]["A"]), spec["constraints"]["ub"]
    kept = (points @ rows.T <= np.array(limits) + 1e-9 * 20).all()
    return on_grid.all() and (points >= low).all() and (points <= high).all() and kept


@FAST
@given(st.integers(0, 2**32), st.sampled_from([None, "zo-o2nc-2pt"]))
def test_every_asked_point_and_the_recommendation_can_be_deployed(seed, method):
    study = Study.create(
        "sqlite://",
        "a",
        **{**SHOP, "rng": seed},
        budget=36,
        reserve=6,
        control_every=7,
        method=method,
        outliers=False,
    )
    rng = np.random.default_rng(seed)
    while True:
        try:
            trial = study.ask()
        except BudgetSpent:
            break
        if rng.random() < 0.2:
            study.fail(trial.id, "down")
        else:
            study.tell(trial.id, float(rng.standard_cauchy() * 10.0 ** rng.integers(-3, 5)))
    for purpose in ("confirm", "stationarity", "stationarity"):
        study.tell(study.ask(purpose).id, 1.0)
    assert allowed(np.array([study.recommend().x, *(trial.x for trial in study.trials())]))


def test_the_replay_gives_the_same_decisions_bit_for_bit(sqlite_url):
    """Two studies, one reopened before every step, with failures and a correction."""
    plan = SHOP | {"method": "zo-o2nc-2pt", "budget": 40, "max_failures": 1, "outliers": False}
    kept = Study.create(sqlite_url, "kept", **plan)
    Study.create(sqlite_url, "reopened", **plan)
    for turn in range(24):
        again = Study.open(sqlite_url, "reopened")
        pair = kept.ask(), again.ask()
        assert pair[0].x.tobytes() == pair[1].x.tobytes()
        for study, trial in zip((kept, again), pair, strict=True):
            if turn in (5, 6):
                study.fail(trial.id, "down")
            else:
                study.tell(trial.id, bowl(trial))
            if turn == 15:
                done = [t.id for t in study.trials(state="complete")]
                study.correct(done[2], 1.5)
        again.close()
    assert kept.verify() == Study.open(sqlite_url, "reopened").verify()
    assert kept.recommend().x.tolist() == Study.open(sqlite_url, "reopened").recommend().x.tolist()


def test_a_decision_on_the_asked_cell_is_no_failure():
    study = Study.create("sqlite://", "a", **SHOP, budget=36, method="zo-o2nc-2pt")
    first = study.ask()
    assert study.tell(first.id, 1.0, x_deployed=np.add(first.x, [0.025, -0.05, 0.5])) == "complete"
    second = study.ask()
    assert study.tell(second.id, 1.0, x_deployed=np.add(second.x, [0.05, 0, 0])) == "failed"


def test_the_command_line_takes_them(tmp_path):
    path = str(tmp_path / "shop.db")
    command = [
        "study",
        "create",
        path,
        "shop",
        "--x0",
        "2.2,9.99,12",
        "--budget",
        "40",
        "--radius",
        "0.2,0.5,2",
    ]
    command += ["--grid", "0.05,0.5@9.99,", "--constraints", '{"A": [[1, -1, 0]], "ub": [-1]}', "--rng", "1"]
    app([*command, "--json"], result_action="return_value")
    study = Study.open(path, "shop")
    assert study.spec.space.given["grid"] == [0.05, [0.5, 9.99], None]
    assert study.spec.space.given["units"] == [0.2, 0.5, 2.0]
