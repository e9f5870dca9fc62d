"""Simulated problems whose exact objectives are known, by name or by class. Names load when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftopt.packages import needs_jax

if TYPE_CHECKING:
    from driftopt.problems.credit_shift import CreditShift
    from driftopt.problems.on_grid import OnGrid
    from driftopt.problems.parking_fees import Parking, parking
    from driftopt.problems.pricing import Pricing
    from driftopt.problems.pricing_gaussian import AR1Pricing, GaussianPricing, ar1_pricing, gaussian_pricing
    from driftopt.problems.registry import Entry, Known, describe, entry, get, names, register
    from driftopt.problems.regression import PerformativeRegression, performative_regression
    from driftopt.problems.scalar_location import (
        LineLocation,
        MixtureLocation,
        RootLocation,
        line_location,
        mixture_location,
        root_location,
    )
    from driftopt.problems.strategic import StrategicClassification
    from driftopt.problems.synthetic import Kink, LocationShift, TwoWells, kink, location_shift, two_wells

__all__ = [
    "AR1Pricing",
    "CreditShift",
    "Entry",
    "GaussianPricing",
    "Kink",
    "Known",
    "LineLocation",
    "LocationShift",
    "MixtureLocation",
    "OnGrid",
    "Parking",
    "PerformativeRegression",
    "Pricing",
    "RootLocation",
    "StrategicClassification",
    "TwoWells",
    "ar1_pricing",
    "describe",
    "entry",
    "gaussian_pricing",
    "get",
    "kink",
    "line_location",
    "location_shift",
    "mixture_location",
    "names",
    "parking",
    "performative_regression",
    "register",
    "root_location",
    "two_wells",
]

_HOMES = {
    "credit_shift": ["CreditShift"],
    "on_grid": ["OnGrid"],
    "parking_fees": ["Parking", "parking"],
    "pricing": ["Pricing"],
    "pricing_gaussian": ["AR1Pricing", "GaussianPricing", "ar1_pricing", "gaussian_pricing"],
    "registry": ["Entry", "Known", "describe", "entry", "get", "names", "register"],
    "regression": ["PerformativeRegression", "performative_regression"],
    "scalar_location": [
        "LineLocation",
        "MixtureLocation",
        "RootLocation",
        "line_location",
        "mixture_location",
        "root_location",
    ],
    "strategic": ["StrategicClassification"],
    "synthetic": ["Kink", "LocationShift", "TwoWells", "kink", "location_shift", "two_wells"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'driftopt.problems' has no attribute {name!r}")
    with needs_jax(f"driftopt.problems.{name}"):
        return getattr(import_module(f"driftopt.problems.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
