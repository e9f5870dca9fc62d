"""A count of compilations."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax


def compilations(run: Callable[[], Any]) -> int:
    """The programs that JAX compiled, or read from its own cache, during a call, in any thread."""
    before = len(_seen())
    run()
    return len(_seen()) - before


@cache
def _seen() -> list[str]:
    """The events of all compilations from now on."""
    seen: list[str] = []

    def note(event: str, _: float, **__: Any) -> None:
        if event.endswith("backend_compile_duration"):
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    return seen
