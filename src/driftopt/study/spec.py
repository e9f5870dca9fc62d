"""What a study is, fixed at its creation: stored as JSON, with every default written out."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from driftopt.answers import Answers, Beside, beside
from driftopt.answers.finite import LARGEST
from driftopt.plugins import OWN
from driftopt.space import Space
from driftopt.study.errors import FormatError

_NEWER = ("guard", "begun", "steps", "covariates", "limits", "relative_to_control", "precision")

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
    provider: str = OWN  # the package that brings the method
    guard: float | None = None  # usual distances by which an answer may leave the range; None: any
    begun: list[float] | None = None  # where the walk begins, if not at x0: studies of old began there
    settle: int = 1  # periods for which a decision is held; the last one's answer counts
    steps: dict[str, Any] = field(default_factory=dict[str, Any])  # of the space, beside the bounds
    covariates: list[str] = field(default_factory=list[str])  # their names
    limits: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])  # on metrics
    relative_to_control: bool = False
    precision: bool = False  # whether answers are weighed by their sem or n: studies of old did not

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
        # Names were checked when the study was made, by the rule of that day.
        return replace(Space.build(self.x0, bounds=self.bounds, **self.steps), names=tuple(self.names))

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
            precision=self.precision,
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
        stored = asdict(self)
        if self.provider == OWN:  # what driftopt brings itself is not said: older versions read on
            del stored["provider"]
        for name in _NEWER:  # nor what studies of old do not have
            if not stored[name]:
                del stored[name]
        if self.settle == 1:
            del stored["settle"]
        return json.dumps(stored, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Spec":
        """The specification again; FormatError where a newer version wrote more than this one knows."""
        given = json.loads(text)
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(given) - known):
            raise FormatError(
                f"this study has {', '.join(unknown)}, unknown to this driftopt: use a newer version"
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
