"""Findings: sentences about the paper's claims, made from the numbers.

A claim about an order of means is "yes" if Welch's tests confirm all of it, "no" if they refute a part of it
after Holm's correction, and "undecided" otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftopt.paper.summary import PaperSummary, Result, title
from driftopt.report.numbers import NOTHING, fixed, listed
from driftopt.report.page import Finding, Verdict
from driftopt.report.statistics import Sample, holm, welch_of_averages

OPTION_ONE, OPTION_TWO, ONE_POINT, AUTO = "zo-o2nc-2pt", "zo-o2nc-1pt", "zo-og", "auto"
BASELINES = ("zo-co", "zo-sph", "zo-ga", "zo-og")
TUNED = (*BASELINES, OPTION_ONE, OPTION_TWO)
LEVEL = 0.05


def findings(summary: PaperSummary) -> list[Finding]:
    """The experiment's claims, checked on the methods that were run, each with its caveat."""
    checked = [f for name in summary.experiment.claims for f in CLAIMS[name](summary)]
    caveat = summary.experiment.caveat
    return [replace(f, claim=f"{f.claim} ({caveat})") if caveat else f for f in checked]


@dataclass(frozen=True)
class Contest:
    """Two methods on an instance: the first's advantage, and p of Welch's test or NaN."""

    below: float  # infinite where one of the two diverged
    p: float

    @property
    def won(self) -> bool:
        """True if the first is significantly lower."""
        return self.below == np.inf or (self.below > 0 and self.p < LEVEL)


def option_one_is_lowest(summary: PaperSummary) -> list[Finding]:
    """Option I against the paper's other methods; auto is not part of the paper's claim."""
    return _lowest(summary, OPTION_ONE, "Option I", [m for m in summary.methods if m in TUNED])


def auto_is_lowest(summary: PaperSummary) -> list[Finding]:
    """The method that needs no tuning against all tuned methods, which the paper does not claim."""
    return _lowest(summary, AUTO, "Not in the paper: auto, which needs no tuning,", summary.methods)


def _lowest(summary: PaperSummary, method: str, name: str, field: Sequence[str]) -> list[Finding]:
    """The claim that a method has the lowest objective of a field on every instance, and its rivals' wins."""
    rivals = [m for m in field if m != method]
    if method not in field or not rivals:
        return []
    instances, word = summary.experiment.instances, summary.experiment.instance_word.lower()
    pairs = [(i, rival) for i in instances for rival in rivals]
    contests = [_contest(summary, i, method, rival) for i, rival in pairs]
    corrected = dict(zip(pairs, holm([contest.p for contest in contests]), strict=True))
    means = {(i, m): _objective(summary, i, m).mean for i in instances for m in (method, *rivals)}
    lost: list[str] = []
    for i in instances:
        best = min((method, *rivals), key=lambda m: means[i, m])
        if means[i, best] < means[i, method] or not np.isfinite(means[i, method]):
            against = f"{fixed(means[i, best])} against {fixed(means[i, method])}"
            words = _in_words(corrected.get((i, best), np.nan), " after Holm’s correction")
            lost.append(f"{i}: {title(best)} {against}, {words}")
    lower = sum(c.won for c in contests)
    detail = f"it has the lowest mean on {len(instances) - len(lost)} of {len(instances)}"
    detail += f" ({'; '.join(lost)})" if lost else ""
    detail += f"; {lower} of {len(contests)} comparisons find it significantly lower"
    claim = f"{name} has the lowest {summary.objective.title.lower()} on every {word}"
    return [Finding(claim, _all_won(contests), detail)]


def option_two_is_below_one_point(summary: PaperSummary) -> list[Finding]:
    """Option II against the other method that queries one point, averaged over the instances."""
    if not {OPTION_TWO, ONE_POINT} <= set(summary.methods):
        return []
    word = summary.experiment.instance_word.lower()
    pairs = [
        tuple(_objective(summary, i, m) for m in (OPTION_TWO, ONE_POINT))
        for i in summary.experiment.instances
    ]
    low, high = (float(np.mean([pair[k].mean for pair in pairs])) for k in (0, 1))
    p = welch_of_averages([_sample(one) for one, _ in pairs], [_sample(other) for _, other in pairs])
    verdict: Verdict = "undecided" if not p < LEVEL else "yes" if low < high else "no"
    if np.isfinite(low) != np.isfinite(high):  # one of the two diverged, and the other did not
        verdict = "yes" if low < high else "no"
    detail = f"{fixed(low)} against {fixed(high)}, {_in_words(p)}"
    return [Finding(f"Option II is below {title(ONE_POINT)} on average over the {word}s", verdict, detail)]


def option_two_beats_the_baselines(summary: PaperSummary) -> list[Finding]:
    """The claim that Option II is below every baseline on more than half of the instances."""
    rivals = [m for m in BASELINES if m in summary.methods]
    if OPTION_TWO not in summary.methods or len(rivals) < len(BASELINES):
        return []
    instances, word = summary.experiment.instances, summary.experiment.instance_word.lower()
    verdicts = [_all_won([_contest(summary, i, OPTION_TWO, m) for m in rivals]) for i in instances]
    lower = [
        i
        for i in instances
        if all(_objective(summary, i, OPTION_TWO).mean < _objective(summary, i, m).mean for m in rivals)
    ]
    possible = len(instances) - verdicts.count("no")
    verdict: Verdict = "undecided"
    if 2 * verdicts.count("yes") > len(instances):
        verdict = "yes"
    elif 2 * possible <= len(instances):
        verdict = "no"
    detail = (
        f"its mean is below all four on {len(lower)} of {len(instances)}; significantly below all four on "
        f"{verdicts.count('yes')}, significantly above one of them on {verdicts.count('no')}"
    )
    return [Finding(f"Option II beats all four baselines on most {word}s", verdict, detail)]


def spreads(summary: PaperSummary) -> list[Finding]:
    """Our figures against the paper's: the objective's means cell by cell, and every metric in numbers."""
    found: list[Finding] = []
    for metric in summary.experiment.metrics:
        cells = {k: r for k, r in summary.results.items() if k[1] == metric.column and r.paper is not None}
        offsets = [r.offset for r in cells.values() if r.offset is not None]
        ratios = [r.deviation / r.paper.deviation for r in cells.values() if r.paper and r.deviation > 0]
        if not offsets:
            continue
        far = [
            f"{title(method)} on {instance} "
            + ("(diverged)" if r.offset is None else f"({fixed(r.offset, 2, sign=True)}, {r.mark})")
            for (instance, _, method), r in cells.items()
            if not r.within
        ]
        if metric is summary.objective:
            claim = f"Every mean {metric.title.lower()} lies within three standard errors of the paper’s"
            detail = f"{len(cells) - len(far)} of {len(cells)} do" + (f"; not {listed(far)}" if far else "")
            found.append(Finding(claim, "no" if far else "yes", detail))
        away = fixed(float(np.sqrt(np.mean(np.square(offsets)))), 2)
        spread = fixed(float(np.exp(np.mean(np.log(ratios)))), 2) if ratios else NOTHING
        detail = (
            f"our means are {away} standard errors from the paper’s (root mean square of {len(cells)} "
            f"cells), {len(far)} of them more than three; our standard deviations are {spread} of the "
            "paper’s (geometric mean)"
        )
        found.append(Finding(f"{metric.title} against the paper’s", "said", detail))
    return found


def _objective(summary: PaperSummary, instance: str, method: str) -> Result:
    """The final objective of a method on an instance."""
    return summary.results[instance, summary.objective.column, method]


def _contest(summary: PaperSummary, instance: str, one: str, other: str) -> Contest:
    first, second = _objective(summary, instance, one), _objective(summary, instance, other)
    if first.diverged and second.diverged:
        return Contest(0.0, np.nan)
    p = welch_of_averages([_sample(first)], [_sample(second)])
    return Contest(second.mean - first.mean, p)


def _sample(result: Result) -> Sample:
    return Sample(result.mean, result.deviation, result.runs)


def _all_won(contests: Sequence[Contest]) -> Verdict:
    """The verdict on the claim that one method is lower in all contests."""
    corrected = holm([contest.p for contest in contests])
    if any(
        c.below == -np.inf or (c.below < 0 and p < LEVEL) for c, p in zip(contests, corrected, strict=True)
    ):
        return "no"
    return "yes" if all(contest.won for contest in contests) else "undecided"


def _in_words(p: float, corrected: str = "") -> str:
    """A p-value in words."""
    if np.isnan(p):
        return "no test possible"
    return f"{'significant' if p < LEVEL else 'not significant'} (p = {p:.2g}{corrected})"


# The claims that an experiment may name.
CLAIMS: Mapping[str, Callable[[PaperSummary], list[Finding]]] = {
    "option one is lowest": option_one_is_lowest,
    "option two is below one-point": option_two_is_below_one_point,
    "option two beats the baselines": option_two_beats_the_baselines,
    "auto is lowest": auto_is_lowest,
    "spreads": spreads,
}
