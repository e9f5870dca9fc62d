"""Settings that suit the command line: every core a device of JAX, compiled programs kept between runs.

A library must not touch a user's global settings, so only the commands and benchmarks call these.
"""

import contextlib
import gc
import os
import sys
import warnings
from pathlib import Path

from driftopt.runtime import files

COLLECTED = 20_000  # new objects between two looks for cycles; Python's own number is 700 or 2,000


def prepare() -> None:
    """Use all cores, keep compiled programs, trace quickly. Before JAX's first computation.

    With JAX_COMPILATION_CACHE_DIR everything is left to JAX's own cache.
    """
    import jax

    from driftopt.runtime import executable_cache

    trace_quickly()
    # Too late once JAX has computed something: then it goes on with what there is.
    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", cores())
    if "JAX_COMPILATION_CACHE_DIR" in os.environ or not (folder := _own_folder()):
        return
    if jax.default_backend() == "cpu":
        executable_cache.keep_in(Path(folder) / "programs")
    else:
        jax.config.update("jax_compilation_cache_dir", folder)


def trace_quickly() -> None:
    """Let Python look for cycles seldom, and programs not say which line each operation is from.

    Tracing makes objects by the million, nearly all of which are freed without a look for cycles. If you have
    switched that off, or asked for lines, it stays so.
    """
    import jax

    if 0 < gc.get_threshold()[0] < COLLECTED:
        gc.set_threshold(COLLECTED)
    if "JAX_TRACEBACK_IN_LOCATIONS_LIMIT" not in os.environ:
        jax.config.update("jax_traceback_in_locations_limit", 0)


def keep_compiled() -> None:
    """Let JAX, if it is loaded later, keep what it compiles in the cache folder.

    For commands that compute little, and seldom: a job that asks for a deployment once a day.
    """
    if "jax" in sys.modules or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return

    if folder := _own_folder():
        os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "0")


def _own_folder() -> str:
    """The folder of compiled programs, made if need be; "" if others may write it: JAX runs its content."""
    folder = files.cache_folder() / "compiled"
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
