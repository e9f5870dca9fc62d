"""The runs behind `driftopt demo`: the paper's methods and auto on a problem with two wells.

The problem also has kinks, and noise that reacts to x.

All methods get the problem's own length, the distance between the wells. Methods that need tuning also try a
third and a tenth of it, and the same steps, on development seeds. The best configuration is then scored on
other seeds, so that luck does not count.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from driftopt import methods
from driftopt.drivers.simulation import simulate_many
from driftopt.drivers.stack import stack
from driftopt.problem import Problem
from driftopt.problems.synthetic import TwoWells, two_wells

METHODS = ("auto", "zo-o2nc-2pt", "zo-o2nc-1pt", "zo-sph", "zo-ga", "zo-co", "zo-og")
DIM, NOISE, BUDGET = 10, 0.5, 4000
STEPS = np.geomspace(1e-4, 0.1, 7)
SHARES = (1.0, 1 / 3, 0.1)  # of the problem's length, to choose a radius from
DEVELOPMENT, SCORED = 8, 24  # seeds
PARALLEL = 2  # methods: while one computes, another compiles


@dataclass(frozen=True)
class DemoScore:
    """One method's result: exact objectives of the scored runs at their end and along the way."""

    name: str
    radius: float
    step: float | None  # None for a method that chooses its own
    tried: int  # configurations
    final: np.ndarray  # (seeds,)
    queries: int
    evaluated_at: np.ndarray  # (E,)
    curve: np.ndarray  # (seeds, E)

    def __str__(self) -> str:
        lost = np.count_nonzero(np.isinf(self.final))
        return f"{lost} of {SCORED} diverged" if lost else f"{self.final.mean():.3f} ± {self.final.std():.3f}"


def length(problem: TwoWells) -> float:
    """The distance between the best and the worst well: √d times the width."""
    return float(problem.width) * np.sqrt(problem.dim)


def run(seed: int) -> Iterator[DemoScore]:
    """The methods' scores, in the order in which they finish."""
    problem = two_wells(DIM, noise=NOISE, rng=seed)
    seeds = np.random.default_rng(seed).integers(2**32, size=DEVELOPMENT + SCORED).tolist()
    with ThreadPoolExecutor(PARALLEL) as pool:
        waiting = [pool.submit(score, name, problem, length(problem), seeds) for name in METHODS]
        for finished in as_completed(waiting):
            yield finished.result()


def score(name: str, problem: Problem, radius: float, seeds: list[int]) -> DemoScore:
    """The result of one method: every configuration runs on all seeds; the first choose, the others score."""
    accepted = methods.entry(name).parameters
    params: dict[str, Any] = {"radius": np.array([radius])}
    if "step" in accepted:
        radii, steps = np.meshgrid(radius * np.array(SHARES), STEPS)
        params = {"radius": radii.ravel(), "step": steps.ravel()}
    if "budget" in accepted:
        params["budget"] = BUDGET
    trace = simulate_many(
        methods.get(name, **params),
        stack([problem]),
        budget=BUDGET,
        seeds=seeds,
        evaluate_every=BUDGET // 40,
    )
    best = int(trace.fun[0, :DEVELOPMENT].mean(axis=0).argmin())
    lane = (0, slice(DEVELOPMENT, None), best)
    return DemoScore(
        name,
        float(params["radius"][best]),
        float(params["step"][best]) if "step" in params else None,
        len(params["radius"]),
        trace.fun[lane],
        int(trace.queries[0, 0, best]),
        trace.evaluated_at[0, 0, best],
        trace.objective[lane],
    )


def plot(scores: list[DemoScore], path: Path) -> None:
    """Save the mean objective against queries, with a band of one standard deviation for each method."""
    from matplotlib.figure import Figure

    from driftopt.report.curves import assign
    from driftopt.report.picture import write_picture

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    looks = assign([score.name for score in scores])
    for score in scores:
        with np.errstate(invalid="ignore"):  # a run that diverged is infinite and outside the picture
            mean, spread = score.curve.mean(axis=0), score.curve.std(axis=0)
        colour = looks[score.name].colour
        axes.plot(score.evaluated_at, mean, label=score.name, color=colour)
        axes.fill_between(score.evaluated_at, mean - spread, mean + spread, color=colour, alpha=0.12)
    axes.set(xlabel="queries", ylabel="exact objective f(x)", ylim=(0, None), xlim=(0, BUDGET))
    axes.set_title(f"Two wells, d = {DIM}: mean of {SCORED} runs, band ± 1 sd")
    axes.legend(frameon=False, fontsize="small")
    write_picture(figure, path, name="--out")


def with_progress(scores: Iterator[DemoScore]) -> list[DemoScore]:
    """All scores, with a progress bar on a terminal and a line for each elsewhere."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if console.is_terminal:
        return list(track(scores, "Compiling and running", len(METHODS), console=console, transient=True))
    done: list[DemoScore] = []
    for score in scores:
        done.append(score)
        console.print(f"{score.name} done, {len(done)} of {len(METHODS)}", highlight=False)
    return done


def show(scores: list[DemoScore], console: Any) -> None:
    """Print the scores as a table with an explanation."""
    from rich.table import Table

    table = Table("method", "tried", "radius", "step", "f at the end", "queries a run")
    for score in scores:
        step = "its own" if score.step is None else f"{score.step:.2g}"
        table.add_row(
            score.name, str(score.tried), f"{score.radius:.2g}", step, str(score), f"{score.queries:,}"
        )
    console.print(table)
    console.print(
        f"Two wells in each of {DIM} dimensions; the minimum of f is 0. Mean ± sd of {SCORED} runs, each "
        f"configuration chosen on {DEVELOPMENT} other runs. The radius is the distance between the wells, or "
        "a third or a tenth of it where that was better. `driftopt methods` lists all methods."
    )
