"""A method driven from the host, in float64, without touching JAX's global flag.

What `minimize` and `Study` share: both hold a live oracle, ask for a few points and tell their values.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.method import Method
from driftopt.rng import as_key, run_keys


def with_precision(method: Method, dtype: Any) -> Method:
    """The method with its numbers as arrays: whole numbers int32, the others `dtype`."""

    def cast(leaf: Any) -> Any:
        return jnp.asarray(leaf, jnp.int32 if np.asarray(leaf).dtype.kind in "iu" else dtype)

    return jax.tree.map(cast, method)


@jax.jit
def _start(method: Method, key: Any, x0: Any) -> Any:
    state = method.init(key, x0)
    return state, method.ask(state)[1]


@jax.jit
def _step(method: Method, state: Any, values: Any) -> Any:
    state = method.tell(state, values)
    return state, method.ask(state)[1]


@jax.jit
def _replay(method: Method, state: Any, values: Any) -> Any:
    state, _ = jax.lax.scan(lambda s, v: (method.tell(s, v), None), state, values)
    return state, method.ask(state)[1]


@jax.jit
def _recommend(method: Method, state: Any) -> Any:
    return method.recommend(state)


class Host:
    """The state of one run: `points` to query now, `tell` their mean values, `recommend` at any time."""

    def __init__(self, method: Method, x0: np.ndarray, seed: int):
        with jax.enable_x64(True):
            self.method = with_precision(method, jnp.float64)
            key, _ = run_keys(as_key(seed))
            self.state, self._query = _start(self.method, key, jnp.asarray(x0, jnp.float64))

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the iteration now open."""
        return np.asarray(self._query.points)

    @property
    def repeats(self) -> int:
        """How many fresh samples to average at each point."""
        return int(self._query.repeats)

    def tell(self, values: np.ndarray) -> None:
        """Close the iteration with the (p,) mean values."""
        with jax.enable_x64(True):
            self.state, self._query = _step(self.method, self.state, np.asarray(values, np.float64))

    def replay(self, values: np.ndarray) -> None:
        """Tell many iterations at once, (n, p): the same state as n single tells, in one program.

        Cut into powers of two, so that any n is served by a handful of compilations.
        """
        values = np.asarray(values, np.float64)
        with jax.enable_x64(True):
            while len(values):
                size = 1 << (len(values).bit_length() - 1)
                self.state, self._query = _replay(self.method, self.state, values[:size])
                values = values[size:]

    def recommend(self) -> np.ndarray:
        """The decision to report."""
        with jax.enable_x64(True):
            return np.asarray(_recommend(self.method, self.state))
