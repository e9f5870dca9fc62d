"""What `simulate` takes and refuses: problems without numbers or laws, seeds, starts, unequal arrays."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
import driftopt.drivers.host
from driftopt import methods, sweep, theory
from driftopt.method import check_spacing
from driftopt.problem import Problem
from driftopt.problems import Pricing, kink
from driftopt.pytree import module
from driftopt.sweep import simulated
from support.bowl import bowl

RUN = {"budget": 200, "evaluate_every": 64}  # one shape for most tests, so that they share compilations


def test_the_start_may_be_chosen():
    method = methods.get("zo-sph", radius=1e-3, step=1e-6)
    trace = driftopt.simulate(method, bowl(), budget=2, x0=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(trace.x, [1, 2, 3], atol=0.05)


def test_generators_give_fresh_seeds():
    method, generator = methods.get("zo-sph", radius=0.1, step=0.1), np.random.default_rng(0)
    runs = [driftopt.simulate(method, bowl(), rng=generator, **RUN).x for _ in range(2)]
    assert not np.array_equal(*runs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 2.5}, "budget"),
        ({"x0": [1.0, 2.0]}, "length 3"),
        ({"x0": [1.0, float("nan"), 0.0]}, "finite"),
        ({"x0": "abc"}, "number"),
        ({"rng": -1}, "rng"),
        ({"rng": 1.5}, "rng"),
        ({"evaluate_every": 0}, "evaluate_every"),
    ],
)
def test_bad_input_is_a_clear_value_error(change, message):
    good = {"budget": 100, "rng": 0}
    with pytest.raises(ValueError, match=message):
        driftopt.simulate(methods.get("zo-sph", radius=0.1, step=0.1), bowl(), **{**good, **change})


@module
class Numberless(Problem):
    """A problem whose numbers are all in its code."""

    @property
    def dim(self) -> int:
        return 3

    def draw(self, key, x):
        return jax.random.normal(key, (), jnp.float32)

    def value(self, x, xi):
        return self.objective(x) + xi

    def objective(self, x):
        return jnp.sum(jnp.abs(x - 1))


def test_a_problem_without_a_law_says_so():
    @module
    class Lawless(Numberless):
        draw = Problem.draw

    with pytest.raises(NotImplementedError, match=r"Lawless must define draw\(key, x\)"):
        driftopt.simulate(methods.get("zo-sph", radius=0.5, step=0.1), Lawless(), budget=100)


def test_what_is_no_method_or_no_problem_is_refused():
    class Undecorated(Numberless):
        """Not a pytree of its own."""

    method = methods.get("zo-sph", radius=0.5, step=0.1)
    with pytest.raises(ValueError, match="methods"):
        driftopt.simulate("zo-sph", bowl(), budget=100)
    with pytest.raises(ValueError, match="simulate_many"):
        driftopt.simulate(methods.get("zo-sph", radius=0.5, step=[0.1, 0.2]), bowl(), budget=100)
    with pytest.raises(ValueError, match=r"driftopt\.pytree\.module"):
        driftopt.simulate(method, Undecorated(), budget=100)


def test_only_like_problems_stack():
    with pytest.raises(ValueError, match="stacked"):
        driftopt.stack([bowl(dim=3), bowl(dim=4)])


def test_arrays_of_parameters_must_agree():
    method = methods.get("zo-sph", radius=np.ones(3), step=np.ones(2))
    with pytest.raises(ValueError, match="one length"):
        driftopt.simulate_many(method, driftopt.stack([bowl()]), budget=10, seeds=[0])


# Where rounding holds x still

THEORY = theory.o2nc(dim=12, lipschitz=1, noise=0.5, gap=1, epsilon=0.1, delta=0.5).method()
STUCK = {
    "the plan of the docs": (THEORY, 4.0, "O2NC would stand still: its reach, .*, is 2.03e-07 "),
    "a long block": (
        methods.get("zo-o2nc-1pt", radius=0.1, step=0.1, block=10**6),
        1.0,
        r"its reach, .*, is 1e-07 where \|x0\| is 3.46, and float32 needs at least 3.3e-06",
    ),
    "trials that are x itself": (
        methods.get("zo-sph", radius=1e-8, step=0.1),
        1.0,
        r"its radius, .*, is 1e-08 where \|x0\| is 1, and float32 needs at least 9.5e-07",
    ),
    "by coordinates": (methods.get("zo-co", radius=1e-5, step=0.1), 100.0, "its radius, "),
    "walk": (methods.get("walk", radius=1e-7), 1.0, "its radius, "),
    "gfm": (methods.get("gfm", radius=1e-7, step=0.1), 1.0, "its radius, "),
    "one of several": (methods.get("zo-sph", radius=[0.1, 1e-8], step=0.1), 1.0, "its radius, .* 1e-08"),
}


@pytest.mark.parametrize("case", STUCK)
def test_a_method_that_rounding_would_hold_still_is_refused(case):
    """Each spent its budget and reported its start, or what noise alone had made of it."""
    method, start, words = STUCK[case]
    with pytest.raises(ValueError, match=words):
        driftopt.simulate_many(
            method, driftopt.stack([kink(12)]), budget=200, seeds=[0], x0=np.full(12, start)
        )


def test_the_same_numbers_move_a_decision_that_starts_near_zero():
    x = driftopt.simulate(replace(THEORY, output="final"), kink(12), budget=2000, x0=np.zeros(12)).x
    assert 0 < np.abs(x).max() < 1000 * 2.04e-7


@pytest.mark.parametrize("size", [1 + 1e-6, 1 - 1e-6])
def test_the_limit_is_eight_epsilons_of_the_start(size):
    """At |x0| = 5, (3, 4); of a radius the largest coordinate counts, 4."""
    relative = size * 8 * float(np.finfo(np.float32).eps)
    for method in (
        methods.get("zo-o2nc-2pt", radius=10 * 5 * relative, step=0.1, block=10),
        methods.get("zo-sph", radius=4 * relative, step=0.1),
    ):
        if size < 1:
            with pytest.raises(ValueError, match="would stand still"):
                check_spacing(method, [[0.0, 0.0], [3.0, 4.0]], np.float32)
        else:
            check_spacing(method, [[0.0, 0.0], [3.0, 4.0]], np.float32)


@pytest.mark.parametrize("entry", ["simulate", "sweep", "tune", "compare"])
def test_a_problems_own_start_counts_in_every_driver(entry, monkeypatch):
    """A sweep is refused as a whole before any of it runs."""
    problem, stuck = Pricing.synthetic(0, products=3), methods.get("zo-sph", radius=1e-8, step=0.1)
    calls = {
        "simulate": lambda: driftopt.simulate(stuck, problem, budget=100),
        "sweep": lambda: sweep.run([stuck], [problem], budget=100, seeds=[0]),
        "tune": lambda: sweep.tune([stuck], [problem], budget=100, development=[0], held_out=[1]),
        "compare": lambda: driftopt.compare(problem, {"mine": stuck}, budget=100),
    }
    monkeypatch.setattr(simulated, "simulate_lanes", None)
    with pytest.raises(ValueError, match=r"its radius, .*, is 1e-08 where \|x0\| is 0\.5"):
        calls[entry]()


@pytest.mark.parametrize("size", [1e9, 1e200])
def test_float64_has_its_limit_too(size, tmp_path):
    """`minimize`, with and without `loss`, and `Study`: 2e-15 |x0|."""
    database = f"sqlite:///{tmp_path}/studies.db"

    def loss(x, xi):
        return jnp.sum(jnp.abs(x)) + xi

    numbers: dict[str, Any] = {"budget": 50, "radius": 1e-7 * (size / 1e9)}
    for call in (
        lambda: driftopt.minimize(lambda x: abs(x).sum(), [size], **numbers, method="walk"),
        lambda: driftopt.minimize(
            lambda x: 0.0, [size], loss=loss, method="two-stage", bounds=[(-2 * size, 2 * size)], **numbers
        ),
        lambda: driftopt.Study.create(database, "far", x0=[size], **numbers, method="walk"),
    ):
        with pytest.raises(ValueError, match=r"its radius, .* float64 needs"):
            call()


@pytest.mark.parametrize("name", ["zo-sph", "gfm"])
def test_steps_that_float32_cannot_add_are_said_afterwards(name):
    """How long they are depends on the values, so the run is made; the other configuration moves."""
    method = methods.get(name, radius=0.5, step=[1e-12, 0.01], output="final")
    with pytest.warns(UserWarning, match="in 1 of 2 configurations every run ends exactly"):
        trace = driftopt.simulate_many(
            method, driftopt.stack([bowl()]), budget=200, seeds=[0, 1], x0=[1.0, 2.0, 3.0]
        )
    np.testing.assert_array_equal(trace.x[0, :, 0], [[1, 2, 3]] * 2)
    assert (trace.x[0, :, 1] != [1, 2, 3]).all()
