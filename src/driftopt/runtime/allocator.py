"""Memory that the C library keeps for later, given back between compilations.

glibc gives each thread a pool of its own (up to eight for every core), and what a thread frees stays in its
pool. JAX's compiler works in many threads, one after another: what one has freed is of no use to the next,
and a process that compiles dozens of programs grows by it. Fewer pools for all threads keep it small too, but
the threads then wait for each other: with two pools the full protocol took a tenth longer from nothing.
"""

import ctypes
from functools import cache
from typing import Any


def give_back() -> bool:
    """Return what lies free in all pools to the system; whether anything was returned.

    It takes some 40 ms for half a gigabyte.
    """
    trim = _trim()
    return trim is not None and bool(trim(0))


@cache
def _trim() -> Any:
    """glibc's function for it, or None: other C libraries have none, or other pools."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # Windows names no library by None
        return None
