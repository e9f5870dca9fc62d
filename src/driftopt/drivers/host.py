"""A method driven from the host, in float64, without touching JAX's global flag.

What `minimize` and `Study` share: both hold a live oracle, ask for a few points and tell their values.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.method import Method
from driftopt.rng.seeds import as_key, run_keys


def with_precision(method: Method, dtype: Any) -> Method:
    """The method with its numbers as arrays: whole numbers int32, the others `dtype`."""

    def cast(leaf: Any) -> Any:
        return jnp.asarray(leaf, jnp.int32 if np.asarray(leaf).dtype.kind in "iu" else dtype)

    return jax.tree.map(cast, method)


_run_keys = jax.jit(run_keys)

AHEAD = 256  # iterations whose random numbers are drawn at once
NUMBERS = 1 << 22  # an upper limit on random numbers in that window: fewer iterations where one needs many


@partial(jax.jit, static_argnames=("dim", "ahead"))
def _draw(method: Method, key: Any, first: Any, dim: int, ahead: int) -> Any:
    """The noise of iterations first … first + ahead: one more than is told, for the query that follows."""
    return jax.vmap(lambda told: method.noise(key, told, dim))(first + jnp.arange(ahead + 1))


@partial(jax.jit, static_argnames="dim")
def _noise(method: Method, key: Any, dim: int) -> Any:
    return method.noise(key, 0, dim)


def _affordable(method: Method, key: Any, dim: int) -> int:
    noise = _noise.eval_shape(method, key, dim)  # kept by jit: a second run does not trace it again
    return max(1, min(AHEAD, NUMBERS // max(1, sum(leaf.size for leaf in jax.tree.leaves(noise)))))


@jax.jit
def _advance(method: Method, state: Any, noise: Any, values: Any, first: Any, stop: Any) -> Any:
    """Tell rows first … stop − 1 of `values`, then ask.

    One program for a single tell and for a replay: the loop's body is compiled once, so a state rebuilt from
    a log is the state that wrote it, bit for bit.
    """

    def at(index: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[index], noise)

    state = jax.lax.fori_loop(first, stop, lambda i, s: method.tell(s, values[i], at(i)), state)
    return state, method.ask(state, at(stop))


@jax.jit
def _init(method: Method, key: Any, x0: Any) -> Any:
    return method.init(key, x0)


@jax.jit
def _recommend(method: Method, state: Any) -> Any:
    return method.recommend(state)


class Host:
    """The state of one run: `points` to query now, `tell` their mean values, `recommend` at any time."""

    def __init__(self, method: Method, x0: np.ndarray, seed: int):
        self._dim = len(x0)
        with jax.enable_x64(True):
            self.method = with_precision(method, jnp.float64)
            self._key, _ = _run_keys(as_key(seed))
            self.state = _init(self.method, self._key, jnp.asarray(x0, jnp.float64))
            self.told = 0
            self.repeats = int(np.asarray(self.method.batch))  # fresh samples to average at each point
            self.ahead = _affordable(self.method, self._key, self._dim)
            self._values = np.zeros((self.ahead, method.points(self._dim)))
            self._refill()
            self._run(0, 0)

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the iteration now open."""
        return np.asarray(self._points)

    def tell(self, values: Any) -> None:
        """Close the iteration with the (p,) mean values."""
        self.replay(np.asarray(values, np.float64)[None])

    def replay(self, values: np.ndarray) -> None:
        """Tell many iterations, (n, p): the same state, bit for bit, as n single tells."""
        done = 0
        with jax.enable_x64(True):
            while done < len(values):
                first = self.told % self.ahead
                stop = min(self.ahead, first + len(values) - done)
                self._values[first:stop] = values[done : done + stop - first]
                self._run(first, stop)
                done += stop - first
                self.told += stop - first
                if stop == self.ahead:
                    self._refill()

    def recommend(self) -> np.ndarray:
        """The decision to report."""
        with jax.enable_x64(True):
            return np.asarray(_recommend(self.method, self.state))

    def _refill(self) -> None:
        self._noise = _draw(self.method, self._key, np.int32(self.told), self._dim, self.ahead)

    def _run(self, first: int, stop: int) -> None:
        # A copy, because the program may still be reading it when the next tell writes.
        values = self._values.copy()
        self.state, self._points = _advance(
            self.method, self.state, self._noise, values, np.int32(first), np.int32(stop)
        )
