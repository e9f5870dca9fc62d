"""A method driven from the host, in float64, without touching JAX's global flag.

What `minimize` and `Study` share: both hold a live oracle, ask for a few points and tell their values.
"""

import math
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


_run_keys = jax.jit(run_keys)

AHEAD = 256  # iterations whose random numbers are drawn at once
NUMBERS = 1 << 22  # and no more numbers than so many: fewer iterations where one needs very many


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


class QuickHost(Host):
    """A host for functions that cost microseconds: a tell is one small program, two small arrays in, one out.

    XLA's CPU runs a program in our own thread as long as its operations are few (below 1000) and its buffers
    small; else threads wait for each other, for longer than the arithmetic takes (measured: 23 us a call with
    the whole window of noise, 10 without). So the window stays with NumPy, and each tell takes two rows of it
    along, the values written into the first.

    The arithmetic is Host's, compiled another way: equal to rounding, not to the bit, so studies use Host.
    """

    def __init__(self, method: Method, x0: np.ndarray, seed: int):
        super().__init__(method, x0, seed)
        with jax.enable_x64(True):
            run = (self.method, self.state, self._points)
            self._form, self._packed = _form(run), _packed(run)
            self._program = _quick(self._form, self._row_form, self._packed.sharding)
        self._letter = _Letter((2, self._row_form.size), self._packed.sharding)
        if not self._letter.shared:
            self._program = _in_double(self._program)
        self._numbers = np.asarray(self._packed)
        self._shape, self._size = self._points.shape, self._points.size

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the iteration now open."""
        return self._numbers[-self._size :].reshape(self._shape)

    def tell(self, values: Any) -> None:
        place = self.told % self.ahead
        rows = self._rows[place : place + 2]
        rows[0, : len(values)] = values
        self._packed = self._program(self._packed, self._letter.write(rows))
        self._numbers = np.asarray(self._packed)  # waits until the letter is read
        self.told += 1
        if self.told % self.ahead == 0:
            with jax.enable_x64(True):
                self._refill()

    def recommend(self) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(_recommend_packed(self._form, self._packed))

    def _refill(self) -> None:
        super()._refill()
        rows = self.ahead + 1
        tree = (np.zeros((rows, self._values.shape[1])), self._noise)
        self._row_form, self._rows = _form(tree, rows), np.array(_packed(tree, rows))


def quick_host(method: Method, x0: np.ndarray, seed: int) -> Host:
    """The quick one, unless `jax.disable_jit` asks to see every operation."""
    return (Host if jax.config.jax_disable_jit else QuickHost)(method, x0, seed)  # pyright: ignore[reportAttributeAccessIssue]


class _Letter:
    """A small array that NumPy writes and a program reads.

    On a CPU both see the same memory, so a call makes and copies nothing: handing in a NumPy array costs as
    much as running the program. Elsewhere it is handed in. What is next written waits until this is read.
    """

    def __init__(self, shape: tuple[int, ...], place: Any):
        size, line = 8 * math.prod(shape), 64  # JAX shares what begins with a cache line
        room = np.empty(size + line, np.uint8)
        first = -room.ctypes.data % line
        self._ours = room[first : first + size].view(np.float64).reshape(shape)
        with jax.enable_x64(True):
            theirs = jax.device_put(self._ours, place, may_alias=True)
        self.shared = theirs.unsafe_buffer_pointer() == self._ours.ctypes.data
        self._handed = theirs if self.shared else self._ours

    def write(self, numbers: np.ndarray) -> Any:
        """What to hand to the program."""
        self._ours[...] = numbers
        return self._handed


class _Form(NamedTuple):
    """The structure of a packed pytree: hashable, so that equal ones share a program."""

    structure: Any
    leaves: tuple[tuple[tuple[int, ...], str], ...]  # shape and dtype of each; a key is left out
    rows: int

    @property
    def size(self) -> int:
        return sum(math.prod(shape) for shape, dtype in self.leaves if dtype != KEY)


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
        size = math.prod(shape)
        leaves.append(vector[at : at + size].reshape(shape).astype(dtype))
        at += size
    return jax.tree.unflatten(form.structure, leaves)


KEY = "key"


def _dtype(leaf: Any) -> str:
    return KEY if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else str(leaf.dtype)


@cache
def _quick(form: _Form, row_form: _Form, place: Any) -> Any:
    """Tell one iteration and ask for the next, on packed arrays.

    Compiled here and now, in the precision that is on, so that no call needs to set JAX's flag.
    """

    def program(packed: Any, rows: Any) -> Any:
        method, state, _ = _unpack(form, packed)
        (values, now), (_, then) = (_unpack(row_form, row) for row in rows)
        state = method.tell(state, values, now)
        return _packed((method, state, method.ask(state, then)[1].points))

    shapes = (form.size,), (2, row_form.size)
    arrays = (jax.ShapeDtypeStruct(shape, jnp.float64, sharding=place) for shape in shapes)
    return jax.jit(program).lower(*arrays).compile()


def _in_double(program: Any) -> Any:
    """The program for NumPy arrays too, which JAX else takes in single precision."""

    def call(*arrays: Any) -> Any:
        with jax.enable_x64(True):
            return program(*arrays)

    return call


@partial(jax.jit, static_argnames="form")
def _recommend_packed(form: _Form, packed: Any) -> Any:
    method, state, _ = _unpack(form, packed)
    return method.recommend(state)
