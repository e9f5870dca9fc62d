"""Stationarity from queries: an unbiased estimate, and a bound that covers as often as it says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from driftopt import stationarity
from driftopt.problem import Problem
from driftopt.pytree import module

FALSE_ALARM = 1e-6
CURVATURE = np.array([0.5, 1.0, 2.0])
RADIUS = 0.5


def pairs(rng, x, n, noise):
    """Two-point values of f(x) = ½ Σ a_i x_i² + noise: ∇f_δ(x) = a x for every radius δ."""
    u = rng.standard_normal((n, x.size))
    u /= np.linalg.norm(u, axis=1, keepdims=True)

    def value(points):
        return 0.5 * (points**2 * CURVATURE).sum(axis=1) + noise * rng.standard_normal(n)

    return value(x + RADIUS * u), value(x - RADIUS * u), u


def estimates(rng, x, n, noise):
    plus, minus, u = pairs(rng, x, n, noise)
    return (plus - minus)[:, None] * u * (x.size / (2 * RADIUS))


def test_the_u_statistic_is_the_mean_over_distinct_pairs():
    g = np.random.default_rng(0).standard_normal((6, 3))
    direct = np.mean([g[i] @ g[j] for i in range(6) for j in range(6) if i != j])
    assert stationarity.u_statistic(g) == pytest.approx(direct, rel=1e-12)


def z_score(statistic, x, noise=1.0, runs=4000, n=12):
    rng = np.random.default_rng(1)
    truth = np.sum((CURVATURE * x) ** 2)
    errors = np.array([statistic(estimates(rng, x, n, noise)) - truth for _ in range(runs)])
    return errors.mean() / (errors.std(ddof=1) / np.sqrt(runs))


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_u_statistic_is_unbiased(scale):
    threshold = norm.isf(FALSE_ALARM / 2)
    x = scale * np.array([1.0, -0.5, 0.25])
    assert abs(z_score(stationarity.u_statistic, x)) < threshold

    def plug_in(g):  # the squared norm of the mean is too large by tr(Σ)/n
        return float(np.sum(g.mean(axis=0) ** 2))

    assert abs(z_score(plug_in, x)) > threshold


@pytest.mark.parametrize("n", [10, 40, 160])
@pytest.mark.parametrize(("scale", "noise"), [(0.0, 1.0), (0.3, 1.0), (3.0, 1.0), (3.0, 0.0)])
def test_the_bound_covers_at_its_level(n, scale, noise):
    """At most 5 % misses, up to the chance of 1500 simulations at a false-alarm rate of 1e-6."""
    runs, rng = 1500, np.random.default_rng(2)
    x = scale * np.array([1.0, -0.5, 0.25])
    truth = np.linalg.norm(CURVATURE * x)
    bounds = np.array(
        [stationarity.from_pairs(*pairs(rng, x, n, noise), radius=RADIUS).epsilon for _ in range(runs)]
    )
    allowed = 0.05 + norm.isf(FALSE_ALARM) * np.sqrt(0.05 * 0.95 / runs)
    assert np.mean(bounds < truth * (1 - 1e-9)) <= allowed
    # The twin: a bound tighter by 1.5 of its standard deviations would miss too often.
    if scale == 3.0 and n == 160:
        assert np.mean(bounds - 1.5 * np.std(bounds) < truth) > allowed


def test_the_bound_shrinks_to_the_norm_as_queries_grow():
    rng, x = np.random.default_rng(3), np.array([1.0, -0.5, 0.25])
    truth = np.linalg.norm(CURVATURE * x)
    far, near = (
        stationarity.from_pairs(*pairs(rng, x, n, 0.1), radius=RADIUS).epsilon / truth for n in (20, 20_000)
    )
    assert 1 < near < 1.05 < far


def test_a_python_function():
    rng = np.random.default_rng(4)
    x = [1.0, -0.5, 0.25]

    def noisy(point):
        return 0.5 * float(CURVATURE @ point**2) + 0.01 * rng.standard_normal()

    report = stationarity.measure(noisy, x, radius=0.2, pairs=400, rng=5)
    truth = np.linalg.norm(CURVATURE * x)
    assert abs(report.squared_norm - truth**2) < 6 * report.standard_error
    assert report.epsilon**2 > report.squared_norm
    assert report.queries == 800
    assert report.sentence == f"(0.2, {report.epsilon:.4g})-Goldstein stationary at 95 % (800 queries)"


@module
class Noisy(Problem):
    scale: jax.Array

    @property
    def dim(self):
        return 3

    def draw(self, key, x):
        return 0.1 * jax.random.normal(key, (), x.dtype)

    def value(self, x, xi):
        return 0.5 * self.scale * jnp.sum(x * x) + xi

    def objective(self, x):
        return 0.5 * self.scale * jnp.sum(x * x)


def test_a_problem():
    report = stationarity.measure(Noisy(jnp.float32(2)), [1.0, 0.0, 0.0], radius=0.5, pairs=500, rng=0)
    assert abs(report.squared_norm - 4.0) < 6 * report.standard_error
    again = stationarity.measure(Noisy(jnp.float32(2)), [1.0, 0.0, 0.0], radius=0.5, pairs=500, rng=0)
    assert again == report


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"pairs": 9}, "too few"),
        ({"radius": 0.0}, "radius must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"x": [np.inf]}, "x must be finite"),
    ],
)
def test_mistakes_are_said_at_the_door(wrong, words):
    with pytest.raises(ValueError, match=words):
        stationarity.measure(lambda x: 0.0, **{"x": [1.0], "radius": 1.0, "pairs": 10, **wrong})
