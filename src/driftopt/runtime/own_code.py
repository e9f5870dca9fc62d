"""Which code of driftopt runs, found without JAX."""

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import driftopt
from driftopt.runtime.hashing import hashed, python_files

# All of driftopt's code that a study's replay depends on, as files and folders: a page, a command, a problem
# or the server may be edited without throwing checkpoints away.
COVERED = (
    "averages.py",
    "checks.py",
    "method.py",
    "oracle.py",
    "packages.py",
    "plugins.py",
    "pytree.py",
    "shapes.py",
    "rng",
    "runtime",
    "methods",
    "space",
    "answers",
    "drivers",
    "outside/contract.py",
    "study/log",
    "study/checkpoint.py",
    "study/exact_json.py",
    "study/method_state.py",
    "study/open_iteration.py",
    "study/progress.py",
    "study/session.py",
    "study/spec.py",
    "study/trial.py",
)


@cache
def own_code() -> str:
    """A hash of the code that replays a study, of the packages that compute for it, of the kind of machine.

    What was computed under another one may differ in the last bit, or in what it means.
    """
    home = Path(driftopt.__file__).parent
    code = [
        part
        for path in python_files(home, COVERED)
        for part in (path.relative_to(home).as_posix(), path.read_bytes())
    ]
    packages = [f"{name} {version(name)}" for name in ("jax", "jaxlib", "numpy")]
    machine = [platform.system(), platform.machine(), os.environ.get("XLA_FLAGS", "")]
    return hashed(driftopt.__version__, *packages, *machine, *code).hex()
