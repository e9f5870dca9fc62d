"""Methods of others: what the contract promises them, every driver keeps."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import Study, methods
from driftopt.drivers.host import Host
from driftopt.methods import registry
from driftopt.oracle import Sight
from driftopt.pytree import module
from support.bowl import bowl

START = [1.0, 2.0, 3.0]


class State(NamedTuple):
    key: Any
    told: Any
    x: Any


@module
class Stay(driftopt.Method):
    """The control arm: it stays where it began."""

    radius: ClassVar[float] = 0.0
    batch: ClassVar[int] = 1

    def points(self, dim):
        return 1

    def init(self, key, x0):
        return State(key, jnp.int32(0), x0)

    def noise(self, key, count, dim):
        return ()

    def ask(self, state, noise=None):
        return state.x[None]

    def tell(self, state, values, noise=None):
        return state._replace(told=state.told + 1)

    def recommend(self, state):
        return state.x


@module
class Beside(Stay):
    """Its iterate begins beside the start, and that is where it asks."""

    def init(self, key, x0):
        return State(key, jnp.int32(0), x0 + 1)

    def at_iterate(self, counts, dim):
        return np.ones((len(counts), 1), bool)


@pytest.mark.parametrize("soon", [True, False])
def test_the_first_points_are_those_asked_for_where_the_iterate_begins_elsewhere(soon):
    np.testing.assert_array_equal(Host(Beside(), np.array(START), 5, soon=soon).points, np.array([START]) + 1)


@module
class Keyed(Stay):
    """Draws from the key in its state, and goes on to another one."""

    def ask(self, state, noise=None):
        return state.x[None] + jax.random.normal(state.key, state.x.shape, jnp.float32)

    def tell(self, state, values, noise=None):
        return State(jax.random.fold_in(state.key, 7), state.told + 1, state.x)


@module
class Coordinate(Stay):
    """One coordinate at a time: its noise is a whole number."""

    def noise(self, key, count, dim):
        return jax.random.randint(jax.random.fold_in(key, count), (), 0, dim)

    def ask(self, state, noise=None):
        return state.x.at[self.drawn(state, noise)].add(0.5)[None]


@module
class Handed(Stay):
    """Its noise is a key, from which it draws itself."""

    def noise(self, key, count, dim):
        return {"key": jax.random.fold_in(key, count), "shift": jax.random.uniform(key, (dim,), jnp.float32)}

    def ask(self, state, noise=None):
        drawn = self.drawn(state, noise)
        assert jnp.issubdtype(drawn["key"].dtype, jax.dtypes.prng_key)  # and not its bare words
        return state.x[None] + drawn["shift"] + jax.random.normal(drawn["key"], state.x.shape, jnp.float32)


@module
class Planned(Stay):
    """Ends as far from its start as the budget it was planned for."""

    horizon: Any = 0

    def for_budget(self, budget):
        return Planned(budget)

    def recommend(self, state):
        return state.x + self.horizon


@module
class Lost(Stay):
    """Walks by 1, and reports no number after its second answer."""

    def tell(self, state, values, noise=None):
        return State(state.key, state.told + 1, state.x + 1)

    def recommend(self, state):
        return jnp.where(state.told > 1, jnp.nan, 1.0) * state.x


@module
class LostWithXi(Lost):
    """The same for a method that is told ξ."""

    sees: ClassVar[Sight] = Sight.OBSERVATIONS

    def init(self, key, x0, like=None):
        return State(key, jnp.int32(0), x0)


@pytest.fixture
def study(any_name):
    """A study of a class, under a name that is forgotten after the test."""

    def begin(kind, **more):
        methods.register(any_name, kind, summary="a test's own")
        return Study.create("sqlite://", "a", x0=START, budget=12, method=any_name, rng=3, **more)

    return begin


@pytest.fixture
def any_name():
    yield "tried"
    registry._REGISTERED.clear()


def points_of(host):
    found = []
    for _ in range(3):
        found.append(host.points[0])
        host.tell([1.0])
    return np.array(found)


def test_the_key_in_the_state_is_the_runs_own():
    one, other = (points_of(Host(Keyed(), np.array(START), seed)) for seed in (3, 4))
    assert len(np.unique(one[:, 0])) == 3, "and moves on as `tell` says"
    assert not np.isclose(one, other).any()


def test_noise_may_be_a_key():
    assert len(np.unique(points_of(Host(Handed(), np.array(START), 3))[:, 0])) == 3


def test_a_study_of_a_method_that_changes_nothing_goes_on(study):
    begun = study(Stay)
    for _ in range(3):
        trial = begun.ask()
        np.testing.assert_array_equal(trial.x, START)
        begun.tell(trial.id, 1.0)
    np.testing.assert_array_equal(begun.recommend().x, START)


def test_whole_numbers_of_the_noise_stay_whole():
    trace = driftopt.simulate(Coordinate(), bowl(), budget=4)
    assert trace.queries == 4
    host = Host(Coordinate(), np.array(START), 0)
    np.testing.assert_allclose(np.sort(host.points[0] - START), [0, 0, 0.5])


def test_what_is_reported_is_finite_whatever_a_method_recommends(study):
    """The iterate is reported where `recommend` gives NaN, and it does not move what was told."""
    begun = study(Lost)
    for _ in range(3):
        begun.tell(begun.ask().id, 1.0)
    np.testing.assert_array_equal(begun.recommend().x, np.add(START, 3))
    for kind, more in ((Lost, {}), (LostWithXi, {"loss": lambda x, xi: xi})):
        result = driftopt.minimize(lambda x: 1.0, START, budget=3, method=kind(), rng=0, **more)
        np.testing.assert_array_equal(result.x, np.add(START, 3))


def test_every_driver_plans_for_the_budget(study):
    begun = study(Planned)
    named = driftopt.minimize(lambda x: 0.0, START, budget=12, method="tried", rng=0)
    given = driftopt.minimize(lambda x: 0.0, START, budget=12, method=Planned(), rng=0)
    for x in (named.x, given.x, begun.recommend().x):
        np.testing.assert_array_equal(x, np.add(START, 12))
    begun.extend(budget=20)
    np.testing.assert_array_equal(begun.recommend().x, np.add(START, 20))


def test_a_study_refuses_a_method_that_breaks_its_contract(study):
    wrong = module(type("Wrong", (Stay,), {"points": lambda self, dim: 2}))
    with pytest.raises(ValueError, match=r"Wrong\.points\(3\) says 2, so ask must give an array of shape"):
        study(wrong)
