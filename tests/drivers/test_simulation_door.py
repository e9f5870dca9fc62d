"""What `simulate` takes and refuses: problems without numbers or laws, seeds, starts, unequal arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
import driftopt.drivers.host
from driftopt import methods
from driftopt.problem import Problem
from driftopt.pytree import module
from support.bowl import bowl

RUN = {"budget": 200, "evaluate_every": 64}  # one shape for most tests, so that they share compilations


def test_the_start_may_be_chosen():
    method = methods.get("zo-sph", radius=1e-3, step=1e-12)
    trace = driftopt.simulate(method, bowl(), budget=10, x0=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(trace.x, [1, 2, 3], atol=1e-4)


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


def test_a_problem_may_hold_no_numbers():
    method = methods.get("zo-sph", radius=0.5, step=[0.01, 0.02])
    trace = driftopt.simulate_many(method, driftopt.stack([Numberless()]), seeds=[0, 1], budget=400)
    assert trace.fun.shape == (1, 2, 2)
    single = driftopt.simulate(methods.get("zo-sph", radius=0.5, step=0.02), Numberless(), budget=400, rng=1)
    np.testing.assert_allclose(trace.x[0, 1, 1], single.x, rtol=1e-5)
    assert single.fun < 2


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
    with pytest.raises(ValueError, match="stack"):
        driftopt.simulate_many(method, [bowl()], budget=100, seeds=[0])
    with pytest.raises(ValueError, match="stack"):
        driftopt.simulate_many(method, driftopt.problems.kink(3), budget=100, seeds=[0])


def test_only_like_problems_stack():
    with pytest.raises(ValueError, match="stacked"):
        driftopt.stack([bowl(dim=3), bowl(dim=4)])


def test_what_sets_a_shape_is_one_number():
    with pytest.raises(ValueError, match="directions must be one whole number"):
        methods.get("zo-sph", radius=0.5, step=0.1, directions=[1, 2])
    with pytest.raises(ValueError, match="budget must be one whole number"):
        methods.get("auto", radius=0.5, budget=[100, 200])
    with pytest.raises(ValueError, match="zo-sph needs radius and step"):
        methods.get("zo-sph")
    with pytest.raises(ValueError, match=r"zo-o2nc-2pt needs radius$"):
        methods.get("zo-o2nc-2pt")


def test_arrays_of_parameters_must_agree():
    method = methods.get("zo-sph", radius=np.ones(3), step=np.ones(2))
    with pytest.raises(ValueError, match="one length"):
        driftopt.simulate_many(method, driftopt.stack([bowl()]), budget=10, seeds=[0])
