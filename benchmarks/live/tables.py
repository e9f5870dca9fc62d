"""The tables: shares of the start's gap that are left at the end, and that are paid on the way."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_ind

TABLES = ("main", "radius", "wrong", "shock", "loss", "shop")
LEAST = 1e-4  # a smaller share left counts as this, so that no logarithm is infinite
LEVEL = 0.05

Cells = dict[str, np.ndarray]  # optimiser → a figure for each seed
Records = dict[str, dict[str, dict[str, Any]]]  # instance → label → seed → record


def report(jobs: Iterable[Any], read: Callable[[Path], dict[str, Any]]) -> str:
    """All tables of which there are runs."""
    found: dict[str, Records] = {table: defaultdict(lambda: defaultdict(dict)) for table in TABLES}
    budgets: set[int] = set()
    files: dict[Path, dict[str, Any]] = {}
    for job in jobs:
        records = files[job.file] if job.file in files else files.setdefault(job.file, read(job.file))
        if str(job.seed) in records:
            found[job.table][job.instance][job.label][str(job.seed)] = records[str(job.seed)]
            budgets |= set(job.budgets) if job.table == "main" else set()
    makers: dict[str, Callable[[Records], str]] = {
        "main": lambda records: main(records, sorted(budgets)),
        "radius": small("The model at other radii, 120 deployments", 120),
        "wrong": small("One wrong value at a deployment, 128 deployments", 128),
        "shock": shock,
        "loss": loss,
        "shop": shop,
    }
    return "\n\n".join(makers[table](records) for table, records in found.items() if records)


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figures(records: dict[str, dict[str, Any]], budget: int) -> np.ndarray:
    """(seeds, 3): left, cost, worst."""
    rows = [one["budgets"][str(budget)] for one in records.values() if str(budget) in one["budgets"]]
    table = np.array(rows, float).reshape(-1, 3)
    table[:, 0] = np.maximum(table[:, 0], LEAST)
    return table


def geometric(left: np.ndarray) -> float:
    return float(np.exp(np.log(left).mean()))


def good(cells: Cells) -> set[str]:
    """The lowest, and those not significantly above it: Welch's test, with Holm's correction in the row."""
    if not cells:
        return set()
    best = min(cells, key=lambda name: cells[name].mean())
    p = {
        name: float(ttest_ind(cells[name], cells[best], equal_var=False, alternative="greater").pvalue)
        if max(np.ptp(cells[name]), np.ptp(cells[best])) > 0
        else float(cells[name].mean() <= cells[best].mean())
        for name in cells
        if name != best and min(len(cells[name]), len(cells[best])) > 1
    }
    worse: set[str] = set()
    for i, name in enumerate(sorted(p, key=lambda name: p[name])):
        if p[name] * (len(p) - i) > LEVEL:
            break
        worse.add(name)
    return cells.keys() - worse


def main(records: Records, budgets: Sequence[int]) -> str:
    """The model and its rivals, on each instance and in all."""
    labels = list(dict.fromkeys(label for each in records.values() for label in each))
    rows, paid, stands, starts = [], defaultdict(list), defaultdict(lambda: [0, 0, 0]), 0
    for name, each in records.items():
        for budget in budgets:
            data = {label: figures(each[label], budget) for label in labels if label in each}
            data = {label: table for label, table in data.items() if len(table)}
            ends = good({label: np.log(table[:, 0]) for label, table in data.items()})
            costs = good({label: table[:, 1] for label, table in data.items()})
            for label, table in data.items():
                paid[budget, label].append((geometric(table[:, 0]), table[:, 1].mean(), table[:, 2].mean()))
                count = stands[label]
                count[0], count[1], count[2] = (
                    count[0] + (label in ends),
                    count[1] + (label in costs),
                    count[2] + 1,
                )
            if "model" in data and len(data["model"]) > 1:
                left = data["model"][:, 0]
                starts += left.mean() - 1 > 2 * left.std(ddof=1) / len(left) ** 0.5
            row = [
                f"{_bold(geometric(data[label][:, 0]), label in ends, '.3f')} / "
                f"{_bold(data[label][:, 1].mean(), label in costs, '.2f')}"
                if label in data
                else "–"
                for label in labels
            ]
            rows.append([name, f"{budget:,}", *row])
    whole = [
        [
            f"{budget:,}",
            *(
                f"{geometric(np.array(cells)[:, 0]):.3f} / {np.mean(cells, axis=0)[1]:.2f} / "
                f"{np.mean(cells, axis=0)[2]:.1f}"
                if (cells := paid[budget, label])
                else "–"
                for label in labels
            ),
        ]
        for budget in budgets
    ]
    counts = [
        [label, *(f"{n} of {stands[label][2]} ({n / stands[label][2]:.0%})" for n in stands[label][:2])]
        for label in labels
    ]
    return "\n\n".join(
        [
            "Share of the start's gap left at the recommendation (geometric mean), mean share paid on the "
            "way, mean of the worst deployment, over all instances that an optimiser was run on:",
            grid(["deployments", *labels], whole),
            "Cells in which it is lowest or not significantly above the lowest (Welch's test, Holm's "
            f"correction, {LEVEL:.0%}):",
            grid(["", "left at the end", "paid on the way"], counts),
            "Cells in which the model's mean recommendation is above the start by two standard errors: "
            f"{starts}.",
            "Left / paid on the way; bold: lowest or not significantly above:",
            grid(["instance", "deployments", *labels], rows),
        ]
    )


def _bold(number: float, bold: bool, form: str) -> str:
    return f"**{number:{form}}**" if bold else f"{number:{form}}"


def small(title: str, budget: int) -> Callable[[Records], str]:
    """A table of settings of the model: left, gain reached, paid and worst, over all instances."""

    def table(records: Records) -> str:
        labels = list(dict.fromkeys(label for each in records.values() for label in each))
        rows = []
        for label in labels:
            data = [figures(each[label], budget) for each in records.values() if label in each]
            left = [geometric(one[:, 0]) for one in data]
            means = [one.mean(axis=0) for one in data]
            rows.append(
                [
                    label,
                    f"{geometric(np.array(left)):.3f}",
                    f"{1 - np.mean(means, axis=0)[0]:.2f}",
                    f"{1 - max(mean[0] for mean in means):.2f}",
                    f"{np.mean(means, axis=0)[1]:.2f}",
                    f"{np.mean(means, axis=0)[2]:.1f}",
                ]
            )
        head = ["", "left", "gain, mean", "gain, worst instance", "paid on the way", "worst deployment"]
        return f"{title}, {len(records)} instances:\n\n{grid(head, rows)}"

    return table


def shock(records: Records) -> str:
    """Mean shares of the gap that are left in stretches before and after the world changes."""
    stretches = ((0, 50), (150, 200), (200, 250), (250, 300), (300, 400))
    rows = []
    for name, each in records.items():
        for label, seeds in each.items():
            paths = [one["path"] for one in seeds.values()]
            paths = np.array([path for path in paths if len(path) == 400])
            if len(paths):
                rows.append([name, label, *(f"{paths[:, a:b].mean():.2f}" for a, b in stretches)])
    head = ["instance", "", *(f"{a + 1} to {b}" for a, b in stretches)]
    return f"A shock after deployment 200, mean share of the gap on the way:\n\n{grid(head, rows)}"


def loss(records: Records) -> str:
    """What a limit of the loss keeps, on instances whose values are profits."""
    rows = []
    for name, each in records.items():
        for label, seeds in each.items():
            data = figures(seeds, 120)
            losses = np.array([[(share - 1) * one["gap"] for share in one["path"]] for one in seeds.values()])
            rows.append(
                [
                    name,
                    label,
                    f"{geometric(data[:, 0]):.3f}",
                    f"{data[:, 1].mean():.2f}",
                    f"{(losses > 0.1).mean():.1%}",
                    f"{losses.max():.0%}",
                ]
            )
    head = ["instance", "", "left", "paid", "deployments that lose over 10 %", "largest loss"]
    return f"max_loss, 120 deployments:\n\n{grid(head, rows)}"


def shop(records: Records) -> str:
    """The shop: the gain at the end, the profit on the way and the bad days."""
    rows = []
    for label, seeds in records["shop"].items():
        runs = list(seeds.values())
        share = np.array([one["share"] for one in runs])
        error = share.std(ddof=1) / len(share) ** 0.5 if len(share) > 1 else np.nan
        rows.append(
            [
                label,
                f"{share.mean():.2f} ± {error:.2f}",
                f"{np.mean([one['profit'] for one in runs]):+.1%}",
                f"{np.mean([one['worst'] for one in runs]):.0%}",
                f"{min(one['worst'] for one in runs):.0%}",
                f"{np.mean([one['bad'] for one in runs]):.1f}",
            ]
        )
    head = ["", "share of the gain", "profit on the way", "worst day, mean", "worst day", "days below −10 %"]
    return f"A shop of six products, 120 days:\n\n{grid(head, rows)}"
