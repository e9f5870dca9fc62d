"""`auto` against what people reach for: CMA-ES and Nevergrad's optimizers for noisy functions, same budget.

All start at the same point and get the same length: trials about `radius` away, so a standard deviation of
radius/√d a coordinate. Each reports what it recommends itself, scored by the exact objective.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cma
import jax
import jax.numpy as jnp
import nevergrad as ng
import numpy as np

import driftopt
from benchmarks.rows import row
from driftopt import methods
from driftopt.data.cache import DataError
from driftopt.problem import Problem
from driftopt.problems import Pricing, StrategicClassification
from driftopt.rng.seeds import as_key

BLOCK = 16  # queries answered in one call: a dispatch costs more than a query
NEVERGRAD = ("TBPSA", "SPSA", "OptimisticNoisyOnePlusOne")

Noisy = Callable[[np.ndarray], np.ndarray]  # points (n, d) → n fresh values


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
            "CMA-ES (cma)": _cma(None),
            "CMA-ES, population 10d (cma)": _cma(10 * problem.dim),
            **{f"{n} (Nevergrad)": _nevergrad(n) for n in NEVERGRAD},
        }
        for rival, run in rivals.items():
            ends = [run(*_oracle(problem, seed, budget), radius, seed) for seed in seeds]
            theirs = float(np.mean([float(score(jnp.asarray(x, jnp.float32))) for x in ends]))
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


def _oracle(problem: Problem, seed: int, budget: int) -> tuple[np.ndarray, Noisy, int]:
    """The start, a function that answers every point with fresh noise, and how many answers it may give."""
    key, spent = as_key(seed), 0

    @jax.jit
    def answer(points: Any, first: Any) -> Any:
        keys = jax.vmap(lambda i: jax.random.fold_in(key, first + i))(jnp.arange(BLOCK))
        return jax.vmap(problem.sample)(keys, points)

    def ask(points: np.ndarray) -> np.ndarray:
        nonlocal spent
        values = []
        for block in np.split(points, range(BLOCK, len(points), BLOCK)):
            with np.errstate(over="ignore"):  # a rival that diverges may ask anywhere
                padded = np.resize(block, (BLOCK, points.shape[1])).astype(np.float32)
            values.append(np.asarray(answer(padded, spent))[: len(block)])
            spent += len(block)
        if spent > budget:
            raise RuntimeError(f"a rival spent {spent} queries of {budget}")
        return np.concatenate(values).astype(float)

    return np.asarray(problem.x0, float), ask, budget


def _cma(population: int | None) -> Callable[..., np.ndarray]:
    """Its own population or a larger one, which averages noise. It reports its mean, not its best draw."""

    def run(x0: np.ndarray, ask: Noisy, budget: int, radius: float, seed: int) -> np.ndarray:
        options = {"seed": seed + 1, "verbose": -9, "tolfun": 0, "tolx": 0, "tolfunhist": 0}
        options |= {} if population is None else {"popsize": population}
        search = cma.CMAEvolutionStrategy(x0, radius / len(x0) ** 0.5, options)
        for _ in range(budget // search.popsize):
            points = search.ask()
            search.tell(points, ask(np.array(points)).tolist())
        return np.asarray(search.result.xfavorite)

    return run


def _nevergrad(name: str) -> Callable[..., np.ndarray]:
    def run(x0: np.ndarray, ask: Noisy, budget: int, radius: float, seed: int) -> np.ndarray:
        space = ng.p.Array(init=x0).set_mutation(sigma=radius / len(x0) ** 0.5)
        space.random_state.seed(seed)
        search = ng.optimizers.registry[name](parametrization=space, budget=budget)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the huge values that a diverging search meets
            for _ in range(budget):
                candidate = search.ask()
                search.tell(candidate, float(ask(candidate.value[None])[0]))
        return search.provide_recommendation().value

    return run


if __name__ == "__main__":
    for line in rows((101, 102, 103, 104), runs=2):
        print(
            line["what"],
            line["ours"],
            line["alternative"],
            "lower" if line["met"] else "NOT LOWER",
            flush=True,
        )
