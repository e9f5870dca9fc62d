"""Optimisers of other libraries for `compare`: a small adapter for each, and one for your own."""

from collections.abc import Mapping

from driftopt.outside.ask_tell import AskTell
from driftopt.outside.cma_es import CMA, AdaptedCMA
from driftopt.outside.contract import Outside, World
from driftopt.outside.model_search import ModelSearch
from driftopt.outside.nevergrad_registry import Nevergrad
from driftopt.outside.optuna_samplers import Optuna
from driftopt.outside.scipy_minimize import SciPy
from driftopt.outside.skopt_gp import GaussianProcess

LIBRARIES: Mapping[str, type[Outside]] = {
    "cma": CMA,
    "cmaes": AdaptedCMA,
    "model": ModelSearch,
    "nevergrad": Nevergrad,
    "optuna": Optuna,
    "scipy": SciPy,
    "skopt": GaussianProcess,
}

__all__ = ["LIBRARIES", "AskTell", "Outside", "World"]
