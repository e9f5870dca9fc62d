"""Methods and problems that installed packages bring, found by their entry points.

A package names them in its pyproject.toml and needs no other step:

    [project.entry-points."driftopt.methods"]
    my-method = "my_package:build"

What cannot be loaded is named in a warning, once, and left out; everything else goes on.
"""

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

OWN = "driftopt"  # the provider of what comes with this package


class PluginWarning(UserWarning):
    """An installed package offers something that cannot be used; the message says which and why."""


class Plugin(NamedTuple):
    """One thing that a package brings."""

    name: str
    provider: str  # the package's name, as it is installed
    value: Any


@cache
def loaded(group: str, accept: Callable[[Plugin], Any]) -> dict[str, Any]:
    """What `accept` makes of every plugin of a group, by name; found and imported once a process."""
    kept: dict[str, Any] = {}
    providers: dict[str, str] = {}
    for point, provider in _points(group):
        what = f"{provider} offers {point.name!r} in {group}"
        if point.name in providers:
            _left_out(f"{what}, which {providers[point.name]} brings too; the latter's is used")
            continue
        try:
            kept[point.name] = accept(Plugin(point.name, provider, point.load()))
            providers[point.name] = provider
        except Exception as error:  # anything may go wrong in another's module
            _left_out(f"{what}, but it cannot be used: {type(error).__name__}: {error}; it is left out")
    return kept


def provider_of(thing: Any) -> str:
    """The package that defines a function, a class or an object: where to look for what was registered."""
    module = inspect.getmodule(thing)
    return "this session" if module is None else module.__name__.partition(".")[0]


def _points(group: str) -> Iterator[tuple[EntryPoint, str]]:
    """In an order that does not depend on how folders are listed."""
    found = [(point, point.dist.name if point.dist else "?") for point in entry_points(group=group)]
    yield from sorted(found, key=lambda pair: (pair[1].lower(), pair[0].name))


def _left_out(sentence: str) -> None:
    warnings.warn(sentence, PluginWarning, stacklevel=6)
