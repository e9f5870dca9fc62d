"""Simulated problems whose exact objectives are known. Names load when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftopt.problems.pricing import Pricing
    from driftopt.problems.strategic import StrategicClassification
    from driftopt.problems.synthetic import Kink, LocationShift, TwoWells, kink, location_shift, two_wells

__all__ = [
    "Kink",
    "LocationShift",
    "Pricing",
    "StrategicClassification",
    "TwoWells",
    "kink",
    "location_shift",
    "two_wells",
]

_HOMES = {"Pricing": "pricing", "StrategicClassification": "strategic"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'driftopt.problems' has no attribute {name!r}")
    return getattr(import_module(f"driftopt.problems.{_HOMES.get(name, 'synthetic')}"), name)


def __dir__() -> list[str]:
    return list(__all__)
