"""Strategic classification: the response against brute force, sampled means against the exact objective."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from sklearn.metrics import roc_auc_score

from driftopt.problems.strategic import Person, StrategicClassification, auc

LIMIT = 5.0  # of |z|: a false alarm of 6e-7

# One program each instead of one for every operation.
OF = StrategicClassification
objective, sample, metrics_of, response, area = map(
    jax.jit, (OF.objective, OF.sample, OF.metrics, OF.best_response, auc)
)


@pytest.fixture(scope="module")
def problem() -> StrategicClassification:
    return StrategicClassification.stand_in(101)


def small(loss: str = "hinge", tau: float = 2.0) -> StrategicClassification:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 2)), np.where(rng.random(40) < 0.6, 1, -1)
    return StrategicClassification.from_arrays(X, y, X[:15], y[:15], tau=tau, loss=loss)


def utility(x: np.ndarray, before: np.ndarray, after: np.ndarray, tau: float, slack: float) -> np.ndarray:
    """Reward minus squared distance; `slack` forgives rounding on the boundary."""
    approved = after @ x[:-1] + x[-1] >= -slack
    return tau * approved - np.sum((after - before) ** 2, axis=-1)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_response_is_the_best_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    x, tau = rng.normal(size=3), rng.uniform(0.5, 3)
    people = rng.normal(size=(25, 2))
    problem = small(tau=tau)
    moved = np.asarray(response(problem, jnp.asarray(x, jnp.float32), jnp.asarray(people, jnp.float32)))
    axis = np.linspace(-6, 6, 601)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    for person, after in zip(people, moved, strict=True):
        best = max(utility(x, person, grid, tau, 0).max(), utility(x, person, person, tau, 0))
        found = utility(x, person, after, tau, 1e-5)
        assert found >= best - 1e-4  # nothing on the grid is better
        assert found <= best + 0.1  # and the grid comes close: its step is 0.02


def test_scores_after_the_response_are_those_of_the_moved_features():
    problem, x = small(), jnp.array([0.7, -1.2, -0.4])
    after = response(problem, x, problem.features) @ x[:-1] + x[-1]
    people = Person(problem.features, problem.labels)
    scores = jax.jit(jax.vmap(lambda one: problem.score_after(one, x)))(people)
    assert np.allclose(after, scores, atol=1e-6)
    assert np.sum(np.asarray(scores) == 0) == metrics_of(problem, x).moved > 0
    xi = jax.jit(jax.vmap(lambda one: problem.respond(one, x)))(people)
    np.testing.assert_allclose(xi.features, response(problem, x, problem.features), atol=1e-6)
    assert np.array_equal(xi.label, problem.labels)


def crowd(loss: str, people: int = 600) -> StrategicClassification:
    rng = np.random.default_rng(8)
    y = np.where(rng.random(people) < 0.6, 1, -1)
    return StrategicClassification.from_arrays(rng.normal(size=(people, 2)) + 0.7 * y[:, None], y, loss=loss)


def gap(problem: StrategicClassification, x: np.ndarray) -> float:
    """What the best other classifier gains on the data of x: a linear program, or a search by SciPy."""
    features = np.asarray(response(problem, jnp.asarray(x, jnp.float32), problem.features), float)
    labels = np.asarray(problem.labels, float)
    rows = labels[:, None] * np.column_stack([features, np.ones(len(labels))])
    if problem.loss == "logistic":

        def mean(z: np.ndarray) -> float:
            return float(np.logaddexp(-rows @ z, 0).mean())

        return mean(x) - minimize(mean, x, method="BFGS").fun
    count, size = rows.shape
    costs = np.concatenate([np.zeros(size), np.full(count, 1 / count)])
    limits = np.column_stack([-rows, -np.eye(count)])  # slack ≥ 1 − margin
    bounds = [(None, None)] * size + [(0, None)] * count
    least = linprog(costs, A_ub=limits, b_ub=-np.ones(count), bounds=bounds).fun
    return float(np.maximum(1 - rows @ x, 0).mean()) - least


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_no_other_classifier_gains_on_the_data_of_the_stable_point(loss):
    """By another solver; at the start, the twin, others gain much."""
    problem = crowd(loss)
    stable = problem.stable_point()
    assert gap(problem, stable.x) < 1e-3
    assert gap(problem, np.asarray(problem.x0, float)) > 0.01
    assert stable.value == pytest.approx(
        float(problem.objective(jnp.asarray(stable.x, jnp.float32))), rel=1e-3
    )


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_what_is_seen_of_a_person_tells_of_other_classifiers(loss):
    """ξ holds the moved features: F(x′; ξ) is the loss of x′ on them, and its gradient does not vanish."""
    problem, x, other = small(loss), jnp.array([0.7, -1.2, -0.4]), jnp.array([0.2, 0.9, 0.3])
    people = Person(problem.features, problem.labels)

    @jax.jit
    def looked_at(x, other):
        xi = jax.vmap(lambda one: problem.respond(one, x))(people)
        losses = jax.vmap(problem.value, (None, 0))
        observed = jax.vmap(lambda one: problem.observe(one, x))(people)
        return losses(other, xi), jax.grad(lambda z: jnp.mean(losses(z, xi)))(other), losses(x, xi), observed

    values, slope, seen, observed = looked_at(x, other)
    margin = problem.labels * (response(problem, x, problem.features) @ other[:-1] + other[-1])
    by_hand = np.maximum(0, 1 - margin) if loss == "hinge" else np.log1p(np.exp(-margin))
    np.testing.assert_allclose(values, by_hand, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen, observed, rtol=1e-5, atol=1e-5)  # `observe` is the short way
    assert np.abs(slope).min() > 1e-3


@pytest.mark.parametrize(
    ("features", "x", "score"),
    [
        ([1.0, 1.0], [1.0, 1.0, 0.0], 2.0),  # approved: stays
        ([0.0, 0.0], [1.0, 1.0, 0.0], 0.0),  # on the boundary: approved
        ([-1.0, -1.0], [1.0, 1.0, 0.0], 0.0),  # s = −2, ‖w‖² = 2: the cost is exactly τ = 2
        ([-1.0, -1.000001], [1.0, 1.0, 0.0], -2.000001),  # a little more: stays
        ([3.0, 4.0], [0.0, 0.0, -1.0], -1.0),  # w = 0: nowhere to go
        ([3.0, 4.0], [0.0, 0.0, -1e-30], -1e-30),  # even where s² underflows
        ([3.0, 4.0], [0.0, 0.0, 0.0], 0.0),
    ],
)
def test_the_corners_of_the_response(features, x, score):
    person = Person(jnp.array(features), jnp.float32(1))
    found = small().score_after(person, jnp.array(x))
    assert np.isclose(found, score, rtol=1e-6, atol=0)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_objective_is_the_mean_over_all_rows(loss):
    problem, x = small(loss), jnp.array([0.7, -1.2, -0.4])
    people = Person(problem.features, problem.labels)
    values = jax.vmap(lambda one: problem.observe(one, x))(people)
    assert np.isclose(values.mean(), problem.objective(x), rtol=1e-6)
    score = np.asarray(jax.vmap(lambda one: problem.score_after(one, x))(people), float)
    margin = score * np.asarray(problem.labels)
    by_hand = np.maximum(0, 1 - margin) if loss == "hinge" else np.log1p(np.exp(-margin))
    assert np.isclose(by_hand.mean(), problem.objective(x), rtol=1e-5)


sampled = jax.jit(jax.vmap(StrategicClassification.sample, (None, 0, None)))


def z_score(problem: StrategicClassification, x: jax.Array, exact: jax.Array) -> float:
    keys = jax.random.split(jax.random.key(7), 200_000)
    values = np.asarray(sampled(problem, keys, x), float)
    return float((values.mean() - float(exact)) / (values.std() / np.sqrt(values.size)))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("seed", [1, 2])
def test_sampled_means_equal_the_exact_objective(loss, seed):
    problem = StrategicClassification.stand_in(102, loss=loss)
    x = jnp.asarray(np.random.default_rng(seed).normal(size=12), jnp.float32)
    assert abs(z_score(problem, x, objective(problem, x))) < LIMIT
    # The twin: a larger τ is another problem, and is seen to be.
    other = StrategicClassification.stand_in(102, tau=3.0, loss=loss)
    assert abs(z_score(problem, x, objective(other, x))) > LIMIT


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_diverged_classifier_never_looks_good(problem, loss, bad):
    del problem
    for where in range(3):
        x = jnp.ones(3).at[where].set(bad)
        assert not np.isfinite(objective(small(loss), x))
    assert np.isnan(sample(small(loss), jax.random.key(0), jnp.full(3, jnp.nan)))
    assert np.isnan(metrics_of(small(loss), jnp.full(3, jnp.nan)).test_accuracy)
    huge = objective(small(loss), jnp.array([1e25, -1e25, 1.0]))
    assert huge > 1e20 or not np.isfinite(huge)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-50, 50, width=32), min_size=3, max_size=3), st.floats(0.125, 8, width=32))
def test_the_response_never_hurts_the_person(x, tau):
    problem, x = small(tau=tau), jnp.array(x, jnp.float32)
    before = problem.features @ x[:-1] + x[-1]
    people = Person(problem.features, problem.labels)
    after = jax.vmap(lambda one: problem.score_after(one, x))(people)
    assert np.all((np.asarray(after) == 0) | np.isclose(after, before, rtol=1e-4, atol=1e-4))
    assert np.all(np.asarray(after) >= np.asarray(before) - 1e-4)
    assert problem.objective(x) >= 0


def test_auc_equals_scikit_learn_with_ties():
    rng = np.random.default_rng(3)
    for decimals in (0, 1, 6):
        scores = np.round(rng.normal(size=500), decimals).astype(np.float32)
        labels = np.where(rng.random(500) < 0.7, 1.0, -1.0).astype(np.float32)
        assert np.isclose(
            area(jnp.asarray(scores), jnp.asarray(labels)), roc_auc_score(labels, scores), atol=1e-6
        )
    assert np.isnan(auc(jnp.zeros(3), jnp.ones(3)))


def test_metrics_by_hand(problem):
    x = jnp.asarray(np.random.default_rng(0).normal(size=12), jnp.float32)
    metrics = metrics_of(problem, x)
    after = np.asarray(response(problem, x, problem.test_features), float) @ np.asarray(x[:-1]) + float(x[-1])
    after = np.where(np.abs(after) < 1e-5, 0, after)  # those who moved, up to rounding
    labels = np.asarray(problem.test_labels)
    assert np.isclose(metrics.test_loss, np.maximum(0, 1 - labels * after).mean(), rtol=1e-4)
    assert np.isclose(metrics.test_accuracy, np.mean((after >= 0) == (labels > 0)))
    assert np.isclose(metrics.test_auc, roc_auc_score(labels, after), atol=1e-5)
    many = jax.jit(jax.vmap(problem.metrics))(jnp.stack([x, problem.x0]))
    assert np.allclose([m[0] for m in many], metrics, rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"X": [1.0, 2.0]}, "X"),
        ({"X": [[np.nan], [1.0]]}, "X"),
        ({"y": [0, 1]}, "y"),
        ({"y": [1, -1, 1]}, "X has 2 rows and y 3 labels"),
        ({"X_test": [[1.0]]}, "come together"),
        ({"X_test": [[1.0, 2.0]], "y_test": [1]}, "they"),
        ({"tau": 0.0}, "tau"),
        ({"loss": "squared"}, "loss"),
    ],
)
def test_mistakes_are_refused_at_the_door(change, says):
    with pytest.raises(ValueError, match=says):
        StrategicClassification.from_arrays(**{"X": [[1.0], [2.0]], "y": [1, -1], **change})
