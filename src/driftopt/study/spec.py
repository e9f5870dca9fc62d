"""What a study is, fixed at its creation: stored as JSON, with every default written out."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from driftopt.answers import Answers, Beside, beside
from driftopt.answers.finite import LARGEST
from driftopt.space import Space
from driftopt.study.errors import FormatError

LARGEST_ITERATION = 1_000_000  # deployments


@dataclass(frozen=True)
class Spec:
    """The unchanging part of a study. What follows from the method is written out: answering needs no JAX."""

    x0: list[float]
    names: list[str]
    method: str
    params: dict[str, Any]
    budget: int
    bounds: list[list[float | None]] | None
    direction: str
    seed: int
    parallel: int
    lease: float | None
    max_failures: int
    tolerance: float
    max_change: float | None
    control_every: int | None
    reserve: int
    radius: float
    reach: float | None  # how far the iterate can move in one iteration; None: no limit
    points: int
    repeats: int
    provider: str  # the package that brings the method
    guard: float | None  # usual distances by which an answer may leave the range; None: any
    begun: list[float] | None  # where the search begins, if not at x0
    settle: int  # periods for which a decision is held; the last one's answer counts
    steps: dict[str, Any]  # of the space, in addition to the bounds
    covariates: list[str]  # their names
    limits: dict[str, dict[str, Any]]  # on metrics
    relative_to_control: bool

    @property
    def dim(self) -> int:
        return len(self.x0)

    @property
    def size(self) -> int:
        """Deployments in one iteration."""
        return self.points * self.repeats

    def planned(self, budget: int) -> int:
        """Of a budget for the whole study, how many answers are the method's own: no reserve, no control."""
        return planned(budget, self.reserve, self.control_every, self.settle)

    @property
    def start(self) -> np.ndarray:
        return self.space.start

    @cached_property
    def space(self) -> Space:
        """The way out: from the method's points to decisions."""
        return Space.build(self.x0, names=self.names, bounds=self.bounds, **self.steps)

    @cached_property
    def answers(self) -> Answers:
        """The way in: from what was told to the method's values."""
        return Answers.build(
            direction=self.direction,
            largest=LARGEST,
            tolerance=self.tolerance,
            distance=self.space.astray,
            guard=self.guard,
            covariates=self.covariates,
            relative_to_control=self.relative_to_control,
            limits=self.limits,
            precision=True,
        )

    def beside(self, said: Mapping[str, Any]) -> Beside:
        """What is told with an answer, checked: the arguments of `tell` by name."""
        if said.get("control") is not None and not self.relative_to_control:
            raise ValueError("control is told where relative_to_control=True was given at the beginning")
        return Beside(
            covariates=beside.covariates(said.get("covariates"), self.covariates),
            metrics=beside.metrics(said.get("metrics"), list(self.limits)),
            n=beside.size(said.get("n")),
            control=beside.control(said.get("control")),
        )

    def as_json(self) -> str:
        """Every field, as it is stored."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Spec":
        """The specification again; FormatError where another version of driftopt wrote it."""
        given = json.loads(text)
        if other := sorted({field.name for field in fields(cls)}.symmetric_difference(given)):
            raise FormatError(
                f"this study was written by another version of driftopt, which differs in "
                f"{', '.join(other)}: use that version"
            )
        return cls(**given)


def check_size(points: int, repeats: int) -> None:
    """Refuse iterations so large that what awaits their answers would not fit into memory."""
    if points * repeats > LARGEST_ITERATION:
        raise ValueError(
            f"one iteration would need {points * repeats} deployments, and at most {LARGEST_ITERATION} are "
            "possible: lower batch, directions or parallel"
        )


def planned(budget: int, reserve: int, control_every: int | None, settle: int = 1) -> int:
    """The method's own part of a budget: deployments whose answers it is told.

    >>> planned(128, 8, 5)
    100
    """
    usable = (budget - reserve) // settle
    return max(1, usable if control_every is None else usable * control_every // (control_every + 1))
