"""Methods that break their contract: a sentence at every entry, naming the member to mend."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods, sweep
from driftopt.methods import registry
from driftopt.pytree import module
from support.bowl import bowl


class State(NamedTuple):
    key: Any
    told: Any
    x: Any


class PlainMethod(driftopt.Method):
    batch: ClassVar[int] = 1
    radius: ClassVar[float] = 1.0

    def points(self, dim):
        return 2

    def init(self, key, x0):
        return State(key, jnp.zeros((), jnp.int32), x0)

    def noise(self, key, count, dim):
        return jax.random.normal(jax.random.fold_in(key, count), (dim,), jnp.float32)

    def ask(self, state, noise=None):
        return state.x + jnp.stack([noise, -noise])

    def tell(self, state, values, noise=None):
        return State(state.key, state.told + 1, state.x - 0.01 * (values[0] - values[1]) * noise)

    def recommend(self, state):
        return state.x


def own_method(**members: Any) -> driftopt.Method:
    return module(type("Mine", (PlainMethod,), members))()


BROKEN_METHODS = {
    "points disagrees with ask": (
        {"points": lambda s, dim: 3},
        r"Mine\.points\(3\) says 3, so ask must give an array of shape \(3, 3\)",
    ),
    "points no number": ({"points": lambda s, dim: 2.0}, r"Mine\.points\(3\) must be a whole number"),
    "a decision too long": (
        {"recommend": lambda s, state: state.x[:1]},
        r"Mine\.recommend must give a decision",
    ),
    "a state without x": ({"init": lambda s, key, x0: (key, x0)}, r"Mine\.(init|ask)"),
    "an iterate of another shape": (
        {"init": lambda s, key, x0: State(key, jnp.zeros((), jnp.int32), x0[None])},
        r"Mine\.init must give a state whose x is the iterate, of shape \(3,\); got \(1, 3\)",
    ),
    "NumPy's randomness in noise": (
        {"noise": lambda s, key, count, dim: jnp.float32(np.random.default_rng().normal(size=dim))},
        r"Mine\.noise holds random numbers that are not the key's",
    ),
    "NumPy's randomness in ask": (
        {"ask": lambda s, state, noise=None: state.x + np.random.default_rng().normal(size=(2, 1))},
        r"Mine\.ask holds random numbers that are not the key's",
    ),
    "another state": (
        {"tell": lambda s, state, values, noise=None: state.x},
        r"Mine\.tell must give a state",
    ),
    "another type": (
        {"tell": lambda s, state, values, noise=None: state._replace(told=state.told + 0.5)},
        r"Mine\.tell changes the state's \.told from int32\(\) to float32\(\)",
    ),
}


@pytest.mark.parametrize("case", BROKEN_METHODS)
def test_a_broken_method_is_a_sentence_at_every_entry(case):
    members, message = BROKEN_METHODS[case]
    wrong = own_method(**members)
    for call in (
        lambda: driftopt.simulate(wrong, bowl(), budget=10),
        lambda: driftopt.minimize(lambda x: 0.0, [0.0] * 3, budget=10, method=wrong),
        lambda: sweep.run([wrong], [bowl()], budget=10, seeds=[0], progress=False),
    ):
        with pytest.raises(ValueError, match=message):
            call()


WRONG_NUMBERS = {
    "no sample": ({"batch": 0}, r"Numbered\.batch must be a whole number >= 1"),
    "less than none": ({"batch": np.array([1, -1])}, r"Numbered\.batch must be a whole number >= 1"),
    "half a sample": ({"batch": 1.5}, r"Numbered\.batch must be a whole number >= 1"),
    "a word": ({"batch": "1"}, r"Numbered\.batch holds '1', which is not a number"),
    "a word elsewhere": ({"step": "0.1"}, r"Numbered\.step holds '0\.1', which is not a number"),
    "a negative length": ({"radius": -1.0}, r"Numbered\.radius must be >= 0, got -1\.0"),
    "no length": ({"radius": np.nan}, r"Numbered\.radius must be finite"),
}


@module
class Numbered(PlainMethod):
    batch: Any = 1
    radius: Any = 1.0
    step: Any = 0.01


@pytest.fixture
def numbered():
    methods.register("numbered", Numbered)
    yield "numbered"
    registry._REGISTERED.clear()


@pytest.mark.parametrize("case", WRONG_NUMBERS)
def test_a_wrong_number_of_a_method_is_one_sentence_at_every_entry(case, numbered):
    """A driver that took one of these ran for ever, or spent another budget than the next driver."""
    numbers, message = WRONG_NUMBERS[case]
    wrong, many = Numbered(**numbers), driftopt.stack([bowl()])
    for call in (
        lambda: driftopt.simulate(wrong, bowl(), budget=10),
        lambda: driftopt.simulate_many(wrong, many, budget=10, seeds=[0]),
        lambda: driftopt.minimize(lambda x: 0.0, [0.0] * 3, budget=10, method=wrong),
        lambda: sweep.run([wrong], [bowl()], budget=10, seeds=[0], progress=False),
        lambda: driftopt.compare(bowl(), {"mine": wrong}, budget=10),
        lambda: methods.get(numbered, **numbers),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_study_refuses_a_wrong_number(numbered):
    with pytest.raises(ValueError, match=r"Numbered\.batch must be a whole number >= 1"):
        driftopt.Study.create("sqlite://", "a", x0=[0.0], budget=9, method=numbered, params={"batch": 0})


def test_a_whole_batch_may_be_written_as_any_number():
    for batch in (2.0, jnp.int32(2), np.float32(2)):
        trace = driftopt.simulate(Numbered(batch=batch), bowl(), budget=10)
        assert trace.queries == 8
        assert isinstance(trace.queries, int | np.integer)


def test_a_number_that_jax_traces_is_let_through(numbered):
    asked = jax.jit(lambda radius: 2 * methods.get(numbered, radius=radius, batch=radius).radius)(3.0)
    assert asked == 6.0


def test_the_right_method_passes():
    assert driftopt.simulate(own_method(), bowl(), budget=10).queries == 10
