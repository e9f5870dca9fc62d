"""Simulated problems whose exact objectives are known, by name or by class. Names load when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftopt.problems.pricing import Pricing
    from driftopt.problems.registry import Entry, describe, entry, get, names, register
    from driftopt.problems.strategic import StrategicClassification
    from driftopt.problems.synthetic import Kink, LocationShift, TwoWells, kink, location_shift, two_wells

__all__ = [
    "Entry",
    "Kink",
    "LocationShift",
    "Pricing",
    "StrategicClassification",
    "TwoWells",
    "describe",
    "entry",
    "get",
    "kink",
    "location_shift",
    "names",
    "register",
    "two_wells",
]

_HOMES = {
    "pricing": ["Pricing"],
    "registry": ["Entry", "describe", "entry", "get", "names", "register"],
    "strategic": ["StrategicClassification"],
    "synthetic": ["Kink", "LocationShift", "TwoWells", "kink", "location_shift", "two_wells"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'driftopt.problems' has no attribute {name!r}")
    return getattr(import_module(f"driftopt.problems.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
