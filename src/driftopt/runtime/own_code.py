"""Which code of driftopt runs, found without JAX."""

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import driftopt
from driftopt.runtime.hashing import hashed


@cache
def own_code() -> str:
    """A hash of all of driftopt's code, of the packages that compute for it, and of the kind of machine.

    What was computed under another one may differ in the last bit, or in what it means.
    """
    home = Path(driftopt.__file__).parent
    code = [
        part
        for path in sorted(home.rglob("*.py"))
        for part in (path.relative_to(home).as_posix(), path.read_bytes())
    ]
    packages = [f"{name} {version(name)}" for name in ("jax", "jaxlib", "numpy")]
    machine = [platform.system(), platform.machine(), os.environ.get("XLA_FLAGS", "")]
    return hashed(driftopt.__version__, *packages, *machine, *code).hex()
