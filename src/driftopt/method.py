"""The contract every method keeps: four pure functions on arrays, and no oracle."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.oracle import Sight
from driftopt.pytree import check_decorated, check_leaves


class Method(ABC):
    """A frozen pytree whose numbers are leaves, driven by `simulate`, `minimize` or a `Study`.

    The driver holds the oracle and repeats

        points = method.ask(state, noise)
        values = the mean of method.batch fresh samples of F at each of the points
        state  = method.tell(state, values, noise)

    A state is any pytree with the fields `key` (the run's randomness), `told` (the iterations so far)
    and `x` (the iterate, whose precision is the run's).

    `tell` takes an `Observed` for a method that sees ξ, the values and the ξ behind them, and a `WithBeside`
    for one that sees side information (`driftopt.oracle.Sight` lists the kinds). `samples` gives the samples
    of an iteration at each point; `streams` gives the points that share their noise.

    All randomness comes from the key and the count in the state, so `ask` may be repeated (after a crash,
    say) and gives the same points until the next `tell`.
    """

    sees: ClassVar[Sight] = Sight.VALUES  # the oracle that it needs; other drivers refuse the method
    batch: ArrayLike  # fresh samples averaged at each point: the paper's m
    radius: ArrayLike  # the distance of the points of one `ask` from the iterate: the paper's δ or μ
    finds_radius: ClassVar[bool] = False  # True: the radius is a first guess, which the method corrects
    warmup: ClassVar[int] = 0  # iterations before the first one that can move the iterate

    # Whether `ask` and `tell` also take arrays with further axes behind their own, one for each run: x as
    # (d, lanes), a number as (lanes). Code that sums over axis 0 and multiplies does, by NumPy's
    # broadcasting, and many runs then compute side by side at full width. Others are vmapped.
    broadcasts: ClassVar[bool] = False

    @property
    def reach(self) -> ArrayLike | None:
        """The farthest that one iteration can move the iterate, for any values; None without a limit."""
        return None

    def reach_in(self, dim: int) -> ArrayLike | None:
        """The `reach` in `dim` dimensions, for a method whose steps depend on them."""
        return self.reach

    def for_budget(self, budget: int) -> "Method":
        """The method planned for `budget` queries: itself, unless its schedule lacks the number."""
        return self

    def within(self, low: np.ndarray, high: np.ndarray) -> "Method":
        """The method for decisions within bounds, (d,) each, ±inf where open: itself, unless it uses them.

        Whatever a method asks for, drivers reflect into the bounds.
        """
        return self

    def in_numbers(self) -> "Method":
        """The method with its discrete choices as numbers, except where they set a shape, for simulations.

        Methods that differ only in such choices then share a compiled program.
        """
        return self

    @abstractmethod
    def points(self, dim: int) -> int:
        """p, the number of points that one `ask` gives."""

    @abstractmethod
    def init(self, key: Array, x0: Array) -> Any:
        """The state before the first query, at the start x0.

        A method that sees ξ or side information also takes `like`: zeros in the shapes of its observations,
        to allocate those it keeps.
        """

    @abstractmethod
    def noise(self, key: Array, count: ArrayLike, dim: int) -> Any:
        """All random numbers of the iteration after `count` others, a pure function of (key, count).

        `ask` and `tell` draw it themselves. A driver that runs thousands of iterations may draw it for
        many together and hand it in, which changes the speed and nothing else.
        """

    def drawn(self, state: Any, noise: Any) -> Any:
        """The iteration's noise in the state's precision: the `noise` handed in, or else drawn now."""
        noise = self.noise(state.key, state.told, state.x.shape[0]) if noise is None else noise

        def cast(leaf: Any) -> Any:
            return leaf.astype(state.x.dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

        return jax.tree.map(cast, noise)

    @abstractmethod
    def ask(self, state: Any, noise: Any = None) -> Array:
        """The (p, d) points to query next."""

    @abstractmethod
    def tell(self, state: Any, values: Any, noise: Any = None) -> Any:
        """The state after the (p,) mean values, or the observations, at the points last asked for."""

    def recommend(self, state: Any) -> Array:
        """The decision to report: the iterate, or a mean of iterates; never the best value seen.

        If a number in it is not finite, drivers report the iterate.
        """
        return state.x

    def settled(self, state: Any, fall: float, away: float) -> bool:
        """False if the method's own numbers say that x may not be stationary.

        f fell by about `fall` from the start, which is `away` from x.
        """
        return True

    def queries(self, dim: int) -> Any:
        """The queries of one iteration, of the first one if they differ: every single value of F counts."""
        return self.points(dim) * self.batch

    # A method with a schedule overrides the members below. All iterations of the others are alike.

    def samples(self, count: ArrayLike, dim: int) -> Any:
        """(p,) fresh samples at each point of the iteration after `count` others; 0 leaves a point out."""
        return self.batch + 0 * np.arange(self.points(dim))

    def at_iterate(self, counts: np.ndarray, dim: int) -> np.ndarray:
        """(n, p), true for points that are the iterate itself, in n iterations, each after `counts` others.

        Values there estimate f at the iterate without an extra query.
        """
        return np.zeros((len(counts), self.points(dim)), bool)

    def streams(self, count: ArrayLike, dim: int) -> Any:
        """(p,) a number for each point: points with the same number see the same noise.

        Only for a method that sees values under the same noise (`sees = Sight.SAME_SAMPLE`).
        """
        return np.arange(self.points(dim))

    @property
    def scheduled(self) -> bool:
        """True if iterations differ in cost, or points in their number of samples."""
        return type(self).samples is not Method.samples


BATCH = (
    "the number of samples averaged at each point: add the field `batch: ArrayLike = 1`, or "
    "`batch: ClassVar[int] = 1` where it is always one"
)
RADIUS = (
    "how far the points of one ask lie from the iterate: add the field `radius: ArrayLike`, or "
    "`radius: ClassVar[float] = 0.0` where they are the iterate itself"
)


def check_method(method: Any) -> Method:
    """The method itself, or a ValueError if it is not a decorated Method with a batch and a radius.

    Every driver calls this, so that a wrong number gives the same message everywhere.
    """
    if isinstance(method, type) and issubclass(method, Method):
        raise ValueError(f"method must be an instance: make one, {method.__name__}(…), of the class")
    if not isinstance(method, Method):
        raise ValueError(
            f"method must be a Method, as methods.get(name, …) makes them; got {checks.brief(method)}"
        )
    check_decorated(method)
    check_leaves(method)
    for name, what in {"batch": BATCH, "radius": RADIUS}.items():
        try:
            getattr(method, name)
        except AttributeError:
            raise ValueError(f"{type(method).__name__} has no {name}, {what}") from None
    name, batch, radius = type(method).__name__, method.batch, method.radius
    if not isinstance(batch, Tracer):  # a number that JAX traces has no value yet
        checks.count(f"{name}.batch", batch)
    if not isinstance(radius, Tracer) and (checks.finite(f"{name}.radius", radius) < 0).any():
        raise ValueError(f"{name}.radius must be >= 0, got {checks.brief(radius)}")
    others = not type(method).__module__.startswith("driftopt.")
    if others and type(method).streams is not Method.streams and method.sees is not Sight.SAME_SAMPLE:
        raise ValueError(
            f"{type(method).__name__} has streams, so that points share their noise, but sees "
            f"{method.sees.words}: add `sees: ClassVar[Sight] = Sight.SAME_SAMPLE`, or leave streams out"
        )
    return method


SPACINGS = 8  # of the numbers next to x: what is shorter is lost in rounding, or mangled by it


def check_spacing(method: Method, start: Any, dtype: Any) -> None:
    """Refuse a radius or a reach that rounding swallows at the start: such a run stands still in silence.

    A radius is compared with the largest coordinate, a reach, which all coordinates share, with the norm.

    Args:
        method: its numbers are scalars, or (K, C) for K instances.
        start: x0, (d,) or (K, d).
        dtype: the precision of the run.

    Raises:
        ValueError: one of the two is below 8 machine epsilons of that, 1e-6 in float32; 0 is let pass.
    """
    rows, precision = np.atleast_2d(np.asarray(start, np.float64)), np.finfo(dtype)
    largest = np.abs(rows).max(axis=1)
    norm = largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1)[:, None], axis=1)
    relative = SPACINGS * float(precision.eps)
    for name, length, size in (
        ("radius", method.radius, largest),
        ("reach", method.reach_in(rows.shape[1]), norm),
    ):
        if length is None:
            continue
        lengths, sizes = np.broadcast_arrays(np.asarray(length, np.float64), size[:, None])
        lost = (lengths > 0) & (lengths < relative * sizes)
        if lost.any():
            what = "how far trials are from x" if name == "radius" else "how far one iteration can move x"
            more = ", or use driftopt.minimize, which computes in float64" if precision.bits == 32 else ""
            raise ValueError(
                f"{type(method).__name__} would stand still: its {name}, {what}, is {lengths[lost][0]:.3g} "
                f"where |x0| is {sizes[lost][0]:.3g}, and {precision.dtype} needs at least "
                f"{relative * sizes[lost][0]:.2g} there. Shift x so that it starts near 0, choose a larger "
                f"{'radius' if name == 'radius' else 'radius or a shorter block'}{more}"
            )
