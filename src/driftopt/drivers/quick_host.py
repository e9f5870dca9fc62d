"""A host for Python functions that cost microseconds: state and noise packed into few small arrays."""

import math
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.drivers.host import Host
from driftopt.method import Method


class QuickHost(Host):
    """A host for functions that cost microseconds: a tell is one small program, few small arrays in and out.

    XLA's CPU runs a program in our own thread as long as its operations are few (below 1000) and none of its
    buffers is longer than 512 bytes; else threads wait for each other, for longer than the arithmetic takes
    (measured: 30 us a query instead of 7). So the window of noise stays with NumPy, each tell takes two rows
    of it along, the values written into the first, and the state goes in parts of at most 64 numbers.

    The arithmetic is Host's, compiled another way: equal to rounding, not to the bit, so studies use Host.
    """

    def __init__(self, method: Method, x0: np.ndarray, seed: int):
        super().__init__(method, x0, seed)
        with jax.enable_x64(True):
            run = (self.method, self.state, self._points)
            self._form = _form(run)
            self._packed = tuple(map(jnp.asarray, _packed(run, self._form)))
            place = self._packed[0].sharding
            self._program = _quick(self._form, self._row_form, place)
        self._letter = _Letter((2, self._row_form.size), place)
        if not self._letter.shared:
            self._program = _in_double(self._program)
        self._numbers = np.asarray(self._packed[-1])
        self._shape, self._size = self._points.shape, self._points.size
        self._diverged = False

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the iteration now open."""
        return self._numbers[-self._size - 1 : -1].reshape(self._shape)

    @property
    def diverged(self) -> bool:
        return self._diverged

    def tell(self, values: Any) -> None:
        place = self.told % self.ahead
        rows = self._rows[place : place + 2]
        rows[0, : len(values)] = values
        after = self._program(self._packed, self._letter.write(rows))
        numbers = np.asarray(after[-1])  # waits until the letter is read
        if math.isfinite(numbers[-1]):
            self._packed, self._numbers = after, numbers
        else:
            self._diverged = True  # and all is as it was
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
        self._row_form = _form(tree, rows)
        self._rows = np.concatenate([leaf.reshape(rows, -1) for leaf in _numbers(tree)], axis=1)

    def _begin(self) -> None:
        self._points = _first_points(self.method, self.state, self._noise)


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
    def sizes(self) -> list[int]:
        """Of the leaves that are packed."""
        return [math.prod(shape) for shape, dtype in self.leaves if dtype != KEY]

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def parts(self) -> list[int]:
        """How many leaves go into each array, none of which is longer than LONGEST unless one leaf is.

        The last array has room for one number more.
        """
        counts, length = [0], 0
        for index, size in enumerate(self.sizes):
            room = LONGEST - (index == len(self.sizes) - 1)
            if counts[-1] and length + size > room:
                counts.append(0)
                length = 0
            counts[-1] += 1
            length += size
        return counts


def _form(tree: Any, rows: int = 0) -> _Form:
    leaves, structure = jax.tree.flatten(tree)
    return _Form(structure, tuple((leaf.shape[bool(rows) :], _dtype(leaf)) for leaf in leaves), rows)


@jax.jit
def _first_points(method: Method, state: Any, noise: Any) -> Any:
    """A small program: Host's would compile a whole tell, which the quick one does not use."""
    return method.ask(state, jax.tree.map(lambda leaf: leaf[0], noise))


def _numbers(tree: Any) -> list[np.ndarray]:
    """All leaves of a tree that hold numbers, for NumPy: packing what is there needs no program."""
    return [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(tree) if _dtype(leaf) != KEY]


def _packed(tree: Any, form: _Form) -> list[np.ndarray]:
    """What `_parts` gives, with nothing in the place of the sum."""
    numbers, joined = [leaf.reshape(-1) for leaf in _numbers(tree)], list[np.ndarray]()
    for count in form.parts:
        joined.append(np.concatenate(numbers[:count]))
        numbers = numbers[count:]
    return [*joined[:-1], np.append(joined[-1], 0.0)]


def _unpack(form: _Form, vectors: Any, parts: list[int]) -> Any:
    """The tree again. Its key is any: a tell whose noise is handed in draws nothing."""
    wheres = iter([(part, first == 0) for part, count in enumerate(parts) for first in range(count)])
    leaves: list[Any] = []
    at = 0
    for shape, dtype in form.leaves:
        if dtype == KEY:
            leaves.append(jax.random.key(0))
            continue
        part, first = next(wheres)
        at, size = 0 if first else at, math.prod(shape)
        leaves.append(vectors[part][at : at + size].reshape(shape).astype(dtype))
        at += size
    return jax.tree.unflatten(form.structure, leaves)


def _parts(tree: Any, form: _Form) -> tuple[Any, ...]:
    """All numbers of a tree in its form's arrays, and last their sum, which shows whether all are finite."""
    numbers = [leaf.reshape(-1).astype(jnp.float64) for leaf in jax.tree.leaves(tree) if _dtype(leaf) != KEY]
    joined: list[Any] = []
    for count in form.parts:
        joined.append(jnp.concatenate(numbers[:count]))
        numbers = numbers[count:]
    total = sum(jnp.sum(part) for part in joined)
    return (*joined[:-1], jnp.append(joined[-1], total))


KEY = "key"
LONGEST = 64  # numbers, 512 bytes


def _dtype(leaf: Any) -> str:
    return KEY if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else str(leaf.dtype)


@cache
def _quick(form: _Form, row_form: _Form, place: Any) -> Any:
    """Tell one iteration and ask for the next, on packed arrays.

    Compiled here and now, in the precision that is on, so that no call needs to set JAX's flag.
    """

    def program(packed: Any, rows: Any) -> Any:
        method, state, _ = _unpack(form, packed, form.parts)
        whole = [len(row_form.sizes)]
        (values, now), (_, then) = (_unpack(row_form, [row], whole) for row in rows)
        state = method.tell(state, values, now)
        return _parts((method, state, method.ask(state, then)), form)

    def array(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, jnp.float64, sharding=place)

    sizes, lengths = form.sizes, list[int]()
    for count in form.parts:
        lengths.append(sum(sizes[:count]))
        sizes = sizes[count:]
    packed = tuple(array(length + (i == len(lengths) - 1)) for i, length in enumerate(lengths))
    return jax.jit(program).lower(packed, array(2, row_form.size)).compile()


def _in_double(program: Any) -> Any:
    """The program for NumPy arrays too, which JAX else takes in single precision."""

    def call(*arrays: Any) -> Any:
        with jax.enable_x64(True):
            return program(*arrays)

    return call


@partial(jax.jit, static_argnames="form")
def _recommend_packed(form: _Form, packed: Any) -> Any:
    method, state, _ = _unpack(form, packed, form.parts)
    return method.recommend(state)
