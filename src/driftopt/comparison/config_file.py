"""A comparison from a short TOML file.

budget = 2000
problem = "kink"                       # a name, or "module:attribute" beside the file
problem_options = { dim = 5 }
held_out = 20

[methods.zo-sph]
radius = [0.5, 1.0]
step = [0.01, 0.1]
"""

import importlib
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
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
    "evaluations",
    "evaluate_every",
)


def read(path: str | Path) -> dict[str, Any]:
    """The arguments of `compare` that a TOML file gives."""
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is no valid TOML: {error}") from None
    except (FileNotFoundError, IsADirectoryError):
        raise FileNotFoundError(f"there is no file {path}") from None
    if unknown := sorted(set(given) - set(KEYS)):
        raise ValueError(f"{path}: unknown {', '.join(unknown)}; a comparison has {', '.join(KEYS)}")
    if missing := [key for key in ("problem", "methods", "budget") if key not in given]:
        raise ValueError(f"{path}: {' and '.join(missing)} must be given")
    options = given.pop("problem_options", {})
    for key, table in (("methods", given["methods"]), ("problem_options", options)):
        if not isinstance(table, dict):
            raise ValueError(f"{path}: {key} must be a table, as in [methods.auto]; got {table!r}")
    given["problem"] = problem(given["problem"], options, path.parent, oracle="x0" in given)
    given["methods"] = {
        label: _method(parameters, path.parent) for label, parameters in given["methods"].items()
    }
    return given


def problem(name: Any, options: Mapping[str, Any], folder: Path, *, oracle: bool) -> Any:
    """The problem that a name stands for.

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
    found = attribute(name, folder)
    if isinstance(found, Problem | list | tuple) or oracle:
        return found
    if callable(found):
        return _call(name, found, options)
    raise ValueError(f"{name} is {found!r}: expected a Problem, a list of them, or a function")


def attribute(name: str, folder: Path) -> Any:
    """The attribute of a module, found beside the file or among the installed ones."""
    module, _, wanted = name.partition(":")
    where = str(folder.resolve())
    sys.path.insert(0, where)
    try:
        return getattr(importlib.import_module(module), wanted)
    except ModuleNotFoundError as error:
        raise ValueError(f"{name}: {error}; the module must be installed or lie in {where}") from None
    except AttributeError:
        raise ValueError(f"{name}: the module {module} has no {wanted or 'name after the colon'}") from None
    finally:
        sys.path.remove(where)


def _call(name: str, build: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    try:
        return build(**options)
    except TypeError as error:
        raise ValueError(f"problem_options do not fit {name}: {error}") from None


def _method(parameters: Any, folder: Path) -> Any:
    if isinstance(parameters, dict) and ":" in str(parameters.get("method", "")):
        return {**parameters, "method": attribute(parameters["method"], folder)}
    return parameters
