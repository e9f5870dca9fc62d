"""The identity of code that others have written, by which kept results are found again.

JAX traces problems and methods: whatever Python did on the way is in the traced program as an operation or a
number, so two programs of one hash compute the same. A Python function counts by its own data (defaults,
closures, the fields of an object) and by the bytes of all loaded source files of the user's own. Where either
is unknown, as for a function typed into a notebook, a result is reused only under a version that the user
gives. The same holds for what no source shows: a file that is read, a service, a global set while running.
"""

import ast
import dataclasses
import enum
import functools
import importlib.util
import io
import os
import pickle
import site
import sys
import sysconfig
import time
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

import driftopt
from driftopt.packages import installed_version
from driftopt.runtime.fingerprint import hashed, without_addresses
from driftopt.runtime.jaxpr import walk

# What an operation is called, or where it runs; rules for derivatives were used while tracing, or not at all.
_SILENT = {"name", "debug_info", "ctx_mesh", "sharding_ctx"}
_RULES = {"jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "out_trees", "out_avals"}


class Identity(NamedTuple):
    """A hash of code, and a sentence for each part that it cannot know."""

    digest: str
    unknown: tuple[str, ...] = ()


def ours(tree: Any) -> bool:
    """Whether every class in a pytree is driftopt's and every static part is plain."""

    def plain(part: Any) -> bool:
        if isinstance(part, tuple):
            return all(map(plain, part))
        if dataclasses.is_dataclass(part) and type(part).__module__.startswith("driftopt."):
            return all(map(plain, vars(part).values()))
        return isinstance(part, str | int | float | bool | None)

    def whole(structure: Any) -> bool:
        if (data := structure.node_data()) is None:
            return True
        kind, static = data
        known = kind in (tuple, type(None)) or (kind.__module__.startswith("driftopt.") and plain(static))
        return known and all(map(whole, structure.children()))

    return whole(jax.tree.structure(tree))


def of_trace(traced: Any) -> Identity:
    """The identity of what `jax.make_jaxpr(fun)(…)` gave: operations, parameters, constants and shapes."""
    hasher = _TraceHasher()
    return Identity(hasher.value(traced).hex(), tuple(dict.fromkeys(hasher.unknown)))


class _TraceHasher:
    """Hashes of programs and of what is in them; `unknown` gathers what callbacks cannot tell."""

    def __init__(self) -> None:
        self.unknown: list[str] = []

    def operation(self, equation: Any, inputs: list[Any]) -> list[bytes]:
        """The rule of a walk on hashes: each output's, made of the operation and the hashes of its inputs."""
        silent = _SILENT | (_RULES if equation.primitive.name.startswith("custom_") else set())
        parts: list[str | bytes] = [equation.primitive.name, *map(self.value, inputs)]
        for key, value in sorted(equation.params.items()):
            if key not in silent:
                parts += [key, self.value(value)]
        whole = hashed(*parts)
        return [hashed(whole, str(i), str(one.aval)) for i, one in enumerate(equation.outvars)]

    def value(self, part: Any) -> bytes:
        """A hash itself; that of a program, a parameter or a constant."""
        if isinstance(part, bytes):
            return part
        if isinstance(part, core.Jaxpr):
            constants = [f"constant {i} {one.aval}".encode() for i, one in enumerate(part.constvars)]
            part = core.ClosedJaxpr(part, constants)
        if isinstance(part, core.ClosedJaxpr):
            arguments = [f"{i} {one.aval}".encode() for i, one in enumerate(part.jaxpr.invars)]
            return hashed("program", *arguments, *map(self.value, walk(part, arguments, self.operation)))
        if isinstance(part, np.ndarray | np.generic | jax.Array):
            if isinstance(part, jax.Array) and jnp.issubdtype(part.dtype, jax.dtypes.prng_key):
                part = jax.random.key_data(part)
            array = np.asarray(part)
            return hashed("array", f"{array.dtype}{array.shape}", array.tobytes())
        if isinstance(part, tuple | list):
            return hashed(type(part).__name__, *map(self.value, part))
        if isinstance(part, dict):
            return hashed("dict", *(self.value(one) for pair in sorted(part.items()) for one in pair))
        return self._other(part)

    def _other(self, part: Any) -> bytes:
        module, name = getattr(part, "__module__", None) or "", getattr(part, "__qualname__", "<")
        if callable(part) and module.split(".")[0] in ("jax", "jaxlib", "driftopt") and "<" not in name:
            return hashed("function", jax.__version__, module, name)  # driftopt's text is in every key
        text = str(part) if isinstance(part, enum.Enum) else repr(part)
        if " at 0x" not in text:
            return hashed(type(part).__qualname__, text)
        found = of_python(part)  # a callback leaves the trace
        self.unknown += found.unknown
        return hashed("python", found.digest)


def of_python(*things: Any) -> Identity:
    """The identity of Python functions and other objects: their data, and the user's own source files.

    >>> of_python(len).unknown
    ()
    """
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(things)
    except Exception as error:  # any object may refuse in its own way
        named = ", ".join(getattr(one, "__qualname__", type(one).__qualname__) for one in things)
        return Identity("", (f"the state of {named} ({error})",))
    if not pickler.homes:
        return Identity(hashed(file.getvalue()).hex())
    files = own_files()
    unknown = [
        f"the code of {name}, which is in no source file"
        for home, name in sorted(pickler.homes.items())
        if Path(home).resolve() not in {one.path for one in files.values()}
    ]
    unknown += [
        f"what {one.path} was when Python loaded it, for it was edited since this process began"
        for one in files.values()
        if one.edited
    ]
    parts = [part for name, one in sorted(files.items()) for part in (name, one.digest)]
    arguments = sys.argv[1:] if "__main__" in files else ()  # by which a script may set its globals
    return Identity(
        hashed(file.getvalue(), sys.version, *parts, *arguments).hex(), tuple(dict.fromkeys(unknown))
    )


class _Pickler(pickle.Pickler):
    """Writes down data; of the user's own code only names, and in `homes` the files that hold it."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file, protocol=4)
        self.homes: dict[str, str] = {}

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, jax.tree_util.PyTreeDef):
            return str, (without_addresses(str(obj)),)
        if obj is str or not isinstance(obj, type | FunctionType):
            return NotImplemented
        name, module = f"{obj.__module__}.{obj.__qualname__}", sys.modules.get(obj.__module__)
        code = obj.__code__ if isinstance(obj, FunctionType) else None
        builtin = name.partition(".")[0] in sys.stdlib_module_names
        home = getattr(module, "__file__", "" if builtin else str(obj.__module__))
        # A library's decorator takes over the name and the module of what it decorates.
        own = [one for one in (home, code and code.co_filename) if one and not is_library_file(one)]
        self.homes |= dict.fromkeys(own, name)
        if not own and "<" not in name:
            return str, (name,)
        if code is None or getattr(module, obj.__name__, None) is obj:
            return NotImplemented
        # A lambda, or a function within another: which one of its file it is, and what it holds.
        held = [cell.cell_contents for cell in obj.__closure__ or ()]
        which = (obj.__qualname__, code.co_firstlineno, code.co_linetable, code.co_code)
        return str, (*which, obj.__defaults__, obj.__kwdefaults__, held, vars(obj))


class SourceFile(NamedTuple):
    """A source file of the user's own."""

    path: Path
    digest: str  # of its bytes, and of the versions of the libraries that it imports
    edited: bool  # whether it was written since this process began: Python may have loaded something else


def own_files() -> dict[str, SourceFile]:
    """The user's own source files by module: the loaded ones, and the files that these import."""
    found: dict[str, SourceFile] = {}
    waiting = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    while waiting:
        name, file = waiting.pop()
        if name in found or name == "__mp_main__" or not file or is_library_file(file):
            continue
        try:
            seen = os.stat(file)
            digest, imported = _read(file, seen.st_mtime_ns, seen.st_size)
        except OSError:  # the file is gone, so nothing is known of it
            continue
        package = name if Path(file).stem == "__init__" else name.rpartition(".")[0]
        libraries = set[str]()
        for level, module in imported:
            with suppress(ImportError, ValueError):  # what cannot be imported will raise where it is needed
                absolute = importlib.util.resolve_name("." * level + module, package)
                top = absolute.partition(".")[0]
                spec = getattr(sys.modules.get(top), "__spec__", None) or importlib.util.find_spec(top)
                if spec is None or is_library_file(_place(spec)):
                    libraries.add(top)
                elif absolute not in sys.modules:
                    waiting += _unloaded(absolute)
        versions = [f"{one} {installed_version(one)}" for one in sorted(libraries - sys.stdlib_module_names)]
        path, edited = Path(file).resolve(), seen.st_mtime > _process_began()
        found[name] = SourceFile(path, hashed(digest, *versions).hex(), edited)
    return found


@functools.lru_cache(4096)
def _read(file: str, changed: int, size: int) -> tuple[str, list[tuple[int, str]]]:
    """The hash of a file, and the names that it imports: of `from a import b` both a and a.b."""
    content = Path(file).read_bytes()
    digest, named = hashed(content).hex(), dict[tuple[int, str], None]()
    if file.endswith(".py"):
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.Import):
                named |= dict.fromkeys((0, alias.name) for alias in node.names)
            if isinstance(node, ast.ImportFrom):
                begin = f"{node.module}." if node.module else ""
                names = [begin.rstrip("."), *(begin + alias.name for alias in node.names)]
                named |= dict.fromkeys((node.level, name) for name in names if name)
    return digest, list(named)


def _unloaded(name: str) -> list[tuple[str, str]]:
    """The files of a module that is not loaded yet, as one that a function imports when it is called."""
    parent = name.rpartition(".")[0]
    while parent and parent not in sys.modules:  # to look within a package would import it
        name, parent = parent, parent.rpartition(".")[0]
    if hasattr(sys.modules.get(parent), name.rpartition(".")[2]):
        return []  # no module, but something within one
    spec = importlib.util.find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        return [] if spec is None or spec.origin is None else [(name, spec.origin)]
    folders = map(Path, spec.submodule_search_locations)
    return [(f"{name}/{path.name}", str(path)) for folder in folders for path in folder.rglob("*.py")]


def _place(spec: Any) -> str:
    """The path of a module; "" for one that is built in."""
    place = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
    return "" if place in ("built-in", "frozen") else place


@functools.lru_cache(4096)
def is_library_file(path: str) -> bool:
    """Whether a file is Python's, an installed package's or driftopt's; "" is one that is built in."""
    if not path or path.startswith("<frozen"):
        return True
    return any(Path(path).resolve().is_relative_to(folder) for folder in _installed())


@functools.cache
def _installed() -> tuple[Path, ...]:
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found = (Path(driftopt.__file__).parent, *named, *site.getsitepackages(), site.getusersitepackages())
    return tuple(dict.fromkeys(Path(path).resolve() for path in found))


@functools.cache
def _process_began() -> float:
    """When this process began, in seconds since 1970; where the system does not say, when this was loaded."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        alive = float(Path("/proc/uptime").read_text().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return _LOADED
    return time.time() - alive


_LOADED = time.time()
