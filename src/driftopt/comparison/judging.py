"""Scores of methods from their held-out runs, with intervals, and a test for every pair."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftopt.report.curves import grid_of
from driftopt.report.statistics import Interval, difference_interval, holm, mean_interval, welch
from driftopt.sweep import Tuned

LEVEL = 0.05

Values = Mapping[tuple[str, str], np.ndarray]  # (instance, method) → final objectives of the held-out runs


@dataclass(frozen=True)
class Score:
    """A method on an instance, over its held-out runs."""

    method: str  # as the tables call it
    instance: str  # its name
    mean: float  # of the objective over the runs
    deviation: float  # the standard deviation over the runs
    interval: Interval  # 95 %; bootstrap, or Student's where runs are few
    runs: int  # the number of held-out runs
    diverged: int  # the number of them that diverged
    configurations: int  # the number to choose from
    parameters: Mapping[str, Any]  # the numbers of the one that was chosen
    best: bool  # the smallest mean
    tied: bool  # not significantly different from the best at the 5 % level
    luckiest: bool = False  # judged at the best value it has seen: it recommends nothing else
    sees: str = "values"  # the information that the method gets, in words


@dataclass(frozen=True)
class Contrast:
    """Two methods on an instance: mean(one) − mean(other)."""

    instance: str  # its name
    one: str  # a method
    other: str  # another method
    difference: float  # of the mean objectives; negative: the first is better
    interval: Interval  # 95 %; bootstrap, or Student's where runs are few
    p: float  # Welch
    p_holm: float  # corrected for the number of pairs on this instance


@dataclass(frozen=True)
class Judged:
    """Scores, contrasts and the runs behind them."""

    scores: Sequence[Score]  # one for each method and instance
    contrasts: Sequence[Contrast]  # one for each pair of methods and instance
    tuned: Tuned  # the runs behind them
    budget: int  # queries of each run
    best_known: Mapping[str, float]  # by instance, where the problem knows its optimum
    starts: Mapping[str, float]  # the objective at 0 queries by instance, for a Problem
    every: int  # queries between two points of a curve

    @property
    def grid(self) -> np.ndarray:
        """The counts of queries at which all curves are shown."""
        return grid_of(self.budget, self.every)

    def score(self, method: str, instance: str | None = None) -> Score:
        """One method's score, by default on the first instance."""
        for score in self.scores:
            if score.method == method and instance in (None, score.instance):
                return score
        known = ", ".join(f"{score.method} on {score.instance}" for score in self.scores)
        where = "" if instance is None else f" on {instance!r}"
        raise ValueError(f"no score of {method!r}{where}; there are {known}")

    @property
    def instances(self) -> list[str]:
        """The instances' names in order."""
        return list(dict.fromkeys(score.instance for score in self.scores))

    @property
    def methods(self) -> list[str]:
        """The methods' labels in order."""
        return list(dict.fromkeys(score.method for score in self.scores))

    def on(self, instance: str) -> tuple[list[Score], list[Contrast]]:
        """The scores and contrasts of one instance."""
        scores = [score for score in self.scores if score.instance == instance]
        return scores, [contrast for contrast in self.contrasts if contrast.instance == instance]


def judge(
    tuned: Tuned, luckiest: Sequence[str] = (), sees: Mapping[str, str] | None = None
) -> tuple[list[Score], list[Contrast]]:
    """Scores and contrasts of all methods on all instances.

    Args:
        tuned: the runs.
        luckiest: labels of methods that report nothing but the best value seen.
        sees: label → the information that the method gets, if it is more than values.
    """
    chosen = [(choice.instance, choice.method) for choice in tuned.selected]
    values = {
        (instance, method): tuned.held_out.where(instance=instance, method=method).columns["objective"]
        for instance, method in chosen
    }
    instances = list(dict.fromkeys(instance for instance, _ in chosen))
    contrasts: list[Contrast] = []
    for instance in instances:
        pairs = list(itertools.combinations([method for i, method in values if i == instance], 2))
        samples = [(values[instance, one], values[instance, other]) for one, other in pairs]
        p_values = [welch(one, other) for one, other in samples]
        for pair, (one, other), p, corrected in zip(pairs, samples, p_values, holm(p_values), strict=True):
            finite = np.isfinite([*one, *other]).all()
            difference = float(one.mean() - other.mean()) if finite else float("nan")
            interval = difference_interval(one, other)
            contrasts.append(Contrast(instance, *pair, difference, interval, p, corrected))
    shown = sees or {}
    scores = [
        replace(one, luckiest=one.method in luckiest, sees=shown.get(one.method, one.sees))
        for one in _scores(tuned, values, contrasts)
    ]
    return scores, contrasts


def _scores(tuned: Tuned, values: Values, contrasts: Sequence[Contrast]) -> list[Score]:
    """One score for each method and instance."""
    best: dict[str, str] = {}
    for instance in dict.fromkeys(instance for instance, _ in values):
        means = {method: float(v.mean()) for (i, method), v in values.items() if i == instance}
        best[instance] = min(means, key=lambda method: means[method])
    different = {(c.instance, frozenset((c.one, c.other))) for c in contrasts if c.p_holm < LEVEL}
    scores: list[Score] = []
    for choice in tuned.selected:
        sample = values[choice.instance, choice.method]
        leader, finite = best[choice.instance], bool(np.isfinite(sample).all())
        scores.append(
            Score(
                choice.method,
                choice.instance,
                float(sample.mean()),
                float(sample.std(ddof=1)) if finite and len(sample) > 1 else float("nan"),
                mean_interval(sample),
                len(sample),
                int((~np.isfinite(sample)).sum()),
                choice.configurations,
                choice.parameters,
                best=finite and choice.method == leader,
                tied=finite and (choice.instance, frozenset((choice.method, leader))) not in different,
            )
        )
    return scores
