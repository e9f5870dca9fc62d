"""Short ways around JAX's own calls: they give what JAX gives, and are not taken where JAX has more to do."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt import methods
from driftopt.drivers import small_program
from driftopt.drivers.host import Host
from driftopt.drivers.small_program import Views, called_once
from driftopt.runtime import private_jax


def here(*arrays):
    return [small_program.put(np.asarray(a, np.float32)) for a in arrays]


def compiled(fun, *arrays):
    return jax.jit(fun).lower(*arrays).compile()


def test_a_program_called_once_gives_what_it_gave():
    x, y = here([0, 1, 2], [3, 4, 5])
    program = compiled(lambda x, y: x + 2 * y, x, y)
    quick = called_once(program, x, y)
    assert quick is not program
    assert quick is not program._call  # this version of JAX has the way past both
    found = quick(y, x)
    np.testing.assert_array_equal(found, [3, 6, 9])
    np.testing.assert_array_equal(quick(found, y), [9, 14, 19])


def said(x):
    jax.debug.callback(lambda value: None, x.sum())
    return x + 1


@pytest.mark.parametrize("fun", [lambda x, y: y + 1, lambda x, y: said(x + y), lambda x, y: (x, y)])
def test_where_jax_has_more_to_do_it_is_called(fun):
    """An argument that is not used, a function of Python within, several arrays that come out."""
    x, y = here([0, 1, 2], [3, 4, 5])
    program = compiled(fun, x, y)
    quick = called_once(program, x, y)
    assert quick is program
    jax.tree.map(np.testing.assert_array_equal, quick(x, y), fun(x, y))


def test_whoever_looks_for_nan_finds_it():
    (x,) = here([0, 1, 2])
    with jax.debug_nans(True):
        quick = called_once(compiled(lambda x: jnp.sqrt(x), x), x)
        with pytest.raises(Exception, match="nan"):  # of a class that JAX has for itself
            quick(*here([-1, 1, 2]))


@pytest.mark.parametrize("error", [AttributeError, TypeError, RuntimeError, ValueError])
def test_a_version_without_that_way_is_called_as_always(error, monkeypatch):
    def missing(program, count):
        raise error("not in this version")

    monkeypatch.setattr(private_jax, "straight_call", missing)
    (x,) = here([0, 1, 2])
    program = compiled(lambda x: x + 1, x)
    np.testing.assert_array_equal(called_once(program, x)(x), [1, 2, 3])


@pytest.mark.parametrize("kept", [1, 3, 64])
def test_views_show_what_arrays_hold(kept, monkeypatch):
    """Also of arrays in memory that another one had before, and of more of them than views are kept."""
    monkeypatch.setattr(small_program, "KEPT", kept)
    views = Views(5, lambda numbers: (numbers, numbers[2:]))
    with jax.enable_x64(True):
        held = [small_program.put(np.arange(5.0) + turn) for turn in range(7)]
        for turn in range(40):
            held[turn % 7] = after = jnp.sin(held[turn % 7])
            numbers, end = views.of(after)
            np.testing.assert_array_equal(numbers, np.asarray(after))
            np.testing.assert_array_equal(end, np.asarray(after)[2:])
            assert not numbers.flags.writeable
    assert len(views._kept) <= kept


class Late:
    """An array that is there once somebody has waited for it."""

    def __init__(self, numbers):
        self.memory, self._numbers = np.full(len(numbers), np.nan), numbers

    def block_until_ready(self):
        self.memory[:] = self._numbers
        return self

    def unsafe_buffer_pointer(self):
        return self.memory.ctypes.data


def test_views_wait_for_what_is_still_computed():
    """As a tell is whose window of noise several threads still draw: seen once in thirty runs."""
    late = Late(np.arange(5.0))
    seen = Views(5, np.copy).of(late)
    np.testing.assert_array_equal(seen, np.arange(5.0))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_run_in_progress_says_that_it_cannot_be_copied(copied):
    """A copy would see the numbers of the first one, or of nobody any more."""
    host = Host(methods.get("walk", radius=0.5, budget=20), np.zeros(2), 0)
    with pytest.raises(TypeError, match="cannot be copied"):
        copied(host)
