"""What Python's code objects say of themselves: names, constants, closures, imports."""

import dis
import importlib.util
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from driftopt.runtime.libraries import is_library, is_library_file

_NAMELESS = (type(None), type(...), type(NotImplemented))  # Python's own, though `builtins` has no such names
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


def of_library(value: Any) -> bool:
    """Whether a function or class is a library's own: where its code lies, or what its module holds, says so.

    The name of its module alone does not: wrappers take over what they wrap, and a class typed into an empty
    namespace believes to be Python's.
    """
    if isinstance(value, types.FunctionType) and not value.__code__.co_filename.startswith("<string"):
        return is_library_file(value.__code__.co_filename)
    if not is_library(value.__module__):
        return False
    if value in _NAMELESS:
        return True
    found: Any = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value


def cells(function: Any) -> list[Any]:
    held: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not yet filled
            held.append(None)
    return held


def codes_within(code: Any) -> Iterator[Any]:
    """A function's code and that of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_within(constant)


def global_names(codes: Iterable[Any]) -> set[str]:
    """The names that code looks up among the globals; `co_names` holds those of attributes as well."""
    steps = (step for code in codes for step in dis.get_instructions(code))
    return {step.argval for step in steps if step.opname in _GLOBAL}


def functions_of(value: Any) -> Iterator[Any]:
    """A function, or those of a class."""
    held = vars(value).values() if isinstance(value, type) else [value]
    for one in held:
        for name in ("__func__", "fget", "__wrapped__"):
            one = getattr(one, name, one)
        if isinstance(one, types.FunctionType):
            yield one


def imports_of(codes: Iterable[Any], package: str) -> Iterator[str]:
    """The modules that the code imports when it runs; `from a import b` may mean a module a.b."""
    for code in codes:
        constants: list[Any] = [0, None]
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                level, names = constants[-2:]
                relative = "." * (level if isinstance(level, int) else 0) + str(step.argval)
                try:
                    name = importlib.util.resolve_name(relative, package)
                except ImportError:
                    continue
                yield name
                yield from (f"{name}.{one}" for one in names or () if f"{name}.{one}" in sys.modules)
            constants.append(step.argval if step.opname in ("LOAD_CONST", "LOAD_SMALL_INT") else 0)
