"""The best known value of each instance: how far a run is from what can be reached.

Pricing has a smooth exact objective, so L-BFGS from several starts finds it. The strategic loss has plateaus
and jumps: differential evolution on the exact loss finds better points than descent. On the real splits a
long search was made once, and what it found is evaluated here; on other data a shorter one is made.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.paper.protocol import Experiment
from driftopt.problem import Problem
from driftopt.runtime.fingerprint import digest_of
from driftopt.sweep.kept_parts import Store

SEEDS = (0, 1)
BOUNDS = (-1.5, 1.5)
POPULATION, GENERATIONS = 8, 250


def best_known(experiment: Experiment, store: Store) -> dict[str, float]:
    """For each instance the smallest exact objective known; a search is made once and kept in the folder."""
    out: dict[str, float] = {}
    for instance, problem in zip(experiment.instances, experiment.problems, strict=True):
        if instance in experiment.best_decisions:
            out[instance] = float(
                objective_at(problem, np.asarray(experiment.best_decisions[instance], np.float32))
            )
            continue
        key = digest_of(problem, "best known", SEEDS, BOUNDS, POPULATION, GENERATIONS)
        found = store.get(key)
        if found is None:
            known = problem.optimum()
            found = {"best": np.array(search(problem) if known is None else known.value)}
            store.put(key, found)
        out[instance] = float(found["best"])
    return out


@jax.jit
def objective_at(problem: Problem, x: Any) -> jax.Array:
    """The exact objective as one program: operation by operation there are forty to compile."""
    return problem.objective(x)


def search(
    problem: Any, seeds: tuple[int, ...] = SEEDS, population: int = POPULATION, generations: int = GENERATIONS
) -> float:
    """The smallest exact objective that differential evolution finds in the box, best of several seeds."""
    from scipy.optimize import differential_evolution  # half a second in which nothing is compiled yet

    many = jax.jit(jax.vmap(problem.objective))

    def evaluate(points: np.ndarray) -> np.ndarray:
        return np.asarray(many(jnp.asarray(points.T, jnp.float32)), float)

    found = [
        differential_evolution(
            evaluate,
            [BOUNDS] * problem.dim,
            vectorized=True,
            updating="deferred",
            polish=False,
            rng=seed,
            popsize=population,
            maxiter=generations,
            tol=0,
            init="sobol",
            mutation=(0.4, 0.9),
            recombination=0.9,
        )
        for seed in seeds
    ]
    return float(min(result.fun for result in found))
