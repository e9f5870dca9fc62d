"""How the C library hands out memory in driftopt's own commands.

glibc gives each of the first eight threads for every core a pool of its own, and what a thread frees stays in
its pool. JAX's compiler works in many threads, one after another: what one has freed is then no use to the
next. When nothing was compiled yet the full protocol came to 1.2 GiB; with two pools for all threads it came
to 0.96 and 1.02.
"""

import ctypes
import os

M_ARENA_MAX = -8  # the number of that setting in glibc's malloc.h
POOLS = 2


def share_pools() -> bool:
    """Let all threads of this process share two pools of memory; whether the C library knows the setting.

    Who has set MALLOC_ARENA_MAX keeps that number.
    """
    if "MALLOC_ARENA_MAX" in os.environ or os.name != "posix":
        return False
    # Other C libraries have no such function, or one that does nothing.
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    return setting is not None and bool(setting(M_ARENA_MAX, POOLS))
