"""Which code belongs to Python or to installed packages: its version says what it does."""

import functools
import hashlib
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import driftopt

_OWN = Path(driftopt.__file__).resolve().parent


def is_library(module: str | None) -> bool:
    """Whether the module that goes by this name is Python's, an installed package's or driftopt's.

    The file decides, not the name: a user's own `profile.py` hides the one of the standard library.
    """
    if not module or module in ("__main__", "__mp_main__"):
        return False
    spec: Any = getattr(sys.modules.get(module), "__spec__", None) or _found(module)
    if spec is None:
        return False
    origin = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
    return origin in ("built-in", "frozen") or is_library_file(origin)


@functools.lru_cache(4096)
def _found(module: str) -> Any:
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None


@functools.lru_cache(4096)
def is_library_file(path: str) -> bool:
    """Whether a file lies where Python, installed packages or driftopt lie."""
    if path.startswith("<frozen"):
        return True
    if not path or path.startswith("<"):
        return False
    return any(Path(path).resolve().is_relative_to(folder) for folder in _installed())


@functools.cache
def _installed() -> tuple[Path, ...]:
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found = (*named, *site.getsitepackages(), site.getusersitepackages())
    return (_OWN, *dict.fromkeys(Path(path).resolve() for path in found))


@functools.lru_cache(4096)
def version_of(module: str | None) -> str:
    """The version of the library that a module belongs to; nothing, if it belongs to none."""
    top = (module or "builtins").partition(".")[0]
    if top == "driftopt":
        return _own_version()
    if top in sys.stdlib_module_names:
        return sys.version
    if (found := getattr(sys.modules.get(top), "__version__", None)) is not None:
        return str(found)
    if not is_library(top):
        return ""  # code of the user's own, which is looked at itself
    from importlib.metadata import version

    return " ".join(sorted(f"{name} {version(name)}" for name in _distributions().get(top, ())))


@functools.cache
def installed_version(package: str) -> str:
    """The version of a library as it is installed, whether it is loaded yet or not."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:  # skopt, say, is installed as scikit-optimize
        return " ".join(sorted(version(name) for name in _distributions().get(package, ())))


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """Installed distributions by what is imported: to find them takes a third of a second."""
    from importlib.metadata import packages_distributions

    return packages_distributions()


@functools.cache
def _own_version() -> str:
    """All of driftopt's text: a user's function may call any of it."""
    files = sorted(_OWN.rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
