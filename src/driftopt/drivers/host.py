"""`Host`: a method driven from Python in float64, without touching JAX's global flag.

`minimize` and `Study` share it: both query a live oracle at a few points and report its values.
"""

from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.drivers import small_program
from driftopt.method import Method, check_spacing
from driftopt.rng.seeds import method_key
from driftopt.runtime.forks import refuse_after_fork
from driftopt.runtime.identity import ours


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


AHEAD = 256  # iterations whose random numbers are drawn together
NUMBERS = 1 << 22  # an upper limit on random numbers drawn together: fewer iterations where one needs many


# `own`, the first argument of each program, says whether the method is driftopt's. Only then is the program
# one kernel: XLA ends the process over some kernels, such as one that returns all numbers of a state
# unchanged except the count. The tests run all of driftopt's methods; nobody has tried yours.


@partial(small_program.Program, as_one=bool)
def _advance(
    own: bool, method: Method, state: Any, diverged: Any, noise: Any, values: Any, first: Any, stop: Any
) -> Any:
    """The state after rows first … stop − 1 of `values`, whether it diverged, and its points.

    One program serves a single tell and a replay: the loop's body is compiled once, so a state rebuilt from a
    log is the state that wrote it, bit for bit. The points are never used, because `_ask` computes them also
    without a tell. Without them XLA ends the process over numbers that a method returns unchanged.
    """

    def tell(index: Any, run: Any) -> Any:
        state, diverged = run
        state, taken = told_soundly(method, state, values[index], _row(noise, index))
        return state, diverged | ~taken

    state, diverged = jax.lax.fori_loop(first, stop, tell, (state, diverged))
    return state, diverged, method.ask(state, _row(noise, stop))


@partial(small_program.Program, as_one=bool)
def _ask(own: bool, method: Method, state: Any, noise: Any, index: Any) -> Any:
    """The points of the iteration whose noise is row `index`."""
    return method.ask(state, _row(noise, index))


def _row(noise: Any, index: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], noise)


@partial(small_program.Program, as_one=bool)
def _init(own: bool, method: Method, key: Any, x0: Any) -> Any:
    return method.init(key, x0)


@partial(small_program.Program, as_one=bool)
def _recommend(own: bool, method: Method, state: Any) -> Any:
    return reported(own, method, state)


class Host:
    """The state of one run: `points` to query now, `tell` their mean values, `recommend` at any time.

    Every number in it is always finite: a value that would make one overflow changes nothing but `diverged`.

    The state, the noise and the points are computed when they are first needed: each is a program to compile,
    and the first decision of a study, or its last value, needs few of them.
    """

    def __init__(self, method: Method, x0: np.ndarray, seed: int):
        refuse_after_fork()
        self._x0, self._dim = np.asarray(x0, np.float64), len(x0)
        check_spacing(method, self._x0, np.float64)
        self.told, self._diverged = 0, np.bool_(False)
        self._state: Any = None
        self._drawn: Any = None  # the noise of the present window
        self._asked: Any = None  # the points of the iteration now open
        with jax.enable_x64(True):
            self.method = with_precision(method, jnp.float64, small_program.place())
            self._own = ours(self.method)
            self._key = method_key(seed, small_program.place())
            self.repeats = int(np.asarray(self.method.batch))  # fresh samples to average at each point
            self._begin()
        points = self.points
        if not np.isfinite(points).all() or not np.abs(points).max() <= 2 * farthest(np.float64):
            raise ValueError(
                f"x0 and radius must be below {farthest(np.float64):.1g}, so that trials can be made around "
                f"x0; got x0={x0!r}"
            )

    @property
    def diverged(self) -> bool:
        """Whether a value was refused because a number would have overflowed."""
        return bool(self._diverged)

    @property
    def state(self) -> Any:
        """The method's state."""
        if self._state is None:
            with jax.enable_x64(True):
                self._state = self._first_state()
                if self._state is None:
                    self._state = _init(self._own, self.method, self._key, self._x0)
        return self._state

    @state.setter
    def state(self, state: Any) -> None:
        self._state = state

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the open iteration, in a new array."""
        if self._asked is None:
            self._asked = self._first_points() if self._state is None else None
        if self._asked is None:
            with jax.enable_x64(True):
                index = np.int32(self.told % self.ahead)
                self._asked = _ask(self._own, self.method, self.state, self._noise, index)
        return np.array(self._asked)

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
                    self._drawn = None

    def recommend(self) -> np.ndarray:
        """The decision to report."""
        with jax.enable_x64(True):
            return np.asarray(_recommend(self._own, self.method, self.state))

    def _begin(self) -> None:
        """Prepare before the first query: here nothing."""

    def _first_points(self) -> np.ndarray | None:
        """The first points if all of them are x0, which needs no program; else None.

        The iterate of a method of your own may begin elsewhere, so `ask` decides.
        """
        if not self._own:
            return None
        at_x0 = self.method.at_iterate(np.zeros(1, int), self._dim)[0]
        return np.tile(self._x0, (len(at_x0), 1)) if at_x0.all() else None

    @cached_property
    def ahead(self) -> int:
        """The number of iterations whose random numbers are drawn together."""
        with jax.enable_x64(True):
            numbers = sum(leaf.size for leaf in jax.tree.leaves(self._noise_row()))
        return max(1, min(AHEAD, NUMBERS // max(1, numbers)))

    @cached_property
    def _values(self) -> np.ndarray:
        """The values of the present window."""
        return np.zeros((self.ahead, self.method.points(self._dim)))

    @property
    def _noise(self) -> Any:
        if self._drawn is None:
            with jax.enable_x64(True):
                self._refill()
        return self._drawn

    def _first_state(self) -> Any:
        """The first state if it needs no program; else None."""
        return small_program.first_state(self.method, self._key, self._x0) if self._own else None

    def _noise_row(self) -> Any:
        """The shapes of one iteration's noise."""
        return small_program.noise_row(self.method, self._key, self._dim)

    def _noise_shapes(self) -> Any:
        """The shapes of a window of noise."""
        rows = self.ahead + 1
        return jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct((rows, *leaf.shape), leaf.dtype), self._noise_row()
        )

    def _arguments(self, noise: Any, first: int, stop: int) -> tuple[Any, ...]:
        # A copy, because the program may still be reading it when the next tell writes.
        values, rows = self._values.copy(), (np.int32(first), np.int32(stop))
        return (self._own, self.method, self.state, self._diverged, noise, values, *rows)

    def _refill(self) -> None:
        """Draw the noise of the present window."""
        first = np.int32(self.told - self.told % self.ahead)
        self._drawn = small_program.noise_window(self.method, self._key, first, self._dim, self.ahead)

    def _run(self, first: int, stop: int) -> None:
        """Tell the values of these rows of the window."""
        if self._drawn is None:  # compiled in another thread, while this one compiles and draws the noise
            _advance.prepare(*self._arguments(self._noise_shapes(), 0, 0))
        self.state, self._diverged, _ = _advance(*self._arguments(self._noise, first, stop))
        self._asked = None
