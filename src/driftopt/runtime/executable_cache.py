"""Compiled programs kept as files, so that a second process neither traces nor compiles what the first did.

JAX's own compilation cache keeps what XLA made, but finds it only after tracing and lowering the program
again: a third of a second each, in Python, one at a time. A file here is found by what the program is made
from: the code of driftopt, the structure and shapes of its arguments, the plan, the versions and the machine.
JAX's cache gets these programs only where somebody else may look for them there.

A compiled program is code, whatever its format, and JAX's own format is a pickle besides. So a file is used
only if it and its folder belong to the caller, nobody else may write them, and its content and name carry the
mark of a secret in that folder: a program put there by anybody else never reaches the loader.
"""

import hashlib
import hmac
import itertools
import math
import os
import platform
import secrets
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
from jax.experimental import serialize_executable

from driftopt.runtime import allocator, files, fingerprint
from driftopt.runtime.code_of_others import code_behind

GIVE_BACK_EVERY = 4  # programs: what their making has left free is then returned to the system
FILES = 256  # kept at most; the longest unused go first
SECRET = "secret"  # the file beside the programs whose bytes mark them as ours
MARK = hashlib.sha256().digest_size
SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable", "jax_debug_nans")

_folder: Path | None = None
_alone = False  # whether nobody looks for our programs in JAX's own cache
_loaded: dict[str, Any] = {}
_locks: dict[str, threading.Lock] = {}  # by the program's key
_untried: set[str] = set()  # those read from a file that have not run yet
_ran: set[str] = set()  # those that JAX keeps, not we
_made = itertools.count(1)
_LOWERING = threading.RLock()  # not a plain one: a problem may itself simulate
_building = threading.local()
_thread = threading.local()


def keep_in(folder: Path | None, *, alone: bool = False) -> None:
    """Keep programs in this folder from now on, or nowhere.

    Args:
        folder: for files; None keeps nothing.
        alone: there alone, and not in JAX's own cache too, where others that share it would find them.
    """
    global _folder, _alone
    _folder, _alone = folder, alone


def call(jitted: Callable[[str], Any], arguments: tuple[Any, ...], plan: Any, results: int = 2) -> Any:
    """jitted(code)(*arguments, plan), from a file where there is one.

    Args:
        jitted: gives the function to call; one for each text, so that it is traced again for another one.
        arguments: arrays and modules.
        plan: static.
        results: how many arrays come back.
    """
    code = code_behind(arguments)
    if getattr(_thread, "tracing", False):
        raise _Traced(jax.make_jaxpr(lambda *given: jitted(code).__wrapped__(*given, plan))(*arguments))
    key = _key(arguments, plan) + code
    lock = _locks.setdefault(key, threading.Lock())  # what one thread makes the others wait for
    if _folder is None or code or not _keepable():
        program = jitted(code)
        if key not in _ran and not getattr(jax.config, "jax_disable_jit", False):
            _compile(program, arguments, plan, key)
        return program(*arguments, plan)
    path = _folder / key
    trees = _structures(arguments, results)
    with lock:
        if key not in _loaded and (found := _read(path, trees, plan.devices)) is not None:
            _loaded[key] = found
            _untried.add(key)
    if key not in _loaded:
        lowered = _lowered(jitted(""), arguments, plan)
        with lock:
            if key not in _loaded:
                _loaded[key] = _make(lowered, path, trees)
    program = _loaded[key]
    if key not in _untried:
        return program(*arguments)
    try:
        result = jax.block_until_ready(program(*arguments))
        _untried.discard(key)
        return result
    except jax.errors.JaxRuntimeError:  # a file that can be read and not run: the program is made again
        lowered = _lowered(jitted(""), arguments, plan)
        with lock:
            if _loaded[key] is program:
                _loaded[key] = _make(lowered, path, trees)
        _untried.discard(key)
    return _loaded[key](*arguments)


def _compile(jitted: Any, arguments: Any, plan: Any, key: str) -> None:
    """Make a program that JAX remembers."""
    lowered = _lowered(jitted, arguments, plan)
    with _locks[key]:
        if key not in _ran:
            lowered.compile()
            _give_back()
        _ran.add(key)


def traced(run: Callable[[], Any]) -> Any:
    """The jaxpr of the first program that `run` calls, traced anew; nothing is computed."""
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


def _keepable() -> bool:
    """Only on CPUs, where it was tried."""
    return jax.default_backend() == "cpu" and not getattr(jax.config, "jax_disable_jit", False)


def _key(arguments: Any, plan: Any) -> str:
    leaves, structure = jax.tree.flatten(arguments)
    shapes = [(str(leaf.dtype), leaf.shape) for leaf in leaves]
    settings = [getattr(jax.config, name, None) for name in SETTINGS]
    parts = (fingerprint.code_version(), machine(), str(structure), shapes, plan, settings)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def machine() -> str:
    """What compiled code may depend on: the processor's abilities, the devices, the compiler's settings."""
    lines: set[str] = set()
    with suppress(OSError), open("/proc/cpuinfo") as text:
        lines = {line for line in text if line.startswith(("flags", "model name", "Features"))}
    devices = [str(device) for device in jax.local_devices()]
    flags = os.environ.get("XLA_FLAGS", "")
    host = (platform.machine(), platform.processor(), platform.system(), version("jaxlib"))
    return repr((host, sorted(lines), devices, flags))


def _read(path: Path, trees: tuple[Any, Any], devices: int) -> Any:
    """The program of a file, or None where it is absent, damaged or somebody else's."""
    try:
        content = _authentic(path)
        if content is None:
            return None
        program = serialize_executable.deserialize_and_load(
            content, *trees, execution_devices=jax.local_devices()[:devices]
        )
        os.utime(path)  # the longest unused go first
    except FileNotFoundError:
        return None
    except files.UntrustedError as error:
        warnings.warn(f"a kept program is not used, and is compiled again: {error}", stacklevel=2)
        return None
    except Exception:  # whatever is wrong with a file of a cache, the program can be made again
        return None
    return program


def _authentic(path: Path) -> bytes | None:
    """The bytes that this user kept under this name, or None."""
    files.check_own_folder(path.parent)
    content = files.read_own(path)
    mark = _mark(files.read_own(path.parent / SECRET), path.name, content[MARK:])
    return content[MARK:] if hmac.compare_digest(mark, content[:MARK]) else None


def _mark(secret: bytes, name: str, content: bytes) -> bytes:
    return hmac.digest(secret, name.encode() + content, "sha256")


def _structures(arguments: Any, results: int) -> tuple[Any, Any]:
    """The trees of a program's arguments and results: known here, never read from a file."""
    return jax.tree.structure((arguments, {})), jax.tree.structure((0,) * results)


def _make(lowered: Any, path: Path, trees: tuple[Any, Any]) -> Any:
    with _watching() as found, _kept_once(path.parent):
        program = lowered.compile()
    _give_back()
    # What JAX found in its own cache lacks the parts that a file needs.
    if not found:
        try:
            content, *found_trees = serialize_executable.serialize(program)
            if tuple(found_trees) == trees:
                _write(path, content)
        except files.UntrustedError as error:
            warnings.warn(f"compiled programs are not kept: {error}", stacklevel=2)
        except Exception:
            pass  # a run must not fail because its program could not be kept
    return program


def _lowered(jitted: Any, arguments: Any, plan: Any) -> Any:
    """A program ready to be compiled: by one thread at a time, for this is Python's work.

    Of sixteen threads that trace at once each waits for all the others, and the compiler has nothing to do.
    Never under a program's own lock: a problem that is traced may itself simulate, and need that program.
    """
    with _LOWERING:
        return jitted.lower(*arguments, plan)


def _write(path: Path, content: bytes) -> None:
    folder = files.make_folder(path.parent, private=True)
    files.check_own_folder(folder)
    files.write_whole(path, _mark(_secret(folder), path.name, content) + content, private=True)
    programs = (file for file in folder.iterdir() if file.name != SECRET and file.is_file())
    kept = sorted((file.stat().st_mtime, file) for file in programs)
    for _, old in kept[:-FILES]:
        old.unlink(missing_ok=True)


def _secret(folder: Path) -> bytes:
    """The folder's secret, made where there is none."""
    try:
        return files.read_own(folder / SECRET)
    except FileNotFoundError:
        # Of two processes that make one at once the last wins; the other's program is made again some day.
        files.write_whole(folder / SECRET, secrets.token_bytes(32), private=True)
        return files.read_own(folder / SECRET)


def _kept_once(folder: Path) -> AbstractContextManager[None]:
    """Meanwhile JAX's own cache writes nothing in this thread: it would pack each program a second time.

    Not where somebody else may look for the program there, nor where it could not be kept in our folder.
    """
    if not _alone:
        return nullcontext()
    try:
        from jax._src.config import persistent_cache_min_compile_time_secs as shortest

        files.check_own_folder(files.make_folder(folder, private=True))
    except (ImportError, files.UntrustedError, files.WriteError):
        return nullcontext()  # the name is not public: a JAX that has moved it keeps the program twice
    return shortest(math.inf)


def _give_back() -> None:
    """Return what making programs has left free; only where they are kept, so in our own commands."""
    if _folder is not None and next(_made) % GIVE_BACK_EVERY == 0:
        allocator.give_back()


@contextmanager
def _watching() -> Generator[list[str]]:
    """The hits of JAX's own cache in this thread, while it compiles."""
    _listen()
    _building.hits = hits = []
    try:
        yield hits
    finally:
        _building.hits = None


@cache
def _listen() -> None:
    def note(event: str, **_: Any) -> None:
        if event.endswith("compilation_cache/cache_hits") and getattr(_building, "hits", None) is not None:
            _building.hits.append(event)

    jax.monitoring.register_event_listener(note)
