"""The short of it: what the numbers say about the paper's claims, in sentences made from the numbers.

A claim about an order of means is "yes" where Welch's tests bear out all of it, "no" where they refute a part
of it after Holm's correction, and "not told apart" where the runs decide neither.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftopt.paper.appearance import title
from driftopt.paper.summary import PaperSummary, Result
from driftopt.report.numbers import fixed, listed
from driftopt.report.page import Finding, Verdict
from driftopt.report.statistics import Sample, holm, welch_of_averages

OPTION_ONE, OPTION_TWO, ONE_POINT, AUTO = "zo-o2nc-2pt", "zo-o2nc-1pt", "zo-og", "auto"
BASELINES = ("zo-co", "zo-sph", "zo-ga", "zo-og")
TUNED = (*BASELINES, OPTION_ONE, OPTION_TWO)
LEVEL = 0.05


def findings(summary: PaperSummary) -> list[Finding]:
    """The experiment's claims, checked where their methods were run, each with what it was checked on."""
    found = [f for name in summary.experiment.claims for f in CLAIMS[name](summary)]
    caveat = summary.experiment.caveat
    return [replace(f, claim=f"{f.claim} ({caveat})") if caveat else f for f in found]


@dataclass(frozen=True)
class Contest:
    """Two methods on an instance: how far the first is below the second, and p of Welch's test, or NaN."""

    below: float  # infinite where one of the two diverged
    p: float

    @property
    def won(self) -> bool:
        """The first is lower, told apart."""
        return self.below == np.inf or (self.below > 0 and self.p < LEVEL)


def option_one_is_lowest(summary: PaperSummary) -> list[Finding]:
    """Of the paper's methods; whoever needs no tuning is not part of its claim."""
    return _lowest(summary, OPTION_ONE, "Option I", [m for m in summary.methods if m in TUNED])


def auto_is_lowest(summary: PaperSummary) -> list[Finding]:
    """The method that needs no tuning, against all that were tuned: no claim of the paper."""
    return _lowest(summary, AUTO, "Not in the paper: auto, which needs no tuning,", summary.methods)


def _lowest(summary: PaperSummary, method: str, name: str, field: Sequence[str]) -> list[Finding]:
    """Whether a method of the field has the lowest objective on every instance, and where not, who has."""
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
    told = sum(c.won for c in contests)
    detail = f"it has the lowest mean on {len(instances) - len(lost)} of {len(instances)}"
    detail += f" ({'; '.join(lost)})" if lost else ""
    detail += f"; {told} of {len(contests)} comparisons tell it apart as lower"
    claim = f"{name} has the lowest {summary.objective.title.lower()} on every {word}"
    return [Finding(claim, _all_won(contests), detail)]


def option_two_is_below_one_point(summary: PaperSummary) -> list[Finding]:
    """The two methods that query one point, averaged over the instances."""
    if not {OPTION_TWO, ONE_POINT} <= set(summary.methods):
        return []
    word = summary.experiment.instance_word.lower()
    pairs = [
        tuple(_objective(summary, i, m) for m in (OPTION_TWO, ONE_POINT))
        for i in summary.experiment.instances
    ]
    low, high = (float(np.mean([pair[k].mean for pair in pairs])) for k in (0, 1))
    p = welch_of_averages([_sample(one) for one, _ in pairs], [_sample(other) for _, other in pairs])
    verdict: Verdict = "not told apart" if not p < LEVEL else "yes" if low < high else "no"
    if np.isfinite(low) != np.isfinite(high):  # one of the two diverged, and the other did not
        verdict = "yes" if low < high else "no"
    detail = f"{fixed(low)} against {fixed(high)}, {_in_words(p)}"
    return [Finding(f"Option II is below {title(ONE_POINT)} on average over the {word}s", verdict, detail)]


def option_two_beats_the_baselines(summary: PaperSummary) -> list[Finding]:
    """On more than half of the instances, below every baseline."""
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
    verdict: Verdict = "not told apart"
    if 2 * verdicts.count("yes") > len(instances):
        verdict = "yes"
    elif 2 * possible <= len(instances):
        verdict = "no"
    detail = (
        f"its mean is below all four on {len(lower)} of {len(instances)}; told apart from all four on "
        f"{verdicts.count('yes')}, told apart as higher than one of them on {verdicts.count('no')}"
    )
    return [Finding(f"Option II beats all four baselines on most {word}s", verdict, detail)]


def spreads(summary: PaperSummary) -> list[Finding]:
    """Our means against the paper's: each against its own cell, and against its method's whole row."""
    column = summary.objective.column
    compared = {key: r for key, r in summary.results.items() if key[1] == column and r.paper}
    return [_within_each_cell(summary, compared), _within_the_table(summary, compared)] if compared else []


def _within_each_cell(summary: PaperSummary, compared: Mapping[tuple[str, str, str], Result]) -> Finding:
    """The strict reading: each mean against the cell of the same name."""
    outside = {key: result for key, result in compared.items() if not result.within}
    named = [
        f"{title(m)} on {i} ({fixed(r.offset, 2, sign=True)} sd, {r.mark})" if r.offset is not None
        else f"{title(m)} on {i} (diverged)"
        for (i, _, m), r in outside.items()
    ]  # fmt: skip
    return Finding(
        f"Every mean {summary.objective.title.lower()} lies within the paper’s mean ± deviation",
        "no" if outside else "yes",
        f"{len(compared) - len(outside)} of {len(compared)} do" + (f"; not {listed(named)}" if named else ""),
    )


def _within_the_table(summary: PaperSummary, compared: Mapping[tuple[str, str, str], Result]) -> Finding:
    """Each mean against its method's whole row: the paper's splits are other draws than ours of that name.

    The row is the published one, whichever instances were run.
    """
    column, spread = summary.objective.column, dict[str, tuple[float, float]]()
    for figures in summary.experiment.published.values():
        for method, (mean, deviation) in figures[column].items():
            low, high = spread.get(method, (np.inf, -np.inf))
            spread[method] = min(low, mean - deviation), max(high, mean + deviation)
    outside = [
        f"{title(method)} on {instance}"
        for (instance, _, method), result in compared.items()
        if not spread[method][0] <= result.mean <= spread[method][1]
    ]
    what, word = summary.objective.title.lower(), summary.experiment.instance_word.lower()
    return Finding(
        f"Every mean {what} lies within its method’s spread over all the paper’s {word}s",
        "no" if outside else "yes",
        f"{len(compared) - len(outside)} of {len(compared)} do"
        + (f"; not {listed(outside)}" if outside else ""),
    )


def _objective(summary: PaperSummary, instance: str, method: str) -> Result:
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
    """Whether one method is lower in all contests: each is told apart so, one the other way, or neither."""
    corrected = holm([contest.p for contest in contests])
    if any(
        c.below == -np.inf or (c.below < 0 and p < LEVEL) for c, p in zip(contests, corrected, strict=True)
    ):
        return "no"
    return "yes" if all(contest.won for contest in contests) else "not told apart"


def _in_words(p: float, corrected: str = "") -> str:
    if np.isnan(p):
        return "no test possible"
    return f"{'told apart' if p < LEVEL else 'not told apart'} (p = {p:.2g}{corrected})"


# What an experiment may name among its claims.
CLAIMS: Mapping[str, Callable[[PaperSummary], list[Finding]]] = {
    "option one is lowest": option_one_is_lowest,
    "option two is below one-point": option_two_is_below_one_point,
    "option two beats the baselines": option_two_beats_the_baselines,
    "auto is lowest": auto_is_lowest,
    "spreads": spreads,
}
