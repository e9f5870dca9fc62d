"""The best known value of each instance, from which tables compute the gap of a run.

Pricing has a smooth exact objective, so L-BFGS from several starts finds it. The strategic loss has plateaus
and jumps: differential evolution on the exact loss finds better points than descent. For the real splits the
result of a long search is stored and evaluated here; for other data a shorter search runs.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.paper.protocol import Experiment
from driftopt.runtime.files import write_whole
from driftopt.runtime.fingerprint import digest_of
from driftopt.sweep.simulated import objective_at

SEEDS = (0, 1)
BOUNDS = (-1.5, 1.5)
POPULATION, GENERATIONS = 8, 250


def best_known(experiment: Experiment, folder: Path, *, fresh: bool = False) -> dict[str, float]:
    """The smallest known exact objective of each instance; the folder keeps the result of a search."""
    best: dict[str, float] = {}
    for instance, problem in zip(experiment.instances, experiment.problems, strict=True):
        if instance in experiment.best_decisions:
            decision = np.asarray(experiment.best_decisions[instance], np.float32)
            best[instance] = float(objective_at(problem, decision))
            continue
        key = digest_of(problem, "best known", SEEDS, BOUNDS, POPULATION, GENERATIONS)
        file = folder / "parts" / f"best-known-{key[:40]}.json"
        with suppress(OSError, ValueError, TypeError):  # not there yet, or damaged
            best[instance] = float("" if fresh else json.loads(file.read_text()))
            continue
        optimum = problem.optimum()
        best[instance] = float(search(problem) if optimum is None else optimum.value)
        file.parent.mkdir(exist_ok=True)
        write_whole(file, json.dumps(best[instance]).encode())
    return best


def search(
    problem: Any, seeds: tuple[int, ...] = SEEDS, population: int = POPULATION, generations: int = GENERATIONS
) -> float:
    """The smallest exact objective that differential evolution finds in the box with several seeds."""
    from scipy.optimize import differential_evolution  # half a second in which nothing is compiled yet

    many = jax.jit(jax.vmap(problem.objective))

    def evaluate(points: np.ndarray) -> np.ndarray:
        return np.asarray(many(jnp.asarray(points.T, jnp.float32)), float)

    results = [
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
    return float(min(result.fun for result in results))
