"""Whether results were computed or found: every command and page says so."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


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
