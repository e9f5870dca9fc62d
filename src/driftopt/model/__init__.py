"""The model: from the set of results that stand to the next decision, the recommendation and what it cost."""

from driftopt.model.belief import Results as Results
from driftopt.model.defaults import takes_model as takes_model
from driftopt.model.defaults import units_of as units_of
from driftopt.model.facts import Estimate as Estimate
from driftopt.model.objective import Margin as Margin
from driftopt.model.objective import Weighted as Weighted
from driftopt.model.policy import Limit as Limit
from driftopt.model.policy import Model as Model
from driftopt.model.policy import Recommendation as Recommendation
