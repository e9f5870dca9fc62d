"""The steps in the compiled loop: the same code, and the same path as `minimize` on the same draws."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
import driftopt.pytree
from driftopt import methods, minimize, simulate, simulate_many, stack
from driftopt.answers import Answers, Beside, Told
from driftopt.problems import kink
from driftopt.rng.seeds import as_key, query_key, run_keys

LIMITS = {"complaints": {"max": 1.0}}
ALL = {"covariates": True, "precision": True, "relative_to_control": True, "limits": LIMITS}
EACH = [{name: value} for name, value in ALL.items()] + [ALL]


class Week(NamedTuple):
    crowd: jax.Array
    own: jax.Array
    customers: jax.Array
    complaints: jax.Array


@driftopt.pytree.module
class Shop(driftopt.Problem):
    """|x − best|² under the week's crowd and its own noise; complaints rise with the first coordinate."""

    best: jax.Array

    @property
    def dim(self):
        return 2

    def noise(self, key):
        a, b, c, d = jax.random.normal(key, (4,))
        return Week(a, b, jnp.exp(c), d)

    def respond(self, noise, x):
        return noise

    def value(self, x, xi):
        return ((x - self.best) ** 2).sum() + xi.crowd + 0.3 * xi.own / jnp.sqrt(xi.customers)

    def objective(self, x):
        return ((x - self.best) ** 2).sum()

    def covariates(self, noise):
        return noise.crowd[None]

    def beside(self, noise, x):
        complaints = x[0] + 0.1 * noise.complaints
        control = (self.best**2).sum() + noise.crowd
        return Beside(metrics={"complaints": complaints}, n=noise.customers, control=control)


def shop():
    return Shop(jnp.array([2.0, 1.0]))


def function(problem, seed, told):
    """The simulator's own draws as a function that returns what is told."""
    _, oracle = run_keys(as_key(seed))
    queries = iter(range(10**9))

    @jax.jit
    def answer(number, x):
        noise = problem.noise(query_key(oracle, number))
        return problem.observe(noise, x), problem.covariates(noise), problem.beside(noise, x)

    def fun(x):
        value, known, beside = answer(next(queries), np.asarray(x, np.float32))
        all_of_it = {
            "covariates": {"covariates": known.tolist()},
            "precision": {"n": float(beside.n)},
            "relative_to_control": {"control": float(beside.control)},
            "limits": {"metrics": {name: float(metric) for name, metric in beside.metrics.items()}},
        }
        answers = {"value": float(value)}
        for name in told:
            answers |= all_of_it[name]
        if "covariates" in answers:
            answers["covariates"] = dict(zip(problem.covariate_names, answers["covariates"], strict=True))
        return answers

    return fun


@pytest.mark.parametrize("told", EACH[-1:], ids=lambda told: "+".join(told))
def test_simulate_walks_the_path_of_minimize(told):
    """To 2e-3 relative: the simulator computes in float32, minimize in float64."""
    problem, seed, params = shop(), 5, {"step": 0.02, "batch": 2}
    method = methods.get("zo-sph", radius=0.3, **params)
    simulated = simulate(methods.informed(method, **told), problem, budget=240, rng=seed)
    named = told | {"covariates": problem.covariate_names} if "covariates" in told else told
    how = {"budget": 240, "rng": seed, "radius": 0.3, "method": "zo-sph", "params": params}
    result = minimize(function(problem, seed, told), [0.0, 0.0], **named, **how)
    assert result.nfev == simulated.queries
    np.testing.assert_allclose(simulated.x, result.x, rtol=2e-3, atol=1e-4)
    plain = minimize(function(problem, seed, ()), [0.0, 0.0], precision=True, **how)
    assert np.abs(plain.x - simulated.x).max() > 1e-2, "the step has done nothing"


@pytest.mark.parametrize("told", EACH, ids=lambda told: "+".join(told))
def test_the_steps_give_the_same_bits_on_both_kinds_of_arrays(told):
    """Operation by operation in float64; exponentials and longer sums may differ in the last bits."""
    exact = set(told) <= {"precision", "relative_to_control"}
    answers = Answers.build(**({**told, "covariates": ("c1",)} if "covariates" in told else told))
    rng = np.random.default_rng(0)
    memory = answers.begin()
    with jax.enable_x64(True):
        other = jax.tree.map(jnp.asarray, memory)
        for _ in range(12):
            values, n = rng.normal(size=(1, 2)), rng.integers(1, 9, size=(1, 2)).astype(float)
            crowd, complaints, control = rng.normal(size=(3, 1, 2))
            beside = Beside({"c1": crowd}, {"complaints": complaints}, n, control)
            memory, mine = answers.take_told(memory, Told(values, answers.rows(beside, (1, 2), np)))
            beside, taken = jax.tree.map(jnp.asarray, beside), jnp.ones((1, 2), bool)
            rows = answers.rows(beside, (1, 2), jnp)
            other, theirs = answers.take_told(other, Told(jnp.asarray(values), rows, taken, jnp))
            if exact:
                np.testing.assert_array_equal(mine, theirs)
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_lanes_of_other_batches_and_limits_are_the_runs_alone():
    """Samples that a lane has room for and does not take leave it alone; a limit's number is a lane's own."""
    problems = stack([shop()])
    numbers = {"batch": jnp.array([1, 3]), "step": 0.02, "radius": 0.3}
    limits = {"complaints": {"max": jnp.array([1.0, 0.5])}}
    both = methods.informed(methods.get("zo-sph", **numbers), **ALL)
    both = driftopt.methods.Informed(both.method, limits, True, True, True)
    together = simulate_many(both, problems, budget=120, seeds=[4])
    first = methods.get("zo-sph", **{**numbers, "batch": 1})
    alone = simulate_many(methods.informed(first, **ALL), problems, budget=120, seeds=[4])
    np.testing.assert_allclose(together.x[0, 0, 0], alone.x[0, 0, 0], rtol=1e-3, atol=1e-4)
    assert np.abs(together.x[0, 0, 1] - alone.x[0, 0, 0]).max() > 1e-2


@pytest.mark.parametrize("told", EACH[:-1], ids=lambda told: "+".join(told))
def test_a_problem_that_tells_nothing_is_refused(told):
    said = {"covariates": "covariates", "precision": "n or sem", "relative_to_control": "control"}
    with pytest.raises(
        ValueError, match=f"the problem has no {said.get(next(iter(told)), 'metric complaints')}"
    ):
        simulate(methods.informed(methods.get("walk", radius=1.0), **told), kink(2), budget=20)


def test_what_informed_refuses():
    auto = methods.get("walk", radius=1.0)
    for wrong, said in (
        ({}, "no side information"),
        ({"covariates": "yes"}, "covariates"),
        ({"limits": {"a": {"max": 1.0, "hard": True}}}, "halts a live study"),
        ({"limits": {"a": {"most": 1.0}}}, "takes max or min"),
    ):
        with pytest.raises(ValueError, match=said):
            methods.informed(auto, **wrong)
    with pytest.raises(ValueError, match="must see values alone"):
        methods.informed(methods.informed(auto, precision=True), precision=True)
