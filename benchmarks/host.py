"""What `minimize` adds to each query, against CMA-ES's and Nevergrad's ask and tell."""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import driftopt
from benchmarks.rows import check, row

DIM, BUDGET = 12, 6000


def rows() -> Iterator[dict[str, Any]]:
    """The function costs next to nothing, so all that is measured is the optimiser."""
    ours = _ours()
    for name, theirs in {"CMA-ES (cma)": _cma(), "Nevergrad TBPSA": _nevergrad()}.items():
        yield row(
            f"minimize: overhead a query, {DIM} dimensions",
            f"{ours * 1e6:.0f} us",
            f"{name} {theirs * 1e6:.0f} us",
            theirs / ours,
            ">= 3x less",
            theirs / ours >= 3,
        )


def _ours() -> float:
    best = np.inf
    for _ in range(3):
        began = time.perf_counter()
        result = driftopt.minimize(lambda x: x @ x, np.ones(DIM), budget=BUDGET, radius=0.3, rng=0)
        best = min(best, time.perf_counter() - began)
    check(result.nfev == BUDGET and result.x @ result.x < DIM / 4, "minimize did not minimise")
    return best / BUDGET


def _cma() -> float:
    import cma

    began = time.perf_counter()
    search = cma.CMAEvolutionStrategy(np.ones(DIM), 0.3, {"seed": 1, "verbose": -9, "maxfevals": BUDGET})
    spent = 0
    while spent < BUDGET:
        points = search.ask()
        search.tell(points, [float(x @ x) for x in points])
        spent += len(points)
    return (time.perf_counter() - began) / spent


def _nevergrad() -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nevergrad

        search = nevergrad.optimizers.TBPSA(nevergrad.p.Array(init=np.ones(DIM)), budget=BUDGET)
        began = time.perf_counter()
        for _ in range(BUDGET // 4):
            candidate = search.ask()
            search.tell(candidate, float(candidate.value @ candidate.value))
        return (time.perf_counter() - began) / (BUDGET // 4)
