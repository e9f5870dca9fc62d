"""What a host makes without a program: the first points at the start itself, and a state without rounding."""

import jax
import numpy as np

from driftopt import Study
from driftopt.drivers import host as host_module
from driftopt.drivers.host import Host
from support.compilations import compilations

START = np.array([0.25, -3.0, 1e-9])


def test_first_points_at_the_start_are_those_that_the_method_asks_for(method):
    """And where it asks elsewhere first, nothing is left out."""
    host = Host(method, START, 5)
    found = host.points
    with jax.enable_x64(True):
        state = host_module._init("", host.method, host._key, START)
        asked = host_module._ask("", host.method, state, host._noise, np.int32(0))
    np.testing.assert_array_equal(found, asked)


def test_a_first_state_by_numpy_is_that_of_the_program_to_the_bit(method):
    """And where making it rounds, it is left to the program."""
    host = Host(method, START, 5)
    with jax.enable_x64(True):
        found = host._first_state()
        if found is None:
            return
        made = host_module._init("", host.method, host._key, START)
    assert jax.tree.structure(found) == jax.tree.structure(made)
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(made), strict=True):
        assert ours.dtype == theirs.dtype
        key = jax.dtypes.issubdtype(ours.dtype, jax.dtypes.prng_key)
        words = [jax.random.key_data(leaf) if key else leaf for leaf in (ours, theirs)]
        np.testing.assert_array_equal(*words)


def test_the_first_decision_of_a_study_compiles_nothing():
    study = Study.create("sqlite://", "a", x0=START, radius=0.3, budget=100)
    trials = []
    assert compilations(lambda: trials.append(study.ask())) == 0
    np.testing.assert_array_equal(trials[0].x, START)
