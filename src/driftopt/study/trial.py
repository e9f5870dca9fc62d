"""One deployment, as the caller sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftopt.study import display

STATES = ("pending", "complete", "failed", "expired", "superseded")
KINDS = ("method", "control", "confirm", "stationarity")


class Place(NamedTuple):
    """Which deployment: two trials at the same place are two tries of the same one."""

    kind: str
    iteration: int
    draw: int
    point: int  # which point of the iteration
    sample: int  # which of the fresh samples at that point


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """A point to deploy, and what became of it."""

    id: int
    x: np.ndarray
    names: tuple[str, ...]
    kind: str
    iteration: int
    draw: int
    point: int
    sample: int
    holder: str
    asked_at: float
    expires_at: float | None
    state: str = "pending"
    value: float | None = None
    sem: float | None = None
    x_deployed: np.ndarray | None = None
    reason: str | None = None
    answered_at: float | None = None

    @property
    def as_dict(self) -> dict[str, float]:
        """The decision by name."""
        return dict(zip(self.names, self.x.tolist(), strict=True))

    def __repr__(self) -> str:
        told = "" if self.value is None else f", {display.number(self.value)}"
        where = display.decision(self.names, self.x.tolist())
        return f"<Trial {self.id}, {self.kind}, {self.state}{told}: {where}>"

    def _repr_html_(self) -> str:
        lines = [(name, display.number(value)) for name, value in self.as_dict.items()]
        lines += [("state", self.state), ("holder", self.holder)]
        lines += [] if self.value is None else [("value", display.number(self.value))]
        return display.html(f"Trial {self.id} ({self.kind})", lines, self.reason or "")


def state_of(kinds: Sequence[str]) -> str:
    """A trial's state from its events, oldest first; an answer that came too late leaves it superseded."""
    if not kinds:
        return "pending"
    return "superseded" if kinds[-1] == "late" else kinds[-1]
