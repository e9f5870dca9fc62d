"""`python -m benchmarks.gpu`: the paper's whole protocol and 100,000 lanes at once, on one accelerator.

Absolute times: run it on a machine of its own. Needs the core packages alone, and the data (DRIFTOPT_DATA).
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

import driftopt
from driftopt import methods, sweep
from driftopt.paper import protocol
from driftopt.runtime import jax_settings


def main() -> None:
    jax_settings.trace_quickly()  # as the command does
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
    """Both experiments: grids on development seeds, selection, held-out runs.

    The first time side by side, because one compiles while the other computes; then one after the other.
    """
    experiments = (protocol.strategic(), protocol.pricing())
    began = time.perf_counter()
    with ThreadPoolExecutor() as pool:
        made = list(pool.map(_tune, experiments))
    first = time.perf_counter() - began
    lines, total = [], 0.0
    for experiment, before in zip(experiments, made, strict=True):
        began = time.perf_counter()
        again = _tune(experiment)
        seconds = time.perf_counter() - began
        total += seconds
        lines.append(_line(f"{experiment.name}: seconds of computing", seconds))
        values, same = (runs.held_out.columns["objective"] for runs in (again, before))
        assert np.array_equal(values, same), "two runs of one program differ"
        for method in dict.fromkeys(again.held_out.columns["method"].tolist()):
            mean = again.held_out.where(method=method).columns["objective"].mean()
            lines.append(_line(f"{experiment.name}: {method}, mean held-out objective", float(mean)))
    lines.append(_line("full protocol: seconds of computing", total, "<= 1.5"))
    lines.append(_line("full protocol: seconds, compilation included", first, "<= 12"))
    return lines


def _tune(experiment: Any) -> Any:
    return sweep.tune(
        experiment.grids,
        list(experiment.problems),
        names=experiment.instances,
        budget=experiment.budget,
        development=list(experiment.development),
        held_out=list(experiment.held_out),
        progress=False,
    )


if __name__ == "__main__":
    main()
