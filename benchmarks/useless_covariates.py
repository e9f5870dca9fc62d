"""What covariates that explain nothing cost, at many budgets: as per cent of what the plain run gains.

    python -m benchmarks.useless_covariates      a few minutes

The six shops of `benchmarks.side_information`, in simulation: `auto`, 200 seeds each, with two and with ten
covariates of pure chance. Both runs of a seed have the same noise, so that differences are paired.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from benchmarks.side_information import DIM, RADIUS, SHOPS, Shop
from driftopt import Problem, methods, simulate_many, stack
from driftopt.pytree import module, static

BUDGETS, SEEDS, USELESS = (30, 40, 50, 60, 80, 120, 200, 300, 500, 1000), 200, (2, 10)


@module
class Weeks(Problem):
    """A shop whose values are f and noise, with covariates that have nothing to do with it."""

    best: Array
    slopes: Array
    noise_size: Array
    kind: Array  # of f: squares, absolute values, a root
    useless: int = static(default=2)

    @property
    def dim(self) -> int:
        return DIM

    def noise(self, key: Array) -> Array:
        return jax.random.normal(key, (1 + self.useless,))

    def respond(self, noise: Array, x: Array) -> Array:
        return noise

    def value(self, x: Array, xi: Array) -> Array:
        return self.objective(x) + self.noise_size * xi[0]

    def covariates(self, noise: Any) -> Array:
        return noise[1:]

    def objective(self, x: Array) -> Array:
        apart = x - self.best
        squares = (self.slopes * apart**2).sum()
        each = jnp.stack([squares, jnp.abs(self.slopes * apart).sum(), jnp.sqrt(squares + 0.01)])
        return each[self.kind]


def shops(useless: int) -> list[Weeks]:
    """The six of the tables."""
    drawn = [Shop.of(number, 1001) for number in range(SHOPS)]
    return [
        Weeks(
            jnp.asarray(shop.best, jnp.float32),
            jnp.asarray(shop.slopes, jnp.float32),
            jnp.asarray(shop.noise, jnp.float32),
            jnp.asarray(shop.shape),
            useless,
        )
        for shop in drawn
    ]


def main() -> None:
    words = " | ".join(f"{k} useless, % of the gain lost" for k in USELESS)
    print(
        f"| deployments | the plain run's gain, % | {words} |\n|---|---|" + "---|" * len(USELESS), flush=True
    )
    for budget in BUDGETS:
        plain, cells = 0.0, []
        for useless in USELESS:
            problems = shops(useless)
            start = np.array([float(one.objective(jnp.zeros(DIM))) for one in problems])
            span = start - np.array([float(one.objective(one.best)) for one in problems])
            auto, gains = methods.get("auto", radius=RADIUS), []
            for method in (auto, methods.informed(auto, covariates=True)):
                run = simulate_many(method, stack(problems), budget=budget, seeds=range(SEEDS))
                gains.append(100 * (start[:, None] - run.objective.reshape(SHOPS, SEEDS)) / span[:, None])
            plain, lost = gains[0].mean(), gains[0] - gains[1]
            error = np.sqrt((lost.var(axis=1, ddof=1) / SEEDS).sum()) / SHOPS
            cells.append(f"{100 * lost.mean() / plain:+.2f} ± {196 * error / plain:.2f}")
        print(f"| {budget:,} | {plain:.1f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
