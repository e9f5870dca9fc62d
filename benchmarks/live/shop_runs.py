"""One run of 120 days in a shop: with the value, with units sold, with wrong knowledge, and by rivals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.live.optimisers import RIVALS, drive, sides, walk_name
from benchmarks.live.shops import DAYS, FAILED, Shop
from driftopt.model import Model, Results
from driftopt.model.objective import Own


@dataclass(frozen=True)
class View:
    """What the model is told."""

    value: bool = True
    units: bool = False
    covariates: bool = True
    costs: str = (
        "right"  # or "wrong" by up to a half, or "hidden": half of the cost of three products is unknown
    )
    left_out: bool = False  # the product that sells for most is not among the outputs
    max_loss: float | None = None


VIEWS = {
    "value": View(covariates=False),
    "value, covariates": View(),
    "value, covariates, max_loss=0.1": View(max_loss=0.1),
    "units": View(value=False, units=True),
    "units, value": View(units=True),
    "units, max_loss=0.1": View(value=False, units=True, max_loss=0.1),
    "wrong costs": View(value=False, units=True, costs="wrong"),
    "wrong costs, value": View(units=True, costs="wrong"),
    "hidden costs": View(value=False, units=True, costs="hidden"),
    "hidden costs, value": View(units=True, costs="hidden"),
    "product left out": View(value=False, units=True, left_out=True),
    "product left out, value": View(units=True, left_out=True),
}
OTHERS = ("CMA-ES (cma)", "TPE (Optuna)")


@dataclass(frozen=True)
class KnownMargin:
    """Σ (x_i − cost_i) · units_i − fixed over the products whose units are reported."""

    products: tuple[int, ...]
    cost: tuple[float, ...]
    fixed: float

    def __call__(self, x: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        margin = x[..., list(self.products)] - np.array(self.cost)
        return (margin * outputs).sum(axis=-1) - self.fixed

    def own(self, output: int, start: np.ndarray) -> Own | None:
        price = start[self.products[output]]
        margin = max(price - self.cost[output], price / 10)
        return Own(self.products[output], tuple(start.tolist()), float(-1 / margin))


def known(shop: Shop, view: View, seed: int) -> KnownMargin:
    """The objective as the study knows it."""
    dim, rng = len(shop.start), np.random.default_rng([seed, 2])
    cost = shop.cost.copy()
    if view.costs == "wrong":
        cost = cost * rng.uniform(0.5, 1.5, dim)
    elif view.costs == "hidden":
        cost[rng.permutation(dim)[: dim // 2]] *= 0.5
    sales = shop.start * shop.units(shop.start, 0)
    products = tuple(i for i in range(dim) if not (view.left_out and i == int(sales.argmax())))
    return KnownMargin(products, tuple(float(cost[i]) for i in products), shop.fixed)


def with_model(shop: Shop, seed: int, view: View, days: int = DAYS) -> dict[str, Any]:
    """One run of the model; the share of the gain, the profit on the way and the worst day."""
    objective = known(shop, view, seed) if view.units else None
    search = Model(
        shop.space,
        units=shop.radius,
        seed=seed,
        maximize=True,
        objective=objective,
        max_loss=view.max_loss,
    )
    rng = np.random.default_rng([seed, 1])
    deployed: list[np.ndarray] = []
    rows: list[tuple[np.ndarray, int, float, np.ndarray, np.ndarray]] = []

    def results() -> Results:
        if not rows:
            return Results.of(np.empty((0, len(shop.start))), [])
        x, number, value, units, covariates = (np.array(column) for column in zip(*rows, strict=True))
        more: dict[str, Any] = {"covariates": covariates} if view.covariates else {}
        if objective is not None:
            more["outputs"] = units[:, list(objective.products)]
        return Results.of(
            x, value if view.value else np.full(len(x), np.nan), number=number.astype(float), **more
        )

    for t in range(days):
        x = search.ask(results(), t + 1)
        deployed.append(x)
        value, units = shop.day(x, t, rng)
        if rng.random() >= FAILED:
            rows.append((x, t + 1, value, units, shop.covariates(t)))
    return judged(shop, deployed, search.recommend(results(), days + 1).x)


def with_rival(shop: Shop, seed: int, name: str, days: int = DAYS) -> dict[str, Any]:
    """One run of a rival on the value. It is spared failed days, and sees prices made legal."""
    rng = np.random.default_rng([seed, 1])
    deployed: list[np.ndarray] = []

    def loss(x: np.ndarray) -> float:
        deployed.append(x)
        return -shop.day(x, len(deployed) - 1, rng)[0]

    def legal(z: np.ndarray) -> np.ndarray:
        found = shop.space.legal((shop.start + shop.radius * z)[None], shop.start, np.random.default_rng(0))
        return found[0] if len(found) else shop.start

    if name in RIVALS:
        box = sides(shop.bounds, shop.start, shop.radius)
        width = float(np.abs(np.stack(box)).max())
        z = drive(
            RIVALS[name].build(width, days), lambda z: loss(legal(z)), box, len(shop.start), seed, [days]
        )
        return judged(shop, deployed, legal(z[0]))
    import driftopt

    def value_and_covariates(x: np.ndarray) -> tuple[float, Sequence[float]]:
        covariates = shop.covariates(len(deployed)).tolist()
        return loss(x), covariates

    result = driftopt.minimize(
        value_and_covariates,
        shop.space,
        budget=days,
        radius=shop.radius.tolist(),
        method=walk_name(),
        covariates=["tue", "wed", "thu", "fri", "sat", "sun", "promotion"],
        rng=seed,
    )
    return judged(shop, deployed, result.x)


def judged(shop: Shop, deployed: list[np.ndarray], x: np.ndarray) -> dict[str, Any]:
    """What a run brought, in expected profits of each of its days."""
    levels = [shop.level(t) for t in range(len(deployed))]
    stayed = np.array([shop.profit(shop.start, t, level) for t, level in enumerate(levels)])
    earned = np.array(
        [shop.profit(x, t, level) for t, (x, level) in enumerate(zip(deployed, levels, strict=True))]
    )
    change = (earned - stayed) / abs(stayed)
    return {
        "share": shop.gain(x),
        "profit": float((earned - stayed).sum() / stayed.sum()),
        "worst": float(change.min()),
        "bad": int((change < -0.1).sum()),
    }
