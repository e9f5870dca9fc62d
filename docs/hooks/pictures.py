"""Draw the pictures of the pages: `python docs/hooks/pictures.py [NAME…]`.

All use generated data, so they can be made anywhere. Colours are Okabe and
Ito's; shapes and labels repeat what they say.
"""

import re
import runpy
import secrets
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import driftopt
from driftopt import methods, problems, simulate
from driftopt.model import Model, Results
from driftopt.model.belief import Belief
from driftopt.problems import StrategicClassification
from driftopt.space import Space

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "img"
OURS, BLUE, INK, SOFT = "#d55e00", "#0072b2", "#222222", "#8f8f8f"
GOOD, BAD = BLUE, OURS  # with another shape each
plt.rcParams.update(
    {"font.size": 13, "axes.spines.top": False, "axes.spines.right": False, "savefig.dpi": 150}
)


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
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 5.0), sharex=True, sharey=True, constrained_layout=True)
    for axis, x, title in ((axes[0], problem.x0, "before"), (axes[1], jnp.asarray(trained), "after a run")):
        draw_people(axis, problem, x, title)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=12)
    figure.savefig(path)
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
    for label, colour, shape, name in ((1, GOOD, "o", "pays back"), (-1, BAD, "^", "defaults")):
        mine = np.asarray(problem.labels) == label
        axis.scatter(*before[mine].T, s=22, color=colour, marker=shape, alpha=0.85, lw=0, label=name)
    axis.scatter(
        *after[moved].T, s=16, facecolor="white", edgecolor=INK, lw=0.8, zorder=3, label="after moving"
    )
    loss = float(problem.objective(x))
    axis.set_title(f"{title}: {int(moved.sum())} of {len(moved)} move, loss {loss:.2f}", fontsize=13)
    axis.set(xlim=(-4, 4), ylim=(-4, 4), xlabel="feature 1 (generated)", ylabel="feature 2 (generated)")
    axis.set_aspect("equal")


def known(axis: plt.Axes, name: str, reach: float) -> None:
    """f in one dimension, with its optimum and its stable point."""
    problem = problems.get(name)
    best, stable = problem.optimum(), problem.stable_point()
    middle = (best.x[0] + stable.x[0]) / 2
    x = np.linspace(middle - reach, middle + reach, 801)
    values = np.asarray(jax.vmap(problem.objective)(jnp.asarray(x[:, None], jnp.float32)))
    axis.plot(x, values, color=INK, lw=1.3, label="f")
    axis.plot(best.x, best.value, "o", color=GOOD, ms=10, label="best")
    axis.plot(stable.x, stable.value, "s", color=BAD, ms=10, label="retraining stops here")
    axis.set_title(name)
    axis.set(xlabel="decision x")


def known_in_two(axis: plt.Axes, name: str, reach: float) -> None:
    """The same for two dimensions, f as contours."""
    problem = problems.get(name, dim=2)
    best, stable = problem.optimum(), problem.stable_point()
    low, high = (np.minimum(best.x, stable.x) - reach, np.maximum(best.x, stable.x) + reach)
    sides = [np.linspace(*ends, 121) for ends in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    values = np.asarray(jax.vmap(jax.vmap(problem.objective))(jnp.asarray(grid, jnp.float32)))
    axis.contour(*sides, values, levels=14, colors=SOFT, linewidths=0.8)
    axis.plot(*best.x, "o", color=GOOD, ms=10)
    axis.plot(*stable.x, "s", color=BAD, ms=10)
    axis.set_title(name)
    axis.set(xlabel="x₁", ylabel="x₂")


def known_points(path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.6), constrained_layout=True)
    known(axes[0], "regression", 1.0)
    known_in_two(axes[1], "gaussian-pricing", 0.7)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path)
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


def gain(path: Path) -> None:
    """Profit over the weeks of examples/weekly_prices.py: baseline, search, break-even, recommendation."""
    with tempfile.TemporaryDirectory() as folder:
        study, shop = runpy.run_path(str(ROOT / "examples" / "weekly_prices.py"))["main"](Path(folder))
        trials, found = study.trials(), study.recommend()
    base = float(shop.profit(study.spec.x0))
    week = {kind: ([], []) for kind in ("method", "baseline", "confirm")}
    for trial in trials:
        at_start = np.allclose(trial.x, study.spec.x0)
        kind = "baseline" if at_start else "confirm" if trial.kind == "confirm" else "method"
        if trial.value is not None:
            week[kind][0].append(trial.id)
            week[kind][1].append(trial.value)
    searched, values = (np.array(week["method"][0]), np.array(week["method"][1]))
    mean = np.convolve(np.pad(values, (4, 4), mode="edge"), np.ones(9) / 9, mode="valid")
    earned = np.cumsum(values - base)
    paid = searched[np.flatnonzero(earned < 0)[-1] + 1] if (earned < 0).any() else searched[0]
    best = found.improvement

    figure, axis = plt.subplots(figsize=(5.8, 4.5), constrained_layout=True)
    axis.fill_between(searched, base, mean, color=OURS, alpha=0.15, lw=0)
    axis.plot(searched, values, ".", color=SOFT, ms=6)
    axis.plot(searched, mean, color=OURS, lw=3)
    axis.axhline(base, color=BLUE, lw=2, ls="--")
    axis.plot(*week["baseline"], "s", color=BLUE, ms=6)
    axis.plot(*week["confirm"], "D", color=INK, ms=7)
    low, high = min(values.min(), base) - 12, max(values) + 4
    axis.set(xlim=(0, len(trials) + 2), ylim=(low, high), xlabel="week", ylabel="profit of the week")
    axis.plot([paid, paid], [low, base], color=INK, lw=1, ls=":")
    axis.text(paid + 1, low + 0.6, f"week {paid}: the search\nhas paid for itself", color=INK, va="bottom")
    axis.text(0.55 * len(trials), base - 1.5, f"today's prices: {base:.1f}", color=BLUE, va="top")
    middle = len(searched) // 2
    axis.text(
        searched[middle],
        base + 0.1 * (mean[middle] - base),
        "extra profit\nmeanwhile",
        color=OURS,
        ha="center",
    )
    axis.annotate(
        f"recommended, checked:\n{best.mean:+.1f} ± {best.sem:.1f} a week, {best.mean / base:+.0%}",
        (np.mean(week["confirm"][0]), np.mean(week["confirm"][1]) - 1.5),
        (len(trials), base + 0.42 * (np.mean(week["confirm"][1]) - base)),
        ha="right",
        arrowprops={"arrowstyle": "-", "color": INK},
    )
    figure.savefig(path)
    plt.close(figure)


def first_search(path: Path) -> None:
    """The trials of the first tutorial, later ones darker."""
    visitors = np.random.default_rng(0)

    def discomfort(x: np.ndarray) -> float:
        likes = 21 + 0.3 * (x[0] - 21) + visitors.normal(scale=1.5)
        return abs(x[0] - likes) + 0.5 * abs(x[1] / 100 - 4) + visitors.normal(scale=0.2)

    start, bounds = [16.0, 250.0], [(10, 30), (100, 700)]
    result = driftopt.minimize(discomfort, x0=start, bounds=bounds, budget=300, rng=1)
    x = result.history["x"]
    figure, axis = plt.subplots(figsize=(6.4, 4.2), constrained_layout=True)
    dots = axis.scatter(*x.T, c=np.arange(len(x)), cmap="Greys", s=24, vmin=-60, edgecolor=INK, lw=0.3)
    axis.plot(*start, "s", color=BLUE, ms=11, label="start")
    axis.plot(*result.x, "*", color=OURS, mec=INK, ms=20, label="result")
    axis.set(xlabel="degrees", ylabel="lux")
    axis.legend(frameon=False)
    figure.colorbar(dots, label="call", shrink=0.8).ax.set_ylim(0, len(x))
    figure.savefig(path)
    plt.close(figure)


def trial_life(path: Path) -> None:
    """States of a trial, and the commands that lead from one to another."""
    figure, axis = plt.subplots(figsize=(7.6, 4.4), constrained_layout=True)
    axis.set(xlim=(0, 10), ylim=(0, 6))
    axis.axis("off")
    places = {
        "pending": (1.3, 3.0, SOFT),
        "complete": (5.4, 3.0, BLUE),
        "expired": (1.3, 0.7, SOFT),
        "failed": (1.3, 5.3, SOFT),
        "held": (8.8, 4.6, OURS),
        "voided": (8.8, 1.4, OURS),
    }
    for name, (x, y, colour) in places.items():
        box = {"boxstyle": "round,pad=0.45", "fc": "white", "ec": colour, "lw": 2.5}
        axis.text(x, y, name, ha="center", va="center", bbox=box, fontsize=14)
    arrows = [
        ("pending", "complete", "tell", 0.0),
        ("pending", "failed", "fail", 0.0),
        ("pending", "expired", "lease ends", 0.0),
        ("expired", "complete", "tell", 0.15),
        ("failed", "complete", "correct", -0.15),
        ("complete", "held", "hold", -0.18),
        ("held", "complete", "accept, correct", -0.18),
        ("complete", "voided", "void", 0.18),
        ("voided", "complete", "correct", 0.18),
    ]
    for one, other, label, bend in arrows:
        (x, y, _), (u, v, _) = places[one], places[other]
        style = {
            "arrowstyle": "-|>",
            "color": INK,
            "lw": 1.4,
            "shrinkA": 32,
            "shrinkB": 34,
            "connectionstyle": f"arc3,rad={bend}",
        }
        axis.annotate("", (u, v), (x, y), arrowprops=style)
        middle = np.array([(x + u) / 2, (y + v) / 2]) + 1.1 * bend * np.array([v - y, x - u]) / 1.6
        axis.text(
            *middle,
            label,
            ha="center",
            va="center",
            fontsize=12,
            bbox={"fc": "white", "ec": "none", "pad": 1.5},
        )
    figure.savefig(path)
    plt.close(figure)


def benchmark_live(path: Path) -> None:
    """The first table of docs/benchmarks.md: share missed at the end, and on average while searching."""
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*) \|$", text[text.index("| deployments") :], re.MULTILINE)[:4]
    head, *body = [[cell.strip(" *") for cell in row.split("|")] for row in rows]
    budgets = [int(row[0]) for row in body]
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 4.4), constrained_layout=True, sharex=True)
    for k, (axis, title) in enumerate(zip(axes, ("at the end", "while searching (mean)"), strict=True)):
        for method, marker in zip(range(1, len(head)), "os^DvP", strict=True):
            shares = [100 * float(row[method].split("/")[k]) for row in body]
            ours = method == 1
            colour, width = (OURS, 3.5) if ours else (SOFT, 1.5)
            axis.plot(
                budgets,
                shares,
                marker=marker,
                ms=8 if ours else 6,
                color=colour,
                lw=width,
                label=head[method],
                zorder=2 + ours,
            )
        axis.axhline(100, color=BLUE, ls="--", lw=1.5, label="staying at the baseline")
        axis.set(xscale="log", xticks=budgets, xticklabels=budgets, title=title, xlabel="deployments")
        axis.minorticks_off()
        axis.set_ylim(0)
    axes[0].set_ylabel("% of the possible gain missed")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=12)
    figure.savefig(path)
    plt.close(figure)


def o2nc(path: Path) -> None:
    """Three blocks of ZO-O2NC on a function with a kink, and what one step looks at."""

    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.abs(x - 0.6 * y) + 0.35 * np.abs(y - 1.0)

    rng, block, reach, step, radius = (np.random.default_rng(2), 12, 0.09, 0.05, 0.25)
    x, increment = np.array([-1.6, -0.9]), np.zeros(2)
    path_x, looks, ends = [x], [], []
    for t in range(4 * block):
        y = x + rng.random() * increment
        u = rng.normal(size=2)
        u /= np.linalg.norm(u)
        values = [f(*(y + side * radius * u)) + rng.normal(scale=0.05) for side in (1, -1)]
        looks.append((y + radius * u, y - radius * u))
        x = x + increment
        increment = increment - step * 2 * (values[0] - values[1]) / (2 * radius) * u
        increment *= min(1.0, reach / np.linalg.norm(increment))
        path_x.append(x)
        if (t + 1) % block == 0:
            increment = np.zeros(2)
            ends.append(x)
    path_x = np.array(path_x)
    grid = np.linspace(-2.2, 2.2, 121)
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.0), constrained_layout=True)
    titles = ("1. two values on a line", "2. one block of short steps", "3. block after block")
    for axis, title, last in zip(axes, titles, (3, block, len(path_x)), strict=True):
        axis.contour(grid, grid, f(*np.meshgrid(grid, grid)), levels=12, colors=SOFT, linewidths=0.6)
        axis.plot(*path_x[: last + 1].T, "-o", color=OURS, ms=3, lw=2)
        axis.plot(*path_x[0], "s", color=BLUE, ms=9)
        axis.set(title=title, xticks=[], yticks=[])
        axis.set(xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), aspect="equal")
    one, other = looks[2]
    axes[0].set(xlim=(-2.1, -1.1), ylim=(-1.4, -0.4))
    axes[0].plot(*np.array([one, other]).T, "-D", color=INK, ms=7, lw=1)
    axes[0].text(one[0] + 0.06, one[1], "y + δu")
    axes[0].text(other[0] + 0.06, other[1] - 0.02, "y − δu")
    axes[2].plot(*np.array(ends).T, "D", color=INK, ms=7)
    figure.savefig(path)
    plt.close(figure)


def search(path: Path) -> None:
    """Sixty trials of two prices as an animation, three a frame."""
    from matplotlib.animation import FuncAnimation, PillowWriter

    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 60 - 6 * np.abs(x - 0.5 * y - 1.7) - 3 * (y - 5.0) ** 2

    noise = np.random.default_rng(1)
    study = driftopt.Study.create(
        "sqlite://", "prices", x0=[2.0, 3.0], bounds=[(1, 6), (2, 8)], direction="maximize", rng=1
    )
    tried, found = [], []
    for _ in range(60):
        trial = study.ask()
        study.tell(trial.id, float(f(*trial.x)) + noise.normal(scale=4))
        tried.append(trial.x)
        found.append(study.recommend().x)
    grid = [np.linspace(*ends, 101) for ends in ((1, 6), (2, 8))]
    figure, axis = plt.subplots(figsize=(4.6, 3.8), constrained_layout=True)

    def frame(number: int) -> None:
        count = min(3 * number + 1, len(tried))
        axis.clear()
        axis.contour(*grid, f(*np.meshgrid(*grid)), levels=12, colors=SOFT, linewidths=0.6)
        axis.plot(*np.array(tried[:count]).T, "o", color=INK, ms=4, alpha=0.6)
        axis.plot(*tried[0], "s", color=BLUE, ms=9)
        axis.plot(*found[count - 1], "*", color=OURS, mec=INK, ms=19)
        axis.set(xlabel="price of tea", ylabel="price of coffee", title=f"{count} trials")

    FuncAnimation(figure, frame, frames=26).save(path, writer=PillowWriter(fps=3), dpi=80)
    plt.close(figure)


def served_page(path: Path) -> None:
    """The page of examples/weekly_prices.py after 128 weeks, as Chromium shows it."""
    sys.path.append(str(ROOT / "tests"))
    from support.browser import chromium, resize
    from support.served_process import served

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runpy.run_path(str(ROOT / "examples" / "weekly_prices.py"))["main"](folder)
        token = secrets.token_urlsafe(32)
        with served(str(folder / "prices.db"), token) as (address, _), chromium(folder) as browser:
            resize(browser, 1280, 1000)
            browser.get(f"{address}/#token={token}")
            time.sleep(3)  # the page draws its charts
            browser.find_element("link text", "weekly").click()
            time.sleep(3)
            browser.save_screenshot(str(path))


PICTURES = {
    one.__name__: one
    for one in (
        gain,
        first_search,
        trial_life,
        benchmark_live,
        o2nc,
        strategic,
        known_points,
        search,
        served_page,
    )
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    chosen = sys.argv[1:] or [*PICTURES, "decides"]
    for name in chosen:
        if name == "decides":
            decides(FOLDER)
        else:
            PICTURES[name](FOLDER / f"{name}.{'gif' if name == 'search' else 'png'}")


if __name__ == "__main__":
    main()
