"""The pictures of the pages on problems and on the model: `python docs/pictures.py` writes docs/img.

All use generated data, so they can be made anywhere, and those with people or prices say so.
"""

from pathlib import Path
from unittest.mock import patch

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from driftopt import Problem, methods, problems, simulate
from driftopt.model import Model, Results
from driftopt.model.belief import Belief
from driftopt.problems import Pricing, StrategicClassification
from driftopt.space import Space

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


def known(axis: plt.Axes, name: str, reach: float) -> None:
    """f of a problem in one dimension, with the two points that compete for the name of solution."""
    problem = problems.get(name)
    best, stable = problem.optimum(), problem.stable_point()
    middle = (best.x[0] + stable.x[0]) / 2
    x = np.linspace(middle - reach, middle + reach, 801)
    values = np.asarray(jax.vmap(problem.objective)(jnp.asarray(x[:, None], jnp.float32)))
    axis.plot(x, values, color=INK, lw=1.3, label="f")
    axis.plot(best.x, best.value, "o", color=GOOD, label="optimum")
    axis.plot(stable.x, stable.value, "s", color=BAD, label="stable point")
    axis.set_title(name, fontsize=11)
    axis.set(xlabel="decision x")


def known_in_two(figure: plt.Figure, axis: plt.Axes, name: str, reach: float) -> None:
    """The same for two dimensions, f as contours."""
    problem = problems.get(name, dim=2)
    best, stable = problem.optimum(), problem.stable_point()
    low, high = np.minimum(best.x, stable.x) - reach, np.maximum(best.x, stable.x) + reach
    sides = [np.linspace(*ends, 121) for ends in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    values = np.asarray(jax.vmap(jax.vmap(problem.objective))(jnp.asarray(grid, jnp.float32)))
    figure.colorbar(axis.contourf(*sides, values, levels=14, cmap="Greys_r"), ax=axis, label="f")
    axis.plot(*best.x, "o", color=GOOD, label="optimum")
    axis.plot(*stable.x, "s", color=BAD, label="stable point")
    axis.set_title(name, fontsize=11)
    axis.set(xlabel="x₁", ylabel="x₂")


def known_points(path: Path) -> None:
    figure, axes = plt.subplots(2, 4, figsize=(13, 6.2), constrained_layout=True)
    for axis, (name, reach) in zip(
        axes[0],
        (("root-location", 0.9), ("line-location", 1.0), ("mixture-location", 1.0), ("regression", 1.0)),
        strict=True,
    ):
        known(axis, name, reach)
    for axis, (name, reach) in zip(
        axes[1],
        (("gaussian-pricing", 0.7), ("ar1-pricing", 1.5), ("parking", 0.6), ("location-shift", 0.3)),
        strict=True,
    ):
        known_in_two(figure, axis, name, reach)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def searched(axis: plt.Axes, problem: Problem, name: str) -> None:
    """f along the line through the two points of a problem that finds them by search."""
    best, stable = problem.optimum(), problem.stable_point()
    share = np.linspace(-1, 2, 121)
    line = best.x + share[:, None] * (stable.x - best.x)
    axis.plot(
        share, [problem.objective(jnp.asarray(x, jnp.float32)) for x in line], color=INK, lw=1.3, label="f"
    )
    axis.plot(0, best.value, "o", color=GOOD, label="optimum")
    axis.plot(1, stable.value, "s", color=BAD, label="stable point")
    axis.set_title(name, fontsize=11)
    axis.set(xlabel="from the optimum (0) to the stable point (1)", ylabel="f")


def searched_points(path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.9), constrained_layout=True)
    for axis, strength in zip(axes, (10.0, 300.0), strict=True):
        credit = problems.CreditShift.stand_in(strength=strength)
        searched(axis, credit, f"credit-shift (generated), ε = {strength:g}")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    figure.savefig(path, dpi=110)
    plt.close(figure)


WEEKS = 6  # results in the pictures of how the model decides
PRICES = np.linspace(2.0, 7.0, 201)


def profit(price: np.ndarray) -> np.ndarray:
    """Of a week, expected: fewer people buy at a higher price."""
    return 100 / (1 + np.exp(1.6 * (price - 5.2))) * (price - 1.5)


def tea_shop() -> tuple[Model, Results]:
    """A model that chooses the price of tea, and the results of its first weeks."""
    noise = np.random.default_rng(0)
    model = Model(Space.build([3.0], bounds=[(2.0, 7.0)]), units=np.array([0.8]), seed=6, maximize=True)
    results = Results.of(np.empty((0, 1)), [])
    for number in range(1, WEEKS + 1):
        x = np.vstack([results.x, model.ask(results, number)])
        value = profit(x[-1, 0]) + noise.normal(scale=15)
        results = Results.of(x, np.append(results.value, value))
    return model, results


def tea_axis(results: Results) -> tuple[plt.Figure, plt.Axes]:
    """An axis with the results on it, legible on a telephone."""
    figure, axis = plt.subplots(figsize=(5.2, 4.0), constrained_layout=True)
    axis.plot(PRICES, profit(PRICES), color=INK, lw=1.2, ls=":", label="true mean (unknown)")
    axis.plot(results.x[:, 0], results.value, "o", color=INK, ms=7, zorder=4, label="results so far")
    axis.set(xlim=(PRICES[0], PRICES[-1]), ylim=(0, 280))
    axis.set_xlabel("price of tea", fontsize=13)
    axis.set_ylabel("profit of the week", fontsize=13)
    axis.tick_params(labelsize=12)
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis


def decides(folder: Path) -> None:
    """Results, posterior, candidates and next decision, a picture each."""
    model, results = tea_shop()
    drawn = []
    draws = Belief.draws

    def recorded(self: Belief, points, *more):
        loss = draws(self, points, *more)
        drawn.append((self, points, loss[0]))
        return loss

    with patch.object(Belief, "draws", recorded):
        chosen = model.ask(results, WEEKS + 1)[0]
    belief, points, loss = drawn[-1]
    price, draw = points.x[:, 0] * model.units[0], -loss
    order = np.argsort(price)

    line = points.moved(PRICES[:, None] / model.units)
    curve = belief.value
    assert curve is not None
    mean, covariance = curve.posterior.joint(line)
    sd = np.sqrt(np.diag(covariance))
    middle, low, high = (-curve.scale.back(mean + side * sd) for side in (0, 2, -2))

    for name in ("results", "posterior", "candidates", "next"):
        figure, axis = tea_axis(results)
        if name != "results":
            axis.fill_between(PRICES, low, high, color="#56b4e9", alpha=0.3, lw=0, label="95 % band")
            axis.plot(PRICES, middle, color="#0072b2", lw=2, label="expected profit")
        if name in ("candidates", "next"):
            axis.set(xlim=(3.3, 5.0), ylim=(160, 250))
            ticks = np.full(len(price), 163)
            axis.plot(price, ticks, "|", color="#d55e00", ms=12, mew=0.8, label="candidates")
        if name == "next":
            axis.plot(price[order], draw[order], color="#d55e00", lw=2.5, zorder=3, label="one draw")
            axis.plot([chosen, chosen], [163, draw.max()], color="#d55e00", lw=1, ls="--")
            axis.plot(chosen, draw.max(), "*", color="#d55e00", mec=INK, ms=17, zorder=5, label="next price")
        figure.legend(loc="outside upper left", frameon=False, fontsize=11.5, ncols=2)
        figure.savefig(folder / f"decides_{name}.png", dpi=150)
        plt.close(figure)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    decides(FOLDER)
    strategic(FOLDER / "strategic.png")
    pricing(FOLDER / "pricing.png")
    known_points(FOLDER / "known_points.png")
    searched_points(FOLDER / "searched_points.png")


if __name__ == "__main__":
    main()
