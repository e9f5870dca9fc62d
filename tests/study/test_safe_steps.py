"""Safe steps: bounds and `max_change` hold for every asked point, whatever the values told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt import methods
from driftopt.oracle import Sight
from driftopt.study import BudgetSpent, Conflict, NothingToAsk, Study
from support.study_worlds import PLAIN, drive

# What a study can run: methods that see values, with the same batch in every iteration.
EXAMPLES = {name: methods.get(name, **methods.entry(name).example) for name in methods.names()}
VALUES_ALONE = [n for n, m in EXAMPLES.items() if m.sees in (Sight.VALUES, Sight.MEMORY) and not m.scheduled]

FAST = settings(max_examples=15, deadline=None, derandomize=True)


def steps(study):
    """Distances between consecutive deployments, the first being from the decision in force."""
    points = np.array([study.spec.start, *(trial.x for trial in study.trials())])
    return np.linalg.norm(np.diff(points, axis=0), axis=1)


def wild(study, rng):
    """Values of any size, in any order, with failures: the worst a world can do to the iterates."""
    while True:
        try:
            trials = study.ask_many(int(rng.integers(1, 4)))
        except BudgetSpent:
            return study
        for k in rng.permutation(len(trials)):
            if rng.random() < 0.2:
                study.fail(trials[k].id, "down")
            else:
                study.tell(trials[k].id, float(rng.standard_cauchy() * 10.0 ** rng.integers(-3, 6)))


@FAST
@given(
    seed=st.integers(0, 2**32),
    block=st.sampled_from([None, 1, 2, 9]),
    method=st.sampled_from(["zo-o2nc-2pt", "zo-o2nc-1pt"]),
    bounded=st.booleans(),
    control=st.sampled_from([None, 3]),
)
def test_no_deployment_is_further_than_allowed_from_the_last(seed, block, method, bounded, control):
    sides = [(0.9, 1.1), (None, -0.45)] if bounded else None
    study = Study.create(
        "sqlite://",
        "a",
        x0=[1.0, -0.5],
        budget=40,
        method=method,
        params={} if block is None else {"block": block},
        bounds=sides,
        max_change=0.2,
        max_failures=2,
        control_every=control,
        outliers=False,
        rng=seed,
    )
    wild(study, np.random.default_rng(seed))
    assert steps(study).max() <= 0.2
    if bounded:
        points = np.array([trial.x for trial in study.trials()])
        assert (points >= [0.9, -np.inf]).all()
        assert (points <= [1.1, -0.45]).all()


@pytest.mark.parametrize("method", ["zo-o2nc-2pt", "zo-o2nc-1pt"])
@pytest.mark.parametrize("block", [3, 8])
def test_the_limit_is_used_and_a_larger_radius_would_pass_it(method, block):
    """The bound is not idle: 1.5 times the radius, taken without the check, breaks the promise."""
    radius = 0.2 / (2 * (1 + 1 / block) * (1 + 1e-6))
    farthest = []
    for factor in (1.0, 1.5):
        params = {"radius": factor * radius, "block": block}
        study = Study.create(
            "sqlite://", "a", x0=[1.0, -0.5], budget=200, method=method, params=params, rng=3, outliers=False
        )
        farthest.append(steps(wild(study, np.random.default_rng(0))).max())
    assert farthest[0] <= 0.2 < farthest[1]


def test_a_method_of_unbounded_steps_cannot_promise():
    with pytest.raises(ValueError, match="bounded steps"):
        Study.create("sqlite://", "a", x0=[1.0], budget=40, method="zo-sph", max_change=1, params={"step": 1})


def test_control_and_confirmation_are_reached_in_allowed_steps_and_so_is_the_way_back():
    """Walking away from the start: control while its way is short, confirmation at any time."""
    study = Study.create(
        "sqlite://",
        "a",
        x0=[0.0],
        budget=400,
        max_change=0.3,
        reserve=60,
        method="zo-o2nc-2pt",
        params={"block": 4},
        control_every=4,
        rng=0,
    )
    drive(study, lambda trial: -10.0 * float(trial.x[0]))
    controls = [trial.id for trial in study.trials(kind="control")]
    assert controls
    assert max(controls) < 0.7 * study.recommend().spent
    assert abs(study.recommend().x[0]) > 3 * 0.3
    while study.recommend().improvement is None:
        trial = study.ask("confirm")
        study.tell(trial.id, -10.0 * float(trial.x[0]))
    assert {trial.kind for trial in study.trials()} == {"method", "control", "confirm", "way"}
    assert study.recommend().improvement.mean > 0
    assert steps(study).max() <= 0.3
    assert len(study.trials()) <= 400
    assert study.verify()


def anything(study, rng, holders=("ana", "bo")):
    """Every order of asks, tells, failures, late answers and corrections, for every purpose."""
    out = []
    for _ in range(60):
        try:
            act = rng.random()
            if act < 0.6:
                purpose = rng.choice(["method", "method", "method", "confirm", "stationarity"])
                holder = None if rng.random() < 0.5 else str(rng.choice(holders))
                out += study.ask_many(int(rng.integers(1, 4)), str(purpose), holder)
            elif out and act < 0.9:
                trial = out.pop(int(rng.integers(len(out))))
                study.tell(trial.id, float(rng.standard_cauchy() * 10.0 ** rng.integers(-3, 6)))
            elif out and act < 0.97:
                study.fail(out.pop(int(rng.integers(len(out)))).id, "down")
            elif done := study.trials(state="complete"):
                study.correct(done[int(rng.integers(len(done)))].id, float(rng.normal()))
        except (BudgetSpent, NothingToAsk, Conflict, ValueError):
            pass  # refused, and nothing was deployed
    return study


@FAST
@given(
    seed=st.integers(0, 2**32),
    control=st.sampled_from([None, 2, 5]),
    parallel=st.sampled_from([1, 2]),
    method=st.sampled_from([None, "zo-o2nc-2pt"]),
    kept=st.sampled_from(
        [
            {},
            {"bounds": [(0.5, 1.5), (None, 0.0)]},
            {"grid": [0.05, 0.1]},
            {"grid": [0.05, None], "bounds": [(0.5, 1.5), (-2, 0)]},
            {"constraints": {"A": [[1, 1]], "lb": 0.4, "ub": 0.6}},
            # All of it at once, with two budgets that the start uses up.
            {
                "grid": [0.05, 0.1],
                "bounds": [(0.5, 1.5), (-2, 0)],
                "constraints": {"A": [[1, 1], [2, 1]], "ub": [0.5, 1.5]},
            },
        ]
    ),
)
def test_no_order_of_asks_passes_the_limit(seed, control, parallel, method, kept):
    study = Study.create(
        "sqlite://",
        "a",
        x0=[1.0, -0.5],
        budget=70,
        reserve=20,
        max_change=0.4,
        max_failures=2,
        control_every=control,
        parallel=parallel if method else 1,
        outliers=False,
        rng=seed,
        method=method,
        **kept,
    )
    anything(study, np.random.default_rng(seed))
    points = np.array([trial.x for trial in study.trials()])
    assert steps(study).max() <= 0.4
    assert len(points) <= 70
    if "constraints" in kept and "grid" in kept:
        assert (points @ np.array([[1, 2], [1, 1]]) <= np.array([0.5, 1.5]) + 1e-9).all()
    assert (
        points.tobytes()
        == np.array([study.spec.space.report(study.spec.space.lift(x)) for x in points]).tobytes()
    )
    assert study.verify()


@FAST
@given(seed=st.integers(0, 2**32), method=st.sampled_from(VALUES_ALONE))
def test_bounds_hold_for_every_point_and_the_recommendation(seed, method):
    params = {"radius": 0.5, "step": 0.1} if "step" in methods.entry(method).parameters else {"radius": 0.5}
    box = [(0.0, 1.2), (-1.0, None)]
    study = Study.create(
        "sqlite://",
        "a",
        x0=[1.0, -0.5],
        budget=24,
        method=method,
        params=params,
        bounds=box,
        rng=seed,
        outliers=False,
    )
    wild(study, np.random.default_rng(seed))
    points = np.array([study.recommend().x, *(trial.x for trial in study.trials())])
    assert (points >= [0.0, -1.0]).all()
    assert (points <= [1.2, np.inf]).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"x0": [np.nan, 1.0]}, "x0"),
        ({"budget": 10, "reserve": 9}, "too small"),
        ({"reserve": 1, "max_change": 1.0}, "reserve"),
        ({"reserve": 5, "settle": 3, "max_change": 1.0}, "reserve"),
        ({"params": {}}, "radius is needed"),
        ({"params": {"radius": 0.1, "speed": 2}}, "no parameter speed"),
        ({"params": {"radius": [0.1, 0.2, 0.3]}}, "radius"),
        ({"grid": 0.3}, "is on no step of 0.3"),
        ({"constraints": {"A": [[1, 1]], "ub": 0}}, "x0 breaks row 0"),
        ({"grid": 0.5, "max_change": 0.5, "params": {}}, "max_change"),
        # A grid so coarse that nothing would move: radius 0.3, or what a narrow max_change leaves of it.
        ({"x0": [1, -1], "grid": 1}, "step 1 of x0 is more than twice the 0.3 by which a trial may move it"),
        ({"x0": [1, -1], "grid": [None, 1]}, "step 1 of x1 is more than twice"),
        ({"method": None, "params": {"speed": 2}}, "the model has no speed"),
        ({"method": None, "params": {}, "reserve": 2, "budget": None}, "give a budget"),
        ({"budget": None}, "plans for a budget"),
        ({"max_loss": 0.1}, "for the model alone"),
        ({"method": None, "params": {}, "outputs": ["tea"]}, "outputs need an objective"),
        ({"method": None, "params": {}, "objective": "sum"}, "objective needs outputs"),
        ({"method": None, "params": {}, "contexts": {"day": ["sat"]}}, "at least two categories"),
        ({"method": "zo-o2nc"}, "did you mean"),
        ({"bounds": [(0, 1), (0, 1)]}, "x0 is outside the bounds"),
        ({"parallel": 1001, "budget": 10**4}, "parallel"),
        (
            {"params": {"radius": 0.1, "directions": 10**6}, "budget": 10**8},
            "an iteration of zo-o2nc-2pt has 2000000 points of 2 coordinates, more than 2,000,000 numbers",
        ),
        ({"parallel": 2, "method": "zo-co", "params": {"radius": 1, "step": 1}}, "cannot be widened"),
    ],
)
def test_mistakes_are_said_at_the_door(wrong, words):
    with pytest.raises(ValueError, match=words):
        Study.create("sqlite://", "a", **{"budget": 40, **PLAIN, **wrong})


def test_the_model_is_used_where_values_are_few():
    assert Study.create("sqlite://", "a", x0=[1.0, -0.5]).spec.method == "model"
    assert Study.create("sqlite://", "a", x0=[1.0, -0.5], budget=64, method="auto").spec.method == "model"
    assert Study.create("sqlite://", "a", x0=[1.0, -0.5], budget=5000, radius=0.3).spec.method != "model"
    assert Study.create("sqlite://", "a", x0=[1.0] * 60, budget=64, radius=0.3).spec.method != "model"
    assert Study.create("sqlite://", "a", x0=[1.0], budget=5000, method="model").spec.method == "model"
