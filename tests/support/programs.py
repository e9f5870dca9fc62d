"""Compiled programs forgotten: for tests that change what was compiled, and where they fill the memory."""

import jax

from driftopt.drivers import host, quick_host
from driftopt.runtime import executable_cache


def forget_programs() -> None:
    """JAX's, those of hosts, and those read from files."""
    jax.clear_caches()
    quick_host._programs.cache_clear()
    for program in (host._advance, host._init, host._recommend):
        program.forget()
    executable_cache._loaded.clear()
