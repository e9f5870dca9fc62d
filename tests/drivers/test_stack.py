"""Stacking instances: what jnp.stack gives, and no program compiled for it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt.drivers.stack import _stacked  # pyright: ignore[reportPrivateUsage]

LEAVES: dict[str, Callable[[], list[Any]]] = {
    "arrays of JAX": lambda: [jnp.arange(5.0), jnp.arange(5.0) + 1],
    "arrays of NumPy, in double precision": lambda: [np.arange(5) / 3, np.arange(5) / 7],
    "both": lambda: [np.arange(5, dtype=np.float32), jnp.arange(5.0)],
    "two types": lambda: [jnp.arange(5), jnp.arange(5.0)],
    "plain numbers, whose type gives way": lambda: [1.5, 2.5],
    "weak arrays": lambda: [jnp.asarray(1.5), jnp.asarray(2.5)],
    "whole numbers": lambda: [np.arange(3), np.arange(3)],
    "flags": lambda: [jnp.array([True, False]), jnp.array([False, False])],
    "half precision": lambda: [jnp.ones(2, jnp.bfloat16), jnp.zeros(2, jnp.bfloat16)],
}


@pytest.mark.parametrize("kind", LEAVES)
def test_the_same_as_jax_stacks(kind: str):
    leaves = LEAVES[kind]()
    ours, theirs = _stacked(*leaves), jnp.stack(leaves)
    assert (ours.dtype, ours.shape, ours.weak_type) == (theirs.dtype, theirs.shape, theirs.weak_type)
    assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


def test_keys_and_what_is_being_traced_are_left_to_jax():
    keys = [jax.random.key(0), jax.random.key(1)]
    assert jax.random.key_data(_stacked(*keys)).tolist() == jax.random.key_data(jnp.stack(keys)).tolist()
    assert jax.jit(lambda one, two: _stacked(one, two))(jnp.ones(3), jnp.zeros(3)).shape == (2, 3)
