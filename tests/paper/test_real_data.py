"""On the real data: the paper's start, the published features, and methods that improve."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt import data
from driftopt.data.credit import generate_credit
from driftopt.drivers.stack import stack
from driftopt.paper.protocol import BEST_DECISIONS as BEST
from driftopt.problems import Pricing, StrategicClassification
from support.real_data import FOLDER, needs_credit, needs_prices

# The paper's six methods, with numbers from around its grids.
SPLITS = (101, 102, 103, 104)


@pytest.fixture(scope="module", autouse=True)
def folder():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRIFTOPT_DATA", str(FOLDER))
        yield


@pytest.fixture(scope="module")
def splits(folder) -> list[StrategicClassification]:
    table = data.load_credit()
    assert str(table.provenance) == "credit"
    return [StrategicClassification.from_credit(seed, table=table) for seed in SPLITS]


@needs_credit
def test_the_start_scores_146_on_every_split(splits):
    losses = jax.vmap(lambda p: p.objective(p.x0))(stack(splits).together)
    assert np.allclose(losses, 1.46, atol=0.02)
    for problem in splits:
        assert problem.features.shape == (12_272, 11)
        assert problem.test_features.shape == (1000, 11)
        assert np.allclose(problem.features.mean(axis=0), 0, atol=1e-4)
        assert np.allclose(problem.features.std(axis=0), 1, atol=1e-4)
        shares = [float(np.mean(np.asarray(y) > 0)) for y in (problem.labels, problem.test_labels)]
        assert abs(shares[0] - shares[1]) < 1e-3  # stratified
    # The constant classifier: about 0.45.
    assert np.allclose([p.objective(jnp.zeros(12).at[-1].set(1)) for p in splits], 0.45, atol=0.015)
    assert not splits[0].provenance.stand_in


@needs_credit
def test_a_split_is_a_function_of_its_seed(splits):
    again = StrategicClassification.from_credit(101)
    assert np.array_equal(again.features, splits[0].features)
    assert not np.array_equal(splits[1].features, splits[0].features)


@needs_credit
def test_real_and_stand_in_data_never_stack(splits):
    with pytest.raises(ValueError, match="one kind"):
        stack([splits[0], StrategicClassification.stand_in(101)])


@needs_credit
def test_the_stand_in_resembles_the_real_table():
    real, stand_in = data.load_credit(), generate_credit()
    assert stand_in.features.shape == real.features.shape
    assert np.allclose(stand_in.features.mean(axis=0) / real.features.mean(axis=0), 1, atol=0.15)
    assert np.allclose(stand_in.features.std(axis=0) / real.features.std(axis=0), 1, atol=0.3)
    both = [np.corrcoef(np.c_[t.features, t.labels].T) for t in (real, stand_in)]
    assert np.abs(both[0] - both[1]).max() < 0.12
    assert np.isclose(stand_in.labels.mean(), real.labels.mean(), atol=0.02)


@needs_prices
def test_published_weeks():
    weeks = [Pricing.from_week(week) for week in data.weeks()]
    together = stack(weeks).together
    values = jax.vmap(lambda p: p.objective(p.x0))(together)
    assert np.isfinite(values).all()
    assert len(set(values.tolist())) == 4
    assert data.load_week("2022-08")[:3].tolist() == [198, 122, 395]
    assert str(weeks[0].provenance) == "prices, week 2022-08, costs 202208"
    with pytest.raises(ValueError, match="week"):
        Pricing.from_week("2026-10")


@needs_credit
def test_the_best_known_decisions_score_what_is_said_of_them(splits):
    """To a tie or two; and a coordinate moved by a hundredth costs something."""
    said = {101: 0.42435, 102: 0.40376, 103: 0.41795, 104: 0.41611}
    for name, problem in zip(SPLITS, splits, strict=True):
        best = np.asarray(BEST[str(name)], np.float32)
        value = float(problem.objective(best))
        assert value == pytest.approx(said[name], abs=1e-3)
        steps = 0.01 * np.concatenate([np.eye(12), -np.eye(12)])
        assert all(problem.objective(best + step) > value for step in steps.astype(np.float32))
