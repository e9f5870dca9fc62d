"""Stationarity from queries: an unbiased estimate, and a bound that covers as often as it says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from driftopt import stationarity
from driftopt.problem import Problem
from driftopt.pytree import module
from driftopt.stationarity import asymptotic

FALSE_ALARM = 1e-6
CURVATURE = np.array([0.5, 1.0, 2.0])
RADIUS = 0.5


def pairs(rng, x, n, noise, runs=()):
    """Two-point values of f(x) = ½ Σ a_i x_i² + noise: ∇f_δ(x) = a x for every radius δ."""
    u = rng.standard_normal((*runs, n, x.size))
    u /= np.linalg.norm(u, axis=-1, keepdims=True)

    def value(points):
        return 0.5 * (points**2 * CURVATURE).sum(axis=-1) + noise * rng.standard_normal((*runs, n))

    return value(x + RADIUS * u), value(x - RADIUS * u), u


def estimates(rng, x, n, noise, runs=()):
    plus, minus, u = pairs(rng, x, n, noise, runs)
    return (plus - minus)[..., None] * u * (x.size / (2 * RADIUS))


def test_the_u_statistic_is_the_mean_over_distinct_pairs():
    g = np.random.default_rng(0).standard_normal((6, 3))
    direct = np.mean([g[i] @ g[j] for i in range(6) for j in range(6) if i != j])
    assert stationarity.u_statistic(g) == pytest.approx(direct, rel=1e-12)


def z_score(statistic, x, noise=1.0, runs=4000, n=12):
    truth = np.sum((CURVATURE * x) ** 2)
    errors = statistic(estimates(np.random.default_rng(1), x, n, noise, (runs,))) - truth
    return errors.mean() / (errors.std(ddof=1) / np.sqrt(runs))


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_u_statistic_is_unbiased(scale):
    threshold = norm.isf(FALSE_ALARM / 2)
    x = scale * np.array([1.0, -0.5, 0.25])
    assert abs(z_score(stationarity.u_statistic, x)) < threshold

    def plug_in(g):  # the squared norm of the mean is too large by tr(Σ)/n
        return np.sum(g.mean(axis=-2) ** 2, axis=-1)

    assert abs(z_score(plug_in, x)) > threshold


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_standard_error_is_that_of_u(scale):
    """On average over many data sets; with a slope λ ≥ m'Σm/‖m‖² may make it too large."""
    x = scale * np.array([1.0, 0.0, 0.0])
    sets = estimates(np.random.default_rng(3), x, 200, 1.0, (1000,))
    seen = stationarity.u_statistic(sets).std()
    said = np.sqrt(np.mean(asymptotic.bound(sets, 0.95)[1] ** 2))
    assert 0.9 * seen < said < 1.4 * seen


@pytest.mark.parametrize("n", [10, 40, 160])
@pytest.mark.parametrize(("scale", "noise"), [(0.0, 1.0), (0.3, 1.0), (3.0, 1.0), (3.0, 0.0)])
def test_the_bound_covers_at_its_level(n, scale, noise):
    """At most 5 % misses, up to the chance of 1500 simulations at a false-alarm rate of 1e-6."""
    runs = 1500
    x = scale * np.array([1.0, -0.5, 0.25])
    truth = np.linalg.norm(CURVATURE * x)
    bounds = asymptotic.bound(estimates(np.random.default_rng(2), x, n, noise, (runs,)), 0.95)[0]
    allowed = 0.05 + norm.isf(FALSE_ALARM) * np.sqrt(0.05 * 0.95 / runs)
    assert np.mean(bounds < truth * (1 - 1e-9)) <= allowed
    # The twin: a bound tighter by 1.5 of its standard deviations would miss too often.
    if scale == 3.0 and n == 160:
        assert np.mean(bounds - 1.5 * np.std(bounds) < truth) > allowed


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


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("value_range", [None, (-1e6, 1e6)])
def test_a_bound_is_never_nothing(dim, value_range):
    """Flat, symmetric or rounded: where nothing is seen, either no bound or one above 0."""
    for flat in (lambda x: 0.0, lambda x: 0.1 + float(x @ x), lambda x: 1e5):
        report = stationarity.measure(
            flat, np.zeros(dim), radius=0.1, pairs=60, value_range=value_range, rng=0
        )
        if value_range is None:
            assert report.epsilon is None
            assert report.sentence.startswith("no bound at 95 % (120 queries): only 0 of 60 differences")
        else:
            assert report.epsilon > 0
            assert report.caution is None
            assert report.value_range == (-1e6, 1e6)


@given(
    st.integers(0, 2**32),
    st.sampled_from([-1.5e308, -1e200, -1.0, -1e-300, 0.0, 5e-324, 1e-160, 1.0, 1e100, 1e154, 1.7e308]),
    st.sampled_from([1e-300, 1e-3, 1.0, 1e300]),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_no_report_holds_a_number_that_is_not_finite(seed, size, radius, ranged):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((12, 2))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    plus, minus = size * rng.uniform(0, 1, 12), -size * rng.uniform(0, 1, 12)
    between = (-1.75e308, 1.75e308) if ranged else None
    try:
        report = stationarity.from_pairs(plus, minus, u, radius=radius, value_range=between)
    except ValueError as error:
        if "squared in double precision" not in str(error):
            raise
        return
    numbers = [report.squared_norm, report.standard_error, report.radius]
    assert np.isfinite(numbers).all()
    assert report.epsilon is None or 0 < report.epsilon < np.inf


def test_the_unit_of_values_changes_the_unit_of_the_report():
    """Values in cents instead of euros: the same report, to the bit for powers of 2."""
    plus, minus, u = pairs(np.random.default_rng(5), np.array([1.0, -0.5, 0.25]), 60, 0.3)
    one = stationarity.from_pairs(plus, minus, u, radius=RADIUS)
    two = stationarity.from_pairs(128 * plus, 128 * minus, u, radius=RADIUS)
    assert two.epsilon == 128 * one.epsilon
    assert two.squared_norm == 128**2 * one.squared_norm
    assert two.standard_error == 128**2 * one.standard_error
    ranged = stationarity.from_pairs(plus, minus, u, radius=RADIUS, value_range=(-8, 8))
    assert ranged.squared_norm == pytest.approx(one.squared_norm, rel=1e-12)
    assert ranged.standard_error == pytest.approx(one.standard_error, rel=1e-12)


def test_differences_that_are_rounding_are_none():
    """Values of a flat function a few spacings apart say nothing; a hundred spacings are a difference."""
    u, base = np.resize([[1.0], [-1.0]], (60, 1)), np.full(60, 1000.0)
    spacings = np.resize([1, -2, 3, 0, -4, 5], 60) * np.spacing(1000.0)
    flat = stationarity.from_pairs(base + spacings, base, u, radius=0.5)
    assert (flat.squared_norm, flat.epsilon) == (0.0, None)
    assert flat.caution is not None
    assert flat.caution.startswith("only 0 of 60 differences are not 0")
    assert stationarity.from_pairs(base + 100 * spacings, base, u, radius=0.5).epsilon is not None


def test_differences_too_small_for_a_number_are_refused():
    """d/(2δ) times them is 0 in double precision, and a bound of nothing would be wrong."""
    u = np.ones((10, 1))
    with pytest.raises(ValueError, match="cannot be squared in double precision"):
        stationarity.from_pairs(np.full(10, 1e-30), np.zeros(10), u, radius=1e300)


def test_measuring_is_planned_and_pairs_at_hand_are_not():
    x, seen = np.array([0.3, 0.0]), []

    def noisy(point):
        seen.append((point, float(np.random.default_rng(len(seen)).random() < 0.5 + 0.2 * point[0])))
        return seen[-1][1]

    report = stationarity.measure(noisy, x, radius=0.5, pairs=40, value_range=(0, 1), rng=7)
    values = np.array([value for _, value in seen])
    u = (np.array([point for point, _ in seen[:40]]) - x) / 0.5
    again = stationarity.from_pairs(values[:40], values[40:], u, radius=0.5, value_range=(0, 1), planned=True)
    assert again.epsilon == pytest.approx(report.epsilon, rel=1e-9)
    unplanned = stationarity.from_pairs(values[:40], values[40:], u, radius=0.5, value_range=(0, 1))
    assert unplanned.epsilon != report.epsilon


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"pairs": 9}, "pairs: 9 are too few .* at least 10, or 2 with value_range"),
        ({"pairs": 1, "value_range": (0, 1)}, "pairs: 1 are too few .* at least 2$"),
        ({"pairs": 2.5}, "pairs"),
        ({"radius": 0.0}, "radius"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": "high"}, "confidence"),
        ({"x": [np.inf]}, "x"),
        ({"value_range": (1, 0)}, "value_range"),
        ({"value_range": (0, 0)}, "value_range"),
        ({"value_range": 1.0}, "value_range"),
        ({"value_range": (0, np.inf)}, "value_range"),
        ({"value_range": (1, 2)}, "value_range"),
    ],
)
def test_mistakes_are_said_at_the_door(wrong, words):
    with pytest.raises(ValueError, match=words):
        stationarity.measure(lambda x: 0.0, **{"x": [1.0], "radius": 1.0, "pairs": 10, **wrong})


@pytest.mark.parametrize("answer", [np.nan, np.inf, "three", None, [1.0, 2.0], np.ma.masked])
def test_an_answer_that_is_no_number_names_its_query(answer):
    answers = iter([1.0, 2.0, answer])
    with pytest.raises(ValueError, match="query 3: oracle gave"):
        stationarity.measure(lambda x: next(answers), [1.0], radius=1.0, pairs=10)


@pytest.mark.parametrize(
    ("directions", "words"),
    [(np.ones((9, 1)), "10 rows"), (np.ones(10), "10 rows"), (np.full((10, 1), 2.0), "unit vectors")],
)
def test_directions_must_be_unit_rows(directions, words):
    with pytest.raises(ValueError, match=f"directions must be {words}"):
        stationarity.from_pairs(np.ones(10), np.zeros(10), directions, radius=1.0)
