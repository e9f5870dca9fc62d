"""`python -m benchmarks.gpu`: the paper's whole protocol and 100,000 lanes at once, on one accelerator.

Absolute times: run it on a machine of its own. Needs the core packages alone, and the data (DRIFTOPT_DATA).
"""

import json
import sys
import time
from typing import Any

import jax
import numpy as np

import driftopt
from driftopt import methods, sweep
from driftopt.paper import protocol


def main() -> None:
    device = jax.devices()[0]
    print(f"{device.device_kind}, jax {jax.__version__}", flush=True)
    lines = [{"what": "device", "value": device.device_kind}]
    for line in (*_lanes(), *_protocol()):
        print(f"{line['what']:<60} {line['value']:>12.4g}  {line['target']}", flush=True)
        lines.append(line)
    json.dump(lines, sys.stdout)


def _line(what: str, value: float, target: str = "") -> dict[str, Any]:
    return {"what": what, "value": value, "target": target}


def _lanes() -> list[dict[str, Any]]:
    """Strategic classification, two-point ZO-O2NC, 100,000 lanes: noise of their own, and shared noise."""
    problem = driftopt.stack([protocol.strategic(splits=["101"]).problems[0]])
    lines = []
    for what, seeds, width in (("noise of their own", 100_000, 1), ("250 configurations a seed", 400, 250)):
        radius = np.linspace(0.5, 5.0, width) if width > 1 else 2.0
        method = methods.get("zo-o2nc-2pt", radius=radius, step=1e-3, block=10)
        best = np.inf
        for _ in range(3):
            began = time.perf_counter()
            trace = driftopt.simulate_many(method, problem, budget=4000, seeds=range(seeds))
            best = min(best, time.perf_counter() - began)
        assert np.isfinite(trace.fun).all()
        assert trace.fun.mean() < 1.46
        lines.append(_line(f"queries a second, 100,000 lanes, {what}", trace.queries.sum() / best, ">= 1e9"))
    return lines


def _protocol() -> list[dict[str, Any]]:
    """Both experiments: grids on development seeds, selection, held-out runs."""
    lines, totals = [], np.zeros(2)
    for experiment in (protocol.strategic(), protocol.pricing()):
        times = []
        for _ in range(2):
            began = time.perf_counter()
            made = sweep.tune(
                experiment.grids,
                list(experiment.problems),
                names=experiment.instances,
                budget=experiment.budget,
                development=list(experiment.development),
                held_out=list(experiment.held_out),
                progress=False,
            )
            times.append(time.perf_counter() - began)
        lines.append(_line(f"{experiment.name}: seconds, the second time", times[1]))
        lines.append(_line(f"{experiment.name}: seconds, compilation included", times[0]))
        for method in dict.fromkeys(made.held_out.columns["method"].tolist()):
            values = made.held_out.where(method=method).columns["objective"]
            lines.append(_line(f"{experiment.name}: {method}, mean held-out objective", float(values.mean())))
        totals += np.array(times[::-1])
    lines.append(_line("full protocol: seconds of computing", totals[0], "<= 5"))
    lines.append(_line("full protocol: seconds, compilation included", totals[1], "<= 25"))
    return lines


if __name__ == "__main__":
    main()
