"""Findings: sentences about the paper's claims that follow from the cells."""

from dataclasses import replace

import numpy as np
import pytest

from driftopt.paper import protocol
from driftopt.paper.findings import findings
from driftopt.paper.published import Figure
from driftopt.paper.summary import PaperSummary, Result, naive_accuracy
from driftopt.problems import StrategicClassification
from support import paper_runs


def summary(
    means: dict[str, list[float]],
    deviation: float = 0.05,
    runs: int = 20,
    paper: list[Figure] | None = None,
    claims: tuple[str, ...] = ("option one is lowest", "option two is below one-point", "spreads"),
    **facts,
) -> PaperSummary:
    """Splits 101, 102, … with these means; `paper` is the published row of every method."""
    count = len(next(iter(means.values())))
    table = {
        split: {"train_loss": dict.fromkeys(means, figure)}
        for split, figure in zip(protocol.SPLITS, paper or [], strict=False)
    }
    splits = protocol.SPLITS[:count]
    experiment = replace(paper_runs.strategic(splits=splits), claims=claims, published=table, **facts)
    results = {}
    for k, instance in enumerate(splits):
        for method, values in means.items():
            fine = bool(np.isfinite(values[k]))
            results[instance, "train_loss", method] = Result(
                experiment.metrics[0],
                values[k],
                deviation if fine else np.nan,
                runs,
                diverged=0 if fine else 1,
                paper=table.get(instance, {}).get("train_loss", {}).get(method),
            )
    return PaperSummary(experiment, tuple(means), results, {}, dict.fromkeys(splits, 0.4), [])


GOOD = {"zo-og": [0.7] * 4, "zo-o2nc-2pt": [0.6] * 4, "zo-o2nc-1pt": [0.65] * 4}


def test_the_claims_hold_where_the_runs_bear_them_out():
    lowest, second = findings(summary(GOOD))
    assert lowest.verdict == "yes"
    assert lowest.detail.endswith("on 4 of 4; 8 of 8 comparisons find it significantly lower")
    assert second.verdict == "yes"
    assert second.detail.startswith("0.6500 against 0.7000, significant (p = ")


def test_a_claim_that_the_runs_cannot_decide_is_neither_held_nor_refuted():
    """Lowest everywhere or not: where noise is as large as the differences, the answer is the same."""
    near = {**GOOD, "zo-o2nc-1pt": [0.65, 0.599, 0.65, 0.65]}
    (lowest, _) = findings(summary(near))
    assert lowest.verdict == "undecided"
    assert lowest.detail.startswith(
        "it has the lowest mean on 3 of 4 (102: ZO-O2NC (Option II) 0.5990 against 0.6000, not significant"
    )
    noisy = findings(summary(GOOD, deviation=0.5))
    assert [finding.verdict for finding in noisy] == ["undecided", "undecided"]
    single = findings(summary(GOOD, runs=1))
    assert [finding.verdict for finding in single] == ["undecided", "undecided"]
    assert "no test possible" in single[1].detail


def test_one_split_that_is_lost_for_certain_refutes_the_claim():
    far = {**GOOD, "zo-o2nc-1pt": [0.65, 0.45, 0.65, 0.65]}
    (lowest, _) = findings(summary(far))
    assert lowest.verdict == "no"
    assert "against 0.6000, significant (p = " in lowest.detail
    above = {**GOOD, "zo-o2nc-1pt": [0.8] * 4}
    assert findings(summary(above))[1].verdict == "no"


def test_a_diverged_method_never_wins():
    lost = {**GOOD, "zo-o2nc-2pt": [0.6, np.inf, 0.6, 0.6]}
    (lowest, _) = findings(summary(lost))
    assert lowest.verdict == "no"
    assert "∞, no test possible" in lowest.detail
    both = {**GOOD, "zo-og": [0.7, np.inf, 0.7, 0.7]}
    lowest, second = findings(summary(both))
    assert (lowest.verdict, second.verdict) == ("yes", "yes")  # the other one is infinitely bad
    assert [f.verdict for f in findings(summary({m: [np.inf] * 4 for m in GOOD}))] == ["undecided"] * 2


def test_most_weeks_are_more_than_half_of_them():
    claims = ("option two beats the baselines",)
    base = {m: [0.7] * 4 for m in ("zo-co", "zo-sph", "zo-ga", "zo-og")}
    for values, verdict in (
        ([0.6, 0.6, 0.6, 0.9], "yes"),
        ([0.6, 0.6, 0.9, 0.9], "no"),
        ([0.6, 0.6, 0.7, 0.9], "undecided"),
    ):
        (found,) = findings(summary({**base, "zo-o2nc-1pt": values}, claims=claims))
        assert found.verdict == verdict
    assert "its mean is below all four on 2 of 4; significantly below all four on 2" in found.detail


@pytest.mark.parametrize(("value", "verdict"), [(0.61, "yes"), (0.7, "no")])
def test_means_are_compared_with_the_papers_in_standard_errors(value, verdict):
    """Both deviations are 0.1 over 20 runs: a standard error of 0.0316, three of which are 0.095."""
    paper = [Figure(0.60, 0.1)] * 4
    strict, _ = findings(summary({"zo-sph": [value, 0.6, 0.6, 0.6]}, deviation=0.1, paper=paper))
    assert strict.verdict == verdict
    assert strict.detail == (
        "4 of 4 do" if verdict == "yes" else "3 of 4 do; not ZO-SPH on 101 (+3.16, worse)"
    )


def test_a_spread_that_is_not_the_papers_is_said():
    """The accuracy rows: means agree, and our standard deviation is a quarter of the paper's."""
    paper = [Figure(0.60, 0.2)] * 2
    _, numbers = findings(summary({"zo-sph": [0.6, 0.6]}, deviation=0.05, paper=paper))
    assert numbers.verdict == "said"
    assert "are 0.00 standard errors from the paper’s (root mean square of 2 cells), 0 of" in numbers.detail
    assert numbers.detail.endswith("our standard deviations are 0.25 of the paper’s (geometric mean)")


def test_naive_rounding_flips_coins_for_people_on_the_boundary():
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(2000, 6)), np.ones(2000)
    problem = StrategicClassification.from_arrays(x, labels, x, labels, tau=2.0)
    weights = np.append(rng.normal(size=6), -0.3)
    exact, (naive,) = float(problem.metrics(weights).test_accuracy), naive_accuracy(problem, weights[None])
    scores = x @ weights[:-1] + weights[-1]
    moved = np.mean((scores < 0) & (scores**2 <= 2 * weights[:-1] @ weights[:-1]))
    assert moved > 0.3
    assert exact - 0.9 * moved < naive < exact - 0.1 * moved  # some of those who moved, not all
