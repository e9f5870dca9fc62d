"""Worlds for studies to live in: values that depend on the trial's place alone, however often it is asked."""

import numpy as np

from driftopt.study import BudgetSpent

PLAIN = {"x0": [1.0, -0.5], "method": "zo-o2nc-2pt", "params": {"radius": 0.3}, "rng": 7}


def bowl(trial, noise=0.1, seed=0):
    """‖x‖² with noise that is a function of (kind, iteration, draw, point, sample)."""
    place = (len(trial.kind), trial.iteration, trial.draw, trial.point, trial.sample)
    return float(trial.x @ trial.x) + noise * np.random.default_rng([seed, *place]).standard_normal()


def about_20(trial):
    """About 20, and a function of the place alone: whatever was deployed, two studies hear the same."""
    place = (len(trial.kind), trial.iteration, trial.draw, trial.point, trial.sample)
    return 20 + float(np.random.default_rng(place).standard_normal())


def drive(study, world=bowl, **how):
    """Ask and tell until the budget is spent."""
    while True:
        try:
            trial = study.ask(**how)
        except BudgetSpent:
            return study
        study.tell(trial.id, world(trial))


def states(study):
    return {trial.id: trial.state for trial in study.trials()}
