"""The rows of a study's log as plain tuples, and the checksum that each carries."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftopt.answers import Beside
from driftopt.study.trial import AMENDMENTS, ANSWERS, Event, Place, Trial, state_of


class Opened(NamedTuple):
    """An iteration was opened (draw 0), or redrawn (draw 1, 2, …)."""

    row: int
    iteration: int
    draw: int
    points: str  # the decisions to deploy, as JSON
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]  the column's name
    repeats: int
    opened_at: float


class Asked(NamedTuple):
    """A deployment was handed out."""

    row: int
    id: int
    kind: str
    iteration: int
    draw: int
    point: int
    sample: int
    x: str  # the decision, as JSON
    holder: str
    asked_at: float
    expires_at: float | None

    @property
    def place(self) -> Place:
        return Place(self.kind, self.iteration, self.draw, self.point, self.sample)


class Happened(NamedTuple):
    """Something happened to a trial, such as complete or failed; driftopt.study.log.schema lists them."""

    row: int
    trial_id: int | None
    kind: str
    value: float | None
    sem: float | None
    x_deployed: str | None
    reason: str | None
    who: str | None
    at: float
    beside: str | None = None  # what else was told, as JSON: driftopt.answers.Beside


Row = Opened | Asked | Happened


class Mark(NamedTuple):
    """How far a log was read: so many rows, the last of which has this checksum."""

    rows: int
    checksum: str


class Written(NamedTuple):
    """Rows that one transaction appended after `before`."""

    before: Mark
    rows: list[Row]
    after: Mark


class Answered(NamedTuple):
    """A trial's answer as it now stands."""

    value: float
    held: bool
    beside: str | None  # what was told with it


def stored(number: float) -> float:
    """A number as both databases give it back: SQLite drops the sign of zero, so we always do.

    >>> stored(-0.0)
    0.0
    """
    return float(number) + 0.0


def chained(before: str, *fields: Any) -> str:
    """A checksum of `fields`, whole numbers, floats, texts and None, that depends on the one `before`.

    >>> one = chained("", "study", 1, 0.5, None)
    >>> chained("", "study", 1, 0.25, None) == one
    False
    """
    # `ascii` writes numbers and texts the same way on every machine, and a 1 unlike a 1.0 or a '1'.
    return hashlib.blake2b(f"{before} {fields!a}".encode(), digest_size=16).hexdigest()


def checksum_of(before: str, row: Row) -> str:
    """A row's checksum, which depends on all rows before it."""
    return chained(before, type(row).__name__, *row)


def vector_as_json(x: np.ndarray) -> str:
    """No bit is lost: the shortest decimals that read back to the same binary64."""
    return json.dumps(x.tolist(), allow_nan=False)


def vector_from_json(text: str) -> np.ndarray:
    """The vector, or the matrix, again."""
    return np.array(json.loads(text), dtype=np.float64)


class Deployed:
    """Which decision is deployed, as JSON, and for how many periods in a row, from the rows in order."""

    def __init__(self) -> None:
        self.x: str | None = None
        self._id, self._asked = 0, 0  # the last trial, and how many in a row ask for its decision
        self._lost: dict[int, int] = {}  # those of them that failed or expired, by trial: which in the row
        self._by: dict[str, tuple[int, int]] = {}  # by holder, its last of them: trial and which in the row
        self._settles = False  # whether it settles: then it is out alone, whoever asks
        self.kept: set[int] = set()  # trials whose decision their holder has deployed just before

    @property
    def _periods(self) -> int:
        return self._asked - max(self._lost.values(), default=0)

    def take(self, row: Row) -> None:
        """One more row. After a failure nobody knows what is deployed: periods are counted anew.

        Unless an answer comes after all, by a correction or late: then they count as if it had come at once.
        """
        if isinstance(row, Asked):
            if row.x != self.x:
                self._asked, self._lost, self._by = 0, {}, {}
            self._asked += 1
            self.x, self._id = row.x, row.id
            if self._has(row.holder) or (self._settles and self._periods > 1):
                self.kept.add(row.id)
            self._by[row.holder], self._settles = (row.id, self._asked), row.kind == "settle"
        elif isinstance(row, Happened) and row.kind in ("failed", "expired") and row.trial_id == self._id:
            self._lost[self._id] = self._asked
        elif isinstance(row, Happened) and row.kind in ("failed", "expired"):
            self._by = {holder: last for holder, last in self._by.items() if last[0] != row.trial_id}
        elif isinstance(row, Happened) and row.kind in ("complete", "corrected") and row.trial_id is not None:
            self._lost.pop(row.trial_id, None)

    def held(self, x: np.ndarray) -> int:
        """For how many periods x is deployed by now."""
        return self._periods if vector_as_json(x) == self.x else 0

    def keeps(self, x: np.ndarray, holder: str) -> bool:
        """Whether a holder that is to deploy x changes nothing: nobody has deployed another decision since.

        What one holder has deployed is not deployed at another's, and of two in one shop the last one counts.
        While a decision settles it is the only one: each period may be asked for by another process.
        """
        return vector_as_json(x) == self.x and (self._has(holder) or (self._settles and self._periods > 0))

    def _has(self, holder: str) -> bool:
        """Whether a holder has deployed the present decision, and no failure since has left it unknown."""
        _, number = self._by.get(holder, (0, 0))
        return number > max(self._lost.values(), default=0)


def as_trial(asked: Asked, happened: Sequence[Happened], names: tuple[str, ...], keep: bool = False) -> Trial:
    """A trial from its rows."""
    told = next((event for event in reversed(happened) if event.kind in ANSWERS), None)
    state = state_of([event.kind for event in happened])
    row: dict[str, Any] = asked._asdict() | {"x": vector_from_json(asked.x), "names": names, "state": state}
    row["keep"] = keep
    del row["row"]
    row["history"] = tuple(Event(e.kind, e.value, e.reason, e.who, e.at) for e in happened)
    if told is not None:
        row["answered_at"] = told.at
        row["x_deployed"] = None if told.x_deployed is None else vector_from_json(told.x_deployed)
        now = next((event for event in reversed(happened) if event.kind in AMENDMENTS), told)
        row |= {"value": now.value, "sem": now.sem, "reason": now.reason}
        row |= Beside.from_json(now.beside)._asdict() | {"sem": now.sem}
    return Trial(**row)


def as_trials(rows: Sequence[Row], names: tuple[str, ...]) -> list[Trial]:
    """The trials of a whole log, with their states, in the order in which they were asked."""
    asked = [row for row in rows if isinstance(row, Asked)]
    happened: dict[int, list[Happened]] = {row.id: [] for row in asked}
    deployed = Deployed()
    for row in rows:
        deployed.take(row)
        if isinstance(row, Happened) and row.trial_id is not None:
            happened.get(row.trial_id, []).append(row)
    return [as_trial(row, happened[row.id], names, row.id in deployed.kept) for row in asked]
