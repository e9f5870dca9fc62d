"""The model: from the set of results that stand to the next decision, the recommendation and what it cost.

Names load when first used: SciPy is not needed to learn that a run takes another method.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftopt.model.belief import Results as Results
    from driftopt.model.defaults import takes_model as takes_model
    from driftopt.model.defaults import units_of as units_of
    from driftopt.model.facts import Estimate as Estimate
    from driftopt.model.objective import Margin as Margin
    from driftopt.model.objective import Weighted as Weighted
    from driftopt.model.policy import Limit as Limit
    from driftopt.model.policy import Model as Model
    from driftopt.model.policy import Recommendation as Recommendation

_HOMES = {
    "Results": "belief",
    "takes_model": "defaults",
    "units_of": "defaults",
    "Estimate": "facts",
    "Margin": "objective",
    "Weighted": "objective",
    "Limit": "policy",
    "Model": "policy",
    "Recommendation": "policy",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"driftopt.model.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'driftopt.model' has no attribute {name!r}")
