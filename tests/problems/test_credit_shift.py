"""Credit with shifting features: the objective, the stable point and the optimum against plain NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt.data.provenance import Provenance
from driftopt.data.scoring import ScoringTable
from driftopt.problems.credit_shift import MOVABLE, CreditShift


def small(strength: float = 2.0, rows: int = 60) -> CreditShift:
    rng = np.random.default_rng(3)
    labels = (np.arange(rows) % 2).astype(float)
    features = rng.normal(size=(rows, 9)) + 0.6 * labels[:, None]
    return CreditShift.from_table(
        ScoringTable(features, labels, Provenance("rows")), strength=strength, ridge=0.2
    )


def by_hand(problem: CreditShift, x: np.ndarray, data_of: np.ndarray) -> tuple[float, np.ndarray]:
    """The loss of x, and its gradient, on the data of another decision."""
    rows, labels = np.array(problem.features, float), np.asarray(problem.labels, float)
    for feature in MOVABLE:
        rows[:, feature] -= float(problem.strength) * data_of[feature]
    score, ridge = rows @ x, float(problem.ridge)
    loss = np.mean(np.log1p(np.exp(score)) - labels * score) + ridge / 2 * x @ x
    return loss, rows.T @ (1 / (1 + np.exp(-score)) - labels) / len(labels) + ridge * x


def test_the_objective_is_the_mean_over_all_rows():
    problem, x = small(), np.random.default_rng(0).normal(size=10) * 0.5
    assert float(problem.objective(jnp.asarray(x, jnp.float32))) == pytest.approx(
        by_hand(problem, x, x)[0], rel=1e-5
    )
    assert problem.dim == 10
    assert problem.label == "rows"


def test_only_some_features_move_and_the_constant_does_not():
    problem, x = small(), jnp.full(10, 0.3)
    before = problem.noise(jax.random.key(1))
    after = problem.respond(before, x)
    moved = np.flatnonzero(np.asarray(after.features) != np.asarray(before.features))
    assert tuple(moved) == MOVABLE
    np.testing.assert_allclose(after.features - before.features, -0.6 * problem.movable, atol=1e-6)
    assert after.label == before.label


@pytest.mark.parametrize("strength", [0.0, 2.0, 5.0])
def test_the_stable_point_is_where_exact_retraining_rests(strength):
    """Gradient descent in plain NumPy on the data of the last answer, until nothing moves."""
    problem = small(strength)
    x = np.zeros(10)
    for _ in range(40):
        frozen = x.copy()
        for _ in range(400):
            x = x - 0.3 * by_hand(problem, x, frozen)[1]
    stable, best = problem.stable_point(), problem.optimum()
    assert np.linalg.norm(x - frozen) < 1e-6, "retraining itself must have come to rest"
    np.testing.assert_allclose(stable.x, x, atol=1e-4)
    assert stable.value == pytest.approx(by_hand(problem, x, x)[0], abs=1e-6)
    assert not stable.exact
    if strength:
        assert best.value < stable.value - 1e-5
        assert np.linalg.norm(by_hand(problem, best.x, best.x)[1]) > 1e-3  # no rest for retraining
    else:
        np.testing.assert_allclose(best.x, stable.x, atol=1e-4)  # nobody moves: one point


def test_the_optimum_is_lower_than_everything_near_it():
    problem = small()
    best, rng = problem.optimum(), np.random.default_rng(1)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        near = best.x + size * rng.normal(size=(20, 10))
        assert min(by_hand(problem, x, x)[0] for x in near) > best.value - 1e-9


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        (ScoringTable(np.ones((4, 3)), np.ones(4), Provenance("rows")), {}, "at least 8"),
        (ScoringTable(np.ones((4, 9)), np.full(4, 2.0), Provenance("rows")), {}, "labels"),
        (ScoringTable(np.ones((4, 9)), np.ones(4), Provenance("rows")), {"strength": -1}, "strength must"),
        (ScoringTable(np.ones((4, 9)), np.ones(4), Provenance("rows")), {"ridge": 0.0}, "ridge must"),
    ],
)
def test_mistakes_are_refused_at_the_door(table, options, says):
    with pytest.raises(ValueError, match=says):
        CreditShift.from_table(table, **options)
