"""What a Python object can reach, as one hash: its code, the code it calls, and the values these refer to.

From a function the walk follows its defaults, closure and attributes, the globals its code names, the
attributes it names of modules, the modules it imports, and so on from there. Objects count by their class
and state. Libraries (the standard one, whatever is installed) count by name and version; of every other
module that is reached, the code of all functions counts, called or not. The walk looks at what is in memory,
which is what will run, not at files that may have been edited since.

A function can depend on what no walk finds: a file it reads, a service it asks. Those need a version by hand.
"""

import copyreg
import functools
import importlib.util
import random
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.runtime import code_objects
from driftopt.runtime.hashing import hashed, without_addresses
from driftopt.runtime.libraries import is_library, version_of
from driftopt.runtime.object_state import defined_in, fields_of, is_found, says_itself

MOST = 1_000_000  # objects that are looked at before the walk gives up
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), type(NotImplemented))
_LOCKS = (type(threading.Lock()), type(threading.RLock()))  # they hold nothing but a moment
# The generators behind np.random.normal and random.random: another state in every process, and meant so.
_CHANCE = (np.random.mtrand._rand, random._inst)  # pyright: ignore
# Wrappers that add nothing to what they wrap but speed.
_TRANSPARENT = (type(jax.jit(lambda: None)), type(functools.lru_cache(lambda: None)))
_QUOTED = (*_PLAIN, np.ndarray, types.FunctionType, types.ModuleType, type)


class Reached(NamedTuple):
    """What a walk found: the hash, and what it could not see into."""

    digest: str
    unseen: tuple[str, ...] = ()


def reach(*roots: Any) -> Reached:
    """The hash of everything that the objects can reach, and the names of what cannot be seen.

    >>> reach(lambda x: x + 1).digest == reach(lambda x: x + 2).digest
    False
    """
    walk = _Walk()
    try:
        found = [walk.digest(root, "it") for root in roots]
        # The list grows meanwhile: a module may lead to others.
        found += [walk.whole_module(module) for module in walk.modules]
        return Reached(hashed("roots", *found, *walk.modules).hex(), tuple(dict.fromkeys(walk.unseen)))
    except RecursionError:
        return Reached("", ("it is nested too deeply",))


class _Walk:
    """Hashes of objects, each computed once; equal content has equal hashes, shared or not."""

    def __init__(self) -> None:
        self.known: dict[int, bytes] = {}
        self.open: dict[int, int] = {}  # objects whose hash is being computed, with their depth
        self.alive: list[Any] = []  # so that no id is used twice
        self.modules: list[str] = []  # of users, that were reached
        self.unseen: list[str] = []

    def digest(self, value: Any, where: str) -> bytes:
        kind: Any = type(value)
        if kind in _PLAIN:
            return hashed(kind.__name__, repr(value))
        if id(value) in self.known:
            return self.known[id(value)]
        if id(value) in self.open:
            return hashed("cycle", str(len(self.open) - self.open[id(value)]))
        if len(self.alive) >= MOST:
            self.unseen.append(f"{where}: more than {MOST:,} objects can be reached")
            return hashed("too many")
        self.alive.append(value)
        self.open[id(value)] = len(self.open)
        try:
            found = self._look(value, kind, where)
        finally:
            del self.open[id(value)]
        self.known[id(value)] = found
        return found

    def _look(self, value: Any, kind: Any, where: str) -> bytes:
        for types_, look in _LOOKS:
            if isinstance(value, types_):
                return look(self, value, where)
        if kind in _LOCKS or any(value is one for one in _CHANCE):
            return hashed(_name(kind))
        if kind in _TRANSPARENT and hasattr(value, "__wrapped__"):
            return hashed("wrapper", _name(kind), self.digest(value.__wrapped__, where))
        return self._state(value, kind, where)

    def _all(self, values: Iterable[Any], where: str) -> list[bytes]:
        return [self.digest(value, where) for value in values]

    def _pairs(self, items: Iterable[tuple[Any, Any]], where: str) -> list[bytes]:
        return [self.digest(part, f"{where}.{key}") for key, value in items for part in (key, value)]

    def sequence(self, value: Any, where: str) -> bytes:
        if type(value) not in (tuple, list) and not hasattr(value, "_fields"):
            return self._state(value, type(value), where)
        return hashed(_name(type(value)), *self._all(value, where))

    def mapping(self, value: Any, where: str) -> bytes:
        if type(value) is not dict:
            return self._state(value, type(value), where)
        return hashed("dict", *self._pairs(value.items(), where))

    def unordered(self, value: Any, where: str) -> bytes:
        return hashed(_name(type(value)), *sorted(self._all(value, where)))

    def array(self, value: Any, where: str) -> bytes:
        if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            value = jax.random.key_data(value)
        plain = isinstance(value, jax.Array | np.memmap) or type(value) is np.ndarray
        # A masked array has its mask among its fields.
        more = [] if plain else self._all((type(value), fields_of(value)), where)
        array = np.asarray(value)
        kind = f"{array.dtype.descr if array.dtype.names else array.dtype} {array.shape}"
        if array.dtype.hasobject:
            return hashed("array", kind, *more, *self._all(array.ravel().tolist(), where))
        return hashed("array", kind, *more, np.ascontiguousarray(array).tobytes())

    def enter(self, module: str) -> None:
        if module not in self.modules:
            self.modules.append(module)

    def module(self, value: Any, where: str) -> bytes:
        if is_library(value.__name__):
            return hashed("library", value.__name__, version_of(value.__name__))
        self.enter(value.__name__)
        return hashed("module", value.__name__)

    def function(self, value: Any, where: str) -> bytes:
        held = code_objects.cells(value)
        parts = [
            *self._all((value.__defaults__, value.__kwdefaults__), where),
            *self._pairs(zip(value.__code__.co_freevars, held, strict=True), where),
            *self._pairs(sorted(vars(value).items()), where),
        ]
        if code_objects.of_library(value):  # a library's decorator still holds what it decorates
            name = f"{value.__module__}.{value.__qualname__}"
            return hashed("library", name, version_of(value.__module__), *parts)
        if value.__module__ in sys.modules:
            self.enter(value.__module__)
        where = f"{where} → {value.__name__}" if value.__name__ != where else where
        return hashed("function", *parts, self.code(value.__code__), *self._named(value, where))

    def _named(self, function: Any, where: str) -> Iterator[bytes]:
        """The globals and modules that a function's code names."""
        codes = list(code_objects.codes_within(function.__code__))
        named = code_objects.global_names(codes)
        attributes = {name for code in codes for name in code.co_names}
        quoted = {c for code in codes for c in code.co_consts if isinstance(c, str) and c.isidentifier()}
        space = function.__globals__
        # A quoted word may be a name: getattr(module, "word").
        words = named | {word for word in quoted & space.keys() if isinstance(space[word], _QUOTED)}
        for name in sorted(words & space.keys()):
            yield self._global(name, space[name], attributes | quoted, f"{where}: {name}")
        for name in code_objects.imports_of(codes, space.get("__package__") or space.get("__name__", "")):
            yield self._import(name, attributes, where)

    def _global(self, name: str, value: Any, named: set[str], where: str) -> bytes:
        named_of_it = self._attributes(value, named, where) if isinstance(value, types.ModuleType) else b""
        return hashed("global", name, self.digest(value, where), named_of_it)

    def _attributes(self, module: Any, named: set[str], where: str, seen: tuple[str, ...] = ()) -> bytes:
        """Those attributes of a module of the user's that the code names."""
        if is_library(module.__name__) or module.__name__ in seen:
            return b""
        found: list[bytes] = []
        for name in sorted(named & vars(module).keys()):
            value = vars(module)[name]
            found += [hashed(name), self.digest(value, f"{where}.{name}")]
            if isinstance(value, types.ModuleType):
                found.append(self._attributes(value, named, f"{where}.{name}", (*seen, module.__name__)))
        return hashed("attributes", *found)

    def _import(self, name: str, named: set[str], where: str) -> bytes:
        """A module imported within a function: as it is in memory, else the text that will be loaded."""
        if is_library(name):
            return hashed("library", name, version_of(name))
        if (module := sys.modules.get(name)) is not None:
            return hashed(self.module(module, where), self._attributes(module, named, f"{where}: {name}"))
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            spec = None
        if spec is None or spec.origin is None or not Path(spec.origin).is_file():
            return hashed("absent", name)
        return hashed("text", name, Path(spec.origin).read_bytes())

    def whole_module(self, name: str) -> bytes:
        """The code, not the values, of all functions and classes of a module; and what it imports."""
        if name in ("__main__", "__mp_main__") or (module := sys.modules.get(name)) is None:
            return b""
        found: list[bytes] = []
        for key, value in sorted(vars(module).items(), key=lambda item: item[0]):
            if isinstance(value, types.ModuleType):
                found.append(self.module(value, name))
            elif getattr(value, "__module__", None) == name:
                found += [hashed(key), *(self.code(f.__code__) for f in code_objects.functions_of(value))]
            elif isinstance(value, type | types.FunctionType) and not is_library(value.__module__):
                self.enter(value.__module__)  # from … import …
        return hashed("whole", name, *found)

    def code(self, code: Any) -> bytes:
        """Instructions, names and constants, without file names and line numbers."""
        constants = [
            self.code(c) if isinstance(c, types.CodeType) else self.digest(c, "a constant")
            for c in code.co_consts
        ]
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        table = getattr(code, "co_exceptiontable", b"")
        return hashed("code", code.co_code, table, repr(names), repr(counts), *constants)

    def bound(self, value: Any, where: str) -> bytes:
        return hashed("method", *self._all((value.__func__, value.__self__), where))

    def builtin(self, value: Any, where: str) -> bytes:
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            module = value.__module__ or getattr(owner, "__name__", "")
            return hashed("builtin", module, value.__qualname__, version_of(module))
        return hashed("builtin method", value.__name__, self.digest(owner, where))

    def partial(self, value: Any, where: str) -> bytes:
        return hashed("partial", *self._all((value.func, value.args, value.keywords, vars(value)), where))

    def descriptor(self, value: Any, where: str) -> bytes:
        held = [getattr(value, name, None) for name in ("__func__", "fget", "fset", "fdel", "func")]
        return hashed(_name(type(value)), *self._all(held, where))

    def kind(self, value: Any, where: str) -> bytes:
        if code_objects.of_library(value):
            return hashed("library", _name(value), version_of(value.__module__))
        if value.__module__ in sys.modules:
            self.enter(value.__module__)
        return hashed(
            "class",
            value.__qualname__,
            *self._all((type(value), *value.__bases__), where),
            *self._pairs(defined_in(value), where),
        )

    def _state(self, value: Any, kind: Any, where: str) -> bytes:
        """An object by its class, what pickle would keep of it, and what its class has pickle leave out."""
        try:
            reducer: Callable[[Any], Any] | None = copyreg.dispatch_table.get(kind)
            reduced = value.__reduce_ex__(4) if reducer is None else reducer(value)
        except Exception:
            self.unseen.append(f"{where} ({_name(kind)}), whose state cannot be seen")
            return hashed("unseen", _name(kind))
        held = [self.digest(fields_of(value), where)] if says_itself(kind) else []
        if isinstance(reduced, str):
            if not is_found(value, reduced):
                self.unseen.append(f"{where} ({_name(kind)}), which no module has under its name")
            return hashed("named", _name(kind), reduced, version_of(kind.__module__), *held)
        maker, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        listed = [None if part is None else list(part) for part in (items, pairs)]
        return hashed("object", *self._all((kind, maker, arguments, state, *listed), where), *held)


_LOOKS: tuple[tuple[Any, Callable[[_Walk, Any, str], bytes]], ...] = (
    (np.ndarray | np.generic | jax.Array, _Walk.array),
    (types.FunctionType, _Walk.function),
    (types.MethodType, _Walk.bound),
    (types.BuiltinFunctionType, _Walk.builtin),
    (types.ModuleType, _Walk.module),
    (types.CodeType, lambda walk, value, _: walk.code(value)),
    (functools.partial, _Walk.partial),
    (staticmethod | classmethod | property | functools.cached_property, _Walk.descriptor),
    (type, _Walk.kind),
    (tuple | list, _Walk.sequence),
    (dict, _Walk.mapping),
    (set | frozenset, _Walk.unordered),
    (
        jax.tree_util.PyTreeDef,
        lambda walk, value, _: hashed(without_addresses(str(value))),
    ),
    (bytearray | memoryview, lambda walk, value, _: hashed("bytes", bytes(value))),
)


def _name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
