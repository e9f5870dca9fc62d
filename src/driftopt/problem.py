"""A simulated problem: a decision-dependent law Ξ(x), a loss F(x; ξ), and the exact f(x).

    f(x) = E[F(x; ξ)],  ξ ~ Ξ(x)

Zeroth-order methods see `sample` alone. `draw` and `value` are separate because Ξ reacts to the decision and
F does not; `objective` is for evaluation and is never counted.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.answers import Beside
from driftopt.oracle import Model
from driftopt.pytree import check_decorated
from driftopt.runtime.forks import refuse_after_fork

__all__ = ["Optimum", "Problem"]


def single(numbers: Any) -> Array:
    """The numbers in float32. NumPy converts them: JAX would compile a program for every new shape."""
    refuse_after_fork()
    return jnp.asarray(np.asarray(numbers, np.float32), jnp.float32)


def decision(x: ArrayLike) -> Array:
    """x as JAX floats: users pass lists and NumPy's float64, whose limits float32 does not have."""
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.float32)


@dataclass(frozen=True, eq=False)
class Optimum:
    """A decision that a problem knows by itself, and the exact objective there.

    >>> Optimum(np.zeros(2), 1.5)
    Optimum(x=array([0., 0.]), value=1.5, exact=True)
    """

    x: np.ndarray  # (d,), the decision
    value: float  # f(x)
    exact: bool = True  # False: the best that a search found


class Problem(ABC):
    """A frozen pytree of JAX functions of one decision x, shape (dim,). Drivers vmap.

    A subclass gives `draw`, `value` and `objective`. One that runs in hot loops splits `draw` further:
    `noise(key)` holds everything random about a query and does not see x, `respond(noise, x)` turns it
    into ξ ~ Ξ(x). Then many lanes can share one set of random numbers, drawn in bulk.
    """

    # Whether `respond` and `value` also take arrays with further axes behind their own, one for each run
    # (x as (d, lanes), the problem's own leaves too). Code that sums over axis 0 and multiplies does,
    # by NumPy's broadcasting, and CPUs then vectorise over lanes. Others are vmapped.
    broadcasts: ClassVar[bool] = False

    @property
    @abstractmethod
    def dim(self) -> int:
        """d, the length of a decision."""

    @property
    def label(self) -> str:
        """The instance's name in tables."""
        return type(self).__name__

    @property
    def x0(self) -> Array:
        """The start of a run by default."""
        return jnp.zeros(self.dim, jnp.float32)

    def noise(self, key: Array) -> Any:
        """Everything random about one query."""
        return key

    def respond(self, noise: Any, x: Array) -> Any:
        """ξ ~ Ξ(x), the data's reaction to the decision, as a function of the noise."""
        return self.draw(noise, x)

    def draw(self, key: Array, x: Array) -> Any:
        """ξ ~ Ξ(x)."""
        if type(self).respond is Problem.respond:
            raise NotImplementedError(
                f"{type(self).__name__} must define draw(key, x), or noise(key) and respond(noise, x)"
            )
        return self.respond(self.noise(key), x)

    @abstractmethod
    def value(self, x: Array, xi: Any) -> Array:
        """F(x; ξ)."""

    def observe(self, noise: Any, x: Array) -> Array:
        """F(x; ξ) for the ξ that this noise gives at x."""
        return self.value(x, self.respond(noise, x))

    def sample(self, key: Array, x: Array) -> Array:
        """One query: F(x; ξ) for a fresh ξ ~ Ξ(x)."""
        return self.observe(self.noise(key), x)

    @abstractmethod
    def objective(self, x: Array) -> Array:
        """The exact f(x)."""

    def covariates(self, noise: Any) -> Array | None:
        """(k,) covariates of a query, such as the label of the person drawn or the week's footfall; or None.

        They are a function of the noise alone, so that no decision can move them.
        """
        return None

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """A name for each of the covariates."""
        shape = jax.eval_shape(lambda p: p.covariates(p.noise(jax.random.key(0))), self)
        return () if shape is None else tuple(f"c{i + 1}" for i in range(shape.shape[0]))

    def beside(self, noise: Any, x: Array) -> Beside:
        """The side information reported with the value of a query at x, as in a live system.

        It holds metrics that may have limits, n or sem, and the control's value at the same time. Covariates
        have a function of their own, which does not see x.
        """
        return Beside()

    def optimum(self) -> Optimum | None:
        """The performative optimum, argmin f; None if the problem does not know it."""
        return None

    def stable_point(self) -> Optimum | None:
        """The fixed point of retraining, x = argmin_z E[F(z; ξ)] with ξ ~ Ξ(x); None if it is not known."""
        return None

    def metrics(self, x: Array) -> Any:
        """Further figures of a decision as a NamedTuple of numbers; None for a problem that has none."""
        return None

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the figures that `metrics` gives, without computing any.

        Raises:
            ValueError: `metrics` gives something else than a NamedTuple of numbers.
        """
        # The problem is an argument too: NumPy numbers of its own would otherwise meet traced ones.
        figures: Any = jax.eval_shape(lambda problem: problem.metrics(problem.x0), self)
        if figures is None:
            return ()
        what, names = f"{type(self).__name__}.metrics", getattr(figures, "_fields", None)
        if names is None:
            raise ValueError(f"{what} must return a NamedTuple of numbers, got {checks.brief(figures)}")
        for name, figure in zip(names, figures, strict=True):
            if getattr(figure, "shape", None) != ():
                raise ValueError(
                    f"{what}: {name} must be one number, got {checks.brief(figure)}; an array's numbers need "
                    "a field each"
                )
        return names

    # A world with memory has a state that lasts from one query to the next. `respond` then gives a ξ of the
    # law at which the world comes to rest under x, and `objective` is f under that law.

    @property
    def remembers(self) -> bool:
        """True if today's ξ depends on earlier decisions."""
        return type(self).advance is not Problem.advance

    def begin(self, key: Array) -> Any:
        """The world's state before the first query."""
        return ()

    def advance(self, world: Any, noise: Any, x: Array) -> tuple[Any, Any]:
        """One deployment of x: the world's next state, and the ξ that it shows."""
        return world, self.respond(noise, x)

    def model(self) -> Model | None:
        """A parametric family that contains Ξ, for methods that fit one; None if none is known."""
        return None


def check_problem(problem: Any) -> Problem:
    """The problem itself, or a ValueError if it is not an instance of a decorated class."""
    if isinstance(problem, type) and issubclass(problem, Problem):
        raise ValueError(f"problem must be an instance: make one, {problem.__name__}(…), of the class")
    if not isinstance(problem, Problem):
        raise ValueError(f"problem must be a Problem (several go through stack); got {checks.brief(problem)}")
    check_decorated(problem)
    return problem
