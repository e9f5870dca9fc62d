"""Problems that break their contract: a sentence at every entry, naming the member to mend."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods, sweep
from driftopt.problem import Optimum, Problem
from driftopt.problems import kink, location_shift
from driftopt.problems.pricing import Pricing
from driftopt.pytree import module, static
from support.bowl import bowl

METHOD = methods.get("zo-sph", radius=0.5, step=0.01)


class Plain(Problem):
    """f(x) = Σ|x|, with noise: the right one, of which each case below changes one member."""

    dim = 2

    def draw(self, key, x):
        return jax.random.normal(key, (), jnp.float32)

    def value(self, x, xi):
        return jnp.sum(jnp.abs(x)) + xi

    def objective(self, x):
        return jnp.sum(jnp.abs(x))


def problem(**members: Any) -> Problem:
    fields = dict.fromkeys(members.pop("fields", ()), Any)
    return module(type("Mine", (Plain,), {"__annotations__": fields, **members}))()


CASES = {
    "value a vector": (
        {"value": lambda s, x, xi: x + xi},
        r"Mine\.value\(x, xi\) must give one number.*\(2,\)",
    ),
    "value of shape (1,)": (
        {"value": lambda s, x, xi: xi[None]},
        r"Mine\.value.*shape \(\), got the shape \(1,\)",
    ),
    "value a tuple": ({"value": lambda s, x, xi: (xi, xi)}, r"Mine\.value.* got a tuple of 2 arrays"),
    "value complex": ({"value": lambda s, x, xi: xi + 1j}, r"Mine\.value.* must give a real number"),
    "objective None": ({"objective": lambda s, x: None}, r"Mine\.objective\(x\) gives None"),
    "objective a vector": ({"objective": lambda s, x: x}, r"Mine\.objective\(x\) must give one number"),
    "dim a method": ({"dim": lambda s: 2}, r"Mine\.dim is a method: put @property"),
    "dim wrong": ({"dim": 2.5}, r"Mine\.dim must be a whole number >= 1"),
    "dim zero": ({"dim": 0}, r"Mine\.dim must be a whole number >= 1"),
    "x0 too long": ({"x0": np.zeros(3)}, r"Mine\.x0 must have the shape \(2,\)"),
    "x0 a list": ({"x0": [0.0, 0.0]}, r"Mine\.x0 must be an array: return jnp\.asarray"),
    "label a number": ({"label": 7}, r"Mine\.label must be a text, what tables call it; got 7"),
    "label a method": ({"label": lambda s: "mine"}, r"Mine\.label is a method: put @property"),
    "x0 not finite": ({"x0": np.array([0.0, np.nan])}, r"Mine\.x0 must be finite"),
    "a word": ({"fields": ["loss"], "loss": "hinge"}, r"Mine\.loss holds 'hinge'.*static\(\)"),
    "a function": ({"fields": ["law"], "law": abs}, r"Mine\.law holds .*static\(\)"),
    "a whole number": (
        {
            "fields": ["buyers"],
            "buyers": 3,
            "draw": lambda s, key, x: jnp.sum(jax.random.normal(key, (s.buyers,))),
        },
        r"Mine\.draw .*static\(\)\. buyers would be one",
    ),
    "a branch": (
        {"objective": lambda s, x: x[0] if x[0] > 0 else x[1]},
        r"Mine\.objective .* use jnp\.where",
    ),
    "NumPy's randomness": (
        {"draw": lambda s, key, x: jnp.float32(np.random.default_rng().normal())},
        r"Mine\.draw holds random numbers that are not the key's",
    ),
    "arguments": ({"value": lambda s, x: 0.0}, r"Mine\.value does not fit: .* takes 2 positional arguments"),
    "a word in jnp": ({"value": lambda s, x, xi: jnp.sum("x")}, r"Mine\.value does not fit"),
}


def entries(one: Problem) -> list[Any]:
    return [
        lambda: driftopt.simulate(METHOD, one, budget=10),
        lambda: driftopt.stack([one]),
        lambda: sweep.run([METHOD], [one], budget=10, seeds=[0]),
        lambda: sweep.tune([METHOD], [one], budget=10, development=[0], held_out=[1]),
        lambda: driftopt.compare(one, {"mine": METHOD}, budget=10),
    ]


@pytest.mark.parametrize("case", CASES)
def test_a_broken_problem_is_a_sentence_at_every_entry(case):
    members, message = CASES[case]
    wrong = problem(**members)
    for call in entries(wrong):
        with pytest.raises(ValueError, match=message):
            call()
    (finding,) = driftopt.check(wrong).findings
    assert not finding.kept


def test_the_right_problem_passes():
    assert driftopt.check(problem()).ok
    assert driftopt.simulate(METHOD, problem(), budget=10).queries == 10


@pytest.mark.parametrize("one", [kink(3), location_shift(3), bowl(), Pricing.synthetic(0, products=5)])
def test_what_comes_with_driftopt_keeps_its_promises(one):
    report = driftopt.check(one)
    assert report.ok, report
    assert "all promises kept" in repr(report)
    assert "<table>" in report._repr_html_()


PLANTED = {
    "a bias of a tenth": (
        {"objective": lambda s, x: jnp.sum(jnp.abs(x)) + 0.1},
        "the objective is the samples' mean",
    ),
    "no noise": ({"draw": lambda s, key, x: jnp.float32(0)}, "samples depend on the key"),
    "not finite": ({"value": lambda s, x, xi: jnp.log(xi)}, "finite at"),
    "broadcasts wrongly": (
        {"broadcasts": True, "value": lambda s, x, xi: jnp.mean(jnp.abs(x)) * 2 + xi},
        "side by side as alone",
    ),
}


OPTIMA = {
    "another dimension": (Optimum(np.zeros(3), 0.0), "its x must have length 2, got 3"),
    "not finite": (Optimum(np.array([0.0, np.nan]), 0.0), "its x must be finite"),
    "another value": (Optimum(np.zeros(2), -1e9), r"its value is -1e\+09, but the objective at its x is 0"),
    "no number": (Optimum(np.zeros(2), None), "its value must be a number, got None"),
    "a tuple": ((np.zeros(2), 0.0), "it must give a driftopt.problem.Optimum or None, got"),
    "not the best": (Optimum(np.ones(2), 2.0), "its value is 2, but at a point that was tried f is 0"),
}


@pytest.mark.parametrize("case", OPTIMA)
def test_an_optimum_that_is_none_is_found(case):
    known, message = OPTIMA[case]
    (broken,) = [f for f in driftopt.check(problem(optimum=lambda s: known)).findings if not f.kept]
    assert broken.promise == "optimum() is what it says"
    assert re.search(message, broken.detail)


def test_an_optimum_that_is_right_passes_and_a_field_is_none():
    right = Optimum(np.zeros(2), 0.0)
    assert driftopt.check(problem(optimum=lambda s: right)).ok
    assert "optimum must be a function" in repr(driftopt.check(problem(optimum=right)))


@pytest.mark.parametrize("case", PLANTED)
def test_planted_faults_of_the_law_are_found(case):
    members, promise = PLANTED[case]
    broken = [f for f in driftopt.check(problem(**members), samples=20_000).findings if not f.kept]
    assert broken
    assert all(finding.promise.startswith(promise) for finding in broken)


def test_a_problem_need_not_be_defined_far_from_its_start():
    near = {"value": lambda s, x, xi: jnp.where(jnp.max(jnp.abs(x)) < 0.4, jnp.sum(jnp.abs(x)) + xi, jnp.nan)}
    report = driftopt.check(problem(**near))
    assert report.ok
    left_out = [finding for finding in report.findings if finding.promise.startswith("finite at")]
    assert left_out
    assert all("left out" in finding.detail for finding in left_out)


def logistic(x, applicant, moves=-0.25):
    """The loss of a classifier at a person who moves along the weight x₁ once it is known."""
    return jnp.log1p(jnp.exp(-(x[0] + x[1] * (applicant + moves * x[1]))))


APPLICANTS = np.linspace(-2, 3, 50).astype(np.float32)
LOGISTIC = {
    "draw": lambda s, key, x: jax.random.choice(key, APPLICANTS),
    "value": lambda s, x, xi: logistic(x, xi),
    "objective": lambda s, x: jnp.mean(jax.vmap(lambda a: logistic(x, a))(APPLICANTS)),
}


def test_samples_may_be_alike_at_the_start():
    """At x = 0 the logistic loss is log 2, whatever is drawn."""
    report = driftopt.check(problem(**LOGISTIC))
    assert report.ok, report


def test_a_sign_error_in_the_objective_is_found():
    """It is lost in the noise near the start, where 4,000 samples see errors of 0.008."""

    def wrong(s, x):
        return jnp.mean(jax.vmap(lambda a: logistic(x, a, moves=0.25))(APPLICANTS))

    broken = [f for f in driftopt.check(problem(**{**LOGISTIC, "objective": wrong})).findings if not f.kept]
    assert broken
    assert all(finding.promise.startswith("the objective is the samples' mean at") for finding in broken)
    assert not any("0.1 from x0" in finding.promise for finding in broken)


def test_stacks_and_problems_are_not_mistaken_for_each_other():
    one, many = bowl(), driftopt.stack([bowl(0), bowl(1)])
    with pytest.raises(ValueError, match="problem must be a single Problem; simulate_many takes"):
        driftopt.simulate(METHOD, many, budget=10)
    with pytest.raises(ValueError, match=r"problems must come from stack\(\[…\]\)"):
        driftopt.simulate_many(METHOD, one, budget=10, seeds=[0])
    with pytest.raises(ValueError, match=r"problems must be a list: stack\(\[problem\]\)"):
        driftopt.stack(one)
    for nothing in ([], 3, None):
        with pytest.raises(ValueError, match="problems must be a list of Problems"):
            driftopt.stack(nothing)
    with pytest.raises(ValueError, match="check each"):
        driftopt.check(many)


def test_problems_without_fields_stack_as_many_as_they_are():
    trace = driftopt.simulate_many(METHOD, driftopt.stack([problem()] * 2), budget=20, seeds=[0])
    assert trace.fun.shape == (2, 1, 1)
    assert not np.array_equal(trace.x[0], trace.x[1])  # each instance has its own noise


@pytest.mark.parametrize("seeds", [5, [], None, "12", [[1, 2], [3]], [1.5]])
def test_wrong_seeds_are_a_sentence(seeds):
    with pytest.raises(ValueError, match=r"seed|rng"):
        driftopt.simulate_many(METHOD, driftopt.stack([bowl()]), budget=10, seeds=seeds)


def test_static_fields_must_be_hashable():
    @module
    class Listed(Plain):
        weights: Any = static(default=None)

    with pytest.raises(ValueError, match=r"Listed\.weights is static, so it must be hashable"):
        driftopt.stack([Listed(weights=[1, 2])])
