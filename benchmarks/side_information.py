"""What covariates, precision, control and limits are worth, and what they cost where they say nothing or lie.

    python -m benchmarks.side_information            runs what is missing, then prints the tables
    python -m benchmarks.side_information --write    and writes them into notes/side-information.md
    python -m benchmarks.side_information --development    other shops, for work on the steps
    python -m benchmarks.side_information --credit   strategic classification, on the real data

Six simulated shops in four coordinates, three shapes of f and two sizes of noise, 20 seeds each. All runs are
of `auto`, and the lanes of a table share their noise: differences are paired. Every part (a kind of
information at a budget) is kept in results/side_information as soon as it is done, so that a run
that was stopped goes on. A gain is in per cent of what the best
decision would gain over the start.

Longer than 300 lines for the kinds of information, which are data.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt import methods
from driftopt.answers import Answers, Beside, covariates
from driftopt.drivers.host import with_precision
from driftopt.rng.seeds import as_key, run_keys

BUDGETS, SEEDS, SHOPS, DIM, RADIUS = (30, 120, 1000), 20, 6, 4, 0.4
FOLDER, PAGE = Path("results/side_information"), Path("notes/side-information.md")
LIMIT = 20.0
MARK = "<!-- benchmarks/side_information.py writes from here -->"


@dataclass(frozen=True)
class Shop:
    """f with its best decision, and how loud the weeks are."""

    best: np.ndarray
    slopes: np.ndarray
    shape: int
    noise: float
    explained: float  # the share of the noise's variance that is known beside

    @classmethod
    def of(cls, number: int, first: int) -> "Shop":
        rng = np.random.default_rng([first, number])
        best = rng.normal(size=DIM)
        best *= rng.uniform(0.8, 1.6) / np.linalg.norm(best)
        return cls(best, rng.uniform(0.5, 2, DIM), number % 3, (0.5, 1.5)[number // 3], rng.uniform(0.4, 0.9))

    def cost(self, x: np.ndarray) -> Any:
        """f, of one decision or of several."""
        apart = x - self.best
        if self.shape == 0:
            return (self.slopes * apart**2).sum(axis=-1)
        if self.shape == 1:
            return np.abs(self.slopes * apart).sum(axis=-1)
        return np.sqrt((self.slopes * apart**2).sum(axis=-1) + 0.01)

    def along(self, x: np.ndarray) -> Any:
        """How far x is on the way to the best decision, in shares of it."""
        return x @ self.best / (self.best @ self.best)


class Week:
    """One lane's random numbers, drawn in the same order whatever is told."""

    def __init__(self, shop: Shop, seed: int):
        self.shop, self._rng = shop, np.random.default_rng([17, seed])
        self._slow = 0.0

    def __call__(self, x: np.ndarray) -> dict[str, float]:
        """The numbers of a deployment, and what its decision costs."""
        a, b, c, e, g, u = self._rng.normal(size=6)
        self._slow = 0.7 * self._slow + np.sqrt(1 - 0.49) * a
        known = np.sqrt(0.7) * self._slow + np.sqrt(0.3) * b
        share = self.shop.explained
        return {
            "f": float(self.shop.cost(x)),
            "slow": self._slow,
            "quick": b,
            "known": self.shop.noise * np.sqrt(share) * known,
            "own": self.shop.noise * np.sqrt(1 - share) * c,
            "other": e,
            "else": g,
            "customers": float(np.exp(u)),
            "moved": float(np.sum(x)),
            "along": float(self.shop.along(x)),
        }


Say = Callable[[dict[str, float]], tuple[float, Beside]]
COVARIATES: dict[str, Any] = {"covariates": ["slow", "quick"]}
CONTROL: dict[str, Any] = {"relative_to_control": True}
WEIGHTS: dict[str, Any] = {"precision": True}


def _value(week: dict[str, float]) -> float:
    return week["f"] + week["known"] + week["own"]


def _by_size(week: dict[str, float]) -> float:
    return week["f"] + (week["known"] + week["own"]) / np.sqrt(week["customers"])


def _pair(one: float, other: float) -> Beside:
    return Beside({"slow": one, "quick": other})


def _complaining(week: dict[str, float]) -> tuple[float, Beside]:
    """Complaints rise to the limit on 60 % of the way to the best decision."""
    return _value(week), Beside(metrics={"complaints": 10 + 10 * week["along"] / 0.6 + week["other"]})


# kind of information → the plain study, and what is told instead
KINDS: dict[str, tuple[Say, dict[str, tuple[dict[str, Any], Say]]]] = {
    "covariates": (
        lambda w: (_value(w), Beside()),
        {
            "two that explain 40 to 90 % of the noise": (
                COVARIATES,
                lambda w: (_value(w), _pair(w["slow"], w["quick"])),
            ),
            "two that explain nothing": (COVARIATES, lambda w: (_value(w), _pair(w["other"], w["else"]))),
            "one that the decision moves": (
                COVARIATES,
                lambda w: (_value(w), _pair(w["moved"] + 0.3 * w["other"], w["else"])),
            ),
        },
    ),
    "precision": (
        lambda w: (_by_size(w), Beside()),
        {
            "n, where noise falls with it": (WEIGHTS, lambda w: (_by_size(w), Beside(n=w["customers"]))),
            "n, where noise does not": (WEIGHTS, lambda w: (_value(w), Beside(n=w["customers"]))),
            "n upside down": (WEIGHTS, lambda w: (_by_size(w), Beside(n=1 / w["customers"]))),
        },
    ),
    "control": (
        lambda w: (_value(w), Beside()),
        {
            "a second store that shares the weeks": (
                CONTROL,
                lambda w: (_value(w), Beside(control=w["known"] + 0.3 * w["own"])),
            ),
            "a second store with weeks of its own": (
                CONTROL,
                lambda w: (_value(w), Beside(control=0.5 * w["other"])),
            ),
        },
    ),
}
KINDS["limits"] = (
    lambda w: (_value(w), Beside()),
    {"one that is never reached": ({"limits": {"complaints": {"max": 2 * LIMIT}}}, _complaining)},
)
# Where noise does not fall with n, the plain study is another one.
PLAIN = {"n, where noise does not": "covariates"}


@cache
def _programs(budget: int) -> tuple[Any, Any, Any, Any]:
    """Begin, ask, tell and recommend, for all lanes at once."""
    with jax.enable_x64(True):
        method = with_precision(methods.get("auto", radius=RADIUS, budget=budget), jnp.float64)
    parts = (lambda key: method.init(key, jnp.zeros(DIM)), method.ask, method.tell, method.recommend)
    return tuple(jax.jit(jax.vmap(part)) for part in parts)  # pyright: ignore[reportReturnType]


class Lanes:
    """`auto` in many lanes at once: asked and told by one program each."""

    def __init__(self, count: int, budget: int):
        with jax.enable_x64(True):
            keys = jnp.stack([run_keys(as_key(seed))[0] for seed in range(count)])
            begin, self._ask, self._tell, self._recommend = _programs(budget)
            self._state = begin(keys)

    def ask(self) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(self._ask(self._state))

    def tell(self, values: np.ndarray) -> None:
        with jax.enable_x64(True):
            self._state = self._tell(self._state, jnp.asarray(values))

    def recommend(self) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(self._recommend(self._state))


def run(shops: list[Shop], budget: int, steps: dict[str, Any], say: Say) -> np.ndarray:
    """(shops, seeds, d): what each lane recommends."""
    weeks = [Week(shop, seed) for shop in shops for seed in range(SEEDS)]
    lanes, kind = Lanes(len(weeks), budget), Together if "covariates" in steps else OneByOne
    way_in = kind(steps, len(weeks))
    for _ in range(budget // 2):
        points = lanes.ask()
        said = [[say(week(x)) for x in points[lane]] for lane, week in enumerate(weeks)]
        lanes.tell(way_in.take(said))
    return lanes.recommend().reshape(len(shops), SEEDS, DIM)


class OneByOne:
    """Each lane's answers through its steps."""

    def __init__(self, steps: dict[str, Any], count: int):
        self._answers = Answers.build(**steps)
        self._memories = [self._answers.begin() for _ in range(count)]

    def take(self, said: list[list[tuple[float, Beside]]]) -> np.ndarray:
        """(lanes, p) for the methods."""
        told: list[np.ndarray] = []
        for lane, pair in enumerate(said):
            values, beside = zip(*pair, strict=True)
            rows = self._answers.beside(beside, (1, len(pair)))
            taken = self._answers.take(self._memories[lane], np.array([values]), rows)
            self._memories[lane] = taken[0]
            told.append(taken[1])
        return np.array(told)


class Together:
    """Covariates in all lanes at once: the same code on JAX's arrays, as a test has it."""

    def __init__(self, steps: dict[str, Any], count: int):
        self._names = steps["covariates"]
        with jax.enable_x64(True):
            one = covariates.nothing(len(self._names), jnp, jnp.float64)
            self._learnt = jax.tree.map(lambda leaf: jnp.stack([leaf] * count), one)
            self._adjust = jax.jit(jax.vmap(lambda learnt, y, c: covariates.adjust(learnt, y, c, jnp)))

    def take(self, said: list[list[tuple[float, Beside]]]) -> np.ndarray:
        """(lanes, p) for the methods."""
        values = np.array([[value for value, _ in pair] for pair in said])
        rows = [[[beside.covariates[name] for name in self._names] for _, beside in pair] for pair in said]
        with jax.enable_x64(True):
            self._learnt, told = self._adjust(self._learnt, values, np.array(rows))
        return np.asarray(told)


def gains(shops: list[Shop], budget: int, steps: dict[str, Any], say: Say) -> list[list[float]]:
    """Per cent of what can be gained, for each shop and seed."""
    found = run(shops, budget, steps, say)
    table: list[list[float]] = []
    for shop, x in zip(shops, found, strict=True):
        start, least = shop.cost(np.zeros(DIM)), shop.cost(shop.best)
        table.append((100 * (start - shop.cost(x)) / (start - least)).tolist())
    return table


def limited(shops: list[Shop], budget: int) -> dict[str, list[list[float]]]:
    """With a limit that the best decision would break.

    How far it is broken, in per cent of the limit, and how far the cost is above that of the best decision
    on the limit, in per cent of its gain.
    """
    found = run(shops, budget, {"limits": {"complaints": {"max": LIMIT}}}, _complaining)
    broken: list[list[float]] = []
    gaps: list[list[float]] = []
    for shop, x in zip(shops, found, strict=True):
        length = float(np.linalg.norm(shop.best))
        best = _on_limit(shop, shop.best / length, 0.6 * length)
        over = 10 + 10 * shop.along(x) / 0.6 - LIMIT
        broken.append((100 * np.maximum(over, 0) / LIMIT).tolist())
        gain = shop.cost(np.zeros(DIM)) - shop.cost(best)
        gaps.append((100 * (shop.cost(x) - shop.cost(best)) / gain).tolist())
    return {"broken": broken, "gap": gaps}


def _on_limit(shop: Shop, way: np.ndarray, height: float) -> np.ndarray:
    """The best decision with way·x = height, by SciPy."""
    from scipy.optimize import minimize

    basis = np.linalg.svd(way[None])[2][1:]
    base = way * height
    tries = [
        minimize(lambda z: shop.cost(base + z @ basis), z0, method="Nelder-Mead", options={"maxiter": 9000})
        for z0 in (np.zeros(DIM - 1), basis @ (shop.best - base))
    ]
    # Where f is a sum of absolute values, the best lies where one coordinate alone is moved.
    corners = [shop.best - (shop.best @ way - height) / way[i] * np.eye(DIM)[i] for i in range(DIM)]
    return min([base + one.x @ basis for one in tries] + corners, key=shop.cost)


def part(name: str, folder: Path, work: Callable[[], Any]) -> Any:
    """What is kept under a name, else what is computed now, and kept."""
    file = folder / f"{name}.json"
    if not file.exists():
        began = time.perf_counter()
        found = work()
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found))
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    return json.loads(file.read_text())


def _interval(values: np.ndarray) -> str:
    """The mean over shops and seeds with its 95 % interval over seeds: the shops are what they are."""
    error = np.sqrt((values.var(axis=1, ddof=1) / values.shape[1]).sum()) / len(values)
    return f"{values.mean():+.1f} ± {1.96 * error:.1f}"


def tables(folder: Path, first: int) -> str:
    """Run what is missing; all tables as Markdown."""
    shops = [Shop.of(number, first) for number in range(SHOPS)]
    lines = [
        f"| told | {' | '.join(f'{budget:,} deployments' for budget in BUDGETS)} |",
        "|---|" + "---|" * len(BUDGETS),
    ]
    for kind, (plain, told) in KINDS.items():
        base = {
            b: np.array(part(f"{kind}-plain-{b}", folder, lambda b=b, p=plain: gains(shops, b, {}, p)))
            for b in BUDGETS
        }
        shown = [f"{values.mean():.1f}" for values in base.values()]
        lines.append(f"| **{kind}**: the plain study's gain | {' | '.join(shown)} |")
        for label, (steps, say) in told.items():
            cells: list[str] = []
            for budget in BUDGETS:
                name = f"{kind}-{list(told).index(label)}-{budget}"
                values = np.array(part(name, folder, lambda b=budget, s=steps, y=say: gains(shops, b, s, y)))
                other = PLAIN.get(label)
                against = base[budget]
                if other is not None:
                    against = np.array(json.loads((folder / f"{other}-plain-{budget}.json").read_text()))
                cells.append(_interval(values - against))
            lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_broken(folder, shops)])


def _broken(folder: Path, shops: list[Shop]) -> list[str]:
    """The table of a limit that the best decision would break."""
    columns = [f"{what}, {budget:,}" for budget in BUDGETS for what in ("broken", "above")]
    lines = [
        "With a limit that the best decision would break, by deployments: how far it is broken, in per cent",
        "of it, and how far the cost is above the best allowed, in per cent of that one's gain:",
        "",
        f"| shop | {' | '.join(columns)} |",
        "|---|" + "---|" * len(columns),
    ]
    found = [part(f"limits-{b}", folder, lambda b=b: limited(shops, b)) for b in BUDGETS]
    values = [np.array(one[what]) for one in found for what in ("broken", "gap")]
    for number in range(SHOPS):
        cells = [f"{v[number].mean():.1f} ± {1.96 * v[number].std(ddof=1) / SEEDS**0.5:.1f}" for v in values]
        lines.append(f"| {number + 1} | {' | '.join(cells)} |")
    return lines


def credit() -> None:
    """Strategic classification on splits that nothing was made on, with and without the person drawn."""
    from driftopt import simulate_many, stack
    from driftopt.problems.strategic import StrategicClassification

    problems = stack([StrategicClassification.from_credit(split) for split in range(701, 707)])
    auto = methods.get("auto", radius=2.0, max_radius=2.0)
    for label, method in (
        ("values", auto),
        ("values and covariates", methods.informed(auto, covariates=True)),
    ):
        found = simulate_many(method, problems, budget=30_000, seeds=range(12)).objective.reshape(6, 12)
        error = found.mean(axis=1).std(ddof=1) / 6**0.5
        print(f"auto, sees {label}: {found.mean():.3f} ± {error:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--development", action="store_true")
    parser.add_argument("--credit", action="store_true")
    given = parser.parse_args()
    if given.credit:
        credit()
        return
    folder, first = (FOLDER / "development", 1) if given.development else (FOLDER, 1001)
    text = tables(folder, first)
    print(text)
    if given.write:
        before = PAGE.read_text(encoding="utf-8").split(MARK)[0]
        PAGE.write_text(f"{before}{MARK}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
