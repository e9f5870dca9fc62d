"""driftopt: optimisation when the decision changes the data.

Names load when first used, so that `driftopt --help` and `import driftopt` stay quick.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# The public names, one by one, and the module each lives in.
_HOMES = {
    "Method": "driftopt.method",
    "Query": "driftopt.method",
    "Problem": "driftopt.problem",
    "methods": "driftopt.methods",
    "problems": "driftopt.problems",
    "theory": "driftopt.theory",
    "Trace": "driftopt.simulation",
    "simulate": "driftopt.simulation",
    "simulate_many": "driftopt.simulation",
    "stack": "driftopt.simulation",
    "minimize": "driftopt.minimization",
    "scipy_method": "driftopt.minimization",
    "MinimizeError": "driftopt.minimization",
    "Study": "driftopt.study",
    "stationarity": "driftopt.stationarity",
    "sweep": "driftopt.sweep",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'driftopt' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return home if home.__name__ == f"driftopt.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
