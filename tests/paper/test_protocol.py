"""The protocol is the paper's: grids, budgets, seeds, data, and a part of it says that it is one."""

import numpy as np
import pytest

from driftopt.data.cache import DataError
from driftopt.paper import protocol, published
from driftopt.paper.scope import Scope
from driftopt.sweep import cutting


@pytest.fixture(scope="module")
def full():
    """The full protocol on generated data."""
    return protocol.strategic(data="stand-in"), protocol.pricing(data="stand-in")


def test_the_grids_budgets_and_runs_are_the_papers(full):
    strategic, pricing = full
    assert [len(g) for g in strategic.grids][:6] == [45, 45, 45, 45, 180, 180]
    assert [len(g) for g in pricing.grids][:6] == [60, 60, 60, 60, 180, 180]
    assert (strategic.budget, pricing.budget) == (30_000, 5_000)
    assert (len(strategic.development), len(strategic.held_out)) == (5, 20)
    assert (len(pricing.development), len(pricing.held_out)) == (3, 10)
    assert strategic.instances == ("101", "102", "103", "104")
    assert len(pricing.instances) == 4
    np.testing.assert_array_equal(strategic.problems[0].x0, np.ones(12))
    np.testing.assert_array_equal(pricing.problems[0].x0, np.full(30, 0.5))


@pytest.mark.parametrize("quick", [False, True])
def test_development_and_held_out_seeds_never_meet(quick):
    for build in (protocol.strategic, protocol.pricing):
        e = build(scope=Scope(quick=quick), data="stand-in")
        assert not set(e.development) & set(e.held_out)
        assert max(e.development) < protocol.FIRST_HELD_OUT_SEED <= min(e.held_out)


def test_only_coordinate_differences_with_batch_100_cannot_run_on_prices(full):
    for experiment, dear in zip(full, ({}, {"zo-co": 20}), strict=True):
        dim = experiment.problems[0].dim
        found = {}
        for grid in experiment.grids:
            able = [cutting.feasible(grid.method(i), dim, experiment.budget) for i in range(len(grid))]
            if not all(able):
                found[grid.label] = able.count(False)
        assert found == dear


def test_generated_data_say_so_and_real_data_can_be_demanded(full, monkeypatch, tmp_path):
    assert all(not experiment.real for experiment in full)
    assert all(experiment.caveat == "on generated data, not the paper’s" for experiment in full)
    monkeypatch.setenv("DRIFTOPT_DATA", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "file:///nowhere")
    with pytest.raises(ValueError, match="data"):
        protocol.strategic(data="imaginary")
    monkeypatch.setattr(protocol, "load_week", _no_week)
    with pytest.raises(DataError, match="not in"):
        protocol.pricing(data="real")
    assert not protocol.pricing(data="auto", weeks=["2022-08"]).real


def _no_week(week, *, allow_fetch=False):
    raise DataError(f"prices_{week}.csv is not in the cache")


def test_other_splits_run_without_figures_of_the_paper_and_are_named():
    e = protocol.strategic(splits=["101", "105"], data="stand-in")
    assert e.instances == ("101", "105")
    assert e.changes == ("splits 101 and 105",)
    assert e.size.startswith("PARTIAL run (splits 101 and 105), 5 development and 20 held-out runs")
    assert "105" not in published.STRATEGIC
    assert "105" not in protocol.BEST_DECISIONS


@pytest.mark.parametrize("splits", [["one"], ["-1"], ["1.5"], [str(2**32)]])
def test_a_split_is_a_seed(splits):
    with pytest.raises(ValueError, match="a split is a whole number such as 101"):
        protocol.strategic(splits=splits, data="stand-in")


def test_a_week_that_is_not_published_is_refused():
    with pytest.raises(ValueError, match="week"):
        protocol.pricing(weeks=["2022-99"], data="stand-in")
    with pytest.raises(ValueError, match="every split once"):
        protocol.strategic(splits=["101", "0101"], data="stand-in")
