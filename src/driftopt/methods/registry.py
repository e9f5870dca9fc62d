"""Methods by name: driftopt's own, those of installed packages, and those registered in this session."""

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from driftopt import checks, plugins
from driftopt.method import Method, check_method
from driftopt.methods.entry import EXAMPLES, Entry, entry_of

# The files that end in ENTRIES, in the order of every list. A file loads when a name is asked for that is in
# none of the files before it.
_OF_VALUES = ["walk", "o2nc", "sgd", "ogvr", "guided", "dfo", "epoch", "gfm", "same_sample", "hlf"]
FILES = [*_OF_VALUES, "repeated", "performative", "plug_in", "confidence"]
GROUP = f"{plugins.OWN}.methods"  # of entry points
_REGISTERED: dict[str, Entry] = {}  # while the program runs


def register(
    name: str,
    build: Callable[..., Method] | Entry,
    *,
    summary: str = "",
    example: Mapping[str, Any] | None = None,
) -> None:
    """Give a method of your own a name, for `minimize`, `compare`, `sweep` and `Study`.

    An installed package names its methods as entry points of the group "driftopt.methods" instead, and they
    are there without a call. A name given in this session may be given again: a notebook's cell runs twice.

    Args:
        name: letters, digits, dots, dashes and underscores.
        build: a function whose parameters are the method's, or the Method class itself.
        summary: the method in a line; by default the first line of `build`'s docstring.
        example: numbers that run anywhere, for the parameters that have no default.

    Raises:
        ValueError: the name is driftopt's own or an installed package's.
    """
    checks.plain_name("name", name)
    if _own(name) or name in _plugins():
        raise ValueError(
            f"{name!r} is a method of {entry(name).provider} already; choose another name for yours"
        )
    provider = plugins.provider_of(build.build if isinstance(build, Entry) else build)
    line = entry_of(build, provider, summary, example)
    if example is not None:
        try:
            line.built(**line.example)
        except Exception as error:
            raise ValueError(f"example must hold numbers that build the method: {error}") from error
    _REGISTERED[name] = line


def names() -> tuple[str, ...]:
    """Every method's name: driftopt's own, those of installed packages, those registered in this session."""
    own = (name for file in FILES for name in _entries_in(file))
    return (*own, *_plugins(), *_REGISTERED)


def entry(name: str, provider: str | None = None) -> Entry:
    """A method's entry in the registry.

    Args:
        name: one of `names()`.
        provider: the package that brought the method when it was chosen, to be named if it is missing now.

    Raises:
        ValueError: for an unknown name; the message lists near ones, or the package that brings it.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"a method's name must be a word, one of {', '.join(names())}; got {checks.brief(name)}"
        )
    if provider is not None and not isinstance(provider, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"provider must be the name of a package, or None; got {checks.brief(provider)}")
    # driftopt's own methods first: they are found without loading the installed packages.
    line = _own(name) or _REGISTERED.get(name) or _plugins().get(name)
    if line is not None:
        return line
    if (why := plugins.loaded(GROUP, _accepted).left_out.get(name)) is not None:
        raise ValueError(f"method {name!r} is not there: {why}")
    if provider is not None and not plugins.is_package(provider):
        raise ValueError(
            f"method {name!r} is not there: a script gave it that name with driftopt.methods.register, and "
            "no package brings it. Run or import that script first, or make a package of the method"
        )
    if provider not in (None, plugins.OWN):
        raise ValueError(
            f"method {name!r} is not there: {provider} brings it. Install that package, or import it where "
            "it registers its methods itself"
        )
    near = difflib.get_close_matches(str(name), ("auto", *names()), n=3, cutoff=0.3)
    raise ValueError(f"unknown method {name!r}; did you mean {', '.join(near or names())}?")


def describe() -> dict[str, str]:
    """The summary of each method, by name."""
    return {name: entry(name).summary for name in names()}


def get(name: str, **params: Any) -> Method:
    """Build a method. A number may be an array: one run for each of its elements.

    Args:
        name: one of `names()`.
        params: the method's numbers by name; `driftopt methods NAME` lists them.

    >>> get("zo-o2nc-2pt", radius=0.5, step=1e-3, block=10, batch=5).queries(dim=12)
    10
    """
    line = entry(name)
    unknown = sorted(set(params) - set(line.parameters))
    if unknown:
        raise ValueError(
            f"{name} has no parameter {', '.join(unknown)}; it takes {', '.join(line.parameters)}"
        )
    if missing := [p for p in line.parameters if p not in line.defaults and p not in params]:
        raise ValueError(f"{name} needs {' and '.join(missing)}")
    return check_method(line.built(**params))


def tried(name: str, params: Mapping[str, Any], radius: Any = None) -> Method:
    """The method with the user's numbers and example numbers for the others, to find out what it sees.

    Args:
        params: the user's numbers by name, without the radius.
        radius: the user's radius; one with a number for each coordinate is not used.

    Raises:
        ValueError: a needed parameter is neither given nor has an example.
    """
    line = entry(name)
    needed = {p: one for p, one in {**EXAMPLES, **line.example}.items() if p in line.parameters}
    numbers = {p: one for p, one in needed.items() if p not in line.defaults} | dict(params)
    if radius is not None and not np.ndim(radius) and "radius" in line.parameters:
        numbers["radius"] = radius
    return get(name, **numbers)


def _entries_in(file: str) -> dict[str, Entry]:
    return import_module(f"driftopt.methods.{file}").ENTRIES


def _own(name: str) -> Entry | None:
    """driftopt's own entry of that name; "auto", where it is a sequential method, is the walk."""
    name = "walk" if name == "auto" else name
    return next((found for file in FILES if (found := _entries_in(file).get(name))), None)


def _plugins() -> dict[str, Entry]:
    return plugins.loaded(GROUP, _accepted).usable


def _accepted(plugin: plugins.Plugin) -> Entry:
    checks.plain_name("its name", plugin.name)
    if _own(plugin.name):
        raise ValueError("driftopt has a method of that name itself")
    return entry_of(plugin.value, plugin.provider)
