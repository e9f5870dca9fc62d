"""The generator's hash as one call into C, where there is a C compiler: half of what tests compiled.

A hash is 150 operations, and a program has ten or more: half of what XLA reads, fuses and compiles for a
small loop. Its words are the same to the bit whoever computes them. Here that is a function in C, which the
first process of a session compiles in a tenth of a second; without a compiler, and within `hashes_by_xla`,
it is XLA, as for everybody who uses driftopt.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
from jax.interpreters import mlir

from driftopt.rng import threefry
from driftopt.runtime import executable_cache

SOURCE = Path(__file__).with_name("hashes.c")
TARGET = "driftopt_tests_threefry2x32"
by_xla = False


def hash_in_c(folder: Path) -> None:
    """Let programs for CPUs call the function of `hashes.c`, compiled into this folder, for their hashes."""
    library = _library(folder)
    if library is None:
        return
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(ctypes.CDLL(str(library)).threefry), platform="cpu")
    call = jax.ffi.ffi_lowering(TARGET)

    def written_down(context: Any, *operands: Any) -> Any:
        sized = operands[0].type.has_static_shape
        return (call if sized and not by_xla else threefry._written_down)(context, *operands)

    mlir.register_lowering(threefry.HASH, written_down, platform="cpu")
    # Programs in files are found by all that they depend on: other processes do not know the function.
    machine = executable_cache.machine
    executable_cache.machine = cache(lambda: f"{machine()} {TARGET}")


def _library(folder: Path) -> Path | None:
    """What the compiler makes of the source; None without one, or where it cannot."""
    content = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    library, compiler = folder / f"hashes-{content}.so", shutil.which("cc")
    if library.exists():
        return library
    if compiler is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as draft:
        made = Path(draft) / library.name
        command = [compiler, "-O3", "-shared", "-fPIC", "-I", jax.ffi.include_dir(), "-o", made, SOURCE]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
        os.replace(made, library)  # whole, for whoever looks at the same time
    return library


@contextmanager
def _hashing(by: bool) -> Iterator[None]:
    global by_xla
    by_xla, before = by, by_xla
    try:
        yield
    finally:
        by_xla = before


# What is lowered within the first computes its hashes as everybody's programs do; within the second it calls
# the function, where that could be compiled.
hashes_by_xla = partial(_hashing, True)
hashes_in_c = partial(_hashing, False)
