"""A method that uses what is known beside values, for simulation: `informed(method, …)`.

The steps that `minimize` and `Study` put before a method (`answers/`), with the method in one object, so that
`simulate` and `compare` run it beside others. It sees more than values: another oracle.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.answers import Answers, Beside, Told
from driftopt.answers.limits import checked, none_hard
from driftopt.method import Method, check_method
from driftopt.oracle import Sight, WithBeside
from driftopt.pytree import module, static
from driftopt.shapes import Decision, Points


class State(NamedTuple):
    key: Array
    told: Array
    x: Array
    method: Any  # the state of the method within
    memory: Any  # what the steps remember


def informed(
    method: Method,
    *,
    covariates: bool = False,
    precision: bool = False,
    relative_to_control: bool = False,
    limits: Mapping[str, Mapping[str, Any]] | None = None,
) -> "Informed":
    """The method, told what `minimize` and `Study` would tell it where these are known beside values.

    Args:
        method: one that sees values.
        covariates: whether what the problem's `covariates` explain is taken out.
        precision: whether answers are weighed by the sem or n in the problem's `beside`.
        relative_to_control: whether values count as differences to the control in it.
        limits: how large or small its metrics may be, {"complaints": {"max": 5}}.

    >>> from driftopt import methods
    >>> informed(methods.get("auto", radius=2.0), covariates=True).sees.words
    'values and what is known beside'
    """
    check_method(method)
    if method.sees is not Sight.VALUES or method.scheduled:
        raise ValueError(
            "method must see values alone, as many at every point, to be told more; got "
            f"{checks.brief(method)}"
        )
    kept = {} if limits is None else checked(limits)
    none_hard(kept, "a simulation")
    asked = {"covariates": covariates, "precision": precision, "relative_to_control": relative_to_control}
    flags = {name: checks.flag(name, value) for name, value in asked.items()}
    if not (kept or any(flags.values())):
        raise ValueError(
            "nothing is told beside values: give covariates, precision, relative_to_control or limits"
        )
    return Informed(method, kept, **flags)


def with_covariates(method: Method) -> "Informed":
    """The method, told values less what covariates explain: `informed(method, covariates=True)`."""
    return informed(method, covariates=True)


@module
class Informed(Method):
    """The method within, told what the steps make of values and of what came with them."""

    sees: ClassVar[Sight] = Sight.BESIDE

    method: Method  # the one within, which sees values
    limits: dict[str, dict[str, ArrayLike]]  # how large or small each metric may be, by its name
    covariates: bool = static(default=False)  # whether what they explain is taken out of the values
    # Whether values count by the number of customers, visits, … behind them.
    precision: bool = static(default=False)
    relative_to_control: bool = static(default=False)  # whether control is taken out of the values

    @property
    def batch(self) -> ArrayLike:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Samples averaged at each point: the inner method's."""
        return self.method.batch

    @property
    def radius(self) -> ArrayLike:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How far trials are from the iterate: the inner method's."""
        return self.method.radius

    @property
    def warmup(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.method.warmup

    @property
    def reach(self) -> ArrayLike | None:
        return self.method.reach

    def reach_in(self, dim: int) -> ArrayLike | None:
        return self.method.reach_in(dim)

    def for_budget(self, budget: int) -> "Informed":
        within = self.method.for_budget(budget)
        return Informed(within, self.limits, self.covariates, self.precision, self.relative_to_control)

    def points(self, dim: int) -> int:
        return self.method.points(dim)

    def init(self, key: Array, x0: Decision, like: WithBeside | None = None) -> State:
        if like is None:
            raise ValueError(
                "what is known beside values is told by simulate alone: elsewhere give the method itself"
            )
        self._check(like.beside)
        within = self.method.init(key, x0)
        memory = jax.tree.map(lambda leaf: jnp.asarray(leaf, x0.dtype), self._answers(like.beside).begin())
        return State(key, within.told, within.x, within, memory)

    def noise(self, key: Array, count: ArrayLike, dim: int) -> Any:
        return self.method.noise(key, count, dim)

    def ask(self, state: State, noise: Any = None) -> Points:
        return self.method.ask(state.method, noise)

    def tell(self, state: State, values: WithBeside, noise: Any = None) -> State:
        answers = self._answers(values.beside)
        rows = answers.rows(values.beside, values.values.shape, jnp)
        memory, told = answers.take_told(state.memory, Told(values.values, rows, values.taken, jnp))
        within = self.method.tell(state.method, told, noise)
        return State(state.key, within.told, within.x, within, memory)

    def recommend(self, state: State) -> Decision:
        return self.method.recommend(state.method)

    def _answers(self, beside: Beside) -> Answers:
        return Answers.build(
            covariates=tuple(beside.covariates) if self.covariates else (),
            relative_to_control=self.relative_to_control,
            limits=self.limits,
            precision=self.precision,
        )

    def _check(self, beside: Beside) -> None:
        """Refuse a problem that does not tell what this method is to use."""
        metrics = [name for name in self.limits if name not in beside.metrics]
        precise = beside.n is not None or beside.sem is not None
        for fails, what in (
            (self.covariates and not beside.covariates, "covariates: define covariates(noise)"),
            (self.precision and not precise, "n or sem: give one of them in beside(noise, x)"),
            (self.relative_to_control and beside.control is None, "control: give it in beside(noise, x)"),
            (bool(metrics), f"metric {', '.join(metrics)}: give it in beside(noise, x)"),
        ):
            if fails:
                raise ValueError(f"the method sees {self.sees.words}: the problem has no {what}")
