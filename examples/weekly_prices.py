"""Weekly prices of ten products: one deployment a week, and in the end a recommendation one can defend.

Run with `python examples/weekly_prices.py [FOLDER]`. The shop is simulated: customers choose among the
products by price, so each price list draws its own sales. A real shop has its till in place of `Shop.week`.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from driftopt import Study
from driftopt.study import BudgetSpent

PRODUCTS = ["tea", "coffee", "cocoa", "sugar", "flour", "rice", "oats", "honey", "jam", "oil"]
TODAY = [2.2, 5.4, 4.0, 1.3, 1.1, 2.4, 1.8, 5.2, 3.1, 6.3]  # the prices in force
WEEK = 7 * 86400.0


class Shop:
    """About 2,000 customers a week, each of whom buys the product that suits them best, or nothing."""

    cost = np.array([1.3, 3.0, 2.4, 0.8, 0.6, 1.5, 1.0, 3.3, 1.8, 4.2])
    appeal = np.array([1.6, 2.9, 2.0, 0.7, 0.5, 1.4, 0.9, 2.6, 1.7, 3.0])

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def shares(self, prices):
        weights = np.exp(1.1 * (self.appeal - 0.7 * np.asarray(prices)))
        return weights / (0.2 + weights.sum())

    def profit(self, prices):
        """The expected profit of a week, in hundreds: the truth that nobody sees."""
        return 20 * float((prices - self.cost) @ self.shares(prices))

    def week(self, prices):
        """The profit of one week, in hundreds."""
        sold = self.rng.poisson(2000 * self.shares(prices))
        return float((np.asarray(prices) - self.cost) @ sold) / 100


class Calendar:
    """The simulation's clock: a week passes with every deployment."""

    now = 1_700_000_000.0

    def __call__(self):
        return self.now


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    database = folder / "prices.db"
    shop, calendar = Shop(seed=1), Calendar()
    study = Study.create(
        database,
        "weekly",
        x0=TODAY,
        names=PRODUCTS,
        bounds=list(zip(Shop.cost, 2.5 * np.array(TODAY), strict=True)),
        direction="maximize",
        params={"radius": 1.0},
        budget=128,
        reserve=16,
        control_every=12,
        rng=2024,
        clock=calendar,
    )
    for purpose in ("method", "confirm"):
        while True:
            # What cron runs on Monday. Nothing is kept in memory: the study is opened again every week.
            study = Study.open(database, "weekly", clock=calendar)
            try:
                trial = study.ask(purpose)
            except BudgetSpent:
                break
            calendar.now += WEEK
            # What cron runs on Sunday. Now and then the till's report is lost, and the week with it.
            if trial.id % 25 == 0:
                study.fail(trial.id, "the till's report was lost")
            else:
                study.tell(trial.id, shop.week(trial.x))
            study.close()

    found = study.recommend()
    gain = found.improvement
    print(f"{len(study.trials())} weeks, {found.results} results")
    for name, before, after in zip(PRODUCTS, TODAY, found.x, strict=True):
        print(f"  {name:<7} {before:5.2f} -> {after:5.2f}")
    print(f"measured improvement {gain.mean:.2f} ± {gain.sem:.2f} hundred a week ({gain.basis})")
    print(f"true improvement     {shop.profit(found.x) - shop.profit(TODAY):.2f}, unknown to a real shop")
    drift = study.summary().drift
    print(f"drift of the world   {7 * drift.slope:.3f} ± {7 * drift.slope_sem:.3f} a week")
    study.export(folder / "weeks.csv")
    study.plot(folder / "weeks.png")
    return study, shop


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
