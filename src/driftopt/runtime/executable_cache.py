"""Compiled programs kept as files, so that a second process neither traces nor compiles what the first did.

JAX's own compilation cache keeps what XLA made, but finds it only after tracing and lowering the program
again: a third of a second each, in Python, one at a time. A file here is found by what the program is made
from: the code of driftopt, the structure and shapes of its arguments, the plan, the versions and the machine.

A compiled program is code, whatever its format. So a file is used only if it and its folder belong to the
caller and nobody else may write them.
"""

import hashlib
import os
import platform
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
from jax.experimental import serialize_executable

from driftopt.runtime import files, fingerprint
from driftopt.runtime.identity import ours

FILES = 256  # kept at most; the longest unused go first
CHECKSUM = hashlib.sha256().digest_size  # bytes at the beginning of a file
SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable", "jax_debug_nans")

_folder: Path | None = None
_loaded: dict[str, Any] = {}
_locks: dict[Any, threading.Lock] = {}  # of each program
_untried: set[str] = set()  # those read from a file that have not run yet
_compiled: set[Any] = set()  # those that JAX remembers
_LOWERING = threading.RLock()  # not a plain one: a problem may itself simulate
_thread = threading.local()


def keep_in(folder: Path | None) -> None:
    """Keep programs in this folder from now on; None keeps nothing."""
    global _folder
    _folder = folder


def call(jitted: Callable[[], Any], arguments: tuple[Any, ...], plan: Any, results: int = 2) -> Any:
    """The arrays that jitted()(*arguments, plan) gives, by the program of a file where there is one.

    Args:
        jitted: gives the function to call, made by `jax.jit`.
        arguments: arrays and modules.
        plan: static.
        results: the number of arrays that come back.
    """
    if getattr(_thread, "tracing", False):
        raise _Traced(jax.make_jaxpr(lambda *given: jitted().__wrapped__(*given, plan))(*arguments))
    if getattr(jax.config, "jax_disable_jit", False):
        return jitted()(*arguments, plan)
    key = _key(arguments, plan)
    if _folder is None or jax.default_backend() != "cpu" or not ours(arguments):  # tried on CPUs alone
        known = key, jax.tree.structure(arguments)  # two classes of others may print alike
        if known not in _compiled:
            lowered = _lowered(jitted(), arguments, plan)
            with _locks.setdefault(known, threading.Lock()):
                if known not in _compiled:
                    lowered.compile()
                    _compiled.add(known)
        return jitted()(*arguments, plan)
    path, trees = _folder / key, (jax.tree.structure((arguments, {})), jax.tree.structure((0,) * results))
    lock = _locks.setdefault(key, threading.Lock())  # what one thread makes the others wait for
    with lock:
        if key not in _loaded and (found := _read(path, trees, plan.devices)) is not None:
            _loaded[key] = found
            _untried.add(key)
    if key in _untried:
        with suppress(jax.errors.JaxRuntimeError):  # a file may be readable and not run
            result = jax.block_until_ready(_loaded[key](*arguments))
            _untried.discard(key)
            return result
    if key not in _loaded or key in _untried:
        lowered = _lowered(jitted(), arguments, plan)
        with lock:
            if key not in _loaded or key in _untried:
                _loaded[key] = _make(lowered, path, trees)
                _untried.discard(key)
    return _loaded[key](*arguments)


def traced(run: Callable[[], Any]) -> Any:
    """The jaxpr of the first program that `run` calls, traced again; nothing is computed."""
    _thread.tracing = True
    try:
        run()
    except _Traced as stopped:
        return stopped.jaxpr
    finally:
        _thread.tracing = False
    raise RuntimeError("no program was called")


class _Traced(Exception):
    def __init__(self, jaxpr: Any):
        super().__init__("traced, as asked")
        self.jaxpr = jaxpr


def _lowered(jitted: Any, arguments: Any, plan: Any) -> Any:
    """A program ready to be compiled: by one thread at a time, for this is Python's work.

    Of sixteen threads that trace together each waits for all the others, and the compiler has nothing to do.
    Never under a program's own lock: a problem that is traced may itself simulate, and need that program.
    """
    with _LOWERING:
        return jitted.lower(*arguments, plan)


def _key(arguments: Any, plan: Any) -> str:
    leaves, structure = jax.tree.flatten(arguments)
    shapes = [(str(leaf.dtype), leaf.shape) for leaf in leaves]
    settings = [getattr(jax.config, name, None) for name in SETTINGS]
    parts = (fingerprint.code_version(), machine(), str(structure), shapes, plan, settings)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def machine() -> str:
    """The conditions of compiled code: the processor's abilities, the devices, the compiler's settings."""
    lines: set[str] = set()
    with suppress(OSError), open("/proc/cpuinfo") as text:
        lines = {line for line in text if line.startswith(("flags", "model name", "Features"))}
    devices = [str(device) for device in jax.local_devices()]
    flags = os.environ.get("XLA_FLAGS", "")
    host = (platform.machine(), platform.processor(), platform.system(), version("jaxlib"))
    return repr((host, sorted(lines), devices, flags))


def _read(path: Path, trees: tuple[Any, Any], devices: int) -> Any:
    """The program of a file; None if it is absent, damaged or somebody else's."""
    try:
        files.check_own_folder(path.parent)
        content = files.read_own(path)
        if content[:CHECKSUM] != _checksum(path.name, content[CHECKSUM:]):
            return None
        program = serialize_executable.deserialize_and_load(
            content[CHECKSUM:], *trees, execution_devices=jax.local_devices()[:devices]
        )
        os.utime(path)  # the longest unused go first
    except files.UntrustedError as error:
        warnings.warn(f"a kept program is not used, and is compiled again: {error}", stacklevel=2)
        return None
    except Exception:  # whatever is wrong with a file of a cache, the program can be made again
        return None
    return program


def _make(lowered: Any, path: Path, trees: tuple[Any, Any]) -> Any:
    """The compiled program, which is kept too; the files that were unused longest go."""
    program = lowered.compile()
    try:
        content, *found = serialize_executable.serialize(program)
        if tuple(found) != trees:
            return program
        files.check_own_folder(files.make_folder(path.parent, private=True))
        files.write_whole(path, _checksum(path.name, content) + content, private=True)
        kept = [entry for entry in os.scandir(path.parent) if entry.is_file(follow_symlinks=False)]
        for entry in sorted(kept, key=lambda entry: entry.stat().st_mtime)[:-FILES]:
            os.unlink(entry.path)
    except files.UntrustedError as error:
        warnings.warn(f"compiled programs are not kept: {error}", stacklevel=2)
    except Exception:
        pass  # a run must not fail because its program could not be kept
    return program


def _checksum(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + content).digest()
