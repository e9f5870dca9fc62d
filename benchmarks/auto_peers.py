"""`auto` against what people reach for: CMA-ES and Nevergrad's optimizers for noisy functions, same budget.

All start at the same point and get the same length: trials about `radius` away, so a standard deviation of
radius/√d a coordinate. Each reports what it recommends itself, scored by the exact objective.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

import driftopt
from benchmarks.rows import row
from driftopt import methods
from driftopt.data.cache import DataError
from driftopt.outside import Outside
from driftopt.outside.cma_es import CMA
from driftopt.outside.nevergrad_registry import Nevergrad
from driftopt.problem import Problem
from driftopt.problems import Pricing, StrategicClassification
from driftopt.sweep.outside_runs import OutsideRuns, SimulatedPlace
from driftopt.sweep.task import RunSettings

NEVERGRAD = ("TBPSA", "SPSA", "OptimisticNoisyOnePlusOne")


def rows(splits: Sequence[int] = (101,), runs: int = 1) -> Iterator[dict[str, Any]]:
    """One row an instance and rival; the ratio is of the descents, empty where the rival came nowhere.

    A rival takes up to 20 s for 30,000 queries, so `make bench` has one split and one run of each week;
    `python -m benchmarks.auto_peers` has all of them.
    """
    for name, problem, budget, radius, seeds in instances(splits, runs):
        score = jax.jit(problem.objective)
        start = float(score(problem.x0))
        method = methods.get("auto", radius=radius)
        ours = float(np.mean([driftopt.simulate(method, problem, budget=budget, rng=s).fun for s in seeds]))
        rivals = {
            "CMA-ES (cma)": CMA(radius),
            "CMA-ES, population 10d (cma)": CMA(radius, 10 * problem.dim),
            **{f"{n} (Nevergrad)": Nevergrad(radius, n) for n in NEVERGRAD},
        }
        for rival, search in rivals.items():
            theirs = float(np.mean([_end(search, problem, budget, seed) for seed in seeds]))
            yield row(
                f"{name}: auto against {rival}, {budget:,} queries",
                f"{ours:.3f}",
                f"{theirs:.3f}",
                (start - ours) / (start - theirs) if start - theirs > 0.01 * (start - ours) else None,
                "lower",
                ours < theirs,
            )


def instances(splits: Sequence[int], runs: int) -> Iterator[tuple[str, Problem, int, float, range]]:
    """The paper's, real where the data is in the cache: name, problem, budget, radius, seeds."""
    for split in splits:
        try:
            name, problem = f"credit {split}", StrategicClassification.from_credit(split)
        except DataError:
            name, problem = f"credit stand-in {split}", StrategicClassification.stand_in(split)
        yield name, problem, 30_000, 2.0, range(1)
    for week in ("2022-08", "2022-12", "2022-21", "2022-25"):
        seed = int(week.replace("-", ""))
        try:
            name, problem = f"prices {week}", Pricing.from_week(week)
        except DataError:
            name, problem = f"synthetic prices {seed}", Pricing.synthetic(seed)
        yield name, problem, 5_000, 0.5, range(runs)


def _end(search: Outside, problem: Problem, budget: int, seed: int) -> float:
    """The exact objective at what a rival recommends."""
    task = OutsideRuns(((search,),), (SimulatedPlace(problem, None),), ((seed,),), RunSettings(budget))
    return float(task.run()["objective"][0, 0, 0])


if __name__ == "__main__":
    for line in rows((101, 102, 103, 104), runs=2):
        print(
            line["what"],
            line["ours"],
            line["alternative"],
            "lower" if line["met"] else "NOT LOWER",
            flush=True,
        )
