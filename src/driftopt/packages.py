"""Packages outside the core install: imported when needed, or a message how to install them."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from typing import Any

REPORT = ("polars", "jinja2", "matplotlib")  # tables, pictures and pages need them
INSTALL_REPORT = "pip install 'driftopt[report]'"


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


@contextmanager
def needs_jax(what: str) -> Generator[None]:
    """A block that imports JAX, which live studies and the model do without."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise
        raise MissingPackage(f"{what} needs JAX: pip install 'driftopt[simulate]'", name="jax") from None


def missing_report_packages() -> list[str]:
    """The packages that tables, pictures and pages need and that are not installed."""
    return [name for name in REPORT if find_spec(name) is None]


def require_report_packages(what: str) -> None:
    """Refuse to begin what could not be written at the end.

    Raises:
        ValueError: some are missing; the message has the command that installs them.
    """
    if missing := missing_report_packages():
        listed = " and ".join([", ".join(missing[:-1]), missing[-1]] if len(missing) > 1 else missing)
        raise ValueError(f"{what} needs {listed} for its files; install with: {INSTALL_REPORT}")


@cache
def installed_version(name: str) -> str:
    """The version of the library that is imported by this name, loaded or not; "" if there is none."""
    try:
        return version(name)
    except PackageNotFoundError:  # skopt, say, is installed as scikit-optimize
        return " ".join(sorted(version(one) for one in packages_distributions().get(name, ())))
