"""Reports on covariates: the share of noise that each explains, and a test that no decision moves it."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt.answers.answers import Answers
from driftopt.answers.covariates import Covariates, Learnt

SUSPECT = 0.001  # a p-value below this is a warning
_FEWEST = 8  # differences


class CovariateWarning(UserWarning):
    """A covariate moves with the decision: taking out what it explains may take out what is optimised."""


@dataclass(frozen=True)
class Effect:
    """The report on one covariate."""

    name: str
    known: int  # answers with it
    effect: float  # β̂, of the value for one more of it; 0: it explains nothing and is not used
    p_value: float | None  # of its correlation with the decision; None: too few answers

    @property
    def moves_with_the_decision(self) -> bool:
        """True if it is correlated with the decision beyond chance."""
        return self.p_value is not None and self.p_value < SUSPECT

    @property
    def warning(self) -> str:
        """The warning in words."""
        return (
            f"the covariate {self.name!r} moves with the decision (p = {self.p_value:.1g}): taking out what "
            "it explains may take out what is optimised; leave it out, unless the decision cannot move it"
        )


def warn_of(effects: Mapping[str, Effect]) -> None:
    """Warn of covariates that move with the decision, at the line that called our caller."""
    for one in effects.values():
        if one.moves_with_the_decision:
            warnings.warn(one.warning, CovariateWarning, stacklevel=3)


def found(answers: Answers, memory: Any, history: Mapping[str, np.ndarray]) -> dict[str, Effect]:
    """The reports on a run's covariates, by name.

    Args:
        answers: the run's steps.
        memory: the memory of these steps.
        history: x (n, d), covariates (n, k) and the iteration of each, in the order asked.
    """
    step = next(step for step in answers.steps if isinstance(step, Covariates))
    learnt: Learnt = answers.memory_of(memory, Covariates)
    given = history["covariates"]
    return {
        name: Effect(
            name,
            int(np.isfinite(column).sum()),
            float(learnt.effects[i]),
            p_value(history["x"], column, history["iteration"], len(step.names)),
        )
        for i, (name, column) in enumerate(zip(step.names, given.T, strict=True))
    }


def p_value(x: np.ndarray, covariate: np.ndarray, iteration: np.ndarray, tests: int = 1) -> float | None:
    """The p-value of the hypothesis that a covariate does not move with the decision, one of `tests`.

    Differences between consecutive answers of an iteration, of the covariate and of each coordinate: the
    method draws the latter at random, so that nothing but the decision's own work makes them correlated, no
    trend and no season. With r the correlation about 0 of n differences, t = r √(n/(1 − r²)) on n degrees of
    freedom; the least p-value of d coordinates counts d times, and `tests` times.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(40, 2))
    >>> p_value(x, x[:, 1] + rng.normal(size=40), np.arange(40) // 2) < 0.01
    True
    """
    from scipy import special  # scipy.stats takes three times as long to import

    if len(x) < _FEWEST:
        return None
    # Within iterations, unless each has one answer.
    same = iteration[1:] == iteration[:-1]
    same = same if same.any() else np.ones(len(x) - 1, bool)
    change, steps = np.diff(covariate)[same], np.diff(x, axis=0)[same]
    known = np.isfinite(change)
    change, steps = change[known], steps[known]
    moved = np.abs(steps).max(axis=1, initial=0.0) > 0
    change, steps, n = change[moved], steps[moved], int(moved.sum())
    if n < _FEWEST or not np.abs(change).max(initial=0.0) > 0:
        return None
    # Ranks' signs would waste much; huge numbers are brought to size so that no square overflows.
    change = change / np.abs(change).max()
    steps = steps / np.where(np.abs(steps).max(axis=0) > 0, np.abs(steps).max(axis=0), 1)
    lengths = np.sqrt((steps**2).sum(axis=0) * (change**2).sum())
    r = np.abs(change @ steps) / np.where(lengths > 0, lengths, 1)
    largest = min(float(r.max()), 1 - 1e-15)
    t = largest * math.sqrt(n / (1 - largest**2))
    return float(min(1.0, 2 * special.stdtr(n, -t) * x.shape[1] * tests))


def of_trials(names: Sequence[str], trials: Sequence[Any]) -> dict[str, np.ndarray]:
    """The history of a study's trials that count."""
    told = [trial for trial in trials if trial.kind == "method" and trial.state == "complete"]
    dim = len(told[0].x) if told else 0
    rows = [[trial.covariates.get(name, math.nan) for name in names] for trial in told]
    return {
        "x": np.array([trial.x for trial in told], np.float64).reshape(len(told), dim),
        "covariates": np.array(rows, np.float64).reshape(len(told), len(names)),
        "iteration": np.array([trial.iteration for trial in told]),
    }
