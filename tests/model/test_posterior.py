"""The posterior against formulas written out densely, and what follows from it."""

from itertools import pairwise

import numpy as np
import pytest

from driftopt.model.belief import Belief, Curve, Results, last_fit
from driftopt.model.objective import ACROSS, Own
from driftopt.model.posterior import OFFSET, SLOPE, Fit, Inputs, Kernel, Posterior, fit
from driftopt.model.scale import Scale


@pytest.fixture
def rng():
    return np.random.default_rng(20261119)


def inputs(rng, n, d=3, k=2, q=1):
    return Inputs(
        rng.normal(size=(n, d)),
        np.arange(1.0, n + 1),
        rng.normal(size=(n, k)),
        rng.choice([0.0, 0.5, 1000.0], size=(n, q)),
    )


def dense(kernel: Kernel, one: Inputs, other: Inputs) -> np.ndarray:
    """The kernel's formula, entry by entry."""

    def matern(r):
        return (1 + 5**0.5 * r + 5 * r * r / 3) * np.exp(-(5**0.5) * r)

    d, found = one.x.shape[1], np.zeros((len(one), len(other)))
    tilt, start = np.zeros(d), np.zeros(d)
    if kernel.own is not None:
        tilt, start = np.full(d, ACROSS * kernel.own.slope), np.array(kernel.own.start)
        tilt[kernel.own.coordinate] = kernel.own.slope
    for i in range(len(one)):
        for j in range(len(other)):
            away = one.x[i] - other.x[j]
            each = [matern(abs(a) * d**0.5 / kernel.length) for a in away]
            single = np.mean(each) if kernel.own is None else each[kernel.own.coordinate]
            k = (1 - kernel.additive) * matern(np.linalg.norm(away) / kernel.length)
            k += kernel.additive * single
            same = matern(abs(one.context[i] - other.context[j]))
            k *= np.prod([1 - b + b * s for b, s in zip(kernel.apart, same, strict=True)])
            k *= np.exp(-abs(one.time[i] - other.time[j]) / kernel.memory)
            wide = OFFSET**2 * (1 + same.sum()) + SLOPE**2 * one.covariates[i] @ other.covariates[j]
            found[i, j] = k + wide + (tilt**2 * (one.x[i] - start) * (other.x[j] - start)).sum()
    return found


KERNELS = [
    Kernel(1.7, apart=(0.0,)),
    Kernel(2.3, additive=0.5, apart=(0.4,)),
    Kernel(0.9, additive=0.95, own=Own(1, (0.2, -0.1, 0.3), -0.7), memory=40.0, apart=(0.8,)),
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_moments_are_those_of_the_dense_formulas(rng, kernel):
    known, points, weight = inputs(rng, 12), inputs(rng, 5), rng.uniform(0.5, 2, 12)
    y = rng.normal(size=12)
    posterior = Posterior(known, y, weight, Fit(kernel, 0.3, 0.0))
    a = dense(kernel, known, known) + np.diag(0.3 / weight + 1e-9)
    cross, inverse = dense(kernel, points, known), np.linalg.inv(a)
    square = (1 + y @ inverse @ y) / 13
    mean, covariance = posterior.joint(points)
    assert mean == pytest.approx(cross @ inverse @ y, rel=1e-6)
    assert covariance == pytest.approx(
        square * (dense(kernel, points, points) - cross @ inverse @ cross.T), rel=1e-5, abs=1e-9
    )
    assert posterior.mean(points) == pytest.approx(mean)
    weights = rng.normal(size=5)
    assert posterior.total(points, weights) == pytest.approx(
        (weights @ mean, weights @ covariance @ weights), rel=1e-5
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_slope_is_the_mean_s_derivative(rng, kernel):
    posterior = Posterior(inputs(rng, 12), rng.normal(size=12), np.ones(12), Fit(kernel, 0.1, 0.0))
    here, h = inputs(rng, 1), 1e-6
    sides = here.moved(np.vstack([here.x + h * np.eye(3), here.x - h * np.eye(3)]))
    mean = posterior.mean(sides)
    assert posterior.slope(here) == pytest.approx((mean[:3] - mean[3:]) / (2 * h), rel=1e-4, abs=1e-6)


def test_surprises_are_those_of_leaving_each_result_out(rng):
    from scipy.stats import t

    known, y, weight = inputs(rng, 9), rng.normal(size=9), rng.uniform(0.5, 2, 9)
    kernel = Fit(KERNELS[1], 0.2, 0.0)
    found = Posterior(known, y, weight, kernel).surprises()
    for i in range(9):
        rest = np.arange(9) != i
        others = Posterior(known[rest], y[rest], weight[rest], kernel)
        mean, covariance = others.joint(known[[i]])
        sd = np.sqrt(covariance[0, 0] + others.scale**2 * (0.2 / weight[i]))
        assert found[i] == pytest.approx(2 * t.sf(abs(y[i] - mean[0]) / sd, 9), rel=1e-3)


def test_the_fit_finds_length_and_noise(rng):
    x = rng.uniform(-4, 4, size=(150, 2))
    known = Inputs(x, np.arange(150.0), np.zeros((150, 0)), np.zeros((150, 0)))
    smooth = np.sin(x[:, 0]) + np.cos(x[:, 1])
    quiet = fit(known, smooth + 0.01 * rng.normal(size=150), np.ones(150))
    loud = fit(known, rng.normal(size=150), np.ones(150))
    assert quiet.noise < 1e-2 < 1 < loud.noise
    assert quiet.sure <= quiet.kernel.length


@pytest.mark.parametrize(
    "scale", [Scale(2.0, 0.5, True), Scale(0.3, 2.0, False, 1.0), Scale(0.1, 1.5, True, -1.0)]
)
def test_scales_invert_and_know_their_jacobian(rng, scale):
    v = (scale.sign or 1) * rng.uniform(0.2, 9, size=20)
    assert scale.back(scale(v)) == pytest.approx(v)
    slope = (scale(v + 1e-6) - scale(v - 1e-6)) / 2e-6
    assert scale.bend(v) == pytest.approx(np.log(slope).sum(), rel=1e-5)


def test_outliers_of_both_sides_are_left_out(rng):
    known = inputs(rng, 30, k=0, q=0)
    y = known.x[:, 0] + 0.1 * rng.normal(size=30)
    for wild in (1e4, -1e4):
        v = y.copy()
        v[7] = wild
        curve = Curve.of(known, v, np.ones(30))
        assert curve.outliers.tolist() == [i == 7 for i in range(30)]
    assert not Curve.of(known, y, np.ones(30)).outliers.any()


def test_effects_that_multiply_are_seen_on_logarithms(rng):
    known = inputs(rng, 80, k=0, q=0)
    v = np.exp(2 * known.x[:, 0] + 0.1 * rng.normal(size=80))
    assert Curve.of(known, v, np.ones(80), compressed=False).scale.sign == 1.0
    assert Curve.of(known, known.x[:, 0] + 50, np.ones(80), compressed=False).scale.sign == 0.0


def test_hyper_parameters_are_chosen_again_after_a_fifth_more():
    sizes = sorted({last_fit(n) for n in range(8, 1000)})
    assert all(1.1 < b / a < 1.35 for a, b in pairwise(sizes))


def test_unknown_covariates_count_as_usual():
    results = Results.of([[0.0]] * 3, [1.0, 2.0, 3.0], covariates=np.array([[1.0], [np.nan], [3.0]]))
    assert results.inputs(np.ones(1)).covariates.ravel().tolist() == [-1.0, 0.0, 1.0]


def test_a_belief_leaves_the_mean_s_order_to_the_value(rng):
    x = rng.uniform(-1, 1, size=(60, 1))
    belief = Belief(Results.of(x, (x[:, 0] - 0.3) ** 2 + 0.01 * rng.normal(size=60)), np.ones(1), np.zeros(1))
    grid = np.linspace(-1, 1, 41)[:, None]
    here = Inputs(np.zeros((1, 1)), np.array([61.0]), np.zeros((1, 0)), np.zeros((1, 0)))
    assert grid[belief.mean(here.moved(grid)).argmin(), 0] == pytest.approx(0.3, abs=0.11)
