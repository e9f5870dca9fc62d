"""Settings that suit the command line: every core a device of JAX, compiled programs kept between runs.

A library must not touch a user's global settings, so only the commands and benchmarks call these.
"""

import contextlib
import gc
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from driftopt.runtime import files

COLLECTED = 20_000  # new objects between two looks for cycles; Python's own number is 700 or 2,000
due_when_jax_is_loaded = False  # `write_entries_whole`, which `keep_compiled` leaves to the drivers


def prepare() -> None:
    """Use all cores, keep compiled programs, trace quickly. Before JAX's first computation."""
    import jax

    from driftopt.runtime import executable_cache
    from driftopt.runtime.paths import cache_folder

    trace_quickly()
    # Too late once JAX has computed something: then it goes on with what there is.
    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", cores())
    named = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    folder = named or _own_folder(cache_folder() / "compiled")
    if not folder:
        return
    write_entries_whole()
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    # JAX's cache may be in a bucket; files cannot.
    programs = cache_folder() / "programs" if "://" in folder else Path(folder) / "programs"
    executable_cache.keep_in(programs, alone=not named)


def trace_quickly() -> None:
    """Let Python look for cycles seldom, and programs not say which line each operation is from.

    Tracing makes objects by the million, nearly all of which are freed without a look for cycles. Who has
    switched that off, or asked for lines, keeps it so.
    """
    import jax

    if 0 < gc.get_threshold()[0] < COLLECTED:
        gc.set_threshold(COLLECTED)
    if "JAX_TRACEBACK_IN_LOCATIONS_LIMIT" not in os.environ:
        jax.config.update("jax_traceback_in_locations_limit", 0)


def keep_compiled() -> None:
    """Keep what JAX compiles in the cache folder, if it is loaded at all: before it is, and at no cost.

    For commands that compute little, and seldom: a job that asks for a deployment once a day.
    """
    if "jax" in sys.modules or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    from driftopt.runtime.paths import cache_folder

    if folder := _own_folder(cache_folder() / "compiled"):
        os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
        global due_when_jax_is_loaded
        due_when_jax_is_loaded = True
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "0")


def write_entries_whole() -> None:
    """Let JAX's cache put an entry in place whole, over what lies there.

    JAX writes an entry where it will be read, and never over one that is there: another process meanwhile,
    and every one after a kill, finds half a program, warns of it and compiles it again. An entry is written
    only after one was missing or unreadable, so that the last one written is always good.
    """
    try:
        from jax._src.lru_cache import LRUCache

        plain = LRUCache.put
    except (ImportError, AttributeError):  # no public name: a JAX that has moved it does as it does
        return
    if plain.__module__ == __name__:
        return

    def put(cache: Any, key: str, value: bytes) -> None:
        folder = str(cache.path)
        if cache.eviction_enabled or "://" in folder:  # under a lock of JAX's own, or in a bucket
            plain(cache, key, value)
        else:
            # As readable as JAX leaves it: people may share a folder that they named.
            files.write_whole(Path(folder) / f"{key}-cache", value, lasting=False)

    LRUCache.put = put  # pyright: ignore[reportAttributeAccessIssue]


def _own_folder(folder: Path) -> str:
    """The folder, made if need be; "" if others may write it, for JAX runs whatever lies there."""
    try:
        files.check_own_folder(files.make_folder(folder, private=True))
    except files.UntrustedError as error:
        warnings.warn(f"compiled programs are not kept: {error}", stacklevel=3)
        return ""
    except files.WriteError:
        return ""  # it costs time, nothing else
    return str(folder)


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
