"""A Method instance works wherever a name does, and what is no method is a sentence everywhere."""

import numpy as np
import pytest

import driftopt
from driftopt import methods, problems, sweep


def noisy(x, rng):
    return float(np.sum((x - 1) ** 2) + rng.normal(0, 0.1))


def test_an_instance_works_wherever_a_name_does():
    """Each entry with the Method itself against the same entry with its name."""
    method, numbers = methods.get("zo-sph", radius=0.5, step=0.01), {"radius": 0.5, "step": 0.01}
    call = {"x0": [0.0, 0.0], "budget": 40, "rng": 3}
    one = driftopt.minimize(noisy, method=method, args=(np.random.default_rng(0),), **call)
    two = driftopt.minimize(noisy, method="zo-sph", params=numbers, args=(np.random.default_rng(0),), **call)
    np.testing.assert_array_equal(one.history["x"], two.history["x"])
    assert one.params["method"] == "SGD"
    assert (one.params["radius"], one.params["step"], one.params["seed"]) == (0.5, 0.01, 3)

    problem, call = problems.kink(2), {"budget": 40, "seeds": [1, 2], "progress": False}
    instance = sweep.run([method], [problem], **call)
    named = sweep.run([sweep.grid("zo-sph", **numbers)], [problem], **call)
    np.testing.assert_array_equal(instance.x, named.x)
    assert set(instance.columns["method"]) == {"SGD"}

    for subject, more in ((problem, {}), (noisy, {"x0": [0.0, 0.0], "evaluations": 5})):
        given = {"mine": method, "other": {"method": method, "step": [0.01, 0.02]}, "zo-sph": numbers}
        table = driftopt.compare(subject, given, budget=40, development=1, held_out=2, **more)
        assert table.score("mine").mean == table.score("zo-sph").mean
        assert table.score("other").configurations == 2


class Undecorated(methods.SGD):
    """A subclass that is no pytree of its own."""


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            Undecorated(0.5, 0.1, 1, 1, None),
            r"Undecorated is not a pytree: decorate .* @driftopt\.pytree\.module",
        ),
        (methods.SGD, r"(make one|make an instance), SGD\(…\)"),
        (3, "[Mm]ethod"),
    ],
)
def test_what_is_no_method_is_a_sentence_in_every_entry(method, message):
    problem = problems.kink(2)
    for call in (
        lambda: driftopt.simulate(method, problem, budget=10),
        lambda: driftopt.simulate_many(method, driftopt.stack([problem]), budget=10, seeds=[0]),
        lambda: driftopt.minimize(lambda x: 0.0, [0.0], budget=10, method=method),
        lambda: sweep.run([method], [problem], budget=10, seeds=[0]),
        lambda: driftopt.compare(problem, [method], budget=10),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_an_instance_has_its_own_numbers():
    method = methods.get("zo-sph", radius=0.5, step=0.01)
    with pytest.raises(ValueError, match="radius and params go with a method's name"):
        driftopt.minimize(lambda x: 0.0, [0.0], budget=10, method=method, radius=1.0)
    several = methods.get("zo-sph", radius=[0.5, 1.0], step=0.01)
    with pytest.raises(ValueError, match="one value for each number"):
        driftopt.minimize(lambda x: 0.0, [0.0], budget=10, method=several)
    with pytest.raises(ValueError, match="one value for each number"):
        sweep.grid(several)
