"""The name of a piece of work: a hash of the data, the numbers and the code that make its result."""

import functools
import hashlib
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np

import driftopt

FORMAT = 1  # of the part files; a new number makes old ones invisible
# All of driftopt's code that a run's result depends on, as files and folders. Not `data`: what it loads is
# hashed itself. Not the rest of `runtime` and `sweep`: they find, move and keep results, and change none. A
# demo, a page or a study may be edited without throwing kept programs and parts away.
COVERED = (
    "averages.py",
    "checks.py",
    "method.py",
    "oracle.py",
    "problem.py",
    "pytree.py",
    "shapes.py",
    "rng",
    "methods",
    "model",
    "problems",
    "space",
    "answers",
    "drivers",
    "outside",
    "sweep/simulated.py",
    "sweep/tasks.py",
    "sweep/outside_runs.py",
    "comparison/functions.py",
    "paper/best_known.py",
)


def hashed(*parts: str | bytes) -> bytes:
    """The SHA-256 of the parts, each with its length.

    >>> hashed("ab", "c") == hashed("a", "bc")
    False
    """
    sha = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        sha.update(len(content).to_bytes(8, "little"))
        sha.update(content)
    return sha.digest()


def without_addresses(text: str) -> str:
    """Functions print with their address, which differs from process to process."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def digest_of(*parts: Any) -> str:
    """The SHA-256 of pytrees, settings and numbers: their data and structure, and driftopt's own code.

    Your own code is not in it: see `identity`.
    """
    found: list[str | bytes] = [code_version()]
    for part in parts:
        leaves, structure = jax.tree.flatten(part)
        found += [without_addresses(str(structure)), type(part).__qualname__]
        for leaf in leaves:
            array = np.asarray(leaf)
            if array.dtype.kind == "O":
                found.append(without_addresses(repr(leaf)))
            else:
                found += [f"{array.dtype}{array.shape}", np.ascontiguousarray(array).tobytes()]
    return hashed(*found).hex()


@functools.cache
def code_version() -> str:
    """Versions, the kind of device, and driftopt's own code: a change of any may change a run."""
    home = Path(driftopt.__file__).parent
    texts = [
        (p.relative_to(home).as_posix(), hashlib.sha256(p.read_bytes()).hexdigest())
        for p in covered_files(home)
    ]
    versions = f"{FORMAT} {driftopt.__version__} {jax.__version__} {np.__version__} {jax.default_backend()}"
    return f"{versions} {hashlib.sha256(repr(texts).encode()).hexdigest()}"


def covered_files(home: Path) -> list[Path]:
    """The files of driftopt, whose folder is `home`, that a run's result depends on."""
    named = [home / name for name in COVERED]
    return sorted(path for part in named for path in ([part] if part.is_file() else part.rglob("*.py")))
