"""The rows of a study's log as plain tuples, and the checksum that each carries."""

import hashlib
import json
from typing import Any, NamedTuple

import numpy as np

from driftopt.study.trial import Place


class Opened(NamedTuple):
    """An iteration of a sequential method was opened."""

    row: int
    iteration: int
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
    point: int
    sample: int
    x: str  # the decision, as JSON
    context: str | None  # the category of each context, as JSON
    holder: str
    asked_at: float
    expires_at: float | None

    @property
    def place(self) -> Place:
        return Place(self.kind, self.iteration, self.point, self.sample)


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
    beside: str | None  # what else was reported, as JSON: driftopt.answers.Beside


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
