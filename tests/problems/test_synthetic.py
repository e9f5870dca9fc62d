"""Problems with known answers: the answers checked against quadrature, differentiation and sampling."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from driftopt.problems import synthetic

MAKERS = (synthetic.location_shift, synthetic.kink, synthetic.two_wells)
every = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
SAMPLES = 100_000


def zscore(samples, mean):
    samples = np.asarray(samples, np.float64)
    return (samples.mean() - float(mean)) / (samples.std() / np.sqrt(len(samples)))


@every
def test_objective_is_the_mean_of_samples(make):
    problem = make(4)
    x = problem.x0 + jnp.asarray([0.3, -0.2, 0.1, 0.5], jnp.float32)
    keys = jax.random.split(jax.random.key(0), SAMPLES)

    @jax.jit
    def looked_at(x):
        drawn = jax.vmap(lambda key: problem.value(x, problem.draw(key, x)))(keys[:50])
        return jax.vmap(problem.sample, (0, None))(keys, x), drawn, problem.objective(x)

    values, drawn, expected = looked_at(x)
    assert abs(zscore(values, expected)) < norm.isf(0.5e-6)
    assert abs(zscore(values * 1.02, expected)) > norm.isf(0.5e-6), "a bias of 2 % must be seen"
    np.testing.assert_allclose(drawn, values[:50], rtol=1e-4)  # a sample is the value of a draw


@pytest.mark.parametrize("dim", [1, 2, 3, 8])
def test_smoothed_sign_against_quadrature(dim):
    """E sign(z + δu) with the density (1 − t²)^((d−1)/2) of one coordinate of the ball, and with N(0, 1)."""
    radius, z = 0.7, np.array([-2.0, -0.6, -0.05, 0.0, 0.3, 0.69, 1.5])

    def density(t):
        return (1 - t * t) ** ((dim - 1) / 2)

    def mean_sign(edge):
        below, above = quad(density, -1, edge)[0], quad(density, edge, 1)[0]
        return (above - below) / (above + below)

    def smoothed(law):
        each = jax.jit(jax.vmap(lambda z: synthetic.smoothed_sign(jnp.full(dim, z), radius, law)))
        return np.asarray(each(jnp.asarray(z, jnp.float32)))

    exact = np.array([mean_sign(edge) for edge in np.clip(-z / radius, -1, 1)])
    np.testing.assert_allclose(smoothed("ball"), np.repeat(exact[:, None], dim, 1), atol=2e-6)
    exact = 1 - 2 * norm.cdf(-z / radius)
    np.testing.assert_allclose(smoothed("gaussian"), np.repeat(exact[:, None], dim, 1), atol=2e-6)


@every
@pytest.mark.parametrize("law", ["ball", "gaussian"])
def test_smoothed_gradient_is_the_mean_gradient_nearby(make, law):
    problem, radius = make(3), 0.6
    x = jnp.asarray(problem.optimum().x + np.array([0.45, 0.2, -0.3]), jnp.float32)
    u = jax.random.normal(jax.random.key(4), (SAMPLES, 3))
    if law == "ball":
        lengths = jax.random.uniform(jax.random.key(5), (SAMPLES, 1)) ** (1 / 3)
        u = u / jnp.sqrt(jnp.sum(u * u, axis=1, keepdims=True)) * lengths
    gradients = np.asarray(jax.jit(jax.vmap(jax.grad(problem.objective)))(x[None] + radius * u))
    smoothed = jax.jit(lambda x: problem.smoothed_gradient(x, jnp.float32(radius), law))
    truth = smoothed(x)
    z = [zscore(gradients[:, i], truth[i]) for i in range(3)]
    assert np.max(np.abs(z)) < norm.isf(0.5e-6 / 3)
    wrong = smoothed(x + 0.05)
    z = [zscore(gradients[:, i], wrong[i]) for i in range(3)]
    assert np.max(np.abs(z)) > norm.isf(0.5e-6 / 3), "the gradient at another point must not pass"


def test_two_wells_equals_its_kinks():
    problem = synthetic.two_wells(1, width=1.2, height=0.4)
    z = jnp.linspace(-2, 3, 501)[:, None]
    direct = jax.jit(jax.vmap(problem.objective))(problem.center[None] + z)
    kinks = sum(c * jnp.abs(z[:, 0] - t) for c, t in problem.kinks()) + (problem.height - problem.width) / 2
    np.testing.assert_allclose(direct, kinks, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: synthetic.kink(0), "dim"),
        (lambda: synthetic.kink(2, noise=-1), "noise"),
        (lambda: synthetic.two_wells(2, width=1, height=1), "height"),
        (lambda: synthetic.location_shift(2, strength=float("nan")), "strength"),
        (lambda: synthetic.location_shift(2, rng="x"), "rng"),
        (lambda: synthetic.kink(2).smoothed_gradient(jnp.zeros(2), 1.0, "cube"), "law"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
