"""Many runs side by side, against NumPy vectorised over the runs: the alternative of somebody who needs many.

Strategic classification on the synthetic rows, two-point O2NC with batch 5 and block 20, 6,000 queries a run.
Each row is a process of its own, which keeps no compiled programs. Its first call includes compilation; then
both sides run in turn, and the best of three counts.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.rows import check, row

BUDGET, BATCH, BLOCK = 6000, 5, 20
ROWS = {
    "200 seeds": (200, 1, 1),
    "2,000 seeds": (2000, 1, 1),
    "100 × 36": (100, 6, 6),
    "20 × 180": (20, 15, 12),
}


def rows() -> Iterator[dict[str, Any]]:
    """Seeds alone, and seeds × configurations that share a seed's noise."""
    for name, sizes in ROWS.items():
        command = [sys.executable, "-m", "benchmarks.over_lanes", *map(str, sizes)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        apart = abs(found["z"])
        check(apart < 6, f"{name}: the mean objectives differ by {apart:.1f} standard errors")
        ours, theirs = found["warm"], found["numpy"]
        yield row(
            f"{name}, {BUDGET:,} queries each",
            f"{ours:.2f} s, the first time {found['cold']:.2f} s",
            f"NumPy over the runs, one core: {theirs:.2f} s",
            theirs / ours,
            "",
            None,
        )


def over_lanes(problem: Any, radius: np.ndarray, step: np.ndarray, seeds: int, rng: Any) -> np.ndarray:
    """x of seeds × configurations, (S, C, d): a seed's configurations share their noise."""
    features, labels = np.asarray(problem.features), np.asarray(problem.labels)
    radius, step, start = radius[:, None], step[:, None], np.asarray(problem.x0)
    x = np.tile(start, (seeds, len(radius), 1))
    increment = np.zeros_like(x)

    def value(x: np.ndarray) -> np.ndarray:
        drawn = rng.integers(len(labels), size=(seeds, BATCH))
        weights, norm = x[..., :-1], np.sum(x[..., :-1] ** 2, axis=-1)[:, None]
        score = features[drawn] @ weights.swapaxes(1, 2) + x[:, None, :, -1]
        moves = (score < 0) & (score**2 <= float(problem.tau) * norm)
        return np.maximum(1 - labels[drawn][..., None] * np.where(moves, 0, score), 0).mean(axis=1)

    for iteration in range(BUDGET // (2 * BATCH)):
        if iteration % BLOCK == 0:
            increment[:] = 0
        y = x + rng.random((seeds, 1, 1), np.float32) * increment
        x = x + increment
        u = rng.standard_normal((seeds, 1, x.shape[-1]), np.float32)
        u /= np.linalg.norm(u, axis=-1, keepdims=True)
        slope = (value(y + radius * u) - value(y - radius * u))[..., None] * x.shape[-1] / (2 * radius)
        increment = increment - step * slope * u
        norm = np.linalg.norm(increment, axis=-1, keepdims=True)
        increment *= np.minimum(1, radius / BLOCK / np.maximum(norm, 1e-30))
    return x


def measure(seeds: int, radii: int, steps: int) -> dict[str, float]:
    """Seconds of both sides, and by how many standard errors their mean objectives differ."""
    import jax

    import driftopt
    from driftopt import methods
    from driftopt.problems.strategic import StrategicClassification

    problem = StrategicClassification.stand_in()
    radii_of = np.geomspace(0.1, 1, radii) if radii > 1 else np.array([0.5])
    steps_of = np.geomspace(1e-3, 1e-2, steps) if steps > 1 else np.array([0.01])
    radius = np.repeat(radii_of, steps).astype(np.float32)
    step = np.tile(steps_of, radii).astype(np.float32)
    method = methods.get("zo-o2nc-2pt", radius=radius, step=step, block=BLOCK, batch=BATCH)
    stack = driftopt.stack([problem])

    def ours() -> np.ndarray:
        return driftopt.simulate_many(method, stack, budget=BUDGET, seeds=range(seeds)).fun[0]

    def timed(run: Any) -> tuple[float, np.ndarray]:
        began = time.perf_counter()
        found = run()
        return time.perf_counter() - began, found

    cold, _ = timed(ours)
    turns = [
        (timed(ours), timed(lambda: over_lanes(problem, radius, step, seeds, np.random.default_rng(0))))
        for _ in range(3)
    ]
    (_, fun), (_, x) = turns[0]
    theirs = np.asarray(jax.lax.map(problem.objective, x.reshape(-1, x.shape[-1]), batch_size=64))
    means = fun.mean(axis=1), theirs.reshape(seeds, -1).mean(axis=1)  # a seed's runs share their noise
    error = np.hypot(*(side.std(ddof=1) / np.sqrt(seeds) for side in means))
    return {
        "cold": cold,
        "warm": min(turn[0][0] for turn in turns),
        "numpy": min(turn[1][0] for turn in turns),
        "z": float((means[0].mean() - means[1].mean()) / error),
    }


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
