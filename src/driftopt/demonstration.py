"""The demo's experiment: every method on one problem with wells, kinks and noise that reacts to the decision.

Each method tries the same steps on development seeds; its best step is then scored on other seeds, so
that no method is judged by its luck.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from driftopt import methods
from driftopt.problems.synthetic import two_wells
from driftopt.simulation import simulate_many, stack

DIM, NOISE, BUDGET = 10, 0.5, 4000
STEPS = np.geomspace(1e-4, 0.3, 8)
DEVELOPMENT, SCORED = 16, 32  # seeds


@dataclass(frozen=True)
class Score:
    """One method's result: exact objectives of the scored runs at their end and along the way."""

    name: str
    step: float | None  # None for a method that chooses its own
    final: np.ndarray  # (seeds,)
    queries: int
    evaluated_at: np.ndarray  # (E,)
    curve: np.ndarray  # (seeds, E)

    def __str__(self) -> str:
        lost = np.count_nonzero(np.isinf(self.final))
        return f"{lost} of {SCORED} diverged" if lost else f"{self.final.mean():.3f} ± {self.final.std():.3f}"


def run(seed: int) -> Iterator[Score]:
    """The methods one after another, in the registry's order."""
    problem = two_wells(DIM, noise=NOISE, rng=seed)
    seeds = np.random.default_rng(seed).integers(2**32, size=DEVELOPMENT + SCORED).tolist()
    for name in methods.names():
        line = methods.entry(name)
        tuned, planned = "step" in line.parameters, "budget" in line.parameters
        params = {
            **line.example,
            **({"step": STEPS} if tuned else {}),
            **({"budget": BUDGET} if planned else {}),
        }
        trace = simulate_many(
            methods.get(name, **params),
            stack([problem]),
            budget=BUDGET,
            seeds=seeds,
            evaluate_every=BUDGET // 40,
        )
        best = int(trace.fun[0, :DEVELOPMENT].mean(axis=0).argmin())
        lane = (0, slice(DEVELOPMENT, None), best)
        yield Score(
            name,
            float(STEPS[best]) if tuned else None,
            trace.fun[lane],
            int(trace.queries[0, 0, best]),
            trace.evaluated_at[0, 0, best],
            trace.objective[lane],
        )


def plot(scores: list[Score], path: Path) -> None:
    """Mean objective against queries, a band of one standard deviation for each method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for score in sorted(scores, key=lambda score: -score.final.mean()):
        with np.errstate(invalid="ignore"):  # a run that diverged is infinitely bad, and off the picture
            mean, spread = score.curve.mean(axis=0), score.curve.std(axis=0)
        (line,) = axes.plot(score.evaluated_at, mean, label=score.name)
        axes.fill_between(
            score.evaluated_at, mean - spread, mean + spread, color=line.get_color(), alpha=0.12
        )
    axes.set(xlabel="queries", ylabel="exact objective f(x)", ylim=(0, None), xlim=(0, BUDGET))
    axes.set_title(f"Two wells, d = {DIM}: mean of {SCORED} runs, band ± 1 sd")
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)
