"""driftopt: optimisation when the decision changes the data.

Names load when first used, so that `driftopt --help` and `import driftopt` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftopt import data, methods, problems, pytree, stationarity, sweep, theory
    from driftopt.answers.covariates import season
    from driftopt.answers.effects import CovariateWarning
    from driftopt.comparison.comparison import compare
    from driftopt.drivers.function_run import MinimizeError, MinimizeInterrupted
    from driftopt.drivers.minimization import minimize, scipy_method
    from driftopt.drivers.problem_check import check
    from driftopt.drivers.result import MinimizeResult
    from driftopt.drivers.simulation import simulate, simulate_many
    from driftopt.drivers.stack import Stack, stack
    from driftopt.drivers.trace import Trace
    from driftopt.method import Method
    from driftopt.problem import Problem
    from driftopt.study import Study

__version__ = "0.1.0"

__all__ = [
    "CovariateWarning",
    "Method",
    "MinimizeError",
    "MinimizeInterrupted",
    "MinimizeResult",
    "Problem",
    "Stack",
    "Study",
    "Trace",
    "__version__",
    "check",
    "compare",
    "data",
    "methods",
    "minimize",
    "problems",
    "pytree",
    "scipy_method",
    "season",
    "simulate",
    "simulate_many",
    "stack",
    "stationarity",
    "sweep",
    "theory",
]

_HOMES = {
    "driftopt.answers.effects": ["CovariateWarning"],
    "driftopt.answers.covariates": ["season"],
    "driftopt.comparison.comparison": ["compare"],
    "driftopt.method": ["Method"],
    "driftopt.drivers.function_run": ["MinimizeError", "MinimizeInterrupted"],
    "driftopt.drivers.minimization": ["minimize", "scipy_method"],
    "driftopt.problem": ["Problem"],
    "driftopt.drivers.result": ["MinimizeResult"],
    "driftopt.drivers.problem_check": ["check"],
    "driftopt.drivers.simulation": ["simulate", "simulate_many"],
    "driftopt.drivers.stack": ["Stack", "stack"],
    "driftopt.drivers.trace": ["Trace"],
    "driftopt.study": ["Study"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'driftopt' has no attribute {name!r}")
    from driftopt.packages import needs_jax

    with needs_jax(f"driftopt.{name}"):
        home = import_module(_HOME_OF.get(name, f"driftopt.{name}"))
    found = globals()[name] = getattr(home, name) if name in _HOME_OF else home
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
