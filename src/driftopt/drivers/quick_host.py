"""A host for Python functions that cost microseconds: state and noise packed into two small arrays."""

import math
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.drivers.host import Host
from driftopt.method import Method


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
            self._form = _form(run)
            self._packed = jnp.append(_packed(run), 0.0)  # and whether the run has diverged
            self._program = _quick(self._form, self._row_form, self._packed.sharding)
        self._letter = _Letter((2, self._row_form.size), self._packed.sharding)
        if not self._letter.shared:
            self._program = _in_double(self._program)
        self._numbers = np.asarray(self._packed)
        self._shape, self._size = self._points.shape, self._points.size

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the iteration now open."""
        return self._numbers[-self._size - 1 : -1].reshape(self._shape)

    @property
    def diverged(self) -> bool:
        return self._numbers[-1] != 0

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
        after = _packed((method, state, method.ask(state, then)))
        taken = jnp.all(jnp.isfinite(after))
        kept, diverged = jnp.where(taken, after, packed[:-1]), jnp.where(taken, packed[-1:], 1)
        return jnp.concatenate([kept, diverged])

    shapes = (form.size + 1,), (2, row_form.size)
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
