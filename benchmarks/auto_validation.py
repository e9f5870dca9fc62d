"""Every number about `auto` in docs/auto.md: the frozen method on instances that took no part in its making.

    python benchmarks/auto_validation.py             runs what is missing, writes the tables and the picture
    python benchmarks/auto_validation.py --quick     the same machinery on two development instances, printed
    python benchmarks/auto_validation.py --group 3   runs one group of instances, for a second process
    python benchmarks/auto_validation.py --paper     the paper's splits and weeks instead, printed

Every group of instances is kept in results/auto_validation as soon as it is done, in a folder for the edition
of the rule, so that a run that was stopped goes on.

The rival is ZO-O2NC (Option I), tuned on each instance by the paper's grid: 180 configurations, the best mean
of 5 (pricing: 3) development runs, then 20 runs on fresh seeds. `auto` has one configuration, on those 20.
The credit data and the price weeks must be in the cache (`driftopt data fetch`). Longer than 300 lines for
the instances and the grids, which are data.
"""

import argparse
import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import driftopt
from driftopt import methods
from driftopt.methods import defaults
from driftopt.methods.auto import EDITION
from driftopt.paper import protocol
from driftopt.problem import Problem
from driftopt.problems import Pricing, StrategicClassification, kink, location_shift, two_wells

# How many settings (constants and variants of the rule) were run on the development instances on the way.
SETTINGS_TRIED = 25_800

FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
HELD_OUT = range(protocol.FIRST_HELD_OUT_SEED, protocol.FIRST_HELD_OUT_SEED + 20)
KEPT = Path("results/auto_validation") / f"edition-{EDITION}"
DOCUMENT = Path(__file__).parent.parent / "docs" / "auto.md"
PICTURE = DOCUMENT.parent / "img" / "auto_radius.png"
BEGIN, END = "<!-- benchmarks/auto_validation.py writes from here -->", "<!-- to here -->"

Group = tuple[dict[str, Any], dict[str, Problem]]  # a setting, and the instances that are run with it

# The paper's grids, in full.
STRATEGIC = {
    "grid": {
        "radius": [0.5, 1.0, 2.0, 5.0],
        "batch": [1, 5, 10, 20, 50],
        "block": [5, 10, 20],
        "step": [1e-4, 1e-3, 1e-2],
    },
    "budget": 30_000,
    "radius": 2.0,
    "development": 5,
}
PRICING = {
    "grid": {
        "radius": [0.01, 0.05, 0.1, 0.5, 1.0],
        "batch": [1, 5, 10, 20],
        "block": [10, 20, 50],
        "step": [1e-4, 1e-3, 1e-2],
    },
    "budget": 5_000,
    "radius": 0.5,
    "development": 3,
}


def credit(splits: Sequence[int], loss: str = "hinge") -> dict[str, Problem]:
    label = "credit split" + ("" if loss == "hinge" else f", {loss} loss,")
    return {f"{label} {s}": StrategicClassification.from_credit(s, loss=loss) for s in splits}


def lists(shapes: Sequence[tuple[int, int, int]]) -> dict[str, Problem]:
    return {
        f"synthetic prices {seed}, {n} products, {buyers} buyers": Pricing.synthetic(
            seed, buyers=buyers, products=n
        )
        for seed, n, buyers in shapes
    }


def textbook(dim: int, budget: int) -> dict[str, Any]:
    """The rival's grid where the start is about √d from the optimum: 180 configurations."""
    radius = 0.25 * dim**0.5
    grid = {
        "radius": [radius * factor for factor in (0.25, 0.5, 1, 2, 4)],
        "batch": [1, 5, 20],
        "block": [10, 20, 50],
        "step": [1e-3, 1e-2, 1e-1, 1.0],
    }
    return {"grid": grid, "budget": budget, "radius": radius, "development": 3}


def functions(name: str, make: Callable[..., Problem], dim: int, noise: float) -> dict[str, Problem]:
    seeds = (3700 + dim, 3701 + dim) if dim < 200 else (3700 + dim,)
    return {f"{name}, d = {dim}, {seed}": make(dim, noise=noise, rng=seed) for seed in seeds}


def validation() -> list[Group]:
    """44 instances, in groups of one shape. None but the weeks was run before edition 5 was frozen."""
    sizes = list(itertools.product((10, 20, 30, 50), (60, 120, 240)))
    weeks: dict[str, Problem] = {f"week {week}": Pricing.from_week(week) for week in ("2022-21", "2022-25")}
    synthetic = [lists([(3100 + i, n, buyers)]) for i, (n, buyers) in enumerate(sizes)]
    return [
        (STRATEGIC, credit(range(901, 909))),
        (STRATEGIC, credit([911, 912], "logistic")),
        (STRATEGIC | {"budget": 2_000}, {f"{k}, 2,000 queries": p for k, p in credit([921, 922]).items()}),
        (PRICING, weeks),
        *((PRICING, group) for group in synthetic),
        (textbook(2, 300), functions("kink", kink, 2, 0.5)),
        (textbook(10, 2000), functions("kink", kink, 10, 1.0)),
        (textbook(50, 5000), functions("kink", kink, 50, 1.0)),
        (textbook(200, 10_000), functions("kink", kink, 200, 1.0)),
        (textbook(2, 300), functions("two wells", two_wells, 2, 0.3)),
        (textbook(10, 2000), functions("two wells", two_wells, 10, 0.5)),
        (textbook(2, 300), functions("location shift", location_shift, 2, 0.5)),
        (textbook(10, 2000), functions("location shift", location_shift, 10, 0.5)),
        (textbook(50, 5000), functions("location shift", location_shift, 50, 0.5)),
        (textbook(200, 10_000), functions("location shift", location_shift, 200, 0.5)),
    ]


def quick() -> list[Group]:
    """Two development instances and a fraction of the grid."""
    small = {"radius": [0.1, 0.5], "batch": [1, 5], "block": [10], "step": [1e-3, 1e-2]}
    return [
        (STRATEGIC | {"grid": small, "budget": 3_000}, credit([101])),
        (PRICING | {"grid": small, "budget": 1_000}, lists([(0, 30, 120)])),
    ]


def paper() -> list[Group]:
    """The paper's instances, of which two weeks took part in the development."""
    weeks: dict[str, Problem] = {
        f"week {week}": Pricing.from_week(week) for week in ("2022-08", "2022-12", "2022-21", "2022-25")
    }
    return [(STRATEGIC, credit(range(101, 105))), (PRICING, weeks)]


def tuned(setting: dict[str, Any], problems: driftopt.Stack) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Held-out objectives (instances, seeds) of the configuration that did best on the development seeds."""
    grid, budget = setting["grid"], setting["budget"]
    first = protocol.FIRST_DEVELOPMENT_SEED
    development = range(first, first + setting["development"])
    configurations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]

    def build(some: list[dict[str, Any]]) -> methods.Method:
        numbers = {name: np.array([c[name] for c in some]) for name in grid if name != "batch"}
        return methods.get("zo-o2nc-2pt", batch=some[0]["batch"], **numbers)

    scores = []
    for batch in grid["batch"]:  # lanes of one batch walk in step
        some = [c for c in configurations if c["batch"] == batch]
        runs = driftopt.simulate_many(build(some), problems, budget=budget, seeds=list(development))
        scores += [(mean, c) for mean, c in zip(runs.fun.mean(axis=1).T, some, strict=True)]
    means = np.array([mean for mean, _ in scores])
    chosen = [scores[int(best)][1] for best in means.argmin(axis=0)]
    held_out = np.zeros((len(chosen), len(HELD_OUT)))
    for batch in {c["batch"] for c in chosen}:
        some = [c for c in chosen if c["batch"] == batch]
        runs = driftopt.simulate_many(build(some), problems, budget=budget, seeds=list(HELD_OUT))
        for k in [k for k, c in enumerate(chosen) if c["batch"] == batch]:
            held_out[k] = runs.fun[k, :, some.index(chosen[k])]
    return held_out, chosen


def measure(setting: dict[str, Any], instances: dict[str, Problem]) -> list[dict[str, Any]]:
    """One record an instance: the start, the tuned rival's and auto's mean and standard error."""
    problems, records = driftopt.stack(list(instances.values())), []
    rival, chosen = tuned(setting, problems)
    radius, budget, seeds = setting["radius"], setting["budget"], list(HELD_OUT)
    # What minimize begins with where neither a radius nor bounds are given.
    guesses = [defaults.first_radius(np.asarray(p.x0, float)) for p in instances.values()]
    auto = methods.get("auto", radius=np.array([*(radius * f for f in FACTORS), *guesses]))
    runs = driftopt.simulate_many(auto, problems, budget=budget, seeds=seeds).fun
    auto = methods.get("auto", radius=radius, max_radius=radius)
    promised = driftopt.simulate_many(auto, problems, budget=budget, seeds=seeds).fun
    for k, (name, problem) in enumerate(instances.items()):
        records.append(
            {
                "instance": name,
                "start": float(problem.objective(problem.x0)),
                "configuration": chosen[k],
                "tuned": _summary(rival[k]),
                "auto": [_summary(runs[k, :, c]) for c in range(len(FACTORS))],
                "none": _summary(runs[k, :, len(FACTORS) + k]),
                "promised": _summary(promised[k].ravel()),
            }
        )
        print(_row(records[-1]), flush=True)
    return records


def kept(number: int, group: Group) -> list[dict[str, Any]]:
    """The records of a group of instances, which are run where they are not in the folder."""
    file = KEPT / f"group_{number}.json"
    if not file.exists():
        records = measure(*group)
        KEPT.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(records, indent=1))
    return json.loads(file.read_text())


def _summary(values: np.ndarray) -> list[float]:
    return [float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)]


def lower(record: dict[str, Any], factor: float) -> bool:
    """Whether auto's mean is below the tuned method's."""
    return record["auto"][FACTORS.index(factor)][0] < record["tuned"][0]


def no_worse(record: dict[str, Any], factor: float) -> bool:
    """Whether auto's mean is at most two standard errors (of the difference) above."""
    (ours, error), (theirs, other) = record["auto"][FACTORS.index(factor)], record["tuned"]
    return ours <= theirs + 2 * (error**2 + other**2) ** 0.5


def flat(records: list[dict[str, Any]]) -> int:
    """The instances on which no radius costs more than 4 % of what can be gained."""
    return sum(_lost(record, max(mean for mean, _ in record["auto"])) <= 0.04 for record in records)


def flat_without(records: list[dict[str, Any]]) -> int:
    """The instances on which it costs no more than 4 % to give no radius at all."""
    return sum(_lost(record, record["none"][0]) <= 0.04 for record in records)


def _lost(record: dict[str, Any], mean: float) -> float:
    """How far a mean is above that of the best radius, as a share of the start's gap to the row's best."""
    means = [mean for mean, _ in record["auto"]]
    return (mean - min(means)) / (record["start"] - min(*means, record["none"][0], record["tuned"][0]))


def _row(record: dict[str, Any]) -> str:
    digits = 3 if abs(record["tuned"][0]) < 2 else 2
    cells = [record["instance"], f"{record['tuned'][0]:.{digits}f} ± {record['tuned'][1]:.{digits}f}"]
    for factor, (mean, error) in zip(FACTORS, record["auto"], strict=True):
        mark = "" if no_worse(record, factor) else " ✗"
        cells.append(f"{mean:.{digits}f} ± {error:.{digits}f}{mark}")
    for mean, error in (record["none"], record["promised"]):
        cells.append(f"{mean:.{digits}f} ± {error:.{digits}f}")
    return "| " + " | ".join(cells) + " |"


def report(records: list[dict[str, Any]]) -> str:
    """The tables of docs/auto.md."""

    def share(test: Callable[[dict[str, Any], float], bool], factor: float) -> str:
        good = sum(test(record, factor) for record in records)
        return f"{good} of {len(records)} ({good / len(records):.0%})"

    head = [
        "instance",
        "tuned ZO-O2NC",
        *(f"auto, {_times(f)}" for f in FACTORS),
        "no radius",
        "never beyond",
    ]
    lines = [
        f"About {SETTINGS_TRIED:,} settings were tried on the development instances, most of them by an "
        "evolution strategy, before the method was frozen. Edition 5 was the first to be run on these "
        "instances, but for the two weeks; nothing in edition 7 was chosen by what they showed, and "
        "edition 8 was run on them once, after it was frozen.",
        "",
        "| | " + " | ".join(f"radius {_times(f)}" for f in FACTORS) + " |",
        "|---|" + "---|" * len(FACTORS),
        "| lower mean than the tuned method | " + " | ".join(share(lower, f) for f in FACTORS) + " |",
        "| no worse within two standard errors | " + " | ".join(share(no_worse, f) for f in FACTORS) + " |",
        "",
        f"On {flat(records)} of {len(records)} instances every radius from × 0.125 to × 4 is within 4 % of "
        "the start's gap (to the best mean of the row) of the best radius's mean; with no radius at all auto "
        f"is within 4 % of it on {flat_without(records)}.",
        "",
        "Mean objective ± standard error over 20 runs; ✗ marks a mean more than two standard errors above. "
        '"no radius": auto begins with a tenth of |x0|, or √d/10. "never beyond": the given radius is '
        "`max_radius` too.",
        "",
        "| " + " | ".join(head) + " |",
        "|---|" + "---|" * (len(head) - 1),
        *map(_row, records),
    ]
    return "\n".join(lines)


def _times(factor: float) -> str:
    return "given" if factor == 1 else f"× {factor:g}"


def picture(records: list[dict[str, Any]]) -> None:
    """How much of the tuned method's descent auto reaches, against the radius."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    groups = {
        "#0072B2": ("strategic classification", ("credit",)),
        "#D55E00": ("pricing", ("week", "synthetic")),
        "#009E73": ("kinks, wells and shifts", ("kink", "two wells", "location")),
    }
    for colour, (label, prefixes) in groups.items():
        some = [r for r in records if r["instance"].startswith(prefixes)]
        if not some:
            continue
        curves = np.array(
            [[(r["start"] - m) / (r["start"] - r["tuned"][0]) for m, _ in r["auto"]] for r in some]
        )
        axis.plot(FACTORS, curves.T, color=colour, alpha=0.25, linewidth=1)
        axis.plot(FACTORS, np.median(curves, axis=0), color=colour, linewidth=2.5, label=f"{label}, median")
    axis.axhline(1, color="black", linewidth=1, linestyle="--", label="ZO-O2NC, tuned on each instance")
    axis.set_xscale("log", base=2)
    axis.set_xticks(FACTORS, [_times(f) for f in FACTORS])
    axis.set(xlabel="radius", ylabel="descent from the start\n(tuned ZO-O2NC = 1)", ylim=(0.4, 1.3))
    axis.legend(loc="lower center")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=150)


def write(records: list[dict[str, Any]]) -> None:
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{report(records)}\n\n{END}{rest.partition(END)[2]}")
    picture(records)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two development instances, printed only")
    parser.add_argument("--group", type=int, help="run one group of instances, write no document")
    parser.add_argument("--paper", action="store_true", help="the paper's splits and weeks, printed only")
    chosen = parser.parse_args()
    if chosen.quick or chosen.paper:
        groups = quick() if chosen.quick else paper()
        print(report([record for group in groups for record in measure(*group)]))
    elif chosen.group is not None:
        kept(chosen.group, validation()[chosen.group])
    else:
        write([record for number, group in enumerate(validation()) for record in kept(number, group)])


if __name__ == "__main__":
    main()
