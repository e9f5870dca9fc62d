"""Seeds and keys: a JAX key from an int or a NumPy Generator."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from driftopt.checks import as_seed as as_seed
from driftopt.rng.threefry import THREEFRY, hashed


def as_key(seed: int) -> Array:
    """The JAX key of a seed."""
    return as_keys(np.array(seed, np.uint64))


def as_keys(seeds: np.ndarray) -> Array:
    """The JAX keys of an array of seeds."""
    return wrapped(jnp.asarray(_words(seeds)))


def wrapped(words: Array) -> Array:
    """Words (…, 2) as JAX keys."""
    return jax.random.wrap_key_data(words, impl=THREEFRY)


def _words(seeds: np.ndarray) -> np.ndarray:
    """Both 32-bit halves of the seeds count, whether or not 64-bit types are on."""
    seeds = np.asarray(seeds, np.uint64)
    return np.stack([seeds >> np.uint64(32), seeds & np.uint64(0xFFFFFFFF)], axis=-1).astype(np.uint32)


def lane_seed(seed: int, instance: int) -> int:
    """The seed of a run on the `instance`-th of several problems: instance 0 has the seed itself.

    Args:
        seed: the run's seed.
        instance: the problem's number among several, from 0.

    >>> lane_seed(7, 0), lane_seed(7, 1)
    (7, 4294967303)
    """
    return (seed + (instance << 32)) % 2**63


def run_keys(key: Array) -> tuple[Array, Array]:
    """The method's key and the oracle's key of one run."""
    return jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)


def run_words(seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The words of `run_keys` for an array of seeds, by NumPy: a program would take long to compile."""
    words, zero = np.moveaxis(_words(seeds), -1, 0), np.zeros(np.shape(seeds), np.uint32)
    method, oracle = (hashed(words, zero, zero + np.uint32(which)) for which in (0, 1))
    return np.stack(method, axis=-1), np.stack(oracle, axis=-1)


def method_key(seed: int, place: Any = None) -> Array:
    """The method's key of the run with this seed, at `place`: the first of its `run_keys`."""
    words, _ = run_words(np.array([seed], np.uint64))
    return wrapped(jax.device_put(words[0], place))


def query_key(oracle: Array, query: Any) -> Array:
    """The oracle's key for one value of F, by its number in the run.

    An iteration with p points and m repeats asks for every point once, m times over: query
    (t·m + r)·p + i is the r-th sample at the i-th point of iteration t.
    """
    return jax.random.fold_in(oracle, query)
