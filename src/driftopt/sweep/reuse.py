"""Whether results were computed or found: every sweep, command and page says so, once."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

each_sweep_says_it: ContextVar[bool] = ContextVar("each_sweep_says_it", default=True)


@contextmanager
def said_at_the_end() -> Generator[None]:
    """Within, sweeps are silent about what they reuse: who calls this says it for all of them together."""
    before = each_sweep_says_it.set(False)
    try:
        yield
    finally:
        each_sweep_says_it.reset(before)


def reused_parts(sweeps: Sequence[Mapping[str, Any]], folder: Path | None = None) -> str:
    """How many parts of these sweeps were found finished, and where; `sweeps` are their manifests.

    >>> reused_parts([{"parts": 5, "parts_found_finished": 2}, {"parts": 3, "parts_found_finished": 0}])
    '2 of 8 parts were finished before and are used again'
    >>> reused_parts([{"parts": 3, "parts_found_finished": 0}])
    'all 3 parts were run now'
    """
    reused, parts = (sum(sweep[key] for sweep in sweeps) for key in ("parts_found_finished", "parts"))
    if not reused:
        return f"all {parts} parts were run now"
    where = "" if folder is None else f", from {folder / 'parts'}; --fresh runs them anew"
    return f"{reused} of {parts} parts were finished before and are used again{where}"
