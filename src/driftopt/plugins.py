"""Methods and problems that installed packages bring, found by their entry points.

A package names them in its pyproject.toml and needs no other step:

    [project.entry-points."driftopt.methods"]
    my-method = "my_package:build"

What cannot be loaded is named in a warning, once, and left out; everything else goes on. Whoever asks for it
by name later is told why it is not there.
"""

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

__all__ = ["PluginWarning"]

OWN = "driftopt"  # the provider of what comes with this package
SESSION = "this session"  # of what is in no module, as in a notebook


class PluginWarning(UserWarning):
    """An installed package offers something that cannot be used; the message says which and why."""


class Plugin(NamedTuple):
    """One thing that a package brings."""

    name: str
    provider: str  # the package's name, as it is installed
    value: Any


class Loaded(NamedTuple):
    """What the plugins of a group came to, by name."""

    usable: dict[str, Any]
    left_out: dict[str, str]  # which package offers it, and what is wrong with it


@cache
def loaded(group: str, accept: Callable[[Plugin], Any]) -> Loaded:
    """What `accept` makes of every plugin of a group; found and imported once a process."""
    kept, left_out = Loaded({}, {})
    providers: dict[str, str] = {}
    for point, provider in _points(group):
        what = f"{provider} offers {point.name!r} in {group}"
        if point.name in providers:
            _warn(f"{what}, which {providers[point.name]} brings too; the latter's is used")
            continue
        try:
            kept[point.name] = accept(Plugin(point.name, provider, point.load()))
            providers[point.name] = provider
        except Exception as error:  # anything may go wrong in another's module
            left_out[point.name] = f"{what}, but it cannot be used: {type(error).__name__}: {error}"
            _warn(f"{left_out[point.name]}; it is left out")
    return Loaded(kept, left_out)


def provider_of(thing: Any) -> str:
    """The package that defines a function, a class or an object: where to look for what was registered."""
    module = inspect.getmodule(thing)
    return SESSION if module is None else module.__name__.partition(".")[0]


def is_package(provider: str) -> bool:
    """Whether what was registered can be found again by a package's name; a script has none."""
    return provider not in (SESSION, "__main__")


def brought_by(provider: str) -> str:
    """Where a method or a problem comes from, in words."""
    return f"package {provider}" if is_package(provider) else "registered by a script"


def first_line(thing: Any) -> str:
    """The first line of the docstring that its author wrote; empty where there is none.

    A dataclass without one is given its signature by Python, and a class that of the class above it.

    >>> first_line(first_line)
    'The first line of the docstring that its author wrote; empty where there is none.'
    """
    thing = thing.func if isinstance(thing, partial) else thing
    if inspect.isroutine(thing):
        return (inspect.getdoc(thing) or "").partition("\n")[0]
    kind = thing if isinstance(thing, type) else type(thing)
    text = inspect.cleandoc(vars(kind).get("__doc__") or "").partition("\n")[0]
    return "" if text.startswith(f"{kind.__name__}(") else text


def _points(group: str) -> Iterator[tuple[EntryPoint, str]]:
    """In an order that does not depend on how folders are listed."""
    found = [(point, point.dist.name if point.dist else "?") for point in entry_points(group=group)]
    yield from sorted(found, key=lambda pair: (pair[1].lower(), pair[0].name))


def _warn(sentence: str) -> None:
    warnings.warn(sentence, PluginWarning, stacklevel=6)
