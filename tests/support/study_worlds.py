"""Worlds for studies to live in: values that depend on the trial's place alone, however often it is asked."""

import numpy as np

from driftopt.study import BudgetSpent

PLAIN = {"x0": [1.0, -0.5], "method": "zo-o2nc-2pt", "params": {"radius": 0.3}, "rng": 7, "outliers": False}


def bowl(trial, noise=0.1, seed=0):
    """‖x‖² with noise that is a function of (kind, iteration, point, sample)."""
    place = (len(trial.kind), trial.iteration, trial.point, trial.sample)
    return float(trial.x @ trial.x) + noise * np.random.default_rng([seed, *place]).standard_normal()


def drive(study, world=bowl, **how):
    """Ask and tell until the budget is spent."""
    while True:
        try:
            trial = study.ask(**how)
        except BudgetSpent:
            return study
        study.tell(trial.id, world(trial))


def answer_the_long_way(study, trial, world=bowl):
    """Tell a trial its value at last: some are told wrong and corrected, some voided or held in between."""
    turn = trial.id % 7 if trial.kind == "method" else None
    study.tell(trial.id, world(trial) + (turn == 2))
    if turn == 4:
        study.void(trial.id, "the till was broken")
    if turn == 6:
        study.hold(trial.id, "a fair?")
    put_right(study, study.trial(trial.id), world)


def put_right(study, trial, world=bowl):
    """What is left to do until a trial that was answered has its value; True where something was."""
    if trial.state == "held":
        study.accept(trial.id, "a fair")
    elif trial.state == "voided" or trial.value != world(trial):
        study.correct(trial.id, world(trial), "found the paper roll")
    else:
        return False
    return True


def extend_halfway(study, budget):
    """Once half of a budget is spent, allow all of it."""
    now = study.status()
    if now.spent >= now.budget // 2 and now.budget < budget:
        study.extend(budget, "it goes well")


def states(study):
    return {trial.id: trial.state for trial in study.trials()}
