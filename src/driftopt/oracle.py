"""The kinds of oracle: what a method may see of a query, and the records that carry more than a value."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from driftopt.answers import Beside

__all__ = ["Model", "Observed", "Sight", "WithBeside"]

Formula = Callable[[Array, Any], Array]  # (x, ξ) → F(x; ξ) or its gradient in x


class Sight(StrEnum):
    """The kind of oracle that a method needs, as a letter.

    | letter | a method sees | in life |
    |---|---|---|
    | V | noisy values F(x; ξ), each ξ ~ Ξ(x) fresh | the till's total |
    | C | values at several points under the same noise | a simulator that replays its random numbers |
    | X | ξ itself, and F as a formula: F(x′; ξ) for any x′ | units sold are counted, profit is a formula |
    | G | X, and the gradient ∇ₓF(x′; ξ) of that formula | the same, differentiated |
    | M | X, and a parametric family for Ξ | a demand model |
    | W | values of a world with memory, where today's ξ depends on yesterday's | customers adapt over weeks |
    | K | values with side information: covariates, precision, control, metrics | rain, complaints |

    A method declares its letter (`Method.sees`). A driver that cannot serve it refuses before anything runs.
    Every fresh ξ is one query, for every letter; F at another x for a ξ already seen costs nothing.
    """

    VALUES = "V"  # noisy values
    SAME_SAMPLE = "C"  # values at several points under the same noise
    OBSERVATIONS = "X"  # ξ itself, and F as a formula
    GRADIENTS = "G"  # ξ, and the gradient of that formula
    MODEL = "M"  # ξ, and a parametric family for its law
    MEMORY = "W"  # values of a world with memory
    BESIDE = "K"  # values with side information

    @property
    def words(self) -> str:
        """The letter in words, as the object of "sees".

        >>> Sight("G").words
        'ξ and the gradient of F'
        """
        return WORDS[self]

    @property
    def observes(self) -> bool:
        """True if `tell` takes an `Observed` rather than the plain values."""
        return self in (Sight.OBSERVATIONS, Sight.GRADIENTS, Sight.MODEL)


WORDS = {
    Sight.VALUES: "values",
    Sight.SAME_SAMPLE: "values under the same noise",
    Sight.OBSERVATIONS: "ξ",
    Sight.GRADIENTS: "ξ and the gradient of F",
    Sight.MODEL: "ξ and a model of its law",
    Sight.MEMORY: "values of a world with memory",
    Sight.BESIDE: "values and side information",
}


class Model(ABC):
    """A parametric family D_β(x) for the law of ξ: how to fit β, and how to draw from it."""

    @abstractmethod
    def fit(self, x: Array, xi: Any, taken: Array) -> Any:
        """β from n pairs (x_i, ξ_i), x (n, d) and ξ with n first.

        Only those where `taken` (n,) is true count.
        """

    @abstractmethod
    def draw(self, parameters: Any, key: Array, x: Array) -> Any:
        """ξ ~ D_β(x)."""


class Observed(NamedTuple):
    """The observations of one iteration: values, the ξ behind them, and the known formula F.

    Every point has room for m samples; a method whose batch grows fills it only in its last iteration.
    """

    values: Array  # (p,), the mean value at each point
    points: Array  # (p, d)
    xi: Any  # leaves (p, m, …)
    taken: Array  # (p, m), true for the samples that were drawn
    loss: Formula  # F(x, ξ) of one decision and one ξ
    gradient: Formula  # ∇ₓF(x, ξ)
    model: Model | None = None  # of the law of ξ, for a method that sees one


class WithBeside(NamedTuple):
    """The observations of one iteration: each sample's value and side information."""

    values: Array  # (m, p), samples at each point
    taken: Array  # (m, p), true for the samples that were drawn
    beside: Beside  # numbers as (m, p), one for each sample


def mean_over(taken: Array, values: Array) -> Array:
    """The mean of the `values` that were `taken`, over the axes of `taken`; 0 if none was.

    >>> float(mean_over(jnp.array([True, False]), jnp.array([1.0, jnp.nan])))
    1.0
    """
    mask = taken.reshape(taken.shape + (1,) * (values.ndim - taken.ndim))
    axes = tuple(range(taken.ndim))
    total = jnp.sum(jnp.where(mask, values, 0), axis=axes)
    return total / jnp.maximum(jnp.sum(taken), 1).astype(values.dtype)


def mean_formula(formula: Formula, x: Array, xi: Any, taken: Array) -> Array:
    """The mean of formula(x, ξ) over the ξ that were taken: a batch's loss, or its gradient, at any x."""
    each: Any = formula
    for _ in range(taken.ndim):
        each = jax.vmap(each, (None, 0))
    return mean_over(taken, each(x, xi))


def check_minimize(name: str, sees: Sight, *, loss: bool, model: bool) -> None:
    """Refuse, for `minimize`, a method that sees more than the user's function shows."""
    if sees is Sight.BESIDE:
        raise ValueError(
            f"{name} sees {sees.words}: give the method itself, and covariates=[names], precision=, "
            "relative_to_control= or limits= to minimize, whose function then returns them too"
        )
    if sees is Sight.SAME_SAMPLE:
        raise ValueError(
            f"{name} sees {sees.words}: every call of a function draws new noise; simulate a Problem, "
            "or choose a method that sees values"
        )
    needs = (
        []
        if loss or not sees.observes
        else ["`loss=`, F(x, ξ) as a JAX function, and let the function return ξ"]
    )
    if sees is Sight.MODEL and not model:
        needs.append("`model=`, a driftopt.oracle.Model of the law of ξ")
    if needs:
        raise ValueError(f"{name} sees {sees.words}: give {'; and '.join(needs)}")


def check_study(name: str, sees: Sight, scheduled: bool) -> None:
    """Refuse, for a study, a method that sees more than values, or whose batch changes."""
    if sees not in (Sight.VALUES, Sight.MEMORY):
        raise ValueError(
            f"{name} sees {sees.words}: a study has values alone; choose a method that sees values "
            "(`driftopt methods` lists what each sees)"
        )
    if scheduled:
        raise ValueError(
            f"{name} takes another batch in every iteration: a study keeps one; choose another method, "
            "or run it with `minimize`"
        )
