"""What names a piece of work: a hash of the data, the numbers and the code that make its result."""

import functools
import hashlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

import driftopt

FORMAT = 1  # of the part files; a new number makes old ones invisible
# All of driftopt's code that a run's result depends on, as files and folders. Not `data`: what it loads is
# hashed itself. Not `runtime` and the rest of `sweep`: they find, move and keep results, and change none. A
# demo, a page or a study may be edited without throwing kept programs and parts away.
COVERED = (
    "checks.py",
    "method.py",
    "oracle.py",
    "problem.py",
    "pytree.py",
    "rng",
    "methods",
    "problems",
    "space",
    "answers",
    "drivers",
    "sweep/parts.py",
    "comparison/functions.py",
    "paper/best_known.py",
)


def digest_of(*parts: Any) -> str:
    """The SHA-256 of pytrees, settings and numbers: their data, structure, and the code behind them."""
    sha = hashlib.sha256(code_version().encode())
    for part in parts:
        leaves, structure = jax.tree.flatten(part)
        sha.update(_without_addresses(str(structure)))
        for kind in dict.fromkeys([type(part), *(node for node, _ in nodes(structure))]):
            sha.update(_code(kind))
        for leaf in leaves:
            array = np.asarray(leaf)
            if array.dtype.kind == "O":
                sha.update(_without_addresses(repr(leaf)))
            else:
                sha.update(f"{array.dtype}{array.shape}".encode())
                sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


def nodes(structure: Any) -> Iterator[tuple[type, Any]]:
    """The classes within a pytree's structure, each with its static part."""
    if (data := structure.node_data()) is not None:
        yield data
        for child in structure.children():
            yield from nodes(child)


@functools.cache
def code_version() -> str:
    """Versions, the kind of device, and driftopt's own code: a change of any may change a run."""
    home = Path(driftopt.__file__).parent
    texts = [(p.relative_to(home).as_posix(), _sha256(p.read_bytes())) for p in covered_files(home)]
    versions = f"{FORMAT} {driftopt.__version__} {jax.__version__} {np.__version__} {jax.default_backend()}"
    return f"{versions} {_sha256(repr(texts).encode())}"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def covered_files(home: Path) -> list[Path]:
    """The files of driftopt, whose folder is `home`, that a run's result depends on."""
    named = [home / name for name in COVERED]
    return sorted(path for part in named for path in ([part] if part.is_file() else part.rglob("*.py")))


def _code(kind: type) -> bytes:
    """The text of the modules that define a user's class; in a notebook, its functions' own code."""
    return b"".join(_own_code(base) for base in kind.__mro__)


def _own_code(kind: type) -> bytes:
    if kind.__module__.partition(".")[0] in ("driftopt", "builtins", "abc", "typing"):
        return b""
    try:
        return inspect.getsource(sys.modules[kind.__module__]).encode()
    except (OSError, TypeError, KeyError):
        held = (value for _, value in sorted(vars(kind).items()))
        found = (getattr(value, "fget", getattr(value, "__func__", value)) for value in held)
        return b"".join(_compiled(value.__code__) for value in found if inspect.isfunction(value))


def _compiled(code: Any) -> bytes:
    """Instructions, names and constants; functions within functions are constants too."""
    inner = (c for c in code.co_consts if inspect.iscode(c))
    plain = [c for c in code.co_consts if not inspect.iscode(c)]
    return (
        code.co_code + f"{code.co_names}{code.co_varnames}{plain}".encode() + b"".join(map(_compiled, inner))
    )


def _without_addresses(text: str) -> bytes:
    """Functions print with their address, which differs from run to run; what they do is in the code."""
    return re.sub(r" at 0x[0-9a-f]+", "", text).encode()
