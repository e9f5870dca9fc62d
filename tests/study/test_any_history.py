"""Whatever happens to a study, a process that watched it and one that reads the whole log know the same."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftopt.drivers import host
from driftopt.study import BudgetSpent, NothingToAsk, Study
from driftopt.study.session import Session
from support.sessions import known
from support.study_worlds import PLAIN, bowl


def session(study):
    """What a new process knows of the study."""
    return Session(study.transport.log, study.name, study.spec, study.transport.clock)


ACTIONS = ("tell", "tell", "tell", "typo", "fail", "nan", "late", "correct", "void", "accept", "more", "stop")
HISTORIES = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 30), st.sampled_from(["method", "confirm"])),
    max_size=40,
)
WORLDS = st.sampled_from(
    [
        {"control_every": 5, "reserve": 4, "outliers": True},
        {"settle": 2, "outliers": True},
        {"params": {"radius": 0.3, "batch": 2}, "direction": "maximize", "max_failures": 2},
        {"parallel": 3, "max_failures": 1},
        {"max_change": 0.4, "params": {}, "control_every": 6, "reserve": 6},
        {"grid": 0.1, "bounds": [(-2, 2)] * 2, "constraints": {"A": [[1, 1]], "ub": [3]}},
        {"covariates": ["rain"]},
    ]
)


def act(study, action, turn, purpose, now):
    """One thing that may happen; what a study refuses leaves it as it was."""
    told = [t.id for t in study.trials() if t.state != "pending"]
    try:
        if action == "more":
            study.extend(study.status().budget + 2)
        elif action == "stop":
            if turn == 0:
                study.stop("enough")
        elif action in ("correct", "void", "accept"):
            if told:
                value = [2.5] if action == "correct" else []
                getattr(study, action)(told[turn % len(told)], *value)
        else:
            trial = study.ask(purpose)
            if action == "late":
                now[0] += 1e9
            elif action == "fail":
                study.fail(trial.id)
            else:
                value = {"typo": 1e6, "nan": math.nan}.get(action, bowl(trial))
                rain = {"rain": math.sin(trial.id)} if study.spec.covariates else None
                study.tell(trial.id, value, covariates=rain)
    except (BudgetSpent, NothingToAsk, ValueError):
        pass


@pytest.mark.filterwarnings("ignore::driftopt.study.Implausible")
@given(world=WORLDS, history=HISTORIES)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_who_watched_knows_what_the_whole_log_says(world, history):
    now = [0.0]
    study = Study.create("sqlite://", "a", budget=30, clock=lambda: now[0], **(PLAIN | world))
    for _ in range(14):
        act(study, "tell", 0, "method", now)
    for action, which, purpose in history:
        act(study, action, which, purpose, now)
    assert known(study.transport) == known(session(study))
    study.verify()


@pytest.mark.parametrize("taken", [False, True])
def test_after_an_interruption_answers_are_told_once_each(monkeypatch, taken):
    """Another worker has gone on; whoever asks then is stopped while it follows, and asks again."""
    study = Study.create("sqlite://", "a", budget=64, **PLAIN)
    for _ in range(5):
        study.tell(study.ask().id, 1.0)
    one = session(study)
    known(one)  # the first results
    for _ in range(22):
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    real = host.Host.replay

    def interrupted(self, values):
        """Ctrl-C comes once, before the method has taken the results or after it."""
        monkeypatch.setattr(host.Host, "replay", real)
        if taken:
            real(self, values)
        raise KeyboardInterrupt

    monkeypatch.setattr(host.Host, "replay", interrupted)
    with pytest.raises(KeyboardInterrupt):
        known(one)
    assert known(one) == known(session(study))
