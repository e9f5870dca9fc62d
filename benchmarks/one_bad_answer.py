"""What one bad answer costs a study: `python -m benchmarks.one_bad_answer`.

Three prices, 128 deployments, several shops. At one deployment the answer is a hundred times, or ten times,
what was measured, or −999999, and nobody takes it back. Printed is the mean share of the possible gain that
the recommendation reaches, for the rule before (`auto-1`), for `auto`, and for `auto` with the guard.
"""

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from driftopt.study import BudgetSpent, Study

BUDGET, SHOPS = 128, 8
PLACES = (None, 1, 11, 61, 111)
WRONG = {
    "× 100": lambda value: 100 * value,
    "× 10": lambda value: 10 * value,
    "−999999": lambda _: -999_999.0,
}
SETTINGS = {
    "auto-1": {"method": "auto-1", "guard": None},
    "auto": {"method": "auto", "guard": None},
    "auto, guard": {"method": "auto"},
}
COST = np.array([1.0, 4.0, 9.0])
TODAY = 1.6 * COST


def profit(x: np.ndarray, fair: np.ndarray) -> float:
    """Each product has its own price that customers find fair; above it they leave at once."""
    sold = np.exp(-1.5 * (x / fair - 1)) * (1 - 0.5 * (x > 1.3 * fair))
    return float(((x - COST) * 10 * sold / COST).sum())


def best(fair: np.ndarray) -> float:
    """Products do not depend on each other: a fine grid for each."""
    total = 0.0
    for i in range(len(COST)):
        prices = np.linspace(COST[i], 4 * COST[i], 4000)
        points = np.repeat(COST[None], len(prices), axis=0)
        points[:, i] = prices
        total += max(profit(x, fair) for x in points)
    return total


def share(shop: int, setting: dict[str, object], wrong: str, place: int | None) -> float:
    """What the recommendation gains over today's prices, as a share of what could be gained."""
    rng = np.random.default_rng(shop)
    fair = COST * rng.uniform(1.8, 2.6, len(COST))
    made = {"x0": TODAY, "budget": BUDGET, "radius": 0.8, "direction": "maximize", "rng": shop}
    study = Study.create("sqlite://", "shop", **made, **setting)  # pyright: ignore[reportArgumentType]
    for turn in range(1, BUDGET + 1):
        try:
            trial = study.ask()
        except BudgetSpent:
            break
        value = profit(trial.x, fair) + 2.0 * rng.standard_normal()
        study.tell(trial.id, WRONG[wrong](value) if turn == place else value)
    today = profit(TODAY, fair)
    return (profit(study.recommend().x, fair) - today) / (best(fair) - today)


def main() -> None:
    cells = [(name, wrong, place) for wrong in WRONG for name in SETTINGS for place in PLACES]
    found = {
        (name, wrong, place): np.mean([share(shop, SETTINGS[name], wrong, place) for shop in range(SHOPS)])
        for name, wrong, place in track(cells, description="studies", transient=True)
    }
    for wrong in WRONG:
        table = Table(title=f"share of the gain reached, one answer {wrong} at deployment …")
        for heading in ("", *("none" if place is None else str(place) for place in PLACES)):
            table.add_column(heading, justify="right")
        for name in SETTINGS:
            table.add_row(name, *(f"{found[name, wrong, place]:.2f}" for place in PLACES))
        Console().print(table)


if __name__ == "__main__":
    main()
