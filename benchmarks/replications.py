"""`python -m benchmarks.replications`: the paper's classification protocol again and again, with other seeds.

One run of the protocol is one draw: five development runs choose among 45 to 180 configurations, and twenty
held-out runs judge the choice. Repeating all of it says which of its findings are luck.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from driftopt.paper import protocol, published, summary
from driftopt.paper.reproduction import run
from driftopt.runtime.jax_settings import prepare

REPLICATIONS = 20
FIRST = 100_000_000  # far from the seeds of the protocol itself
OUT = Path("results/replications.json")


def main() -> None:
    """The means of every replication into a file, and a table of them."""
    prepare()
    experiment = protocol.strategic(data="real")
    methods = published.METHODS
    experiment = replace(experiment, grids=tuple(g for g in experiment.grids if g.label in methods))
    means = np.empty((REPLICATIONS, len(experiment.instances), len(methods)))
    for index in range(REPLICATIONS):
        first = FIRST + 1000 * index
        seeds = {"development": range(first, first + 5), "held_out": range(first + 500, first + 520)}
        tuned = run(replace(experiment, **seeds), None, progress=False)
        for k, instance in enumerate(experiment.instances):
            for m, method in enumerate(methods):
                held = tuned.held_out.where(method=method, instance=instance).columns["objective"]
                means[index, k, m] = np.where(np.isfinite(held), held, np.inf).mean()
        print(f"replication {index + 1} of {REPLICATIONS}", file=sys.stderr, flush=True)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"methods": methods, "means": means.tolist()}) + "\n")
    print(table(means, methods, experiment.instances))


def table(means: np.ndarray, methods: tuple[str, ...], instances: tuple[str, ...]) -> str:
    """Markdown: mean ± deviation over the replications, and how often Option I was the lowest."""
    lowest = means.argmin(axis=2) == methods.index("zo-o2nc-2pt")
    rows = [["split", *(summary.TITLES[m] for m in methods), "Option I is the lowest"]]
    rows.append(["---"] * len(rows[0]))
    for k, instance in enumerate(instances):
        cells = zip(means[:, k].mean(axis=0), means[:, k].std(axis=0, ddof=1), strict=True)
        shown = [f"{mean:.4f} ± {deviation:.4f}" for mean, deviation in cells]
        rows.append([instance, *shown, f"in {lowest[:, k].sum()} of {len(means)}"])
    end = f"On every split at once: in {lowest.all(axis=1).sum()} of {len(means)} replications."
    option_two, one_point = (means[:, :, methods.index(m)].mean(axis=1) for m in ("zo-o2nc-1pt", "zo-og"))
    below = f"Option II is below zo-og on average: in {(option_two < one_point).sum()} of {len(means)}."
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + f"\n\n{end}\n{below}"


if __name__ == "__main__":
    main()
