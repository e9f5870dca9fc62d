"""What a study is, fixed at its creation: stored as JSON, with every default written out."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from driftopt.answers import Answers, Beside, beside
from driftopt.answers.finite import LARGEST
from driftopt.model import Margin, Weighted
from driftopt.space import Space
from driftopt.study.errors import FormatError

LARGEST_ITERATION = 1_000_000  # deployments
MODEL = "model"  # the method that is a function of the set of results; all others are sequential


@dataclass(frozen=True)
class Spec:
    """The unchanging part of a study."""

    x0: list[float]
    names: list[str]
    method: str  # "model", or the name of a sequential method
    params: dict[str, Any]  # of a sequential method
    budget: int | None  # None: without end
    bounds: list[list[float | None]] | None
    steps: dict[str, Any]  # of the space, in addition to the bounds
    direction: str
    seed: int
    parallel: int
    lease: float | None
    max_failures: int
    tolerance: float | None  # for a sequential method, how far from its point a value may be measured
    max_change: float | None
    max_loss: float | None
    max_loss_total: float | None
    control_every: int | None
    reserve: int
    settle: int  # periods for which a decision is held; the last one's result counts
    units: list[float]  # the radius of each coordinate
    points: int  # of an iteration
    repeats: int
    provider: str  # the package that brings the method
    begun: list[float] | None  # where a sequential search begins, if not at x0
    outliers: bool  # whether implausible results are held
    covariates: list[str]  # their names
    limits: dict[str, dict[str, Any]]  # on metrics
    relative_to_control: bool
    outputs: list[str]  # their names
    objective: dict[str, Any] | None  # how the value follows from the outputs
    contexts: dict[str, list[str]]  # the categories of each

    @property
    def uses_model(self) -> bool:
        """Whether the model decides, rather than a sequential method."""
        return self.method == MODEL

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.x0)

    @property
    def size(self) -> int:
        """Deployments in one iteration of a sequential method."""
        return self.points * self.repeats

    @property
    def sign(self) -> float:
        """−1 where values are to be maximised."""
        return -1.0 if self.direction == "maximize" else 1.0

    def planned(self, budget: int) -> int:
        """The part of a budget that is the method's own: no reserve, no control."""
        return planned(budget, self.reserve, self.control_every, self.settle)

    @property
    def start(self) -> np.ndarray:
        """The decision in force when the study began."""
        return self.space.start

    @cached_property
    def space(self) -> Space:
        """From a method's points to decisions."""
        return Space.build(self.x0, names=self.names, bounds=self.bounds, **self.steps)

    @cached_property
    def answers(self) -> Answers:
        """From what was reported to the values of a sequential method."""
        return Answers.build(
            direction=self.direction,
            largest=LARGEST,
            tolerance=self.tolerance,
            distance=self.space.astray,
            covariates=self.covariates,
            relative_to_control=self.relative_to_control,
            limits=self.limits,
            precision=True,
        )

    @cached_property
    def value_of(self) -> Margin | Weighted | None:
        """The objective as a function of decisions and outputs; None where values are reported themselves."""
        match self.objective:
            case None:
                return None
            case {"margin": margin}:
                return Margin(tuple(margin["cost"]), margin["fixed"])
            case other:
                return Weighted(tuple(other["weighted"]))

    def beside(self, said: Mapping[str, Any]) -> Beside:
        """What is reported with a value, checked: the arguments of `tell` by name."""
        if said.get("control") is not None and not self.relative_to_control:
            raise ValueError("control is reported where relative_to_control=True was given at the beginning")
        return Beside(
            covariates=beside.covariates(said.get("covariates"), self.covariates),
            metrics=beside.metrics(said.get("metrics"), list(self.limits)),
            n=beside.size(said.get("n")),
            control=beside.control(said.get("control")),
            outputs=beside.outputs(said.get("outputs"), self.outputs),
        )

    def as_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Spec":
        """The specification again; FormatError where another version wrote it."""
        given = json.loads(text)
        known = {field.name for field in fields(cls)}
        if set(given) != known:
            other = ", ".join(sorted(set(given) ^ known))
            raise FormatError(
                f"this study was written by another version of driftopt ({other}): use that one, or create "
                "the study again"
            )
        return cls(**given)


def planned(budget: int, reserve: int, control_every: int | None, settle: int = 1) -> int:
    """The method's own part of a budget: deployments whose results it is told.

    >>> planned(128, 8, 5)
    100
    """
    usable = (budget - reserve) // settle
    return max(1, usable if control_every is None else usable * control_every // (control_every + 1))


def check_size(points: int, repeats: int) -> None:
    """Refuse iterations so large that what awaits their results would not fit into memory."""
    if points * repeats > LARGEST_ITERATION:
        raise ValueError(
            f"one iteration would need {points * repeats} deployments, and at most {LARGEST_ITERATION} are "
            "possible: lower batch, directions or parallel"
        )
