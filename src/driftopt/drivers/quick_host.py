"""A host for Python functions that cost microseconds: state and noise packed into few small arrays."""

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.drivers import one_kernel
from driftopt.drivers.host import Host, own
from driftopt.method import Method
from driftopt.rng.seeds import wrapped


class QuickHost(Host):
    """A host for functions that cost microseconds: a tell is one kernel, one small array in and one out.

    The window of noise stays with NumPy. Each tell takes two rows of it along, the values written into the
    first: this iteration's noise, and the next one's for the points that follow.

    The arithmetic is Host's, compiled another way: equal to rounding, not to the bit, so studies use Host.
    """

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the iteration now open."""
        return self._numbers[self._before :].reshape(self._shape)

    def tell(self, values: Any) -> None:
        place = self.told % self.ahead
        after = self._tell(self._packed, self._letter.write(self._rows[place : place + 2], values))
        numbers = np.asarray(after)  # waits until the letter is read
        # The sum of their squares is quick, and not finite where one of them is not, or where it overflows;
        # `dot` would be quicker, but warns of that.
        if math.isfinite(np.vdot(numbers, numbers)) or np.isfinite(numbers).all():
            self._packed, self._numbers = after, numbers
        else:
            self._diverged = True  # and all is as it was
        self.told += 1
        if place + 1 == self.ahead:
            with jax.enable_x64(True):
                self._refill()

    def recommend(self) -> np.ndarray:
        return np.asarray(self._recommend(self._packed))

    @cached_property
    def _recommend(self) -> Callable[..., Any]:
        return _recommend.ready(self._forms, self._packed)

    def _begin(self) -> None:
        """Make the first points; other threads compile meanwhile what they do not need."""
        count = self.method.points(self._dim)
        points = jax.ShapeDtypeStruct((count, self._dim), jnp.float64)
        values = jax.ShapeDtypeStruct((count,), jnp.float64)
        state = self._state_shapes()
        self._shape = points.shape
        row = _form((values, self._noise_row()))
        self._forms = _Forms(_form((self.method, state, points)), row, self._code)
        packed, rows = np.empty(self._forms.packed.size), np.empty((2, row.size))
        self._before = packed.size - points.size  # what is packed before the points
        _tell.prepare(self._forms, packed, rows, at_once=True)  # it compiles longest: all else meanwhile
        beginning = (self.method, self._key, self._x0)
        begun = self._begun()
        if begun is None:
            _first.prepare(self._forms, *beginning, rows[0])
        _recommend.prepare(self._forms, packed)
        self._letter = _Letter(rows.shape, count)
        self._refill()
        if begun is None:
            begun = _first(self._forms, *beginning, self._rows[0].copy())
        self._packed, self._numbers = begun, np.asarray(begun)
        self._tell = one_kernel.called_once(_tell.ready(self._forms, packed, rows), begun, rows)

    def _begun(self) -> Any:
        """The state before anything is told and the points that it asks for, where no program is needed."""
        points = self._first_points()
        state = None if points is None else self._first_state()
        if state is None:
            return None
        numbers = [leaf.reshape(-1) for leaf in _numbers((self.method, state, points))]
        return one_kernel.put(np.concatenate(numbers))

    def _refill(self) -> None:
        super()._refill()
        rows = self.ahead + 1
        tree = (np.zeros((rows, self.method.points(self._dim))), self._drawn)
        self._rows = np.concatenate([leaf.reshape(rows, -1) for leaf in _numbers(tree)], axis=1)


def quick_host(method: Method, x0: np.ndarray, seed: int) -> Host:
    """The quick one, unless `jax.disable_jit` asks to see every operation."""
    return (Host if jax.config.jax_disable_jit else QuickHost)(method, x0, seed)  # pyright: ignore[reportAttributeAccessIssue]


class _Letter:
    """A small array that NumPy writes and a program reads.

    Both see the same memory where JAX lets them, so a call makes and copies nothing: handing in a NumPy array
    costs as much as running the program. What is next written waits until this is read.
    """

    def __init__(self, shape: tuple[int, int], values: int):
        size, line = 8 * math.prod(shape), 64  # JAX shares what begins with a cache line
        room = np.empty(size + line, np.uint8)
        first = -room.ctypes.data % line
        self._ours = room[first : first + size].view(np.float64).reshape(shape)
        self._values = self._ours[0, :values]
        self._theirs = self._put(may_alias=True)
        self._shared = self._theirs.unsafe_buffer_pointer() == self._ours.ctypes.data

    def write(self, rows: np.ndarray, values: Any) -> Any:
        """What to hand to the program: the rows, and the values in the room at the head of the first."""
        self._ours[...] = rows
        self._values[...] = values
        return self._theirs if self._shared else self._put(may_alias=False)

    def _put(self, may_alias: bool) -> Any:
        with jax.enable_x64(True):
            return jax.device_put(self._ours, one_kernel.place(), may_alias=may_alias)


class _Form(NamedTuple):
    """The structure of a packed pytree: hashable, so that equal ones share a program."""

    structure: Any
    leaves: tuple[tuple[tuple[int, ...], str], ...]  # shape and dtype of each; of a key those of its words

    @property
    def size(self) -> int:
        """How many numbers are packed."""
        return sum(math.prod(shape) for shape, _ in self.leaves)


def _form(tree: Any) -> _Form:
    leaves, structure = jax.tree.flatten(tree)
    return _Form(structure, tuple(_leaf_form(leaf) for leaf in leaves))


KEY, WORDS = "key", 2  # a key is two words of 32 bits, which a float64 holds exactly


def _leaf_form(leaf: Any) -> tuple[tuple[int, ...], str]:
    return ((*leaf.shape, WORDS), KEY) if _is_key(leaf) else (leaf.shape, str(leaf.dtype))


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _numbers(tree: Any) -> list[np.ndarray]:
    """All leaves of a tree as numbers, for NumPy: packing what is there needs no program."""
    return [
        np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf, np.float64)
        for leaf in jax.tree.leaves(tree)
    ]


def _unpack(form: _Form, numbers: Any) -> Any:
    """The tree again."""
    leaves, at = list[Any](), 0
    for shape, dtype in form.leaves:
        size = math.prod(shape)
        leaf = numbers[at : at + size].reshape(shape)
        leaves.append(wrapped(leaf.astype(jnp.uint32)) if dtype == KEY else leaf.astype(dtype))
        at += size
    return jax.tree.unflatten(form.structure, leaves)


def _pack(tree: Any) -> Any:
    """All numbers of a tree, written one leaf after the other.

    Joined by `concatenate` each number would be looked for among all leaves: a microsecond more in all.
    """
    leaves = [jax.random.key_data(leaf) if _is_key(leaf) else leaf for leaf in jax.tree.leaves(tree)]
    packed, at = jnp.zeros(sum(leaf.size for leaf in leaves)), 0
    for leaf in leaves:
        packed = jax.lax.dynamic_update_slice(packed, leaf.reshape(-1).astype(packed.dtype), (at,))
        at += leaf.size
    return packed


class _Forms(NamedTuple):
    """What the programs are made for: a packed state, a row of values and noise, the code of the method."""

    packed: _Form
    row: _Form
    code: str


@partial(one_kernel.Program, as_one=lambda forms: own(forms.code))
def _first(forms: _Forms, method: Method, key: Any, x0: Any, row: Any) -> Any:
    """The state before the first query, and its points."""
    state = method.init(key, x0)
    _, now = _unpack(forms.row, row)
    return _pack((method, state, method.ask(state, now)))


@partial(one_kernel.Program, as_one=lambda forms: own(forms.code))
def _tell(forms: _Forms, packed: Any, rows: Any) -> Any:
    """An iteration's values in, and the points of the next."""
    method, state, _ = _unpack(forms.packed, packed)
    (values, now), (_, then) = (_unpack(forms.row, row) for row in rows)
    state = method.tell(state, values, now)
    return _pack((method, state, method.ask(state, then)))


@partial(one_kernel.Program, as_one=lambda forms: own(forms.code))
def _recommend(forms: _Forms, packed: Any) -> Any:
    """The decision to report."""
    method, state, _ = _unpack(forms.packed, packed)
    return method.recommend(state)
