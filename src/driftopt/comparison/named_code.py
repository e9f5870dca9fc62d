"""Code that a file names as "module:attribute": from its own folder, or from a package the user has allowed.

A name decides what is imported, and importing runs code. So driftopt imports only modules that lie in the
file's folder or are allowed, and the attribute must be defined there: "os:system" is refused.
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
        imported = self._import(name, module)
        try:
            thing = getattr(imported, wanted)
        except AttributeError:
            raise ValueError(f"{name}: the module {module} has no {wanted}") from None
        # Functions and classes must be defined in the module; other objects are the module's own.
        origin = thing
        while isinstance(origin, functools.partial):
            origin = origin.func
        home = getattr(origin, "__module__", None) if callable(origin) else imported.__name__
        package = (home or "builtins").partition(".")[0]
        allowed = package in (imported.__name__.partition(".")[0], OWN, *self.allowed)
        if not allowed and not (
            self._in_folder(package) and _lies_in(sys.modules.get(home or ""), self.folder)
        ):
            raise ValueError(
                f"{name} is defined in {home or 'no module'}, not in a module of the file's folder or an "
                "allowed package; write a function of your own that calls it"
            )
        return thing

    def _import(self, name: str, module: str) -> ModuleType:
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
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise ValueError(f"{name}: {error}") from None
        finally:
            sys.path.remove(folder)
        if here and not _lies_in(found, self.folder):
            raise ValueError(
                f"{name}: there is another module {package} ({getattr(found, '__file__', 'built in')}); "
                f"rename {package} in {self.folder}"
            )
        return found

    def _in_folder(self, package: str) -> bool:
        return (self.folder / f"{package}.py").is_file() or (self.folder / package).is_dir()


def _lies_in(module: ModuleType | None, folder: Path) -> bool:
    paths = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return any(path and Path(path).resolve().is_relative_to(folder) for path in paths)
