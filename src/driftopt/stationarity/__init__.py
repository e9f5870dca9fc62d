"""The stationarity of a point, measured from noisy values alone.

`measure` queries and reports, `from_pairs` reports from values at hand. Two bounds stand behind them:
`bounded` for values of known range, whose level holds for every number of pairs, and `asymptotic` for all
others, with a judgement of whether its level can be trusted.
"""

from driftopt.stationarity.certificate import Stationarity, from_pairs, least_pairs, measure
from driftopt.stationarity.estimates import u_statistic

__all__ = ["Stationarity", "from_pairs", "least_pairs", "measure", "u_statistic"]
