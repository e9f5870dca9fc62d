"""The way between two decisions in allowed steps: on the grid, within bounds and constraints, to the end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt.space import Space
from driftopt.space.grid import DecisionGrid
from driftopt.study import BudgetSpent, Study
from support.study_worlds import bowl


def walked(space, here, there, limit):
    """Every decision on the way; the last is `there`."""
    way = [here]
    while space.distance(way[-1], there) > limit:
        way.append(space.toward(way[-1], there, limit))
        assert len(way) < 500, "the way does not end"
    return np.array([*way, there])


@st.composite
def worlds(draw):
    """Rows with one side each; every coordinate uses up all of them, or frees them all."""
    dim = draw(st.integers(2, 4))
    signs = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=dim, max_size=dim)))
    sizes = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=dim, max_size=dim)
    rows = np.array(draw(st.lists(sizes.filter(any), min_size=1, max_size=3))) * signs
    steps = draw(st.lists(st.sampled_from([0.1, 0.25, 1.0]), min_size=dim, max_size=dim))
    rules = {"A": rows.tolist(), "ub": [draw(st.sampled_from([0.0, 0.5, 2.0]))] * len(rows)}
    box = [(-4, 4)] * dim
    return Space.build(np.zeros(dim), bounds=box, constraints=rules, grid=steps), rules, np.array(steps)


@given(worlds(), st.integers(0, 2**32 - 1), st.sampled_from([1.001, 1.7]))
@settings(max_examples=150, deadline=None)
def test_every_step_is_on_the_grid_and_keeps_the_constraints(world, seed, wide):
    space, rules, steps = world
    here, there = space.deploy(np.random.default_rng(seed).uniform(-4, 4, (2, space.dim)), (seed,))
    limit = wide * space.stride
    way = walked(space, here, there, limit)
    assert (np.linalg.norm(np.diff(way, axis=0), axis=1) <= limit * (1 + 1e-12)).all()
    assert np.abs(way / steps - np.rint(way / steps)).max() < 1e-6
    assert (way @ np.array(rules["A"]).T <= np.array(rules["ub"]) + 1e-9).all()
    assert (np.abs(way) <= 4).all()


PLACES = [
    {},
    {"bounds": [(-2, 2), (None, 1.5)]},
    {"units": [0.1, 3.0]},
    {"grid": [0.25, None], "bounds": [(-2, 2), (-1, 3)]},
    {"constraints": {"A": [[1, 2]], "lb": [-2], "ub": [3]}},
    {"grid": 0.5, "constraints": {"A": [[1, 1], [3, 1]], "ub": [2, 4]}},
    {
        "units": [0.5, 2.0],
        "grid": [0.5, 0.25],
        "bounds": [(-2, 2), (None, 3)],
        "constraints": {"A": [[-1, 1]], "ub": [1]},
    },
]


@given(st.sampled_from(PLACES), st.integers(0, 2**32 - 1), st.sampled_from([1.01, 1.5, 4.0]))
@settings(max_examples=150, deadline=None)
def test_every_way_ends(place, seed, wide):
    space = Space.build([1.0, 0.5], **place)
    here, there = space.deploy(np.random.default_rng(seed).uniform(-9, 9, (2, 2)), (seed,))
    walked(space, here, there, wide * (space.stride or 0.7))


def test_the_straight_line_alone_would_break_them(monkeypatch):
    """The twin: along a limit, whole steps of the straight line fall outside."""
    space = Space.build(
        [0.0, 0.0], bounds=[(-4, 4)] * 2, constraints={"A": [[1, -1]], "ub": [0]}, grid=[1, 0.25]
    )
    here, there = np.array([-3.0, -3.0]), np.array([3.0, 3.0])
    way = walked(space, here, there, 1.1)
    assert (way[:, 0] <= way[:, 1]).all()
    monkeypatch.setattr(DecisionGrid, "detour", lambda self, here, there, point: None)
    straight = space.toward(np.array([3.0, 3.0]), np.array([-3.0, -3.0]), 1.1)
    assert straight[0] > straight[1]


@pytest.mark.parametrize("method", ["model", "walk", "zo-o2nc-2pt"])
def test_a_study_keeps_max_change_grid_and_constraints_at_once(method):
    arguments = {"grid": [0.05, 0.1], "bounds": [(-2, 2)] * 2, "constraints": {"A": [[1, -1]], "lb": [0.5]}}
    plan = {
        "budget": 100,
        "reserve": 20,
        "control_every": 9,
        "max_change": 0.5,
        "method": method,
        "rng": 3,
        "outliers": False,
    }
    study = Study.create("sqlite://", "a", x0=[1.0, -0.5], **plan, **arguments)
    for purpose in ("method", "confirm"):
        try:
            while True:
                trial = study.ask(purpose)
                study.tell(trial.id, bowl(trial))
        except BudgetSpent:
            pass
    asked = np.array([trial.x for trial in study.trials()])
    assert np.linalg.norm(np.diff(asked, axis=0), axis=1).max() <= 0.5 * (1 + 1e-9)
    assert (asked[:, 0] - asked[:, 1]).min() >= 0.5 - 1e-9
    assert np.abs(asked / [0.05, 0.1] - np.rint(asked / [0.05, 0.1])).max() < 1e-9
    assert study.trials(kind="confirm")


@pytest.mark.parametrize(
    "rules",
    [
        {"A": [[1, 1]], "lb": [1], "ub": [1]},
        {"A": [[1, -2]], "lb": [0], "ub": [0.5]},
        {"A": [[1, -1], [-1, 2]], "ub": [0, 0]},
    ],
)
def test_constraints_that_may_leave_no_way_are_refused_at_creation(rules):
    where = {"x0": [0.0, 0.0] if rules["A"][0] != [1, 1] else [0.0, 1.0], "grid": 0.5, "constraints": rules}
    with pytest.raises(ValueError, match="leave a way of single steps"):
        Study.create("sqlite://", "a", budget=60, max_change=2.0, **where)
