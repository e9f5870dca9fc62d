"""The pictures of docs/problems.md: `python docs/pictures.py` writes docs/img/strategic.png and pricing.png.

Both use generated data, so they can be made anywhere, and say so.
"""

from pathlib import Path

import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from driftopt import methods, simulate
from driftopt.problems import Pricing, StrategicClassification

FOLDER = Path(__file__).parent / "img"
GOOD, BAD, INK, SOFT = "#1b7f79", "#d1495b", "#222222", "#999999"


def people(n: int = 160) -> StrategicClassification:
    """Two features, two overlapping groups."""
    rng = np.random.default_rng(4)
    y = np.where(rng.random(n) < 0.6, 1, -1)
    X = rng.normal(size=(n, 2)) + 0.9 * y[:, None]
    return StrategicClassification.from_arrays(X, y)


def strategic(path: Path) -> None:
    problem = people()
    method = methods.get("zo-o2nc-2pt", radius=0.5, step=0.01, block=10, batch=10)
    trained = simulate(method, problem, budget=20_000).x
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.5), sharex=True, sharey=True, constrained_layout=True)
    for axis, x, title in (
        (axes[0], problem.x0, "at the start"),
        (axes[1], jnp.asarray(trained), "after a run"),
    ):
        draw_people(axis, problem, x, title)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_people(axis: plt.Axes, problem: StrategicClassification, x: jnp.ndarray, title: str) -> None:
    before = np.asarray(problem.features)
    after = np.asarray(problem.best_response(x, problem.features))
    moved = np.abs(after - before).max(axis=1) > 0
    first, second, offset = (float(v) for v in x)
    ends = np.array([-4.5, 4.5])
    axis.plot(ends, -(first * ends + offset) / second, color=INK, lw=1.5, label="approval begins here")
    for start, end in zip(before[moved], after[moved], strict=True):
        axis.annotate("", end, start, arrowprops={"arrowstyle": "-", "color": SOFT, "lw": 0.8})
    for label, colour, name in ((1, GOOD, "pays back"), (-1, BAD, "defaults")):
        mine = np.asarray(problem.labels) == label
        axis.scatter(*before[mine].T, s=16, color=colour, alpha=0.85, lw=0, label=name)
    axis.scatter(
        *after[moved].T, s=16, facecolor="white", edgecolor=INK, lw=0.8, zorder=3, label="after moving"
    )
    loss = float(problem.objective(x))
    axis.set_title(f"{title}: {int(moved.sum())} of {len(moved)} move, loss {loss:.2f}", fontsize=11)
    axis.set(xlim=(-4, 4), ylim=(-4, 4), xlabel="feature 1 (generated)", ylabel="feature 2 (generated)")
    axis.set_aspect("equal")


def pricing(path: Path) -> None:
    problem = Pricing.synthetic(3)
    method = methods.get("zo-o2nc-2pt", radius=0.1, step=0.001, block=10, batch=5)
    trace = simulate(method, problem, budget=5000, evaluate_every=100)
    best = problem.optimum()
    order = np.argsort(np.asarray(problem.theta))
    rank = np.arange(1, problem.dim + 1)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.9), constrained_layout=True)

    cases = (
        ("start", np.asarray(problem.x0), SOFT, "."),
        ("run", trace.x, BAD, "o"),
        ("optimum", best.x, GOOD, "x"),
    )
    axes[0].plot(rank, np.asarray(problem.theta)[order], color=INK, lw=1, label="reference price θ")
    for name, x, colour, marker in cases:
        sales = np.asarray(problem.demand(jnp.asarray(x, jnp.float32)).sales)
        axes[0].plot(rank, np.asarray(x)[order], marker, color=colour, ms=5, label=name)
        axes[1].plot(rank, sales[order], marker, color=colour, ms=5)
    for level, name in zip(problem.thresholds, ("l", "u"), strict=True):
        axes[1].axhline(level, color=INK, lw=0.8, ls=":")
        axes[1].annotate(f"{name} = {level:g}", (0.5, level), va="bottom", fontsize=9)
    axes[2].plot(trace.evaluated_at, -np.asarray(trace.objective), color=BAD, label="run")
    axes[2].axhline(-best.value, color=GOOD, ls="--", label="optimum")
    axes[0].set(title="Prices", xlabel="product, cheapest first", ylabel="price")
    axes[1].set(title="Expected sales of 120 buyers", xlabel="product, cheapest first", ylabel="pieces")
    axes[2].set(title="Expected profit", xlabel="queries", ylabel="profit")
    axes[0].legend(frameon=False, fontsize=9)
    axes[2].legend(frameon=False, fontsize=9)
    figure.suptitle("30 products with synthetic prices", fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    strategic(FOLDER / "strategic.png")
    pricing(FOLDER / "pricing.png")


if __name__ == "__main__":
    main()
