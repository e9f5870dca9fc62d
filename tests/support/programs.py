"""Compiled programs counted and forgotten: for tests of what is compiled, and where they fill the memory."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax

from driftopt.drivers import host, quick_host
from driftopt.runtime import executable_cache


def forget_programs() -> None:
    """JAX's, those of hosts, and those read from files."""
    jax.clear_caches()
    host._drawing.cache_clear()
    hosts = (host._advance, host._init, host._recommend)
    for program in (*hosts, quick_host._first, quick_host._tell, quick_host._recommend):
        program.forget()
    executable_cache._loaded.clear()


def compilations(run: Callable[[], Any]) -> int:
    """How many programs JAX compiled, or read from its own cache, during a call, in whatever thread."""
    before = len(_seen())
    run()
    return len(_seen()) - before


@cache
def _seen() -> list[str]:
    """Every one from now on, by the name of JAX's event."""
    seen: list[str] = []

    def note(event: str, _: float, **__: Any) -> None:
        if event.endswith("backend_compile_duration"):
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    return seen
