"""`Answers`: the way from what was told about deployments to what a method is told.

    failed or not    ◄──  each step's `judge`, an answer at a time  ◄──  what was told
    method's values  ◄──  the mean of the samples  ◄──  each step's `take`, an iteration at a time

A new thing that may come with an answer, or go wrong with it, is a new file with a `Step` and a line in
`build`; drivers and studies call `judge` and `take`.

The order is guard, covariates, control, limits, precision, direction. Covariates, control and limits add to a
value or subtract from it, in its own units, and the first learns from differences of values how much.
Precision comes after them because it changes the scale of an iteration's differences: had it come first, a
slow week's shrunken difference would meet the whole of what its covariates explain, or of what its excess
costs, and β̂ would be learnt from differences that are not the value's.
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
from driftopt.answers.deployed import DeployedAsAsked
from driftopt.answers.direction import Maximize
from driftopt.answers.finite import Finite
from driftopt.answers.guard import Guard
from driftopt.answers.limits import Limits, limits_of
from driftopt.answers.precision import Precision
from driftopt.answers.step import Answer, Step, Told, Verdict

DIRECTIONS = ("minimize", "maximize")

NOTHING: Mapping[str, Any] = {}
Memory = tuple[Any, ...]  # one for each step that has a part in `take`


@dataclass(frozen=True)
class Answers:
    """The steps from what was told to what a method is told, in their order. Made once, at the door."""

    steps: tuple[Step, ...]  # each takes what the one before it gives

    @classmethod
    def build(
        cls,
        *,
        direction: str = "minimize",
        largest: float = math.inf,
        tolerance: float | None = None,
        distance: Callable[[np.ndarray, np.ndarray], float] | None = None,
        guard: float | None = None,
        covariates: Sequence[str] = (),
        relative_to_control: bool = False,
        limits: Mapping[str, Mapping[str, Any]] = NOTHING,
        precision: bool = False,
    ) -> "Answers":
        """From the user's arguments.

        Args:
            direction: "minimize" or "maximize".
            largest: the largest size of a value that counts.
            tolerance: how far what was deployed may be from what was asked; None: it is not looked at.
            distance: how far apart two decisions are.
            guard: how many times as far from the median as usual an answer may be; None: any.
            covariates: the names of what is told beside each value, and no decision moves.
            relative_to_control: whether values are told to the method as differences to control.
            limits: how large or small metrics may be, {"complaints": {"max": 5}}.
            precision: whether answers are weighed by their sem or n.
        """
        steps: list[Step] = [Finite(largest)]
        if tolerance is not None and distance is not None:
            steps.append(DeployedAsAsked(tolerance, distance))
        if guard is not None:
            steps.append(Guard(guard))
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
        """The first thing that is to be said against an answer; None: it counts."""
        verdicts = (step.judge(answer) for step in self.steps)
        return next((verdict for verdict in verdicts if verdict is not None), None)

    @cached_property
    def looks_back(self) -> bool:
        """Whether a step compares an answer with those before it."""
        return any(type(step).review is not Step.review for step in self.steps)

    def review(self, told: np.ndarray, controls: np.ndarray | None = None) -> list[Verdict | None]:
        """What is to be said now against each of the answers so far, (n,); None: it goes on to count.

        `controls` are what was told beside them as control, NaN where nothing was; None: beside none.
        """
        controls = np.full(len(told), np.nan) if controls is None else controls
        found = [step.review(told, controls) for step in self.steps]
        return [next((v for v in said if v is not None), None) for said in zip(*found, strict=True)]

    @cached_property
    def _takers(self) -> tuple[Step, ...]:
        """The steps that change anything on the way: the others need not be called for every iteration."""
        return tuple(step for step in self.steps if type(step).take is not Step.take)

    @cached_property
    def _readers(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.reads is not None)

    def rows(self, told: Beside, shape: tuple[int, ...], xp: Any) -> Mapping[str, Any]:
        """The same of numbers that are arrays of that shape themselves, one number for each answer."""
        return {
            str(step.reads): xp.stack([xp.broadcast_to(xp.asarray(one), shape) for one in step.row(told)], -1)
            for step in self._readers
        }

    def beside(self, told: Sequence[Beside], shape: tuple[int, int]) -> Mapping[str, Any]:
        """What the steps read of an iteration's answers, each by its name as (samples, p, numbers)."""
        return {
            str(step.reads): np.array([step.row(one) for one in told], np.float64).reshape(*shape, -1)
            for step in self._readers
        }

    def has(self, kind: type[Step]) -> bool:
        """Whether there is a step of this kind."""
        return any(isinstance(step, kind) for step in self.steps)

    def memory_of(self, memory: Memory, kind: type[Step]) -> Any:
        """What a step of this kind remembers; None where there is none."""
        found = (held for step, held in zip(self._takers, memory, strict=True) if isinstance(step, kind))
        return next(found, None)

    def begin(self) -> Memory:
        """The memory before the first iteration."""
        return tuple(step.begin() for step in self._takers)

    def take(
        self, memory: Memory, values: np.ndarray, beside: Mapping[str, Any] = NOTHING
    ) -> tuple[Memory, np.ndarray]:
        """The memory after an iteration, and the (p,) values for the method: the mean of the samples.

        They are added up in the order of the samples, so that the last bit stays the same.

        Args:
            memory: what `begin` or the last `take` gave.
            values: (samples, p), fresh samples at each of the p points.
            beside: what else came with them, by name.

        >>> Answers.build().take((), np.array([[1.0, 5.0], [3.0, 6.0]]))[1]
        array([2. , 5.5])
        """
        if memory:  # `minimize` passes here once every twenty microseconds, and mostly without a step
            return self.take_told(memory, Told(values, beside))
        return memory, values[0] if len(values) == 1 else averages.mean(values)

    def take_told(self, memory: Memory, told: Told) -> tuple[Memory, Any]:
        """The same, of NumPy's arrays or of JAX's: what a compiled loop calls."""
        after: list[Any] = []
        for step, before in zip(self._takers, memory, strict=True):
            remembered, told = step.take(before, told)
            after.append(remembered)
        return tuple(after), told.mean()
