"""What `minimize` adds to each query, against CMA-ES's and Nevergrad's ask and tell."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import driftopt
from benchmarks.rows import check, row

DIMS, BUDGET, REPEATS = (12, 30, 100), 6000, 5


def rows() -> Iterator[dict[str, Any]]:
    """A query's time less that of calling the function alone: taken off ours and theirs, best of several."""
    for dim in DIMS:
        bare = _best(_bare, dim)
        ours = _best(_ours, dim) - bare
        for name, run in {"CMA-ES (cma)": _cma, "Nevergrad TBPSA": _nevergrad}.items():
            theirs = _best(run, dim) - bare
            yield row(
                f"minimize: overhead a query, {dim} dimensions",
                f"{ours * 1e6:.1f} us",
                f"{name} {theirs * 1e6:.1f} us",
                theirs / ours,
                ">= 3x less",
                theirs / ours >= 3,
            )


def _best(run: Callable[[int], int], dim: int) -> float:
    """Seconds a query, of a run that says how many it made; the first is a rehearsal."""
    run(dim)
    best = np.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        queries = run(dim)
        best = min(best, (time.perf_counter() - began) / queries)
    return best


def _fun(x: np.ndarray) -> float:
    return float(x @ x)


def _bare(dim: int) -> int:
    x = np.ones(dim)
    for _ in range(BUDGET):
        _fun(x)
    return BUDGET


def _ours(dim: int) -> int:
    result = driftopt.minimize(_fun, np.ones(dim), budget=BUDGET, radius=0.3, rng=0)
    check(result.nfev == BUDGET and result.x @ result.x < dim / 4, "minimize did not minimise")
    return BUDGET


def _cma(dim: int) -> int:
    import cma

    search = cma.CMAEvolutionStrategy(np.ones(dim), 0.3, {"seed": 1, "verbose": -9, "maxfevals": BUDGET})
    spent = 0
    while spent < BUDGET:
        points = search.ask()
        search.tell(points, [_fun(x) for x in points])
        spent += len(points)
    return spent


def _nevergrad(dim: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nevergrad

        search = nevergrad.optimizers.TBPSA(nevergrad.p.Array(init=np.ones(dim)), budget=BUDGET)
        for _ in range(BUDGET // 4):
            candidate = search.ask()
            search.tell(candidate, _fun(candidate.value))
        return BUDGET // 4
