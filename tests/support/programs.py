"""Compiled programs made cheaper, counted and forgotten: tests make thousands, which fill memory and disk."""

import shutil
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jax

from driftopt.drivers import host, noise_ahead, quick_host
from driftopt.runtime import executable_cache

SHARED = 100  # programs that are written into one context of MLIR: what they hold is freed together


def share_contexts() -> None:
    """Let JAX write many programs into one context of MLIR in place of one each.

    To make one takes 3 ms, a fifth of what a single operation takes to compile, and 1.1 MB as long as the
    program lives: nine tenths of all that it holds. Only the main thread's are shared: JAX itself never
    has two threads write into one context, so nothing promises that they may.
    """
    try:
        from jax._src.interpreters import mlir

        make = mlir.make_ir_context
    except (ImportError, AttributeError):  # no public name: a JAX that has moved it makes one each
        return
    kept, left = None, 0

    def shared() -> Any:
        nonlocal kept, left
        if threading.current_thread() is not threading.main_thread():
            return make()
        if left == 0:
            kept, left = make(), SHARED
        left -= 1
        return kept

    mlir.make_ir_context = shared


def forget_programs() -> None:
    """JAX's, those of hosts, and those read from files."""
    jax.clear_caches()
    noise_ahead.drawing.cache_clear()
    hosts = (host._advance, host._ask, host._init, host._recommend)
    for program in (*hosts, quick_host._first, quick_host._tell, quick_host._recommend):
        program.forget()
    executable_cache._loaded.clear()


def begin_anew_beyond(most: int, folder: Path) -> None:
    """Remove a folder of programs that has more bytes than this: a run of all tests needs 90 million of them.

    With every change of the code some are never asked for again, and nothing says which.
    """
    if sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) > most:
        shutil.rmtree(folder, ignore_errors=True)


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
