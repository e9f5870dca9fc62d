"""Scores of methods from their held-out runs, with intervals, and a test for every pair."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt.report.curves import grid_of
from driftopt.report.statistics import (
    Interval,
    difference_interval,
    holm,
    joint_test,
    mann_whitney,
    mean_interval,
    ranks,
    welch,
)
from driftopt.sweep import Tuned

LEVEL = 0.05


@dataclass(frozen=True)
class Score:
    """A method on an instance, over its held-out runs."""

    method: str  # as the tables call it
    instance: str  # its name
    mean: float  # of the objective over the runs
    median: float  # of the same, which few bad runs cannot move
    deviation: float  # the standard deviation over the runs
    interval: Interval  # 95 %; bootstrap, or Student's where runs are few
    runs: int  # the number of held-out runs
    diverged: int  # the number of them that diverged
    configurations: int  # the number to choose from
    parameters: Mapping[str, Any]  # the numbers of the one that was chosen
    best: bool  # the smallest mean
    tied: bool  # not significantly different from the best at the 5 % level, in means or in ranks
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
    p_rank: float  # Mann–Whitney
    p_rank_holm: float  # corrected in the same way
    lower: bool  # whether the first has the lower values: in means, or in ranks where these alone differ

    @property
    def winner(self) -> str | None:
        """The significantly better method; None if neither test separates the two after both corrections."""
        if not smaller_of_two(self.p_holm, self.p_rank_holm) < LEVEL:
            return None
        return self.one if self.lower else self.other


@dataclass(frozen=True)
class Standing:
    """A method over all instances."""

    method: str  # its label
    rank: float  # the mean over the instances of the rank of its mean objective; 1 is the best
    wins: int  # instances × other methods that are significantly worse, in means or in ranks
    ties: int  # without a significant difference
    losses: int  # significantly better


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

    def standings(self) -> tuple[list[Standing], float]:
        """Every method over all instances, and p of one joint test that all are as good."""
        means = np.array([[self.score(m, i).mean for m in self.methods] for i in self.instances])
        found: list[Standing] = []
        for method, rank in zip(self.methods, ranks(means).mean(axis=0).tolist(), strict=True):
            signs = [c.winner == method for c in self.contrasts if c.winner and method in (c.one, c.other)]
            count = sum(method in (c.one, c.other) for c in self.contrasts)
            found.append(Standing(method, rank, sum(signs), count - len(signs), len(signs) - sum(signs)))
        return found, joint_test(means)

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
    values = {
        (one.instance, one.method): tuned.held_out.where(instance=one.instance, method=one.method)
        for one in tuned.selected
    }
    samples = {key: runs.columns["objective"] for key, runs in values.items()}
    contrasts: list[Contrast] = []
    leaders: dict[str, str] = {}  # the method with the smallest mean of each instance
    separated: set[tuple[str, str]] = set()  # from it: multiple comparisons with the best
    for instance in dict.fromkeys(instance for instance, _ in samples):
        each = {method: sample for (i, method), sample in samples.items() if i == instance}
        leader = leaders[instance] = min(each, key=lambda method: float(each[method].mean()))
        pairs = list(itertools.combinations(each, 2))
        means, by_ranks = ([test(each[a], each[b]) for a, b in pairs] for test in (welch, mann_whitney))
        corrected = zip(means, holm(means), by_ranks, holm(by_ranks), strict=True)
        for (a, b), p in zip(pairs, corrected, strict=True):
            one, other = each[a], each[b]
            difference = float(one.mean() - other.mean()) if np.isfinite([*one, *other]).all() else np.nan
            lower = bool(np.mean(one[:, None] < other) > np.mean(one[:, None] > other))
            if np.isfinite(difference) and not p[1] > p[3]:
                lower = difference < 0
            contrasts.append(Contrast(instance, a, b, difference, difference_interval(one, other), *p, lower))
        best = [c for c in contrasts if c.instance == instance and leader in (c.one, c.other)]
        p_values = holm([smaller_of_two(c.p, c.p_rank) for c in best])
        for contrast, p in zip(best, p_values, strict=True):
            if p < LEVEL:
                separated |= {(instance, contrast.one), (instance, contrast.other)} - {(instance, leader)}
    scores: list[Score] = []
    for choice in tuned.selected:
        key = choice.instance, choice.method
        sample, finite = samples[key], bool(np.isfinite(samples[key]).all())
        scores.append(
            Score(
                choice.method,
                choice.instance,
                float(sample.mean()),
                float(np.median(sample)),
                float(sample.std(ddof=1)) if finite and len(sample) > 1 else float("nan"),
                mean_interval(sample),
                len(sample),
                int((~np.isfinite(sample)).sum()),
                choice.configurations,
                choice.parameters,
                best=finite and choice.method == leaders[choice.instance],
                tied=finite and key not in separated,
                luckiest=choice.method in luckiest,
                sees=(sees or {}).get(choice.method, "values"),
            )
        )
    return scores, contrasts


def smaller_of_two(*p_values: float) -> float:
    """p of two tests of one hypothesis: twice the smaller one, and the only one where the other is NaN."""
    known = [p for p in p_values if np.isfinite(p)]
    return min(1.0, len(known) * min(known)) if known else float("nan")
