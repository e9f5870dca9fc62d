"""Train a classifier against people who adapt to it, and see how many people move.

Run with `python examples/credit.py`; real data after `driftopt data fetch credit`, else a stand-in.
"""

import jax.numpy as jnp

from driftopt import methods, simulate
from driftopt.data import load_credit
from driftopt.problems import StrategicClassification

problem = StrategicClassification.from_credit(split_seed=101, table=load_credit(allow_stand_in=True))
method = methods.get("walk", radius=2.0)
trace = simulate(method, problem, budget=30_000)

print(f"data: {problem.provenance}")
for name, x in (("before", problem.x0), ("after 30,000 queries", jnp.asarray(trace.x))):
    metrics = problem.metrics(x)
    print(
        f"{name}: train loss {metrics.train_loss:.3f}, test accuracy {metrics.test_accuracy:.3f}, "
        f"{metrics.moved} of {problem.labels.size} people move"
    )
