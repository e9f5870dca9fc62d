"""Findings: sentences about the paper's claims that follow from the cells."""

import numpy as np
import pytest

from driftopt.paper.findings import findings
from driftopt.paper.published import Figure
from driftopt.paper.summary import Cell, Summary
from support import paper_runs


def summary(
    means: dict[str, list[float]], deviation: float = 0.05, runs: int = 20, paper: list[Figure] | None = None
) -> Summary:
    experiment = paper_runs.strategic()
    methods = tuple(means)
    cells = {}
    for k, instance in enumerate(experiment.instances):
        for method in methods:
            value = means[method][k]
            fine = bool(np.isfinite(value))
            cells[instance, "train_loss", method] = Cell(
                *(value, deviation if fine else np.nan, runs, 0 if fine else 1, False),
                *(paper[k] if paper else None, None),
            )
    return Summary(experiment, methods, cells, {}, dict.fromkeys(experiment.instances, 0.4), [])


GOOD = {"zo-og": [0.7] * 4, "zo-o2nc-2pt": [0.6] * 4, "zo-o2nc-1pt": [0.65] * 4}


def test_the_claims_hold_where_they_hold():
    lowest, second = findings(summary(GOOD))
    assert lowest.holds
    assert lowest.detail == "it has on 4 of 4"
    assert second.holds
    assert second.detail == "0.6500 against 0.7000"


def test_one_lost_split_breaks_the_claim_and_is_named_with_its_weight():
    near = {**GOOD, "zo-o2nc-1pt": [0.65, 0.599, 0.65, 0.65]}
    (lowest, _) = findings(summary(near))
    assert not lowest.holds
    assert lowest.detail.startswith(
        "it has on 3 of 4 (102: ZO-O2NC (Option II) 0.5990 against 0.6000, not told"
    )
    far = {**GOOD, "zo-o2nc-1pt": [0.65, 0.45, 0.65, 0.65]}
    assert ", told apart by 20 runs each" in findings(summary(far))[0].detail


@pytest.mark.parametrize("bad", [np.inf])
def test_a_diverged_method_never_wins(bad):
    lost = {**GOOD, "zo-o2nc-2pt": [0.6, bad, 0.6, 0.6]}
    (lowest, _) = findings(summary(lost))
    assert not lowest.holds
    assert "∞, no test possible" in lowest.detail


def test_the_untuned_method_is_not_part_of_the_papers_claim():
    assert findings(summary({**GOOD, "auto": [0.1] * 4}))[0].holds


@pytest.mark.parametrize(
    ("value", "each", "whole"), [(0.69, True, True), (0.61, False, True), (0.5, False, False)]
)
def test_spreads_are_compared_cell_by_cell_and_over_the_whole_row(value, each, whole):
    """Split 101 of the paper spreads from 0.68 to 0.72; the method's whole row from 0.58 to 0.72."""
    paper = [Figure(0.70, 0.02), Figure(0.60, 0.02), Figure(0.65, 0.01), Figure(0.65, 0.01)]
    means = {"zo-sph": [value, 0.6, 0.65, 0.65]}
    strict, wide = findings(summary(means, paper=paper))[-2:]
    assert (strict.holds, wide.holds) == (each, whole)
    assert strict.detail.startswith("4 of 4" if each else "3 of 4 do; not ZO-SPH on 101")
    assert wide.detail == ("4 of 4 do" if whole else "3 of 4 do; not ZO-SPH on 101")


def test_a_diverged_mean_is_within_no_spread():
    paper = [Figure(0.70, 0.02)] * 4
    strict, wide = findings(summary({"zo-sph": [np.inf, 0.7, 0.7, 0.7]}, paper=paper))[-2:]
    assert not strict.holds
    assert not wide.holds
