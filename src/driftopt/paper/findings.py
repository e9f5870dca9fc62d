"""The short of it: what the numbers say about the paper's claims, in sentences made from the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from driftopt.paper.summary import Cell, Summary, title
from driftopt.paper.tables import number, number_short

OPTION_ONE, OPTION_TWO, ONE_POINT = "zo-o2nc-2pt", "zo-o2nc-1pt", "zo-og"
BASELINES = ("zo-co", "zo-sph", "zo-ga", "zo-og")


@dataclass(frozen=True)
class Finding:
    """A claim, whether our numbers bear it out, and the numbers."""

    claim: str
    holds: bool
    detail: str


def findings(summary: Summary) -> list[Finding]:
    """The paper's claims for this experiment, checked; for the splits also the spread of every cell."""
    experiment, column = summary.experiment, summary.objective.column
    word = experiment.instance_word.lower()
    tuned = [m for m in summary.methods if m in (*BASELINES, OPTION_ONE, OPTION_TWO)]
    baselines = [m for m in BASELINES if m in summary.methods]
    mean = {
        (instance, method): summary.cells[instance, column, method].mean
        for instance in experiment.instances
        for method in summary.methods
    }
    out: list[Finding] = []
    if OPTION_ONE in tuned:
        out.append(_lowest(summary, mean, tuned))
    if {OPTION_TWO, ONE_POINT} <= set(tuned):
        average = {m: float(np.mean([mean[i, m] for i in experiment.instances])) for m in tuned}
        out.append(
            Finding(
                f"Option II is below {title(ONE_POINT)} on average over the {word}s",
                average[OPTION_TWO] < average[ONE_POINT],
                f"{number(average[OPTION_TWO])} against {number(average[ONE_POINT])}",
            )
        )
    if experiment.name == "pricing" and OPTION_TWO in tuned:
        beats = [i for i in experiment.instances if all(mean[i, OPTION_TWO] < mean[i, m] for m in baselines)]
        out.append(
            Finding(
                "Option II beats all four baselines on most weeks",
                2 * len(beats) > len(experiment.instances),
                f"it does on {len(beats)} of {len(experiment.instances)}",
            )
        )

    compared = {key: cell for key, cell in summary.cells.items() if key[1] == column and cell.paper}
    if compared:
        out += [_within_each_cell(summary, compared), _within_the_table(summary, compared)]
    return out


def _within_each_cell(summary: Summary, compared: Mapping[tuple[str, str, str], Cell]) -> Finding:
    """The strict reading: each mean against the cell of the same name."""
    outside = {key: cell for key, cell in compared.items() if not cell.within}
    named = ", ".join(
        f"{title(m)} on {i} ({number_short(cell.offset)} sd)"
        if cell.offset is not None
        else f"{title(m)} on {i}"
        for (i, _, m), cell in outside.items()
    )
    return Finding(
        f"Every mean {summary.objective.title.lower()} lies within the paper's mean ± deviation",
        not outside,
        f"{len(compared) - len(outside)} of {len(compared)} do" + (f"; not {named}" if named else ""),
    )


def _within_the_table(summary: Summary, compared: Mapping[tuple[str, str, str], Cell]) -> Finding:
    """Each mean against its method's whole row: the paper's splits are other draws than ours of that name."""
    spread: dict[str, tuple[float, float]] = {}
    for (_, _, method), cell in compared.items():
        assert cell.paper is not None
        low, high = spread.get(method, (np.inf, -np.inf))
        mean, deviation = cell.paper
        spread[method] = min(low, mean - deviation), max(high, mean + deviation)
    outside = [
        f"{title(method)} on {instance}"
        for (instance, _, method), cell in compared.items()
        if not spread[method][0] <= cell.mean <= spread[method][1]
    ]
    what, word = summary.objective.title.lower(), summary.experiment.instance_word.lower()
    return Finding(
        f"Every mean {what} lies within its method's spread over all the paper's {word}s",
        not outside,
        f"{len(compared) - len(outside)} of {len(compared)} do"
        + (f"; not {', '.join(outside)}" if outside else ""),
    )


def _lowest(summary: Summary, mean: Mapping[tuple[str, str], float], tuned: Sequence[str]) -> Finding:
    """Whether Option I has the lowest objective everywhere, and where not, who has."""
    instances = summary.experiment.instances
    others = [i for i in instances if any(mean[i, m] < mean[i, OPTION_ONE] for m in tuned)]
    lost: list[str] = []
    for i in others:
        better = min(tuned, key=lambda m: mean[i, m])
        numbers = f"{number(mean[i, better])} against {number(mean[i, OPTION_ONE])}"
        lost.append(f"{i}: {title(better)} {numbers}, {_apart(summary, i, better)}")
    word = summary.experiment.instance_word.lower()
    return Finding(
        f"Option I has the lowest {summary.objective.title.lower()} on every {word}",
        not others,
        f"it has on {len(instances) - len(others)} of {len(instances)}"
        + (f" ({', '.join(lost)})" if lost else ""),
    )


def _apart(summary: Summary, instance: str, better: str) -> str:
    """Whether the runs can tell a better method from Option I: Welch's test on the cells."""
    one, other = (summary.cells[instance, summary.objective.column, m] for m in (better, OPTION_ONE))
    if (
        one.diverged
        or other.diverged
        or one.deviation + other.deviation == 0
        or min(one.runs, other.runs) < 2
    ):
        return "no test possible"
    tested: Any = stats.ttest_ind_from_stats(
        one.mean, one.deviation, one.runs, other.mean, other.deviation, other.runs, equal_var=False
    )
    p = float(tested.pvalue)
    return f"{'told apart' if p < 0.05 else 'not told apart'} by {one.runs} runs each (p = {p:.2g})"
