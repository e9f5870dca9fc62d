"""`driftopt demo`: every method on one problem with wells, kinks and noise that reacts to the decision.

Each method tries the same steps on development seeds; its best step is then scored on other seeds, so
that no method is judged by its luck.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from driftopt import methods
from driftopt.drivers.simulation import simulate_many, stack
from driftopt.problems.synthetic import two_wells

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


def demo(*, out: Path = Path("demo.png"), seed: int = 0) -> None:
    """Run every method on a problem with known answers; print a table and save a plot. Under a minute.

    Parameters
    ----------
    out
        Where the plot goes: a file name ending in .png, .pdf or .svg.
    seed
        Another seed is another instance and other runs.
    """
    if out.suffix not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--out must end in .png, .pdf or .svg; got {out}")
    if not out.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {out.parent} does not exist; make it first, or choose another --out"
        )
    if seed < 0:
        raise ValueError(f"--seed must be a whole number >= 0, got {seed}")

    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    from driftopt.runtime.jax_settings import prepare

    prepare()
    total = len(methods.names())
    scores = list(track(run(seed), "Running", total, console=Console(stderr=True), transient=True))
    console = Console()
    table = Table("method", "step", "f at the end", "queries a run")
    for score in sorted(scores, key=lambda score: score.final.mean()):
        step = "its own" if score.step is None else f"{score.step:.2g}"
        table.add_row(score.name, step, str(score), f"{score.queries:,}")
    console.print(table)
    console.print(
        f"Two wells in each of {DIM} dimensions; the minimum of f is 0. Mean ± sd of "
        f"{SCORED} runs, each step chosen on {DEVELOPMENT} other runs."
    )
    try:
        plot(scores, out)
    except ModuleNotFoundError:
        console.print("No plot: matplotlib is missing. Install it with: pip install 'driftopt\\[plot]'")
    else:
        console.print(f"The curves are in {out}", soft_wrap=True)
