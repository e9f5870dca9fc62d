"""`Answers`: the steps from reported answers to the values that a method learns from.

    failed or not    ◄──  each step's `judge`, an answer at a time  ◄──  reported answer
    method's values  ◄──  the mean of the samples  ◄──  each step's `take`, an iteration at a time

New side information of an answer, or a new check of it, is a new file with a `Step` and a line in `build`;
drivers and studies call `judge` and `take`.

The order is covariates, control, limits, precision, direction. Covariates, control and limits add to a
value or subtract from it, in its own units, and the first learns from differences of values how much.
Precision comes after them because it changes the scale of an iteration's differences: if it came first, a
slow week's difference would shrink but the parts that covariates and excesses explain would not, and β̂ would
be learnt from the wrong differences.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from driftopt import averages, checks
from driftopt.answers.beside import Beside
from driftopt.answers.control import RelativeToControl
from driftopt.answers.covariates import Covariates
from driftopt.answers.limits import Limits, limits_of
from driftopt.answers.precision import Precision
from driftopt.answers.step import Answer, Step, Told, Verdict

DIRECTIONS = ("minimize", "maximize")

# Methods square differences and certificates square squares: this leaves room for both, and for small radii.
LARGEST = 1e50
NOTHING: Mapping[str, Any] = {}
Memory = tuple[Any, ...]  # one for each step that has a part in `take`


@dataclass(frozen=True)
class Finite(Step):
    """Refuses values that no method can compute with."""

    largest: float = math.inf

    def judge(self, answer: Answer) -> Verdict | None:
        """Failed, unless the value is finite and at most `largest` in size.

        >>> Finite().judge(Answer(math.nan))
        Verdict(state='failed', reason='the value is nan')
        """
        if not math.isfinite(answer.value):
            return Verdict("failed", f"the value is {answer.value}")
        if abs(answer.value) > self.largest:
            reason = (
                f"the value is {answer.value:g}, too large to compute with (the largest is {self.largest:g})"
            )
            return Verdict("failed", reason)
        return None


@dataclass(frozen=True)
class DeployedAsAsked(Step):
    """A value measured too far from the asked point counts as a failure."""

    tolerance: float
    distance: Callable[[np.ndarray, np.ndarray], float]

    def judge(self, answer: Answer) -> Verdict | None:
        if answer.asked is None or answer.deployed is None:
            return None
        away = self.distance(answer.deployed, answer.asked)
        if away <= self.tolerance * (1 + 1e-9):  # 1.1 − 1.0 is a little more than 0.1
            return None
        return Verdict(
            "failed", f"deployed {away:.3g} away from the asked point (tolerance {self.tolerance:.6g})"
        )


class Maximize(Step):
    """A method minimises, so to maximise it learns from the negatives of values."""

    def take(self, memory: Any, told: Told) -> tuple[Any, Told]:
        return memory, told._replace(values=-told.values)


@dataclass(frozen=True)
class Answers:
    """The steps from reported answers to a method's values, in their order."""

    steps: tuple[Step, ...]  # each takes what the one before it gives

    @classmethod
    def build(
        cls,
        *,
        direction: str = "minimize",
        largest: float = math.inf,
        tolerance: float | None = None,
        distance: Callable[[np.ndarray, np.ndarray], float] | None = None,
        covariates: Sequence[str] = (),
        relative_to_control: bool = False,
        limits: Mapping[str, Mapping[str, Any]] = NOTHING,
        precision: bool = False,
    ) -> "Answers":
        """From the user's arguments.

        Args:
            direction: "minimize" or "maximize".
            largest: the largest size of a value that counts.
            tolerance: the largest distance of the deployed decision from the asked one; None: any.
            distance: the distance of two decisions.
            covariates: the names of the covariates, which no decision moves.
            relative_to_control: True to use differences to control.
            limits: the limits on metrics, {"complaints": {"max": 5}}.
            precision: True to weigh answers by their sem or n.
        """
        steps: list[Step] = [Finite(largest)]
        if tolerance is not None and distance is not None:
            steps.append(DeployedAsAsked(tolerance, distance))
        if covariates:
            steps.append(Covariates(tuple(covariates)))
        if relative_to_control:
            steps.append(RelativeToControl())
        if limits:
            steps.append(Limits(limits_of(limits), -1.0 if direction == "maximize" else 1.0))
        if precision:  # after the steps that subtract: it changes the scale of differences
            steps.append(Precision())
        if checks.choice("direction", direction, DIRECTIONS) == "maximize":
            steps.append(Maximize())
        return cls(tuple(steps))

    def judge(self, answer: Answer) -> Verdict | None:
        """The verdict of the first step that refuses an answer; None if it counts."""
        verdicts = (step.judge(answer) for step in self.steps)
        return next((verdict for verdict in verdicts if verdict is not None), None)

    @cached_property
    def _takers(self) -> tuple[Step, ...]:
        """The steps that change values: the others need not be called for every iteration."""
        return tuple(step for step in self.steps if type(step).take is not Step.take)

    def rows(self, told: Beside, shape: tuple[int, ...], xp: Any) -> Mapping[str, Any]:
        """The numbers that the steps read, by name, from arrays of that shape."""
        return {
            str(step.reads): xp.stack([xp.broadcast_to(xp.asarray(one), shape) for one in step.row(told)], -1)
            for step in self.steps
            if step.reads is not None
        }

    def beside(self, told: Sequence[Beside], shape: tuple[int, int]) -> Mapping[str, Any]:
        """The numbers that the steps read of an iteration's answers, by name, as (samples, p, numbers)."""
        return {
            str(step.reads): np.array([step.row(one) for one in told], np.float64).reshape(*shape, -1)
            for step in self.steps
            if step.reads is not None
        }

    def has(self, kind: type[Step]) -> bool:
        """True if there is a step of this kind."""
        return any(isinstance(step, kind) for step in self.steps)

    def memory_of(self, memory: Memory, kind: type[Step]) -> Any:
        """The memory of the step of this kind; None without one."""
        found = (held for step, held in zip(self._takers, memory, strict=True) if isinstance(step, kind))
        return next(found, None)

    def begin(self) -> Memory:
        """The memory before the first iteration."""
        return tuple(step.begin() for step in self._takers)

    def take(
        self, memory: Memory, values: np.ndarray, side: Mapping[str, Any] = NOTHING
    ) -> tuple[Memory, np.ndarray]:
        """The memory after an iteration, and the (p,) values for the method: the mean of the samples.

        They are added up in the order of the samples, so that the last bit stays the same.

        Args:
            memory: the memory that `begin` or the last `take` returned.
            values: (samples, p), fresh samples at each of the p points.
            side: the side information, by name.

        >>> Answers.build().take((), np.array([[1.0, 5.0], [3.0, 6.0]]))[1]
        array([2. , 5.5])
        """
        if memory:  # `minimize` passes here once every twenty microseconds, and mostly without a step
            return self.take_told(memory, Told(values, side))
        return memory, values[0] if len(values) == 1 else averages.mean(values)

    def take_told(self, memory: Memory, told: Told) -> tuple[Memory, Any]:
        """The result of `take` for NumPy's arrays or JAX's; a compiled loop calls this."""
        after: list[Any] = []
        for step, before in zip(self._takers, memory, strict=True):
            remembered, told = step.take(before, told)
            after.append(remembered)
        return tuple(after), told.mean()
