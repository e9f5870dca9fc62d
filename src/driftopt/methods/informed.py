"""A method that also uses side information, for simulation: `informed(method, …)`.

`minimize` and `Study` put steps before a method (`answers/`). Here steps and method are one object, so that
`simulate` and `compare` can run it against others. It sees more than values: another oracle.
"""

from collections.abc import Mapping
from dataclasses import replace
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
    method: Any  # the inner method's state
    memory: Any  # the steps' memory


def informed(
    method: Method,
    *,
    covariates: bool = False,
    precision: bool = False,
    relative_to_control: bool = False,
    limits: Mapping[str, Mapping[str, Any]] | None = None,
) -> "Informed":
    """The method with the side information that `minimize` and `Study` would give it.

    Args:
        method: one that sees values.
        covariates: True to subtract from each value the part that the problem's `covariates` explain.
        precision: True to weigh values by the sem or n that the problem gives.
        relative_to_control: True to use differences to the control that it gives.
        limits: the limits on the metrics that it gives, {"complaints": {"max": 5}}.

    >>> from driftopt import methods
    >>> informed(methods.get("auto", radius=2.0), covariates=True).sees.words
    'values and side information'
    """
    check_method(method)
    if method.sees is not Sight.VALUES or method.scheduled:
        raise ValueError(
            f"method must see values alone, with the same batch at every point; got {checks.brief(method)}"
        )
    kept = {} if limits is None else checked(limits)
    none_hard(kept, "a simulation")
    asked = {"covariates": covariates, "precision": precision, "relative_to_control": relative_to_control}
    flags = {name: checks.flag(name, value) for name, value in asked.items()}
    if not (kept or any(flags.values())):
        raise ValueError(
            "no side information is used: give covariates, precision, relative_to_control or limits"
        )
    return Informed(method, kept, **flags)


@module
class Informed(Method):
    """The inner method, on values that the steps have adjusted for side information."""

    sees: ClassVar[Sight] = Sight.BESIDE

    method: Method  # the inner one, which sees values
    limits: dict[str, dict[str, ArrayLike]]  # the limits on each metric, by its name
    covariates: bool = static(default=False)  # subtract the part of a value that they explain
    precision: bool = static(default=False)  # weigh values by the customers, visits, … behind them
    relative_to_control: bool = static(default=False)  # subtract the control's value

    @property
    def batch(self) -> ArrayLike:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Samples at each point, as in the inner method."""
        return self.method.batch

    @property
    def radius(self) -> ArrayLike:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The distance of the points, as in the inner method."""
        return self.method.radius

    @property
    def warmup(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.method.warmup

    def reach_in(self, dim: int) -> ArrayLike | None:
        return self.method.reach_in(dim)

    def for_budget(self, budget: int) -> "Informed":
        return replace(self, method=self.method.for_budget(budget))

    def points(self, dim: int) -> int:
        return self.method.points(dim)

    def init(self, key: Array, x0: Decision, like: WithBeside | None = None) -> State:
        if like is None:
            raise ValueError("an informed method runs in simulate alone: elsewhere give the method itself")
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
        """Refuse a problem without the side information that this method uses."""
        metrics = [name for name in self.limits if name not in beside.metrics]
        precise, where = beside.n is not None or beside.sem is not None, "beside(noise, x)"
        for fails, what in (
            (self.covariates and not beside.covariates, "covariates: define covariates(noise)"),
            (self.precision and not precise, f"n or sem: give one of them in {where}"),
            (self.relative_to_control and beside.control is None, f"control: give it in {where}"),
            (bool(metrics), f"metric {', '.join(metrics)}: give it in {where}"),
        ):
            if fails:
                raise ValueError(f"the method sees {self.sees.words}: the problem has no {what}")
