"""The second loop: what methods see, exact counting, and drivers that agree."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.drivers.plan import affordable, first_step
from driftopt.oracle import Sight
from driftopt.rng.seeds import as_key, lane_seed, query_key, run_keys
from support.bowl import bowl
from support.worlds import Slow, forgetful, shifting

RUN = {"budget": 200, "evaluate_every": 64}


def shown(method, seed=0):
    """A problem that shows what the method sees: for values that of the other files, which share programs."""
    return bowl(seed) if method.sees is Sight.VALUES else shifting(seed)


def test_a_world_that_forgets_at_once_is_walked_as_one_without_memory(any_method):
    """And for methods of values the two loops walk the same path: only this one knows worlds with memory."""
    if any_method.sees is Sight.SAME_SAMPLE:
        pytest.skip("a world with memory has moved on after the first of a pair")
    problem = shown(any_method)
    first, second = (
        driftopt.simulate(any_method, one, rng=3, **RUN) for one in (problem, forgetful(problem))
    )
    np.testing.assert_allclose(second.x, first.x, rtol=1e-4, atol=1e-5)
    assert second.queries == first.queries
    assert second.evaluated_at[-1] == first.evaluated_at[-1]
    np.testing.assert_allclose(second.fun, first.fun, rtol=1e-4, atol=1e-5)


def test_every_method_spends_whole_iterations_and_repeats_itself(every_method):
    """One seed, one result, to the bit.

    And the count of queries is that of whole iterations within the budget.
    """
    problem = shown(every_method)
    trace, again, other = (driftopt.simulate(every_method, problem, rng=rng, **RUN) for rng in (3, 3, 4))
    assert trace.queries == affordable(every_method.for_budget(200), 3, 200).queries
    assert 0 < trace.queries <= 200
    assert (np.diff(trace.evaluated_at) >= 0).all()
    assert trace.evaluated_at[-1] == trace.queries
    assert trace.objective[-1] == trace.fun
    np.testing.assert_array_equal(trace.x, again.x)
    assert not np.array_equal(trace.x, other.x)


def test_costs_are_what_the_samples_of_each_iteration_add_up_to(any_method):
    method = any_method.for_budget(200)
    each = [np.asarray(method.samples(count, 3)) for count in range(200)]
    assert first_step(method, 3) == sum(int(some.sum()) for some in each[: 1 + method.warmup])
    found = affordable(method, 3, 200)
    spent = np.cumsum([some.sum() for some in each])
    assert found.iterations == int((spent <= 200).sum())
    assert found.queries == spent[found.iterations - 1]
    assert found.most == max(int(some.max()) for some in each[: found.iterations])


def test_a_budget_below_the_first_step_is_refused(any_method):
    problem, few = shown(any_method), 1
    if first_step(any_method.for_budget(few), 3) <= few:
        pytest.skip("one query is a step")
    with pytest.raises(ValueError, match="too small"):
        driftopt.simulate(any_method, problem, budget=few)


def test_every_lane_equals_its_single_run(any_name):
    """For those of values alone this is in test_simulation.py."""
    entry = methods.entry(any_name)
    if entry.sees is Sight.VALUES and not methods.get(any_name, **entry.example).scheduled:
        pytest.skip("every driver runs it")
    number = next((p for p in entry.parameters if isinstance(numbers(entry).get(p), float)), None)
    if number is None:
        pytest.skip("no number that lanes can differ in without a new shape")
    usual = numbers(entry)[number]
    values = np.array([0.5, 1.0]) * usual

    def build(value):
        return methods.get(any_name, **{**entry.example, number: value})

    problems, seeds = [shown(build(usual)), shown(build(usual), 1)], [4, 9]
    many = driftopt.simulate_many(build(values), driftopt.stack(problems), seeds=seeds, **RUN)
    for k, s in np.ndindex(2, 2):
        one = driftopt.simulate(build(float(usual)), problems[k], rng=lane_seed(seeds[s], k), **RUN)
        np.testing.assert_allclose(many.x[k, s, 1], one.x, rtol=1e-3, atol=1e-4)
        assert many.queries[k, s, 1] == one.queries


def numbers(entry):
    return {**entry.defaults, **entry.example}


# What a driver cannot show, it refuses before anything runs.


def test_a_study_says_what_it_cannot_show(any_name, tmp_path):
    entry = methods.entry(any_name)
    method = methods.get(any_name, **entry.example)
    params = {k: v for k, v in entry.example.items() if k != "budget"}

    def create():
        return driftopt.Study.create(
            f"sqlite:///{tmp_path / 's.db'}",
            "s",
            x0=[0.0, 1.0, 2.0],
            budget=200,
            method=any_name,
            params=params,
        )

    if method.sees not in (Sight.VALUES, Sight.MEMORY):
        with pytest.raises(
            ValueError, match=f"^{re.escape(any_name)} sees {entry.sees.words}: a study has values alone"
        ):
            create()
    elif method.scheduled:
        with pytest.raises(ValueError, match=f"^{re.escape(any_name)} takes another batch"):
            create()
    else:
        assert create().ask().x.shape == (3,)


def test_a_problem_that_cannot_show_it_is_named(any_method):
    if any_method.sees is Sight.MODEL:
        problem, says = bowl(), r"sees ξ and a model of its law: Bowl has none; define model\(\)"
    elif any_method.sees is Sight.SAME_SAMPLE:
        problem, says = shifting(kind=Slow), "same noise, which a world with memory cannot show"
    else:
        pytest.skip("every problem shows what it sees")
    with pytest.raises(ValueError, match=says):
        driftopt.simulate(any_method, problem, budget=200)


# minimize with a formula sees what a simulation shows.


@jax.jit
def drawn(problem, oracle, query, x):
    return problem.draw(query_key(oracle, query), x)


def recorded_draw(problem, seed):
    """The simulator's own ξ as a plain Python function, query by query."""
    _, oracle = run_keys(as_key(seed))
    queries = iter(range(10**9))
    return lambda x: np.asarray(drawn(problem, oracle, next(queries), np.asarray(x, np.float32)))


def watched() -> list[str]:
    """Every method that sees more than values, and one that does not: a formula makes values for it.

    That minimize is the simulation for the others too is in test_drivers_agree.py.
    """
    built = {name: methods.get(name, **methods.entry(name).example) for name in methods.names()}
    values = [name for name, method in built.items() if not method.sees.observes and not method.scheduled]
    return [name for name in built if name not in values[1:]]


@pytest.mark.parametrize("any_name", watched())
def test_minimize_with_a_formula_is_the_simulation(any_name):
    """To 2e-3 relative: the simulator computes in float32, minimize in float64."""
    entry = methods.entry(any_name)
    planned = {"budget": RUN["budget"]} if "budget" in entry.example else {}
    method = methods.get(any_name, **{**entry.example, **planned})
    if method.sees is Sight.SAME_SAMPLE:
        pytest.skip("a function cannot replay its noise")
    problem = shifting()
    params = {k: v for k, v in entry.example.items() if k not in ("radius", "budget")}
    result = driftopt.minimize(
        recorded_draw(problem, 6),
        np.zeros(3),
        budget=200,
        method=any_name,
        radius=entry.example.get("radius"),
        params=params,
        loss=formula,
        model=problem.model() if method.sees is Sight.MODEL else None,
        rng=6,
    )
    simulated = driftopt.simulate(method, problem, rng=6, **RUN)
    assert result.nfev == simulated.queries
    assert len(result.history["iteration"]) == result.nfev
    assert result.history["iteration"][-1] == result.nit - 1
    np.testing.assert_allclose(result.x, simulated.x, rtol=2e-3, atol=2e-4)


def formula(x, xi):
    return 0.5 * jnp.sum((x - xi) ** 2) + 0.5 * jnp.sum(x**2)


def test_the_formula_is_reflected_where_queries_are():
    """A method that sees ξ does not know the bounds.

    To it F is mirrored, so its values are those of the queries.
    """
    inside = []

    def draw(x):
        inside.append(x)
        return np.zeros(2)

    box = [(0.5, 2.0), (None, 0.1)]
    params = {"step": 0.5, "batch": 2, "growth": 0, "first": 1, "window": 2}
    result = driftopt.minimize(
        draw,
        [0.6, 0.0],
        budget=60,
        method="zo-ogvr",
        radius=0.5,
        params=params,
        loss=formula,
        bounds=box,
        rng=1,
    )
    points = np.array(inside)
    assert (points[:, 0] >= 0.5).all()
    assert (points[:, 0] <= 2).all()
    assert (points[:, 1] <= 0.1).all()
    assert len(points) == result.nfev
    np.testing.assert_allclose(result.history["value"], [formula(x, 0) for x in points], rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"vectorized": True}, "leave vectorized out"),
        ({"loss": lambda x, xi: x}, r"must be one number; got an array of shape \(2,\)"),
        ({"fun": lambda x: "much"}, "ξ"),
    ],
)
def test_mistakes_with_a_formula_are_named(change, says):
    given = {"fun": lambda x: x, "x0": [0.0, 0.0], "budget": 50, "radius": 0.5, "loss": formula, **change}
    with pytest.raises((ValueError, driftopt.MinimizeError), match=says):
        driftopt.minimize(**given, method="walk")


# Worlds with memory.
