"""What one bad answer costs: `python -m benchmarks.one_bad_answer`, half an hour on two cores; `--budget 40`
too, and `--places 1 2 11 61 111` for half of the time.

Three prices, 128 deployments, many shops. At one deployment the answer is a hundred times, ten times or a
hundredth of what was measured, or ±999999, and nobody takes it back. Printed is the mean share of the
possible gain that the recommendation reaches: for the rule before (`auto-1`) and for `auto` over 200 shops at
once, and for studies with `auto` and the guard over 24, in as many processes as there are cores. The shops
are told one radius for prices from 1.6 to 14.4, which is hard, or one for each price.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from multiprocessing import get_context
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from rich.console import Console
from rich.progress import track
from rich.table import Table

from driftopt import methods
from driftopt.study import BudgetSpent, Study

SHOPS, STUDIES, NOISE = 200, 24, 2.0
GUARDED = "studies, guard"
PLACES = (None, 1, 2, 3, 7, 9, 11, 16, 17, 31, 61, 111)
WRONG = {
    "× 100": lambda value: 100 * value,
    "× 10": lambda value: 10 * value,
    "/ 100": lambda value: value / 100,
    "−999999": lambda value: 0 * value - 999_999.0,
    "999999": lambda value: 0 * value + 999_999.0,
}
COST = np.array([1.0, 4.0, 9.0])
TODAY = 1.6 * COST
UNITS = {"one radius for all prices": np.full(3, 0.8), "a radius for each price": 0.3 * COST}


def fair_prices(shop: int) -> np.ndarray:
    return COST * np.random.default_rng(shop).uniform(1.8, 2.6, len(COST))


def profit(x: Any, fair: Any) -> Any:
    """Each product has its own price that customers find fair; above it half of them leave at once."""
    sold = jnp.exp(-1.5 * (x / fair - 1)) * (1 - 0.5 * (x > 1.3 * fair))
    return ((x - COST) * 10 * sold / COST).sum(-1)


@cache
def possible(shop: int) -> float:
    """Products do not depend on each other: a fine grid for each."""
    total = 0.0
    for i in range(len(COST)):
        points = np.repeat(COST[None], 4000, axis=0)
        points[:, i] = np.linspace(COST[i], 4 * COST[i], 4000)
        total += float(profit(points, fair_prices(shop)).max())
    return total


def share(shop: int, x: Any) -> float:
    """What a decision gains over today's prices, as a share of what could be gained."""
    fair = fair_prices(shop)
    today = float(profit(TODAY, fair))
    return (float(profit(np.asarray(x, float), fair)) - today) / (possible(shop) - today)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def walks(name: str, budget: int, units: str, wrong: str, place: int, fair: Array) -> Array:
    """The recommendations of many shops that run side by side; `place` 0 is nowhere."""
    unit = UNITS[units]
    method = methods.get(name, radius=1.0, budget=budget)

    def one(shop: Array, fair: Array) -> Array:
        noise = NOISE * jax.random.normal(jax.random.key(shop + 10_000), (budget // 2, 2))

        def pair(state: Any, t: Array) -> tuple[Any, None]:
            values = profit(method.ask(state) * unit, fair) + noise[t]
            told = jnp.where(2 * t + jnp.arange(1, 3) == place, WRONG[wrong](values), values)
            return method.tell(state, -told), None

        begun = method.init(jax.random.key(shop), jnp.asarray(TODAY / unit, jnp.float32))
        last, _ = jax.lax.scan(pair, begun, jnp.arange(budget // 2))
        return method.recommend(last) * unit

    return jax.vmap(one)(jnp.arange(len(fair)), fair)


def walked(name: str, budget: int, units: str, wrong: str, place: int | None) -> float:
    fair = jnp.asarray([fair_prices(shop) for shop in range(SHOPS)], jnp.float32)
    found = walks(name, budget, units, wrong, place or 0, fair)
    return float(np.mean([share(shop, x) for shop, x in enumerate(found)]))


def guarded(budget: int, units: str, wrong: str, place: int | None) -> float:
    return float(np.mean([studied(shop, budget, units, wrong, place) for shop in range(STUDIES)]))


def studied(shop: int, budget: int, units: str, wrong: str, place: int | None) -> float:
    """The share that one study with the guard reaches."""
    rng, fair = np.random.default_rng(shop), fair_prices(shop)
    radius = UNITS[units].tolist() if len(set(UNITS[units])) > 1 else UNITS[units][0]
    study = Study.create(
        "sqlite://", "shop", x0=TODAY, budget=budget, radius=radius, direction="maximize", rng=shop
    )
    for turn in range(1, budget + 1):
        try:
            trial = study.ask()
        except BudgetSpent:
            break
        value = float(profit(trial.x, fair)) + NOISE * rng.standard_normal()
        study.tell(trial.id, WRONG[wrong](value) if turn == place else value)
    return share(shop, study.recommend().x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=128)
    parser.add_argument("--walks", action="store_true", help="no studies, which take most of the time")
    parser.add_argument("--places", type=int, nargs="+", help="the deployments at which it is wrong")
    chosen = parser.parse_args()
    rows = {name: partial(walked, name, chosen.budget) for name in ("auto-1", "auto")}
    rows |= {} if chosen.walks else {GUARDED: partial(guarded, chosen.budget)}
    asked = PLACES if chosen.places is None else (None, *chosen.places)
    places = [place for place in asked if place is None or place <= chosen.budget]
    cells = [
        (units, wrong, row, place)
        for units, wrong, row, place in product(UNITS, WRONG, rows, places)
        if place is not None or wrong == next(iter(WRONG))
    ]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:  # forks and JAX do not go together
        studies = {
            (units, wrong, row, place): pool.submit(rows[row], units, wrong, place)
            for units, wrong, row, place in cells
            if row == GUARDED
        }
        found = {
            cell: studies[cell].result() if cell in studies else rows[cell[2]](cell[0], cell[1], cell[3])
            for cell in track(cells, description="shops", transient=True)
        }
    for units, wrong in product(UNITS, WRONG):
        table = Table(title=f"share of the gain reached, {units}, one answer {wrong} at deployment …")
        for heading in ("", *("none" if place is None else str(place) for place in places)):
            table.add_column(heading, justify="right")
        for row in rows:
            shares = [found[units, wrong if p else next(iter(WRONG)), row, p] for p in places]
            table.add_row(row, *(f"{one:.2f}" for one in shares))
        Console(width=120).print(table)


if __name__ == "__main__":
    main()
