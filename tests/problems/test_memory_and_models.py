"""The world with memory against the law it rests at, and the families against the laws they hold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from driftopt import problems

LIMIT = float(norm.isf(0.5e-7))
COVARIANCE = [[1.0, 0.6], [0.6, 2.0]]


def test_prices_that_are_held_bring_the_demand_to_its_law_at_rest():
    """Mean and covariance after 40 deployments in 20,000 worlds; Σ itself, the twin, is not that of ξ."""
    problem = problems.ar1_pricing(2, refresh=0.3, covariance=COVARIANCE, rng=2)
    x = jnp.array([1.0, 2.5])

    def settled(key):
        first, *rest = jax.random.split(key, 41)
        world = problem.begin(first)

        def deploy(world, key):
            return problem.advance(world, problem.noise(key), x)

        return jax.lax.scan(deploy, world, jnp.stack(rest))[0]

    worlds = np.asarray(jax.jit(jax.vmap(settled))(jax.random.split(jax.random.key(0), 20_000)), float)
    centred = worlds - np.asarray(problem.mean(x), float)
    assert np.abs(z(centred)).max() < LIMIT
    products = centred[:, :, None] * centred[:, None, :]
    at_rest = np.array(COVARIANCE) * 0.3 / 1.7
    assert np.abs(z((products - at_rest).reshape(-1, 4))).max() < LIMIT
    assert np.abs(z((products - np.array(COVARIANCE)).reshape(-1, 4))).min() > LIMIT
    drawn = np.asarray(
        jax.jit(jax.vmap(lambda key: problem.draw(key, x)))(jax.random.split(jax.random.key(1), 20_000))
    )
    spread = drawn - np.asarray(problem.mean(x))
    assert np.abs(z((spread[:, :, None] * spread[:, None, :] - at_rest).reshape(-1, 4))).max() < LIMIT


def z(samples):
    return samples.mean(axis=0) / (samples.std(axis=0, ddof=1) / np.sqrt(len(samples)))


SMALL = [problems.get(name) for name in problems.names() if problems.entry(name).known.dim <= 5]
MODELLED = {type(problem.model()): problem for problem in SMALL if problem.model() is not None}


@pytest.fixture(params=MODELLED.values(), ids=lambda problem: problem.label)
def modelled(request):
    """One problem for each class of models."""
    return request.param


def explored(problem, samples=4000, seed=0):
    """Decisions around the optimum and one ξ at each."""
    rng = np.random.default_rng(seed)
    spread = 0.25 if problem.dim == 1 else 0.5
    x = jnp.asarray(problem.optimum().x + spread * rng.uniform(-1, 1, (samples, problem.dim)), jnp.float32)
    return x, jax.jit(jax.vmap(problem.draw))(jax.random.split(jax.random.key(seed), samples), x)


def test_a_fitted_family_draws_what_the_problem_draws(modelled):
    """The mean of F at a new decision under the fitted law is f there, up to what 4,000 pairs can tell."""
    model, (x, xi) = modelled.model(), explored(modelled)
    new = jnp.asarray(modelled.optimum().x + 0.1, jnp.float32)
    keys = jax.random.split(jax.random.key(9), 4000)

    @jax.jit
    def draws(x, xi):
        fitted = model.fit(x, xi, jnp.ones(len(x), bool))
        return jax.vmap(lambda key: model.draw(fitted, key, new))(keys)

    drawn = draws(x, xi)
    real = jax.jit(jax.vmap(lambda key: modelled.draw(key, new)))(keys)
    for one, other in ((drawn, real), (drawn**2, real**2)):
        gap = np.asarray(one, float).mean(axis=0) - np.asarray(other, float).mean(axis=0)
        error = np.sqrt(2 * np.asarray(other, float).var(axis=0) / len(keys))
        assert np.all(np.abs(gap) < 2 * LIMIT * error)  # twice: the fit has an error of its own
    far = jnp.asarray(modelled.optimum().x + 1.5, jnp.float32)  # the twin: another decision's law
    other = jax.jit(jax.vmap(lambda key: modelled.draw(key, far)))(keys)
    gap = np.asarray(drawn, float).mean(axis=0) - np.asarray(other, float).mean(axis=0)
    error = np.sqrt(2 * np.asarray(other, float).var(axis=0) / len(keys))
    assert np.any(np.abs(gap) > 2 * LIMIT * error)


def test_what_was_not_taken_does_not_count(modelled):
    model, (x, xi) = modelled.model(), explored(modelled, 300)
    taken = jnp.arange(300) < 200
    hidden = jnp.where(taken[:, None], xi, jnp.nan)

    @jax.jit
    def fit(x, xi, taken):
        return [leaf for leaf in jax.tree.leaves(model.fit(x, xi, taken)) if not callable(leaf)]

    numbers = fit(x[:200], xi[:200], jnp.ones(200, bool)), fit(x, hidden, taken)
    for alone, masked in zip(*numbers, strict=True):
        np.testing.assert_allclose(masked, alone, rtol=2e-2, atol=2e-3)
