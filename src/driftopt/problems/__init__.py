"""Simulated problems whose exact objectives are known. Names load when first used."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Pricing": "driftopt.problems.pricing",
    "StrategicClassification": "driftopt.problems.strategic",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'driftopt.problems' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
