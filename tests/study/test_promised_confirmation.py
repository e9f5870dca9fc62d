"""Under `max_change` with a reserve, a confirming pair can be paid at any moment, whatever has happened."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt.study import BudgetSpent, Conflict, NothingToAsk, Study, approach

LIMIT = 0.4
SPACES = [
    {},
    {"bounds": [(-1.5, 1.5), (None, 1.0)]},
    {"grid": [0.05, 0.1]},
    {"grid": [0.05, None], "bounds": [(-1.5, 1.5), (-2, 1)]},
    {"constraints": {"A": [[1, 1]], "ub": 0.7}},
    {
        "grid": [0.05, 0.1],
        "bounds": [(-1.5, 1.5), (-2, 1)],
        "constraints": {"A": [[1, 1], [2, 1]], "ub": [0.5, 1.5]},
    },
    {"grid": [0.05, 0.1], "constraints": {"A": [[1, -1]], "lb": [0.2]}},
]


@st.composite
def plans(draw):
    """Arguments of a study, and the seed of all that happens to it."""
    settle = draw(st.sampled_from([1, 1, 2]))
    return {
        "settle": settle,
        "method": draw(st.sampled_from(["auto", "zo-o2nc-2pt"])),
        "parallel": draw(st.sampled_from([1, 2])) if settle == 1 else 1,
        "control_every": draw(st.sampled_from([None, 3])),
        "guard": None,
        "reserve": draw(st.sampled_from([2, 7])) * settle,
        "max_failures": draw(st.sampled_from([1, 3])),
        **draw(st.sampled_from(SPACES)),
    }, draw(st.integers(0, 2**32))


class World:
    """A study to which anything happens; it knows whether the last deployment was the method's own."""

    def __init__(self, plan, seed):
        self.rng = np.random.default_rng(seed)
        self.slope = self.rng.normal(size=2) * self.rng.choice([0, 10])
        self.study = Study.create(
            "sqlite://", "a", x0=[0.25, 0.0], budget=60, max_change=LIMIT, rng=seed % 97, **plan
        )
        self.promised = True

    def value(self, trial):
        """Down a slope, so that the walk goes far, or noise alone; now and then of any size."""
        wild = self.rng.standard_cauchy() * 10.0 ** self.rng.integers(-3, 6)
        usual = self.slope @ trial.x + 0.1 * self.rng.standard_normal()
        return float(wild if self.rng.random() < 0.05 else usual)

    def ask(self, purpose="method"):
        before = self.study.status().spent
        try:
            self.study.ask_many(int(self.rng.integers(1, 4)), purpose)
        finally:
            if self.study.status().spent > before:
                self.promised = purpose == "method"

    def answer(self, trial, failures):
        if self.rng.random() < failures:
            self.study.fail(trial.id, "down")
        else:
            self.study.tell(trial.id, self.value(trial))

    def act(self):
        """One of all that can be done."""
        act, rng, out = self.rng.random(), self.rng, self.study.trials(state="pending")
        if act < 0.45:
            self.ask("method" if rng.random() < 0.95 else str(rng.choice(["confirm", "stationarity"])))
        elif out and act < 0.9:
            self.answer(out[int(rng.integers(len(out)))], 0.1)
        elif act < 0.98:
            self.amend()
        elif self.study.status().budget < 70:
            self.study.extend(self.study.status().budget + 5)

    def amend(self):
        done = self.study.trials(state=str(self.rng.choice(["complete", "held"])))
        if not done:
            return
        trial, how = done[int(self.rng.integers(len(done)))], self.rng.random()
        if how < 0.5:
            self.study.correct(trial.id, self.value(trial))
        elif how < 0.8:
            self.study.void(trial.id)
        else:
            self.study.accept(trial.id)

    def run(self, acts):
        """So many acts, then the method's deployments to the end, answered or not."""
        for _ in range(acts):
            with suppress(BudgetSpent, NothingToAsk, Conflict, ValueError):  # refused: nothing was deployed
                self.act()
        failures = self.rng.choice([0, 0.1, 0.5])
        for _ in range(80):
            try:
                self.ask()
            except BudgetSpent:
                break
            except NothingToAsk:
                pass
            for trial in self.study.trials(state="pending"):
                self.answer(trial, failures)
        if self.study.spec.settle > 1:
            for trial in self.study.trials(state="pending"):
                self.study.fail(trial.id, "nobody looked")

    def turn_round(self):
        """All that was told is corrected: the recommendation is then on quite another side of the start."""
        slope = 10 * self.rng.normal(size=2)
        for trial in self.study.trials(kind="method", state="complete"):
            self.study.correct(trial.id, slope @ trial.x)

    def confirm(self):
        """The pair, each answered at once; BudgetSpent where it cannot be paid."""
        while True:
            trial = self.study.ask("confirm")
            self.study.tell(trial.id, 0.0)
            if trial.kind == "confirm" and trial.sample == 1:
                return trial


def confirmed(planned, acts, turned):
    """What happens, and at the end the pair, if the method's own deployments were the last."""
    world = World(*planned)
    world.run(acts)
    if turned:
        world.turn_round()
    if world.promised:
        trial = world.confirm()
        assert np.array_equal(trial.x, world.study.recommend().x)
    return world.study


@settings(max_examples=15, deadline=None, derandomize=True)
@given(plans(), st.integers(0, 40), st.booleans())
def test_whatever_happens_the_limit_holds_and_the_pair_is_paid(planned, acts, turned):
    study = confirmed(planned, acts, turned)
    points = np.array([study.spec.start, *(trial.x for trial in study.trials())])
    assert max(map(study.spec.space.distance, points[1:], points[:-1])) <= LIMIT * (1 + 1e-12)
    assert len(points) - 1 <= study.status().budget


def corrected_at_last():
    """A world of noise keeps the walk at home until all that was told is corrected to a slope."""
    confirmed(({"reserve": 2, "guard": None}, 1), 0, True)


def failing_at_the_end():
    """Far from the start, with every deployment of the last iterations failing once."""
    study = Study.create(
        "sqlite://", "a", x0=[0.0], budget=60, max_change=LIMIT, reserve=2, rng=0, guard=None
    )
    tries = 0
    while True:
        try:
            trial = study.ask()
        except BudgetSpent:
            break
        tries = tries + 1 if study.status().spent > 40 else 0
        study.fail(trial.id, "down") if tries % 2 else study.tell(trial.id, -10.0 * trial.x[0])
    while (trial := study.ask("confirm")).kind != "confirm" or trial.sample == 0:
        study.tell(trial.id, 0.0)


@pytest.mark.parametrize("story", [corrected_at_last, failing_at_the_end])
def test_what_was_kept_by_estimate_was_not_enough(story, monkeypatch):
    """The twin: with as many deployments kept as the last decision alone would take, the pair is not paid."""
    story()
    monkeypatch.setattr(approach, "farthest_way", lambda *_: 0)
    with pytest.raises(BudgetSpent, match="confirm"):
        story()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget": 12, "parallel": 4}, "a budget of 12 is too small: max_change 0.4 keeps"),
        # A continuous coordinate may have to give way to a rounded one by any length.
        ({"grid": [0.05, None], "constraints": {"A": [[1, 0.001]], "ub": [1]}}, "it may be anywhere"),
        (
            {"grid": 0.05, "bounds": [(0, 0.52), (0, None)], "constraints": {"A": [[1, 1]], "ub": [1]}},
            "anywhere",
        ),
    ],
)
def test_a_promise_that_cannot_be_kept_is_refused_at_creation(given, words):
    plan = {"x0": [0.25, 0.0], "budget": 60, "max_change": LIMIT, "reserve": 2, "rng": 0}
    with pytest.raises(ValueError, match=words):
        Study.create("sqlite://", "a", **{**plan, **given})
    Study.create("sqlite://", "a", **{**plan, **given, "reserve": 0})


def test_where_an_extension_is_longer_than_the_first_budget_ways_are_counted_to_their_end():
    study = Study.create("sqlite://", "a", x0=[0.0], budget=10, max_change=0.1, rng=0)
    far = np.array([5.0])
    assert approach.ways(study.spec, study.spec.start, far, 100) == 50 - 1 + 1
