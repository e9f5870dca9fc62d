"""Code that a file names as "module:attribute": found beside the file, or in a package the user has allowed.

A name decides what is imported, and importing runs code. So nothing is imported before it is known to lie
beside the file or to be allowed, and what is found must be defined there: "os:system" is neither.
"""

import functools
import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
OWN = "driftopt"  # may be named without permission: its code runs anyway


@dataclass(frozen=True)
class Names:
    """Where a file's names may lead: modules in its folder, and packages that the user has allowed."""

    folder: Path
    allowed: tuple[str, ...] = ()

    def find(self, name: str) -> Any:
        """What the name stands for.

        Raises:
            ValueError: it leads elsewhere, or to nothing.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no 'module:attribute', such as shop:profit for profit in shop.py")
        module, _, wanted = name.partition(":")
        found = self._import(name, module)
        try:
            thing = getattr(found, wanted)
        except AttributeError:
            raise ValueError(f"{name}: the module {module} has no {wanted}") from None
        self._check_home(name, found, thing)
        return thing

    def _import(self, name: str, module: str) -> ModuleType:
        package = module.partition(".")[0]
        beside = self._is_beside(package)
        if not beside and package not in (*self.allowed, OWN):
            raise ValueError(
                f"{name}: there is no {package}.py in {self.folder}. If {package} is an installed package "
                f"that you trust, allow it: --allow-module {package}"
            )
        where = str(self.folder)
        sys.path.insert(0, where)
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise ValueError(f"{name}: {error}") from None
        finally:
            sys.path.remove(where)
        if beside and not _lies_in(found, self.folder):
            raise ValueError(
                f"{name}: another module is called {package} too ({getattr(found, '__file__', 'built in')}); "
                f"rename {package} in {self.folder}"
            )
        return found

    def _is_beside(self, package: str) -> bool:
        return (self.folder / f"{package}.py").is_file() or (self.folder / package).is_dir()

    def _check_home(self, name: str, module: ModuleType, thing: Any) -> None:
        """Functions and classes must be defined where the name points; other objects are the module's own."""
        while isinstance(thing, functools.partial):
            thing = thing.func
        home = getattr(thing, "__module__", None) if callable(thing) else module.__name__
        package = (home or "builtins").partition(".")[0]
        if package in (module.__name__.partition(".")[0], OWN, *self.allowed):
            return
        if self._is_beside(package) and _lies_in(sys.modules.get(home or ""), self.folder):
            return
        raise ValueError(
            f"{name} is defined in {home or 'no module'}, not in a module beside the file or an allowed "
            "package; write a function of your own that calls it"
        )


def _lies_in(module: ModuleType | None, folder: Path) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return any(place and Path(place).resolve().is_relative_to(folder) for place in places)
