"""`Host`: a method driven from Python in float64, without touching JAX's global flag.

`minimize`, `Study` and the generator share it: each queries a live oracle at a few points and reports its
values. The method's numbers, its state and its points are packed into one array, and one program takes it
from one iteration to the next. So a state rebuilt from a log is the state that wrote it, bit for bit.
"""

import math
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.drivers import small_program
from driftopt.drivers.small_program import Views, called_once
from driftopt.drivers.traced import is_key
from driftopt.method import Method, check_spacing
from driftopt.rng.seeds import method_key, wrapped
from driftopt.runtime.forks import refuse_after_fork
from driftopt.runtime.identity import ours

AHEAD = 256  # iterations whose random numbers are drawn together
NUMBERS = 1 << 22  # an upper limit on random numbers drawn together: fewer iterations where one needs many


def with_precision(method: Method, dtype: Any, place: Any = None) -> Method:
    """The method with its numbers as arrays at `place`: whole numbers int32, the others `dtype`.

    Raises:
        ValueError: a number is too large or too small for that precision.
    """

    def cast(path: Any, leaf: Any) -> Any:
        given = np.asarray(leaf)
        whole = given.dtype.kind in "iu"
        with np.errstate(over="ignore", under="ignore"):
            held = given.astype(np.int32 if whole else dtype)
        kept = held == given if whole else np.isfinite(held) & ((held != 0) | (given == 0))
        if not kept.all():
            raise ValueError(
                f"{jax.tree_util.keystr(path).lstrip('.')}={leaf!r} is beyond the numbers of a "
                f"{np.dtype(dtype).name} run: give x in other units"
            )
        return held  # cast by NumPy: JAX would compile a program for that

    return jax.device_put(jax.tree_util.tree_map_with_path(cast, method), place)


def farthest(dtype: Any) -> float:
    """The largest coordinate of a run: beyond it, sums of points and trial radii overflow."""
    return float(np.finfo(dtype).max) * 2.0**-60


def sound(state: Any) -> Any:
    """Whether every number of a state is finite and its iterate within `farthest`."""
    numbers = [leaf for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    near = jnp.all(jnp.abs(state.x) <= farthest(state.x.dtype))
    return jnp.all(jnp.stack([near, *(jnp.all(jnp.isfinite(leaf)) for leaf in numbers)]))


def told_soundly(method: Method, state: Any, values: Any, noise: Any) -> tuple[Any, Any]:
    """The state after a tell, and whether it was sound: if not, the numbers stay and counts go on."""
    after = method.tell(state, values, noise)
    taken = sound(after)

    def choose(new: Any, old: Any) -> Any:
        return jnp.where(taken, new, old) if jnp.issubdtype(new.dtype, jnp.floating) else new

    return jax.tree.map(choose, after, state), taken


def reported(own: bool, method: Method, state: Any) -> Any:
    """The decision to report; the iterate, always finite, where a method of your own gives NaN or infinity.

    Tests check that driftopt's own methods give finite numbers.
    """
    decision = method.recommend(state)
    if own:
        return decision
    return jnp.where(jnp.all(jnp.isfinite(decision)), decision, state.x.astype(decision.dtype))


class Host:
    """The state of one run: `points` to query now, `tell` their mean values, `recommend` at any time.

    Every number in it is always finite: a value that would make one overflow changes nothing but counts, and
    `diverged`. A tell takes the packed array and a letter: the values, and the row of the window of random
    numbers that is this iteration's. The next row is for the next points.

    Args:
        method: its numbers are scalars.
        x0: the start.
        seed: of the method's randomness.
        soon: compile the programs now, in other threads. By default each is compiled when it is first needed:
            the first decision of a study, or its last value, needs few of them.
    """

    def __init__(self, method: Method, x0: np.ndarray, seed: int, *, soon: bool = False):
        refuse_after_fork()
        self._x0, self._dim = np.asarray(x0, np.float64), len(x0)
        check_spacing(method, self._x0, np.float64)
        self.told, self.diverged = 0, False  # whether a value was refused: a number would have overflowed
        with jax.enable_x64(True):
            self._method = with_precision(method, jnp.float64, small_program.place())
            self._own = ours(self._method)
            self._key = method_key(seed, small_program.place())
        self.repeats = int(np.asarray(self._method.batch))  # fresh samples to average at each point
        self._packed: Any = None  # until it is needed
        self._advance: Any = None  # the compiled program
        self._first = -1  # the iteration with which the window of random numbers begins, once it is drawn
        if soon:
            self._compile()
            with jax.enable_x64(True):
                _recommend.prepare(self._forms, self._packed)
        points = self.points
        if not np.isfinite(points).all() or not np.abs(points).max() <= 2 * farthest(np.float64):
            raise ValueError(
                f"x0 and radius must be below {farthest(np.float64):.1g}, so that trials can be made around "
                f"x0; got x0={x0!r}"
            )

    def __reduce__(self) -> Any:
        raise TypeError(
            "a run in progress cannot be copied or pickled: it sees its numbers where the compiled program "
            "leaves them. Begin another one with the same seed, or keep a Study, which others can open."
        )

    @property
    def method(self) -> Method:
        """The method; a new one of the same shapes goes on from the state of the one before."""
        return self._method

    @method.setter
    def method(self, method: Method) -> None:
        state, before = self.state, self._method
        with jax.enable_x64(True):
            self._method = with_precision(method, jnp.float64, small_program.place())
        if jax.tree.structure(before) == jax.tree.structure(self._method) and all(
            map(np.array_equal, jax.tree.leaves(before), jax.tree.leaves(self._method))
        ):
            return  # the points stay, to the last bit
        self.__dict__.pop("_forms")  # a part of it that is static may differ
        self.__dict__.pop("_recommend", None)
        self._advance = None
        with jax.enable_x64(True):
            self._begin(state, None)

    @property
    def state(self) -> Any:
        """The method's state, in arrays of NumPy."""
        self._begin_once()
        return _unpack(self._forms.packed, np.array(self._packed))[1]

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the open iteration, in a new array."""
        if self._packed is None and (known := self._first_points()) is not None:
            return known
        self._begin_once()
        return self._seen.points.copy()

    @property
    def noise(self) -> Any:
        """The random numbers of the open iteration."""
        self._begin_once()
        row = self.told % self.ahead
        if self._first != self.told - row:
            self._draw()
        with jax.enable_x64(True):
            return _row(self._forms, self._window, np.int32(row))

    def tell(self, values: Any) -> None:
        """Close the iteration with the (p,) mean values."""
        advance = self._advance or self._compile()
        row = self.told % self.ahead
        if row == 0 and self._first != self.told:
            self._draw()  # not as the last window ends: Ctrl-C while it draws then loses nothing
        after = advance(self._packed, self._letter.write(values, row), *self._window)
        self._packed, self._seen = after, self._views.of(after)
        self.diverged = self.diverged or not self._seen.numbers[-1]
        self.told += 1

    def replay(self, values: np.ndarray) -> None:
        """Tell many iterations, (n, p)."""
        for row in np.asarray(values, np.float64):
            self.tell(row)

    def recommend(self) -> np.ndarray:
        """The decision to report."""
        self._begin_once()
        return np.asarray(self._recommend(self._packed))

    @cached_property
    def _recommend(self) -> Callable[..., Any]:
        return _recommend.ready(self._forms, self._packed)

    @cached_property
    def ahead(self) -> int:
        """The number of iterations whose random numbers are drawn together."""
        with jax.enable_x64(True):
            _, row = small_program.state_and_noise(self._method, self._key, self._x0)
        numbers = sum(leaf.size for leaf in jax.tree.leaves(row))
        return max(1, min(AHEAD, NUMBERS // max(1, numbers)))

    @cached_property
    def _forms(self) -> "_Forms":
        points = jax.ShapeDtypeStruct((self._method.points(self._dim), self._dim), jnp.float64)
        with jax.enable_x64(True):
            state, row = small_program.state_and_noise(self._method, self._key, self._x0)
            leaves, noise = jax.tree.flatten(row)
            form = _Form.of((self._method, state, points, jax.ShapeDtypeStruct((), bool)))
        return _Forms(form, noise, tuple(map(is_key, leaves)), self._own)

    def _compile(self) -> Callable[..., Any]:
        """The program of a tell: it takes longest, and is compiled while the rest happens."""
        count = self._method.points(self._dim)
        packed, letter = np.empty(self._forms.packed.size), _Letter(count)
        with jax.enable_x64(True):
            _, row = small_program.state_and_noise(self._method, self._key, self._x0)
            window = [jax.ShapeDtypeStruct((self.ahead + 1, *leaf.shape), leaf.dtype) for leaf in _bare(row)]
            arguments = (self._forms, packed, np.empty(count + 1), *window)
            _advance.prepare(*arguments)
            self._begin_once()
            if self._first != self.told - self.told % self.ahead:
                self._draw()
            ready = _advance.ready(*arguments)
            first = letter.write(np.zeros(count), 0)
            self._advance, self._letter = called_once(ready, self._packed, first, *self._window), letter
        return self._advance

    def _begin_once(self) -> None:
        """Begin, if that is to be done."""
        if self._packed is None:
            with jax.enable_x64(True):
                points = self._first_points()
                self._begin(_init(self._own, self._method, self._key, self._x0), points)

    def _begin(self, state: Any, points: np.ndarray | None) -> None:
        """Go on from a state; the points are asked for if they are not known."""
        count = self._method.points(self._dim)
        unknown = np.zeros((count, self._dim))
        leaves = jax.tree.leaves((self._method, state, unknown if points is None else points, np.True_))
        bare = [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in leaves]
        numbers = np.concatenate([np.asarray(leaf, np.float64).reshape(-1) for leaf in bare])
        packed, before = small_program.put(numbers), numbers.size - unknown.size - 1
        self._views = Views(
            numbers.size, lambda numbers: _Seen(numbers, numbers[before:-1].reshape(unknown.shape))
        )
        if points is None:
            row = self.told % self.ahead
            if self._first != self.told - row:
                self._draw()
            packed = _ask(self._forms, packed, np.int32(row), *self._window)
        self._packed, self._seen = packed, self._views.of(packed)

    def _first_points(self) -> np.ndarray | None:
        """The first points if all of them are x0, which needs no program; else None.

        The iterate of a method of your own may begin elsewhere, so `ask` decides.
        """
        if not self._own:
            return None
        at_x0 = self._method.at_iterate(np.zeros(1, int), self._dim)[0]
        return np.tile(self._x0, (len(at_x0), 1)) if at_x0.all() else None

    def _draw(self) -> None:
        """Draw the random numbers of the present window."""
        first = self.told - self.told % self.ahead
        with jax.enable_x64(True):
            drawn = small_program.noise_window(
                self._method, self._key, np.int32(first), self._dim, self.ahead
            )
            self._window, self._first = _bare(drawn), first


class _Seen(NamedTuple):
    """The numbers that a program gave, and the points among them."""

    numbers: np.ndarray
    points: np.ndarray


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


# `own`, a part of the first argument of each program, says whether the method is driftopt's. Only then is the
# program one kernel: XLA ends the process over some kernels, such as one that returns all numbers of a state
# unchanged except the count. The tests run all of driftopt's methods; nobody has tried yours.


@partial(small_program.Program, as_one=bool)
def _init(own: bool, method: Method, key: Any, x0: Any) -> Any:
    """The state before the first query."""
    return method.init(key, x0)


@partial(small_program.Program, as_one=lambda forms: forms.own)
def _ask(forms: _Forms, packed: Any, row: Any, *window: Any) -> Any:
    """The points of the iteration whose noise is this row of the window."""
    method, state, _, sound = _unpack(forms.packed, packed)
    return _pack((method, state, method.ask(state, _row(forms, window, row)), sound))


@partial(small_program.Program, as_one=lambda forms: forms.own)
def _advance(forms: _Forms, packed: Any, letter: Any, *window: Any) -> Any:
    """An iteration's values in, and the points of the next."""
    method, state, _, _ = _unpack(forms.packed, packed)
    now = letter[-1].astype(jnp.int32)
    state, sound = told_soundly(method, state, letter[:-1], _row(forms, window, now))
    return _pack((method, state, method.ask(state, _row(forms, window, now + 1)), sound))


@partial(small_program.Program, as_one=lambda forms: forms.own)
def _recommend(forms: _Forms, packed: Any) -> Any:
    """The decision to report."""
    method, state, _, _ = _unpack(forms.packed, packed)
    return reported(forms.own, method, state)
