"""Simulated queries a second against one Python call a query, and how cost grows.

Nobody who needs many runs writes such a loop: `over_lanes` has the rival that counts.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import driftopt
from benchmarks import plain
from benchmarks.rows import check, row
from driftopt import methods
from driftopt.paper import protocol


def rows() -> Iterator[dict[str, Any]]:
    """Two-point ZO-O2NC: every configuration of the paper's grid on four instances, at the paper's budget."""
    yield from _against_plain(protocol.strategic(), plain.strategic, plain.tight_strategic)
    yield from _against_plain(protocol.pricing(), plain.pricing, plain.tight_pricing)
    yield from _scaling()


def _against_plain(
    experiment: Any, oracle: Callable[..., Any], tight: Callable[..., Any]
) -> Iterator[dict[str, Any]]:
    grid = next(g for g in experiment.grids if g.label == "zo-o2nc-2pt")
    problems = driftopt.stack(experiment.problems)
    by_batch: dict[int, list[dict[str, Any]]] = {}
    for numbers in grid.configurations:
        by_batch.setdefault(numbers["batch"], []).append(dict(numbers))

    def run(batch: int) -> Any:
        group = by_batch[batch]
        lanes = {key: np.array([numbers[key] for numbers in group]) for key in ("radius", "step", "block")}
        method = methods.get("zo-o2nc-2pt", **lanes, batch=batch)
        return driftopt.simulate_many(
            method, problems, budget=experiment.budget, seeds=list(experiment.development)
        )

    run(min(by_batch)), run(max(by_batch))  # compiles: batch 1 has a program, all others share one
    seconds = np.inf
    for _ in range(3):  # the best of three, as for the plain loop
        began = time.perf_counter()
        traces = {batch: run(batch) for batch in by_batch}
        seconds = min(seconds, time.perf_counter() - began)
    queries = sum(int(trace.queries.sum()) for trace in traces.values())

    batch = min(by_batch)
    one = driftopt.simulate(
        methods.get("zo-o2nc-2pt", **by_batch[batch][0]),
        experiment.problems[0],
        budget=experiment.budget,
        rng=experiment.development[0],
    )
    check(np.isclose(one.fun, traces[batch].fun[0, 0, 0], rtol=1e-2), "a lane differs from its single run")
    start = float(experiment.problems[0].objective(experiment.problems[0].x0))
    check(min(t.fun[0].mean(0).min() for t in traces.values()) < start, "no configuration improves the start")

    ours = queries / seconds
    theirs = _plain_rate(experiment.problems[0], oracle)
    yield row(
        f"{experiment.name}: queries a second, two-point O2NC, {queries / 1e6:.0f} million",
        f"{ours / 1e6:.1f} M/s",
        f"plain NumPy loop {theirs:,.0f}/s",
        ours / theirs,
        "",
        None,
    )
    best = _plain_rate(experiment.problems[0], tight)
    yield row("the same", f"{ours / 1e6:.1f} M/s", f"tight NumPy loop {best:,.0f}/s", ours / best, "", None)


def _plain_rate(problem: Any, oracle: Callable[..., Any]) -> float:
    """The loop's queries a second: the best of three, so that a busy machine does not flatter us."""
    x0, budget, best = np.asarray(problem.x0, float), 4000, 0.0
    for seed in range(3):
        sample = oracle(problem, seed)
        began = time.perf_counter()
        x = plain.o2nc(sample, x0, budget, seed)
        best = max(best, budget / (time.perf_counter() - began))
        check(np.isfinite(x).all(), "the plain loop diverged")
    values = [sample(x0) for _ in range(4000)]
    error = np.std(values) / np.sqrt(len(values))
    check(abs(np.mean(values) - float(problem.objective(problem.x0))) < 6 * error, "the plain oracle is off")
    return best


def _scaling() -> Iterator[dict[str, Any]]:
    """Linear cost: twice the lanes, the queries or the dimension should cost about twice the time."""
    from driftopt.problems import Pricing

    def seconds(lanes: int, budget: int, products: int) -> float:
        method = methods.get("zo-o2nc-2pt", radius=np.linspace(0.1, 1, lanes), step=1e-3, block=10)
        problems = driftopt.stack([Pricing.synthetic(0, products=products)])
        best = np.inf
        for _ in range(4):
            began = time.perf_counter()
            trace = driftopt.simulate_many(method, problems, budget=budget, seeds=range(8))
            best = min(best, time.perf_counter() - began)
        check(np.isfinite(trace.fun).all(), "a run of the scaling table diverged")
        return best

    base = seconds(128, 2000, 16)
    for what, arguments in {
        "lanes": (256, 2000, 16),
        "queries": (128, 4000, 16),
        "dimension": (128, 2000, 32),
    }.items():
        ratio = seconds(*arguments) / base
        yield row(
            f"scaling: twice the {what}",
            f"{ratio * base:.2f} s",
            f"base {base:.2f} s",
            ratio,
            "<= 2.5x",
            bool(ratio <= 2.5),
        )
