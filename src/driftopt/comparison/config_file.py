"""A comparison from a short TOML file. Such a file is code: the modules that it names are imported and run.

budget = 2000
problem = "kink"                       # a name, or "module:attribute" in this folder
problem_options = { dim = 5 }
held_out = 20

[methods.zo-sph]
radius = [0.5, 1.0]
step = [0.01, 0.1]

A name "module:attribute" means a module in the file's folder, or in an installed package that the user has
allowed. It must be defined there: Problems, a factory of Problems, a noisy function, or a method. A name
decides which code is imported and run, so "os:system" is refused.
"""

import datetime
import functools
import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from driftopt import problems
from driftopt.problem import Problem

KEYS = (
    "problem",
    "problem_options",
    "methods",
    "budget",
    "development",
    "held_out",
    "x0",
    "bounds",
    "constraints",
    "grid",
    "evaluations",
    "evaluate_every",
    "settle",
    "version",
)
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
OWN = "driftopt"  # may be named without permission: its code runs anyway


@dataclass(frozen=True)
class Names:
    """The modules that a file may name: those in its folder, and packages that the user has allowed."""

    folder: Path
    allowed: tuple[str, ...] = ()

    def find(self, name: str) -> Any:
        """The object with this name.

        Raises:
            ValueError: there is none, or the file may not name it.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is not a 'module:attribute', such as shop:profit for profit in shop.py"
            )
        module, _, wanted = name.partition(":")
        package = module.partition(".")[0]
        here = self._in_folder(package)
        if not here and package not in (*self.allowed, OWN):
            raise ValueError(
                f"{name}: there is no {package}.py in {self.folder}. If {package} is an installed package "
                f"that you trust, allow it: --allow-module {package}"
            )
        folder = str(self.folder)
        sys.path.insert(0, folder)
        try:
            imported = importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise ValueError(f"{name}: {error}") from None
        finally:
            sys.path.remove(folder)
        if here and not _lies_in(imported, self.folder):
            raise ValueError(
                f"{name}: there is another module {package} ({getattr(imported, '__file__', 'built in')}); "
                f"rename {package} in {self.folder}"
            )
        try:
            thing = getattr(imported, wanted)
        except AttributeError:
            raise ValueError(f"{name}: the module {module} has no {wanted}") from None
        # Functions and classes must be defined in the module; other objects are the module's own.
        origin = thing
        while isinstance(origin, functools.partial):
            origin = origin.func
        home = getattr(origin, "__module__", None) if callable(origin) else imported.__name__
        owner = (home or "builtins").partition(".")[0]
        allowed = owner in (imported.__name__.partition(".")[0], OWN, *self.allowed)
        if not allowed and not (
            self._in_folder(owner) and _lies_in(sys.modules.get(home or ""), self.folder)
        ):
            raise ValueError(
                f"{name} is defined in {home or 'no module'}, not in a module of the file's folder or an "
                "allowed package; write a function of your own that calls it"
            )
        return thing

    def _in_folder(self, package: str) -> bool:
        return (self.folder / f"{package}.py").is_file() or (self.folder / package).is_dir()


def _lies_in(module: ModuleType | None, folder: Path) -> bool:
    paths = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return any(path and Path(path).resolve().is_relative_to(folder) for path in paths)


def read(path: str | Path, allow_modules: Sequence[str] = ()) -> dict[str, Any]:
    """The arguments of `compare` that a TOML file gives.

    Args:
        path: the file.
        allow_modules: installed packages that the file may name; modules in its folder need no permission.

    Raises:
        ValueError: the file is not a valid comparison, or names a module that is not allowed.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the file {path} is not valid TOML: {error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"the file {path} is not valid TOML: it is not written in UTF-8") from None
    except (FileNotFoundError, IsADirectoryError):
        raise FileNotFoundError(f"there is no file {path}") from None
    except OSError as error:
        raise ValueError(f"the file {path} cannot be read: {error.strerror}") from None
    if unknown := sorted(set(given) - set(KEYS)):
        raise ValueError(f"{path}: unknown {', '.join(unknown)}; a comparison has {', '.join(KEYS)}")
    if missing := [key for key in ("problem", "methods", "budget") if key not in given]:
        raise ValueError(f"{path}: {' and '.join(missing)} must be given")
    options = given.pop("problem_options", {})
    for key, table in (("methods", given["methods"]), ("problem_options", options)):
        if not isinstance(table, dict):
            raise ValueError(f"{path}: {key} must be a table, as in [methods.auto]; got {table!r}")
    if (version := given.get("version")) is not None:  # numbers and dates need no quotes in a file
        if isinstance(version, bool) or not isinstance(version, str | int | float | datetime.date):
            raise ValueError(
                f'{path}: version must be a text or a number, as in version = "2026-01"; got {version!r}'
            )
        given["version"] = str(version)
    names = Names(path.parent.resolve(), tuple(allow_modules))
    given["problem"] = problem(given["problem"], options, names, noisy="x0" in given)
    for label, numbers in given["methods"].items():
        if isinstance(numbers, dict) and ":" in str(numbers.get("method", "")):
            given["methods"][label] = {**numbers, "method": names.find(numbers["method"])}
    return given


def problem(name: Any, options: Mapping[str, Any], names: Names, *, noisy: bool) -> Any:
    """The problem with this name.

    "module:attribute" is a Problem, a list of Problems, a noisy function (where the file gives x0), or,
    without x0, a function that takes `problem_options` and returns Problems.
    """
    if not isinstance(name, str):
        raise ValueError(f"problem must be a name or 'module:attribute', got {name!r}")
    if ":" not in name:
        if name not in problems.names():
            known = ", ".join(problems.names())
            raise ValueError(f"unknown problem {name!r}; it is one of {known}, or 'module:attribute'")
        return problems.get(name, **options)
    found = names.find(name)
    if options and _is_problems(found):
        raise ValueError(f"{name} is already built: leave problem_options out")
    if options and noisy:
        raise ValueError(
            f"with x0, {name} is a noisy function of the decision, which takes no problem_options: leave x0 "
            "out if it returns Problems"
        )
    if _is_problems(found) or (noisy and callable(found)):
        return found
    if callable(found):
        try:
            inspect.signature(found).bind(**options)
        except (TypeError, ValueError) as error:
            raise ValueError(f"problem_options do not fit {name}: {error}") from None
        built = found(**options)
        if _is_problems(built):
            return built
        raise ValueError(
            f"{name} returned {built!r}: without x0 it must return a Problem or a list of them; give x0 in "
            "the file if it is a noisy function of the decision"
        )
    raise ValueError(f"{name} is {found!r}: expected a Problem, a list of them, or a function")


def _is_problems(found: Any) -> bool:
    """True for a Problem or a list of them."""
    several = found if isinstance(found, list | tuple) else [found]
    return bool(several) and all(isinstance(one, Problem) for one in several)
