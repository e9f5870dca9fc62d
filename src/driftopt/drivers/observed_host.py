"""`minimize` for methods that see ξ: your function draws ξ ~ Ξ(x), and the formula F is known.

In float64, like `Host`. The formula is a JAX function F(x, ξ) of one decision and one ξ; ξ is a number, an
array, or a tuple or dict of them, always of one shape.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt import checks
from driftopt.drivers.host import reported, told_soundly, with_precision
from driftopt.drivers.plan import affordable
from driftopt.method import Method, check_spacing
from driftopt.oracle import Formula, Model, Observed, mean_over
from driftopt.rng.seeds import method_key
from driftopt.runtime.identity import ours
from driftopt.space import Space
from driftopt.space.bounds import Bounds


class Watched:
    """The user's draw as a function of values: each call draws ξ, may keep it, and returns F(x; ξ)."""

    def __init__(self, draw: Callable[..., Any], loss: Formula, keep: bool):
        self._draw, self._keep = draw, keep
        # A function of its own: of the same one JAX would go on with what it traced in an earlier run.
        self._value = jax.jit(lambda x, xi: loss(x, xi))
        self._seen: list[Any] = []
        self._shape: Any = None

    def __call__(self, x: np.ndarray, *args: Any) -> float:
        xi = jax.tree.map(lambda leaf: np.asarray(checks.unmasked(leaf)), self._draw(x, *args))
        shape = jax.tree.structure(xi), [leaf.shape for leaf in jax.tree.leaves(xi)]
        if any(leaf.dtype.kind not in "iufb" for leaf in jax.tree.leaves(xi)):
            raise ValueError(
                f"ξ must be numbers, an array, or a tuple or dict of them; got {checks.brief(xi)}"
            )
        if self._shape not in (None, shape):
            raise ValueError(f"every ξ must have the shape of the first, {self._shape}; got {shape}")
        self._shape = shape
        if self._keep:
            self._seen.append(xi)
        with jax.enable_x64(True):
            value = np.asarray(self._value(x, xi))
        if value.shape != ():
            raise ValueError(f"loss(x, ξ) must be one number; got an array of shape {value.shape}")
        return float(value)

    def take(self) -> list[Any]:
        """The ξ drawn since the last take, in order."""
        seen, self._seen = self._seen, []
        return seen


class ObservedHost:
    """The state of one run: `points` and `samples` to draw now, `tell` for the ξ drawn, and `recommend`."""

    def __init__(
        self, method: Method, x0: np.ndarray, seed: int, loss: Formula, model: Model | None, budget: int
    ):
        self._x0, self._dim = x0, len(x0)
        check_spacing(method, x0, np.float64)
        self._most = affordable(method, self._dim, budget).most
        self.told, self.diverged = 0, False  # whether a value was refused: a number would overflow
        with jax.enable_x64(True):
            self.method = with_precision(method, jnp.float64)
            self._own = ours(self.method)
            self._key = method_key(seed)
            self._tell = _program(loss, model)
            # The first points do not depend on what ξ looks like; the state is made again when that is known.
            self.state = self._begin(np.zeros(()))
            self._ask()

    @property
    def points(self) -> np.ndarray:
        """The (p, d) points of the iteration now open."""
        return np.asarray(self._points)

    @property
    def samples(self) -> np.ndarray:
        """(p,) how many draws each point gets."""
        return np.broadcast_to(self.method.samples(self.told, self._dim), len(self._points)).astype(int)

    def tell(self, drawn: list[Any]) -> None:
        """Close the iteration with the ξ drawn, point after point."""
        with jax.enable_x64(True):
            if self.told == 0:
                self.state = self._begin(drawn[0])
            taken = np.arange(self._most)[None, :] < self.samples[:, None]

            def room(*leaves: Any) -> np.ndarray:
                array = np.zeros((*taken.shape, *leaves[0].shape), np.result_type(*leaves))
                array[taken] = np.stack(leaves)
                return array

            xi = jax.tree.map(room, *drawn)
            points = np.asarray(self._points)
            self.state, sound = self._tell(self.method, self.state, points, xi, taken, self._noise)
            self.told, self.diverged = self.told + 1, self.diverged or not bool(sound)
            self._ask()

    def recommend(self) -> np.ndarray:
        """The decision to report."""
        with jax.enable_x64(True):
            return np.asarray(reported(self._own, self.method, self.state))

    def _begin(self, xi: Any) -> Any:
        taken = jnp.zeros((self.method.points(self._dim), self._most), bool)
        points = jnp.zeros((len(taken), self._dim), jnp.float64)
        none = jax.tree.map(lambda a: jnp.zeros((*taken.shape, *np.shape(a)), np.asarray(a).dtype), xi)
        like = Observed(points[:, 0], points, none, taken, _unknown, _unknown)
        return self.method.init(self._key, jnp.asarray(self._x0, jnp.float64), like)  # pyright: ignore[reportCallIssue]

    def _ask(self) -> None:
        self._noise = self.method.noise(self._key, self.told, self._dim)
        self._points = self.method.ask(self.state, self._noise)


def _program(loss: Formula, model: Model | None) -> Any:
    @jax.jit
    def tell(method: Method, state: Any, points: Any, xi: Any, taken: Any, noise: Any) -> Any:
        each = jax.vmap(jax.vmap(loss, (None, 0)))(points, xi)
        values = jax.vmap(mean_over)(taken, each.astype(points.dtype))
        seen = Observed(values, points, xi, taken, loss, jax.grad(loss), model)
        return told_soundly(method, state, seen, noise)

    return tell


def _unknown(x: Any, xi: Any) -> Any:
    raise NotImplementedError("init has nothing to compute a loss of")


def within(loss: Formula, space: Space, sign: int) -> Formula:
    """sign · F(x; ξ) for a method that does not know the bounds, reflected into them as its queries are."""
    limits = [step for step in space.steps if isinstance(step, Bounds)]
    others = [step.name for step in space.steps if not isinstance(step, Bounds)]
    if others:
        raise ValueError(f"a method that sees ξ takes bounds alone; leave {', '.join(others)} out")

    def reflected(x: Any, xi: Any) -> Any:
        for bounds in limits:  # `Bounds.deploy` for JAX
            low, high = np.isfinite(bounds.lower), np.isfinite(bounds.upper)
            lower, upper = np.where(low, bounds.lower, 0), np.where(high, bounds.upper, 0)
            width = np.where(low & high, upper - lower, 1)
            both = lower + width - jnp.abs(jnp.mod(x - lower, 2 * width) - width)
            one = jnp.where(low, lower + jnp.abs(x - lower), jnp.where(high, upper - jnp.abs(upper - x), x))
            folded = jnp.where(low & high, both, one)
            x = jnp.where((x >= bounds.lower) & (x <= bounds.upper), x, folded)
        return sign * loss(x, xi)

    return reflected
