"""Packages that the core install does without: imported where needed, or a sentence how to get them."""

from importlib import import_module
from typing import Any


class MissingPackage(ModuleNotFoundError):
    """A package that is needed here is not installed; the message says how to get it."""


def package(name: str, extra: str | None, what: str) -> Any:
    """The package `name`, which `what` needs and driftopt's `extra` brings.

    >>> package("no_such_package", "report", "Trace.frame()")
    Traceback (most recent call last):
    driftopt.packages.MissingPackage: Trace.frame() needs no_such_package: pip install 'driftopt[report]'
    """
    try:
        return import_module(name)
    except ModuleNotFoundError:
        wanted = name if extra is None else f"'driftopt[{extra}]'"
        raise MissingPackage(f"{what} needs {name}: pip install {wanted}", name=name) from None
