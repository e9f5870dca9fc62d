"""Set 30 prices by watching what sells, and compare with the best prices there are.

Run with `python examples/shop.py`; real prices after `driftopt data fetch prices`, else synthetic ones.
"""

import jax.numpy as jnp

from driftopt import methods, simulate
from driftopt.data.cache import DataError
from driftopt.problems import Pricing

try:
    problem = Pricing.from_week("2022-08")
except DataError:
    problem = Pricing.synthetic(0)

method = methods.get("walk", radius=0.5)
trace = simulate(method, problem, budget=5000)
best = problem.optimum(starts=1)

print(f"data: {problem.provenance}")
for name, x in (("before", problem.x0), ("after 5,000 days", trace.x), ("best known", best.x)):
    demand = problem.demand(jnp.asarray(x, jnp.float32))
    print(f"{name}: profit {demand.profit:.1f}, {demand.sales.sum():.0f} of 120 buyers buy")
