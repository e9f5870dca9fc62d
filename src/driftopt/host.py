"""A method driven from the host, in float64, without touching JAX's global flag.

What `minimize` and `Study` share: both hold a live oracle, ask for a few points and tell their values.
"""

from functools import cache, partial
from typing import Any, NamedTuple

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


AHEAD = 256  # iterations whose random numbers are drawn at once
NUMBERS = 1 << 22  # and no more numbers than so many: fewer iterations where one needs very many


@partial(jax.jit, static_argnames=("dim", "ahead"))
def _draw(method: Method, key: Any, first: Any, dim: int, ahead: int) -> Any:
    """The noise of iterations first … first + ahead: one more than is told, for the query that follows."""
    return jax.vmap(lambda told: method.noise(key, told, dim))(first + jnp.arange(ahead + 1))


def _affordable(method: Method, key: Any, dim: int) -> int:
    noise = jax.eval_shape(lambda: method.noise(key, 0, dim))
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
    return state, method.ask(state, at(stop))[1].points


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
            self._key, _ = run_keys(as_key(seed))
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


class QuickHost(Host):
    """A host for functions that cost microseconds: one tell is one small program on a few packed arrays.

    The arithmetic is Host's, compiled another way: equal to rounding, not to the bit, so studies use Host.
    """

    def __init__(self, method: Method, x0: np.ndarray, seed: int):
        super().__init__(method, x0, seed)
        with jax.enable_x64(True):
            self._form, self._packed = (both((self.method, self.state)) for both in (_form, _packed))

    def tell(self, values: Any) -> None:
        with jax.enable_x64(True):
            place = np.int32(self.told % self.ahead)
            self._packed, self._points = _quick(self._form, self._noise_form)(
                self._packed, self._packed_noise, values, place
            )
            self.told += 1
            if self.told % self.ahead == 0:
                self._refill()

    def recommend(self) -> np.ndarray:
        with jax.enable_x64(True):
            _, self.state = _unpack(self._form, self._packed)
        return super().recommend()

    def _refill(self) -> None:
        super()._refill()
        rows = self.ahead + 1
        self._noise_form, self._packed_noise = _form(self._noise, rows), _packed(self._noise, rows)


class _Form(NamedTuple):
    """The structure of a packed pytree: hashable, so that equal ones share a program."""

    structure: Any
    leaves: tuple[tuple[tuple[int, ...], str], ...]  # shape and dtype of each; a key is left out
    rows: int


def _form(tree: Any, rows: int = 0) -> _Form:
    leaves, structure = jax.tree.flatten(tree)
    return _Form(structure, tuple((leaf.shape[bool(rows) :], _dtype(leaf)) for leaf in leaves), rows)


@partial(jax.jit, static_argnames="rows")
def _packed(tree: Any, rows: int = 0) -> Any:
    """All numbers of a tree in one float64 vector, or in one row for each of its `rows` first indices."""
    shape = (rows, -1) if rows else (-1,)
    numbers = [leaf for leaf in jax.tree.leaves(tree) if _dtype(leaf) != KEY]
    return jnp.concatenate([jnp.reshape(leaf, shape).astype(jnp.float64) for leaf in numbers], axis=-1)


def _unpack(form: _Form, vector: Any) -> Any:
    """The tree again. Its key is any: a tell whose noise is handed in draws nothing."""
    leaves: list[Any] = []
    at = 0
    for shape, dtype in form.leaves:
        if dtype == KEY:
            leaves.append(jax.random.key(0))
            continue
        size = int(np.prod(shape))
        leaves.append(vector[at : at + size].reshape(shape).astype(dtype))
        at += size
    return jax.tree.unflatten(form.structure, leaves)


KEY = "key"


def _dtype(leaf: Any) -> str:
    return KEY if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else str(leaf.dtype)


@cache
def _quick(form: _Form, noise_form: _Form) -> Any:
    """Tell one iteration and ask for the next, on packed arrays."""

    def program(packed: Any, noise: Any, values: Any, place: Any) -> Any:
        method, state = _unpack(form, packed)
        now, then = (_unpack(noise_form, noise[at]) for at in (place, place + 1))
        state = method.tell(state, values, now)
        return _packed((method, state)), method.ask(state, then)[1].points

    return jax.jit(program)
