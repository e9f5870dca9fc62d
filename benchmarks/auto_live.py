"""`auto` against what people reach for, with the budgets of a live system: 30 to 1,000 deployments.

    python -m benchmarks.auto_live              runs what is missing, then prints the tables
    python -m benchmarks.auto_live --write      and writes them into docs/auto.md
    python -m benchmarks.auto_live --kept       runs nothing: the tables of the parts that are kept
    python -m benchmarks.auto_live --only TPE   one rival's part, for a second process

Every part (an instance and an optimiser) is kept in results/auto_live as soon as it is done, those of `auto`
by the edition of its rule, so that a run that was stopped goes on. All start at the same point and are told
the same length: trials about `radius` away, so a standard deviation of radius/√d a coordinate. Those that
search a box get one that is half as wide again as it must be to hold the optimum, which nobody knows on a
live system. Each is judged by the exact objective at what it recommends, and by the mean of the values that
it was told on the way: what the search costs.
Longer than 300 lines for the rivals, which are data.
"""

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import driftopt
from benchmarks.rows import row
from driftopt.methods.auto import EDITION
from driftopt.outside import Outside
from driftopt.outside.ask_tell import AskTell
from driftopt.outside.cma_es import CMA, AdaptedCMA
from driftopt.outside.contract import Spent, World
from driftopt.outside.nevergrad_registry import Nevergrad
from driftopt.outside.optuna_samplers import Optuna
from driftopt.outside.scipy_minimize import SciPy
from driftopt.outside.skopt_gp import GaussianProcess
from driftopt.problem import Problem
from driftopt.problems import Pricing, kink, location_shift, two_wells
from driftopt.sweep.outside_runs import SimulatedPlace

BUDGETS = (30, 60, 120, 300, 1000)
SEEDS = range(7000, 7010)
KEPT = Path("results/auto_live")
DOCUMENT = Path(__file__).parent.parent / "docs" / "auto.md"
BEGIN, END = "<!-- benchmarks/auto_live.py writes from here -->", "<!-- to here, live -->"


def instances() -> dict[str, tuple[Problem, float]]:
    """Twelve that took no part in the making of auto, with the length that all are told."""
    plain: dict[str, Problem] = {
        "kink, d = 2": kink(2, noise=0.5, rng=2502),
        "kink, d = 5": kink(5, noise=0.5, rng=2505),
        "kink, d = 10": kink(10, noise=1.0, rng=2510),
        "kink, d = 30": kink(30, noise=1.0, rng=2530),
        "two wells, d = 2": two_wells(2, noise=0.3, rng=2502),
        "two wells, d = 10": two_wells(10, noise=0.5, rng=2510),
        "location shift, d = 2": location_shift(2, noise=0.5, rng=2502),
        "location shift, d = 10": location_shift(10, noise=0.5, rng=2510),
        "location shift, d = 30": location_shift(30, noise=0.5, rng=2530),
    }
    prices: dict[str, Problem] = {
        f"prices, {n} products": Pricing.synthetic(2500 + n, buyers=120, products=n) for n in (2, 10, 30)
    }
    return {name: (p, 0.25 * p.dim**0.5) for name, p in plain.items()} | {
        name: (p, 0.5) for name, p in prices.items()
    }


class StandardGains:
    """SPSA with Spall's gains: c_k = c/k^0.101, a_k = a/(A + k)^0.602, A a tenth of the iterations.

    c makes trials as long as all others are told; a makes the first step about half that length. Spall
    1998, "Implementation of the simultaneous perturbation algorithm".
    """

    def __init__(self, x0: np.ndarray, seed: int, radius: float, budget: int):
        self.x, self._rng, self._radius = np.array(x0), np.random.default_rng(seed), radius
        self._stability, self._k = 0.1 * budget / 2, 1
        self._each = radius / np.sqrt(x0.size)
        self._gain: float | None = None
        self._values: list[float] = []

    def ask(self) -> np.ndarray:
        if not self._values:
            self._sign = self._rng.choice([-1.0, 1.0], self.x.size)
        side = 1 if not self._values else -1
        return self.x + side * self._each / self._k**0.101 * self._sign

    def tell(self, x: np.ndarray, value: float) -> None:
        self._values.append(value)
        if len(self._values) < 2:
            return
        slope = (self._values[0] - self._values[1]) / (2 * self._each / self._k**0.101) * self._sign
        if self._gain is None:
            first = max(float(np.linalg.norm(slope)), 1e-12)
            self._gain = self._radius / 2 / first * (self._stability + 1) ** 0.602
        self.x = self.x - self._gain / (self._stability + self._k) ** 0.602 * slope
        self._values, self._k = [], self._k + 1


@dataclass(frozen=True)
class Rival:
    """How to build one, up to which budget it is run and how often, and whether it depends on the budget."""

    build: Any  # (radius, half the box, budget) → Outside
    most: int = 1000
    knows_budget: bool = False
    runs: int = len(SEEDS)
    breaks: tuple[type[Exception], ...] = ()  # errors of its own that end it: it is judged by what it has


# Up to seconds of computing for a single point: run with --only Gaussian, and in the tables once that is
# done. Optuna's needs torch.
SLOW = {
    "Gaussian process (scikit-optimize)": Rival(
        lambda radius, width, budget: GaussianProcess(width=width), most=60
    ),
    "Gaussian process (Optuna)": Rival(
        lambda radius, width, budget: Optuna("GPSampler", width=width), most=120
    ),
}

RIVALS = {
    "CMA-ES (cma)": Rival(lambda radius, width, budget: CMA(radius)),
    "CMA-ES, adapted (cmaes)": Rival(lambda radius, width, budget: AdaptedCMA(radius)),
    "TBPSA (Nevergrad)": Rival(lambda radius, width, budget: Nevergrad(radius, "TBPSA"), knows_budget=True),
    "NGOpt (Nevergrad)": Rival(
        lambda radius, width, budget: Nevergrad(radius, "NGOpt"), knows_budget=True, breaks=(TypeError,)
    ),
    "SPSA, standard gains": Rival(
        lambda radius, width, budget: AskTell(
            StandardGains, lambda search: search.x, numbers={"radius": radius, "budget": budget}
        ),
        knows_budget=True,
    ),
    "COBYQA (SciPy)": Rival(lambda radius, width, budget: SciPy(radius), most=120, knows_budget=True),
    "TPE (Optuna)": Rival(lambda radius, width, budget: Optuna(width=width), most=120),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="run optimisers whose names contain this, print nothing else")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/auto.md")
    parser.add_argument("--kept", action="store_true", help="run nothing")
    chosen = parser.parse_args()
    wanted = () if chosen.kept else ("auto", *RIVALS) if chosen.only is None else ("auto", *RIVALS, *SLOW)
    for optimiser in wanted:
        for name in instances() if chosen.only is None or chosen.only in optimiser else ():
            part(name, optimiser)
    if chosen.only is None:
        text = report()
        print(text)
        if chosen.write:
            before, _, rest = DOCUMENT.read_text().partition(BEGIN)
            DOCUMENT.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")


def part(name: str, optimiser: str) -> dict[str, Any]:
    """One optimiser on one instance, (budgets, seeds) of ends and of means on the way; kept when done."""
    file = _file(name, optimiser)
    if file.exists():
        return json.loads(file.read_text())
    began = time.process_time()
    problem, radius = instances()[name]
    found = measure(optimiser, problem, radius, BUDGETS, SEEDS)
    KEPT.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found))
    print(f"{name}: {optimiser}, {time.process_time() - began:.0f} s of computing", flush=True)
    return found


def _file(name: str, optimiser: str) -> Path:
    word = f"auto-{EDITION}" if optimiser == "auto" else optimiser
    return KEPT / f"{name}; {word}.json".replace(" ", "_")


def measure(optimiser: str, problem: Problem, radius: float, budgets: Any, seeds: Any) -> dict[str, Any]:
    """Objectives at the recommendations and mean values on the way, (budgets, seeds)."""
    place = SimulatedPlace(problem, None)
    known = problem.optimum()
    width = 1.5 * float(np.abs(known.x - place.x0).max()) if known is not None else 4 * radius
    ends, means = [], []
    for seed in seeds if optimiser == "auto" else seeds[: (RIVALS | SLOW)[optimiser].runs]:
        run = _ours if optimiser == "auto" else _theirs
        looks, values = run((RIVALS | SLOW).get(optimiser), place, radius, width, seed, budgets)
        ends.append(place.judge(seed, np.array(looks)).tolist())
        means.append(values)
    return {"ends": np.array(ends).T.tolist(), "means": np.array(means).T.tolist()}


Run = tuple[list[np.ndarray], list[float]]  # a recommendation and a mean value for each budget


def _ours(rival: Any, place: SimulatedPlace, radius: float, width: float, seed: int, budgets: Any) -> Run:
    looks, means = [], []
    for budget in budgets:
        result = driftopt.minimize(
            place.answer(seed, 1), place.x0, budget=budget, radius=radius, vectorized=True, rng=seed
        )
        looks.append(result.x)
        means.append(float(result.history["value"].mean()))
    return looks, means


def _theirs(rival: Rival, place: SimulatedPlace, radius: float, width: float, seed: int, budgets: Any) -> Run:
    paid = [budget for budget in budgets if budget <= rival.most]
    looks, means = [], []
    for budget in paid if rival.knows_budget else paid[-1:]:
        oracle, told = place.answer(seed, 1), []

        def answer(points: np.ndarray, oracle: Any = oracle, told: list[float] = told) -> np.ndarray:
            values = oracle(points)
            told.extend(values.tolist())
            return values

        marks = [] if rival.knows_budget else paid[:-1]
        world = World(answer, place.x0, points=budget, seed=seed, marks=marks)
        search: Outside = rival.build(radius, width, budget)
        with suppress(Spent, *rival.breaks):
            search.run(world)
        found = world.finish()
        looks += [look if np.isfinite(look).all() else place.x0 for look in found]
        means += [float(np.mean(told[:mark])) for mark in (*marks, budget)]
    return looks, means


def verdicts(name: str) -> Iterator[tuple[int, dict[str, tuple[float, float, float]]]]:
    """For each budget: an optimiser's mean end, its standard error, and its mean on the way."""
    done = [some for some in ("auto", *RIVALS, *SLOW) if _file(name, some).exists()]
    parts = {optimiser: part(name, optimiser) for optimiser in done}
    for i, budget in enumerate(BUDGETS):
        cells = {}
        for optimiser, found in parts.items():
            if i < len(found["ends"]):
                ends = np.array(found["ends"][i])
                error = float(ends.std(ddof=1) / len(ends) ** 0.5)
                cells[optimiser] = (float(ends.mean()), error, float(np.mean(found["means"][i])))
        yield budget, cells


def standing(cells: dict[str, tuple[float, float, float]]) -> str:
    """Of auto: lowest, not told apart from the lowest (two standard errors), or higher."""
    rivals = {name: cell for name, cell in cells.items() if name != "auto"}
    best, error, _ = min(rivals.values())
    ours, own, _ = cells["auto"]
    return "lowest" if ours <= best else "tied" if ours <= best + 2 * (error**2 + own**2) ** 0.5 else "higher"


def report() -> str:
    """The tables of docs/auto.md."""
    lines, stands, cheaper, against = [], [], [], {name: [0, 0, 0] for name in RIVALS | SLOW}
    for name, (problem, _) in instances().items():
        start = float(problem.objective(problem.x0))
        known = problem.optimum()
        for budget, cells in verdicts(name):
            stands.append(standing(cells))
            low = float(known.value) if known is not None else min(mean for mean, _, _ in cells.values())
            for rival in cells.keys() - {"auto"}:
                place = ("lowest", "tied", "higher").index(
                    standing({"auto": cells["auto"], rival: cells[rival]})
                )
                against[rival][place] += 1
                cheaper.append(cells["auto"][2] <= cells[rival][2])
            best = min((cell[0], rival) for rival, cell in cells.items() if rival != "auto")[1]
            share = [(value - low) / (start - low) for value in (cells["auto"][0], cells[best][0])]
            way = [(value - low) / (start - low) for value in (cells["auto"][2], cells[best][2])]
            lines.append(
                f"| {name} | {budget:,} | {share[0]:.3f} | {share[1]:.3f} | {best} | {stands[-1]} "
                f"| {way[0]:.2f} | {way[1]:.2f} |"
            )
    good = sum(stand != "higher" for stand in stands)
    return "\n".join(
        [
            f"auto is lowest in {stands.count('lowest')} of {len(stands)} cells, and lowest or not told "
            f"apart from the lowest of the others (two standard errors, {len(SEEDS)} runs) in "
            f"{good} ({good / len(stands):.0%}). Its search cost less on the way than the rival's in "
            f"{sum(cheaper)} of {len(cheaper)} pairs.",
            "",
            "| auto against | lower | not told apart | higher |",
            "|---|---|---|---|",
            *(
                f"| {rival} | {' | '.join(map(str, counts))} |"
                for rival, counts in against.items()
                if sum(counts)
            ),
            "",
            "The share of the start's gap to the optimum that is left, and the same of the mean value while "
            "searching:",
            "",
            "| instance | deployments | auto | best other | which | auto is | auto, on the way "
            "| other, on the way |",
            "|---|---|---|---|---|---|---|---|",
            *lines,
        ]
    )


def rows() -> Iterator[dict[str, Any]]:
    """The small part of it for `make bench`: two instances, three rivals, five runs."""
    for name in ("kink, d = 10", "prices, 10 products"):
        problem, radius = instances()[name]
        ours = np.array(measure("auto", problem, radius, (30, 120), SEEDS[:5])["ends"]).mean(axis=1)
        start = float(problem.objective(problem.x0))
        for rival in ("CMA-ES (cma)", "CMA-ES, adapted (cmaes)", "SPSA, standard gains"):
            theirs = np.array(measure(rival, problem, radius, (30, 120), SEEDS[:5])["ends"]).mean(axis=1)
            for i, budget in enumerate((30, 120)):
                yield row(
                    f"{name}, {budget} deployments: auto against {rival}",
                    f"{ours[i]:.3f}",
                    f"{theirs[i]:.3f}",
                    (start - ours[i]) / (start - theirs[i]) if start - theirs[i] > 0.01 else None,
                    "lower",
                    bool(ours[i] < theirs[i]),
                )


if __name__ == "__main__":
    main()
