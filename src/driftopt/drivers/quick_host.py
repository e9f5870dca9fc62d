"""`QuickHost`, for Python functions that cost microseconds: its state is packed into one small array."""

import math
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.drivers import small_program
from driftopt.drivers.host import Host, reported
from driftopt.drivers.small_program import Views, called_once
from driftopt.drivers.traced import is_key
from driftopt.method import Method
from driftopt.rng.seeds import wrapped


class QuickHost(Host):
    """A host for functions that cost microseconds: a tell is one kernel, one small array in and one out.

    The window of noise stays in the memory where it was drawn. Each tell also takes a letter: the values, and
    the row of the window that is this iteration's noise. The next row is the noise of the next points.

    The arithmetic is Host's, compiled in another way: equal up to rounding, not bit for bit, so studies use
    Host.
    """

    def __reduce__(self) -> Any:
        raise TypeError(
            "a run in progress cannot be copied or pickled: it sees its numbers where the compiled program "
            "leaves them. Begin another one with the same seed, or keep a Study, which others can open."
        )

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the open iteration, in a new array."""
        return self._seen.points.copy()

    @property
    def state(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  a tell alone changes it
        """The method's state, in arrays of NumPy."""
        return _unpack(self._forms.packed, np.array(self._packed))[1]

    def tell(self, values: Any) -> None:
        place = self.told % self.ahead
        if place == 0 and self.told:  # not as the last window ends: Ctrl-C while it draws then loses nothing
            with jax.enable_x64(True):
                self._refill()
        after = self._tell(self._packed, self._letter.write(values, place), *self._leaves)
        seen = self._views.of(after)
        numbers = seen.numbers
        # The sum of their squares is quick, and not finite where one of them is not, or where it overflows;
        # `dot` would be quicker, but warns of that.
        if math.isfinite(np.vdot(numbers, numbers)) or np.isfinite(numbers).all():
            self._packed, self._seen = after, seen
        else:
            self._diverged = True  # and the numbers stay
        self.told += 1

    def recommend(self) -> np.ndarray:
        return np.asarray(self._recommend(self._packed))

    @cached_property
    def _recommend(self) -> Callable[..., Any]:
        return _recommend.ready(self._forms, self._packed)

    def _begin(self) -> None:
        """Compute the first points, while other threads compile the programs that come later."""
        count = self.method.points(self._dim)
        points = jax.ShapeDtypeStruct((count, self._dim), jnp.float64)
        _, state = small_program.traced_init(self.method, self._key, self._x0)
        leaves, noise = jax.tree.flatten(self._noise_row())
        packing, keys = _Form.of((self.method, state, points)), tuple(map(is_key, leaves))
        self._forms = _Forms(packing, noise, keys, self._own)
        packed, letter = np.empty(self._forms.packed.size), np.empty(count + 1)
        window = _bare(self._noise_shapes())
        # It compiles longest; the rest happens meanwhile.
        _tell.prepare(self._forms, packed, letter, *window, lowered_here=True)
        beginning = (self.method, self._key, self._x0)
        begun = self._begun()
        if begun is None:
            _first.prepare(self._forms, *beginning, *window)
        _recommend.prepare(self._forms, packed)
        self._letter, before = _Letter(count), packed.size - points.size
        self._views = Views(
            packed.size, lambda numbers: _Seen(numbers, numbers[before:].reshape(points.shape))
        )
        self._refill()
        if begun is None:
            begun = _first(self._forms, *beginning, *self._leaves)
        self._packed, self._seen = begun, self._views.of(begun)
        ready = _tell.ready(self._forms, packed, letter, *window)
        self._tell = called_once(ready, begun, self._letter.write(np.zeros(count), 0), *self._leaves)

    def _begun(self) -> Any:
        """The packed first state and its points, if they need no program; else None."""
        points = self._first_points()
        state = None if points is None else self._first_state()
        if state is None:
            return None
        leaves = jax.tree.leaves((self.method, state, points))
        bare = [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in leaves]
        return small_program.put(np.concatenate([np.asarray(leaf, np.float64).reshape(-1) for leaf in bare]))

    def _refill(self) -> None:
        super()._refill()
        self._leaves = _bare(self._drawn)


class _Seen(NamedTuple):
    """The numbers that a tell gave, and the points among them."""

    numbers: np.ndarray
    points: np.ndarray


def quick_host(method: Method, x0: np.ndarray, seed: int) -> Host:
    """The quick one, unless `jax.disable_jit` asks to see every operation."""
    return (Host if small_program.interpreted() else QuickHost)(method, x0, seed)


class _Letter:
    """A small array that Python writes and a program reads: the values, and the row of the window.

    Both see the same memory where JAX lets them, so a call makes and copies nothing: handing in a NumPy array
    costs as much as running the program. It is overwritten when the program has read it.
    """

    def __init__(self, count: int):
        size, line = 8 * (count + 1), 64  # JAX shares what begins with a cache line
        room = np.empty(size + line, np.uint8)
        first = -room.ctypes.data % line
        self._ours: Any = room[first : first + size].view(np.float64)
        self._written, self._count = memoryview(self._ours), count  # quicker to write to than by NumPy
        self._values = self._written[:count]
        self._theirs = self._put(may_alias=True)
        self._shared = self._theirs.unsafe_buffer_pointer() == self._ours.ctypes.data

    def write(self, values: Any, row: int) -> Any:
        """The array for the program, with these values and this row."""
        if not isinstance(values, array):
            values = np.asarray(values, np.float64).reshape(self._count)
        self._values[:] = values
        self._written[self._count] = row
        return self._theirs if self._shared else self._put(may_alias=False)

    def _put(self, may_alias: bool) -> Any:
        with jax.enable_x64(True):
            return jax.device_put(self._ours, small_program.place(), may_alias=may_alias)


KEY, WORDS = "key", 2  # a key is two words of 32 bits, which a float64 holds exactly


class _Form(NamedTuple):
    """The structure of a packed pytree: hashable, so that equal ones share a program."""

    structure: Any
    leaves: tuple[tuple[tuple[int, ...], str], ...]  # shape and dtype of each; of a key those of its words

    @classmethod
    def of(cls, tree: Any) -> "_Form":
        """The form of a tree of arrays, or of their shapes."""
        leaves, structure = jax.tree.flatten(tree)
        each = (((*a.shape, WORDS), KEY) if is_key(a) else (a.shape, str(a.dtype)) for a in leaves)
        return cls(structure, tuple(each))

    @property
    def size(self) -> int:
        """The number of packed numbers."""
        return sum(math.prod(shape) for shape, _ in self.leaves)


def _unpack(form: _Form, numbers: Any) -> Any:
    """The tree of packed numbers."""
    leaves, at = list[Any](), 0
    for shape, dtype in form.leaves:
        size = math.prod(shape)
        leaf = numbers[at : at + size].reshape(shape)
        leaves.append(wrapped(leaf.astype(jnp.uint32)) if dtype == KEY else leaf.astype(dtype))
        at += size
    return jax.tree.unflatten(form.structure, leaves)


def _pack(tree: Any) -> Any:
    """All numbers of a tree in one array, one leaf after the other.

    Joined by `concatenate`, each number would be searched for among all leaves: a microsecond more in all.
    """
    leaves = [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in jax.tree.leaves(tree)]
    packed, at = jnp.zeros(sum(leaf.size for leaf in leaves)), 0
    for leaf in leaves:
        packed = jax.lax.dynamic_update_slice(packed, leaf.reshape(-1).astype(packed.dtype), (at,))
        at += leaf.size
    return packed


class _Forms(NamedTuple):
    """The form of a program's arguments: the packed state, the structure of the noise and which of its leaves
    are keys, and whether all code of the method is driftopt's own.
    """

    packed: _Form
    noise: Any
    keys: tuple[bool, ...]
    own: bool


def _bare(noise: Any) -> list[Any]:
    """The leaves of a window of noise, or of its shapes; of keys their words."""

    def bare(leaf: Any) -> Any:
        if not is_key(leaf):
            return leaf
        known = isinstance(leaf, jax.Array)
        return jax.random.key_data(leaf) if known else jax.eval_shape(jax.random.key_data, leaf)

    return [bare(leaf) for leaf in jax.tree.leaves(noise)]


def _row(forms: _Forms, window: Sequence[Any], index: Any) -> Any:
    """One iteration's noise."""
    leaves = [jax.lax.dynamic_index_in_dim(leaf, index, keepdims=False) for leaf in window]
    pairs = zip(leaves, forms.keys, strict=True)
    return jax.tree.unflatten(forms.noise, [wrapped(leaf) if key else leaf for leaf, key in pairs])


@partial(small_program.Program, as_one=lambda forms: forms.own)
def _first(forms: _Forms, method: Method, key: Any, x0: Any, *window: Any) -> Any:
    """The state before the first query, and its points."""
    state = method.init(key, x0)
    return _pack((method, state, method.ask(state, _row(forms, window, 0))))


@partial(small_program.Program, as_one=lambda forms: forms.own)
def _tell(forms: _Forms, packed: Any, letter: Any, *window: Any) -> Any:
    """An iteration's values in, and the points of the next."""
    method, state, _ = _unpack(forms.packed, packed)
    now = letter[-1].astype(jnp.int32)
    state = method.tell(state, letter[:-1], _row(forms, window, now))
    return _pack((method, state, method.ask(state, _row(forms, window, now + 1))))


@partial(small_program.Program, as_one=lambda forms: forms.own)
def _recommend(forms: _Forms, packed: Any) -> Any:
    """The decision to report."""
    method, state, _ = _unpack(forms.packed, packed)
    return reported(forms.own, method, state)
