"""How far a study is, in a few numbers."""

from typing import NamedTuple


class Status(NamedTuple):
    """How far a study is."""

    name: str  # by which it is opened
    created_at: float  # seconds since the epoch
    budget: int | None  # deployments, as last extended; None: without end
    spent: int  # deployments that count against the budget
    stopped: str | None  # why it was ended before its budget
    rows: int  # how many its log has
    halted: str | None  # why nothing is asked until someone resumes it
