"""How far a study is, in a few numbers."""

from typing import NamedTuple


class Status(NamedTuple):
    """How far a study is."""

    name: str
    created_at: float
    budget: int  # as last extended
    spent: int
    stopped: str | None  # why it was ended before its budget
    rows: int  # of its log
