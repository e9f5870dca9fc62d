"""Every problem of the registry: its law, its gradients, and the points that it says it knows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm, t

import driftopt
from driftopt import methods, problems
from driftopt.problem import Optimum, Problem
from driftopt.problems.registry import CLOSED, NONE, SEARCHED

OWN = tuple(name for name in problems.names() if problems.entry(name).provider == "driftopt")
CLOSED_FORMS = tuple(name for name in OWN if problems.entry(name).known.optimum == CLOSED)
WITH_BOTH = tuple(name for name in CLOSED_FORMS if problems.entry(name).known.stable_point == CLOSED)
LIMIT = float(norm.isf(0.5e-7))  # of |z|: up to ten coordinates are looked at


@pytest.fixture(scope="module")
def examples() -> dict[str, Problem]:
    return {name: problems.get(name) for name in OWN}


@pytest.mark.parametrize("name", OWN)
def test_check_finds_nothing(name, examples):
    report = driftopt.check(examples[name])
    assert report.ok, report


@pytest.mark.parametrize("name", OWN)
def test_the_registry_says_what_the_problem_knows(name, examples):
    problem, known = examples[name], problems.entry(name).known
    assert problem.dim == known.dim
    assert problem.remembers == known.memory
    if known.optimum != SEARCHED:  # a search takes seconds, and has tests of its own
        assert how(problem.optimum()) == known.optimum
    assert how(problem.stable_point()) == known.stable_point


def how(point: Optimum | None) -> str:
    if point is None:
        return NONE
    return CLOSED if point.exact else SEARCHED


STEP = 1e-5


@jax.jit
def slopes(problem, x, xi):
    """∇ₓF and ∇f, each exactly and by central differences of a step of 1e-5."""
    moves = STEP * jnp.eye(len(x))

    def both(fun):
        rises = jax.vmap(lambda move: fun(x + move) - fun(x - move))(moves)
        return jax.grad(fun)(x), rises / (2 * STEP)

    return both(lambda x: problem.value(x, xi)), both(problem.objective)


@pytest.mark.parametrize("name", OWN)
def test_gradients_are_those_of_differences(name, examples):
    """∇ₓF at a ξ that is held, and ∇f, at a point off every kink."""
    problem = examples[name]
    x = np.asarray(problem.x0, float) + np.random.default_rng(1).normal(0, 0.1, problem.dim)
    xi = problem.draw(jax.random.key(5), jnp.asarray(x, jnp.float32))
    with jax.enable_x64(True):
        pairs = slopes(problem, jnp.asarray(x, jnp.float64), xi)
    for exact, found in pairs:
        scale = max(1.0, float(np.abs(found).max()))
        np.testing.assert_allclose(exact, found, rtol=1e-4, atol=1e-4 * scale)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_nothing_near_or_far_is_below_a_closed_optimum(name, examples):
    problem, best = examples[name], examples[name].optimum()
    rng = np.random.default_rng(0)
    moves = rng.normal(size=(4000, problem.dim)) * np.logspace(-4, 1, 4000)[:, None]
    with jax.enable_x64(True):
        values = np.asarray(jax.jit(jax.vmap(problem.objective))(jnp.asarray(best.x + moves)))
        assert float(problem.objective(jnp.asarray(best.x))) == pytest.approx(best.value, rel=1e-6, abs=1e-6)
    assert values.min() >= best.value - 1e-6


def mean_slope(problem, x, samples=20_000):
    """∇ₓF of fresh ξ ~ Ξ(x) at x itself, without the derivative through Ξ: (samples, d)."""
    at = jnp.asarray(x, jnp.float32)
    keys = jax.random.split(jax.random.key(3), samples)
    slopes = jax.jit(jax.vmap(lambda key: jax.grad(problem.value)(at, problem.draw(key, at))))
    return np.asarray(slopes(keys), float)


def largest_z(samples):
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    gap = np.abs(samples.mean(axis=0))
    return float(np.max(np.where(gap < 1e-6, 0, gap / np.maximum(error, 1e-12))))


@pytest.mark.parametrize("name", WITH_BOTH)
def test_retraining_has_no_slope_at_the_stable_point(name, examples):
    """E ∇ₓF(x; ξ) = 0 with ξ ~ Ξ(x) at the stable point; at the optimum, the twin, it is not."""
    problem = examples[name]
    assert largest_z(mean_slope(problem, problem.stable_point().x)) < LIMIT
    assert largest_z(mean_slope(problem, problem.optimum().x)) > LIMIT
    assert problem.optimum().value < problem.stable_point().value


# The methods that retrain, on every problem with closed forms.

LANES = 32
BOUND = float(t.isf(0.5e-7, LANES - 1))
STEPS = {"root-location": 0.05, "parking": 30.0, "ar1-pricing": 0.2}  # others 0.2


def ends(method, problem, budget):
    """(lanes, d): where runs with different seeds stop, from a start that is neither point."""
    start = np.asarray(problem.optimum().x, float) + 0.3
    many = driftopt.stack([problem])
    return driftopt.simulate_many(method, many, budget=budget, seeds=range(LANES), x0=start).x[0, :, 0]


def farthest_z(found, point):
    """The largest |z| of the mean over lanes; what does not vary must agree to float32."""
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    gap = np.abs(found.mean(axis=0) - point)
    return float(np.max(np.where(gap < 1e-5, 0, gap / np.maximum(error, 1e-12))))


@pytest.mark.parametrize("name", WITH_BOTH)
def test_repeated_gradient_descent_rests_at_the_stable_point(name, examples):
    problem = examples[name]
    method = methods.get("rgd", step=STEPS.get(name, 0.2), batch=10)
    found = ends(method, problem, 1500)
    assert methods.entry("rgd").finds == methods.entry("rrm").finds == "stable point"
    assert farthest_z(found, problem.stable_point().x) < BOUND
    assert farthest_z(found, problem.optimum().x) > BOUND, "it must not pass for a method that optimises"


def curved(problem):
    """Whether F is strictly convex in x for a given batch of ξ, so that it has one minimum."""
    x = problem.x0
    keys = jax.random.split(jax.random.key(0), 200)
    xi = jax.jit(jax.vmap(lambda key: problem.draw(key, x)))(keys)
    hessian = jax.jit(jax.hessian(lambda z: jnp.mean(jax.vmap(problem.value, (None, 0))(z, xi))))(x)
    return bool(np.linalg.eigvalsh(np.asarray(hessian)).min() > 1e-6)


@pytest.mark.parametrize("name", ["location-shift", "gaussian-pricing", "regression"])
def test_repeated_minimisation_rests_at_the_stable_point_or_nowhere(name, examples):
    """Where F is linear in x no batch has a minimum: within bounds every step ends in a corner."""
    problem = examples[name]
    if curved(problem):
        found = ends(methods.get("rrm", batch=60, iterations=5), problem, 360)
        assert farthest_z(found, problem.stable_point().x) < BOUND
        assert farthest_z(found, problem.optimum().x) > BOUND
    else:
        far = 3 + float(np.abs(problem.stable_point().x).max())
        found = ends(methods.get("rrm", batch=20, iterations=60, low=-far, high=far), problem, 200)
        assert np.mean(np.isclose(np.abs(found), far, rtol=1e-5)) > 0.9
