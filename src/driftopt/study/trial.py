"""One deployment, as the caller sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from driftopt.study import words

STATES = ("pending", "complete", "failed", "expired", "voided", "held")
# What happened to a result after it was reported.
AMENDMENTS = ("corrected", "voided", "doubted", "accepted", "updated")
ANSWERS = ("complete", "failed", "held")  # what is reported first
_STATES = {"corrected": "complete", "accepted": "complete", "updated": "complete", "doubted": "held"}
# Deployed for the sake of another decision, on the way to it or while it settles.
FOR_ANOTHER = ("way", "settle")
EVALUATIONS = ("confirm", "stationarity")
KINDS = ("method", "control", *EVALUATIONS, *FOR_ANOTHER)


class Event(NamedTuple):
    """Something that happened to a trial: complete, held, corrected, …; and who said so."""

    kind: str
    value: float | None
    reason: str | None
    who: str | None
    at: float


class TrialState(NamedTuple):
    """What a trial is after something was said of it."""

    id: int
    state: str  # complete, failed, voided or held
    doubts: tuple[str, ...] = ()  # why a correction may be a slip; it counts all the same


class TrialStates(NamedTuple):
    """What several trials are after their results were reported."""

    states: tuple[TrialState, ...]


class Trials(NamedTuple):
    """Some trials; `next` is the `after` of the next page, None on the last."""

    trials: "list[Trial]"
    next: int | None = None


class Status(NamedTuple):
    """How far a study is."""

    name: str  # by which it is opened
    created_at: float  # seconds since the epoch
    budget: int | None  # deployments, as last extended; None: without end
    spent: int  # deployments that count against the budget
    stopped: str | None  # why it was ended before its budget
    rows: int  # how many its log has
    halted: str | None  # why nothing is asked until someone resumes it


class Place(NamedTuple):
    """What a deployment is for: two trials at the same place are two tries of the same deployment.

    The model needs no places: its trials are all (method, 0, 0, 0).
    """

    kind: str
    iteration: int = 0  # of a sequential method
    point: int = 0  # of the iteration, or the pair that evaluates
    sample: int = 0  # which of the fresh samples at that point, or the side of the pair


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """A point to deploy, and what became of it."""

    ALSO: ClassVar = ("story",)  # which JSON has as well
    id: int  # its number in the database
    x: np.ndarray  # (d,), the decision to deploy
    names: tuple[str, ...]  # one for each coordinate
    kind: str  # for what: method, control, confirm, stationarity, or way and settle, for another's sake
    iteration: int  # of a sequential method, from 0
    point: int  # which point of the iteration
    sample: int  # which of the fresh samples at that point
    holder: str  # who asked for it
    asked_at: float  # seconds since the epoch
    expires_at: float | None  # when it may be given to another; None: never
    context: Mapping[str, str] = field(default_factory=dict[str, str])  # in which it is deployed
    state: str = "pending"  # pending, complete, failed, expired, voided or held
    value: float | None = None  # what was reported, or what the objective makes of the outputs
    sem: float | None = None  # the standard error reported with it
    covariates: Mapping[str, float] = field(default_factory=dict[str, float])  # reported with the value
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])  # what else was measured, by name
    n: float | None = None  # how many customers, visits, … the value is a mean of
    control: float | None = None  # the value that the start's decision gave at the same time
    outputs: Mapping[str, float] = field(default_factory=dict[str, float])  # from which the value follows
    # the moment that the result is of, where it was reported: seconds since the epoch
    at: float | None = None
    early: bool | None = None  # True: a final value follows
    x_deployed: np.ndarray | None = None  # what was deployed, where it differs from x
    reason: str | None = None  # why it failed or is held
    answered_at: float | None = None  # seconds since the epoch
    history: tuple[Event, ...] = ()  # all that happened to it, oldest first
    keep: bool = False  # whether it is the decision that its holder deployed just before

    @property
    def amended(self) -> bool:
        """Whether its result was corrected, voided, or doubted and accepted, later on."""
        return any(event.kind in AMENDMENTS for event in self.history)

    @property
    def story(self) -> str:
        """What was reported and what became of it, in words; empty where nothing was taken back."""
        return "; ".join(_sentence(event) for event in self.history) if self.amended else ""

    @property
    def as_dict(self) -> dict[str, float]:
        """The decision by name."""
        return dict(zip(self.names, self.x.tolist(), strict=True))

    def __repr__(self) -> str:
        told = "" if self.value is None else f", {words.number(self.value)}"
        where = words.plainly(self.names, self.x.tolist())
        return f"<Trial {self.id}, {self.kind}, {self.state}{told}: {where}>"

    def _repr_html_(self) -> str:
        lines = [(name, words.number(value)) for name, value in self.as_dict.items()]
        lines += [("state", self.state), ("holder", self.holder)]
        lines += [] if self.value is None else [("value", words.number(self.value))]
        return words.html(f"Trial {self.id} ({self.kind})", lines, self.reason or "")


def state_of(kinds: Sequence[str]) -> str:
    """A trial's state from its events, oldest first."""
    return _STATES.get(kinds[-1], kinds[-1]) if kinds else "pending"


def _sentence(event: Event) -> str:
    """
    >>> _sentence(Event("corrected", 21.4, "lost decimal point", "ana", 0.0))
    'corrected 21.4 by ana (lost decimal point)'
    """
    value = "" if event.value is None else f" {event.value!r}"
    who = "" if event.who is None else f" by {event.who}"
    return f"{event.kind}{value}{who}" + (f" ({event.reason})" if event.reason else "")


def at_start(trial: Trial) -> bool:
    """Whether it deploys the start to know its value."""
    return trial.kind == "control" or (trial.kind == "confirm" and trial.sample == 0)
