"""Methods and problems that installed packages bring, found by their entry points.

A package names them in its pyproject.toml and needs no other step:

    [project.entry-points."driftopt.methods"]
    my-method = "my_package:build"

driftopt leaves out a plugin that cannot be loaded, and names it in one warning; everything else works. A
later request for it by name says why it is missing.
"""

import inspect
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import entry_points
from typing import Any, NamedTuple

__all__ = ["PluginWarning"]

OWN = "driftopt"  # the provider of this package's own methods and problems
SESSION = "this session"  # the provider of objects outside modules, as in a notebook


class PluginWarning(UserWarning):
    """A plugin of an installed package that cannot be used; the message says which and why."""


class Plugin(NamedTuple):
    """One method or problem of a package."""

    name: str
    provider: str  # the package's name, as it is installed
    value: Any


class Loaded(NamedTuple):
    """The plugins of a group, by name."""

    usable: dict[str, Any]
    left_out: dict[str, str]  # the package, and the reason


@cache
def loaded(group: str, accept: Callable[[Plugin], Any]) -> Loaded:
    """The result of `accept` for every plugin of a group; found and imported once a process."""
    kept, left_out = Loaded({}, {})
    providers: dict[str, str] = {}
    found = [(point, point.dist.name if point.dist else "?") for point in entry_points(group=group)]
    # In an order that does not depend on how folders are listed.
    for point, provider in sorted(found, key=lambda pair: (pair[1].lower(), pair[0].name)):
        what = f"{provider} offers {point.name!r} in {group}"
        if point.name in providers:
            _warn(f"{what}, which {providers[point.name]} brings too; the latter's is used")
            continue
        try:
            kept[point.name] = accept(Plugin(point.name, provider, point.load()))
            providers[point.name] = provider
        except Exception as error:  # a package's module may raise anything
            left_out[point.name] = f"{what}, but it cannot be used: {type(error).__name__}: {error}"
            _warn(f"{left_out[point.name]}; it is left out")
    return Loaded(kept, left_out)


def provider_of(thing: Any) -> str:
    """The name of the package that defines a function, a class or an object."""
    module = inspect.getmodule(thing)
    return SESSION if module is None else module.__name__.partition(".")[0]


def is_package(provider: str) -> bool:
    """True if the provider is a package that can be imported again; a script cannot."""
    return provider not in (SESSION, "__main__")


def brought_by(provider: str) -> str:
    """The source of a method or a problem, in words."""
    return f"package {provider}" if is_package(provider) else "registered by a script"


def first_line(thing: Any) -> str:
    """The first line of a thing's own docstring; empty without one.

    Python gives a dataclass without a docstring its signature, and a class without one that of its base.

    >>> first_line(first_line)
    "The first line of a thing's own docstring; empty without one."
    """
    thing = thing.func if isinstance(thing, partial) else thing
    if inspect.isroutine(thing):
        return (inspect.getdoc(thing) or "").partition("\n")[0]
    kind = thing if isinstance(thing, type) else type(thing)
    text = inspect.cleandoc(vars(kind).get("__doc__") or "").partition("\n")[0]
    return "" if text.startswith(f"{kind.__name__}(") else text


def _warn(sentence: str) -> None:
    warnings.warn(sentence, PluginWarning, stacklevel=6)
