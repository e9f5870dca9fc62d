"""The optimisers that are compared, each as one run on an instance: its recommendations and its deployments.

All are told the same start and the same units, in which a first trial is about 1 away: rivals see
z = (x − start)/radius. Those that search a box get one that is half as wide again as it must be to hold the
optimum, which nobody knows on a live system. Decisions outside bounds are moved to the nearest inside.
Optuna's Gaussian process is left out: it needs torch, which driftopt's environments do not have.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.live.instances import Instance
from driftopt.model import Model, Results
from driftopt.model.defaults import units_of
from driftopt.outside import Outside
from driftopt.outside.ask_tell import AskTell
from driftopt.outside.cma_es import CMA, AdaptedCMA
from driftopt.outside.contract import Diverged, Spent, World
from driftopt.outside.optuna_samplers import Optuna
from driftopt.outside.scipy_minimize import SciPy
from driftopt.outside.skopt_gp import GaussianProcess

Wrong = tuple[int, Callable[[float], float]]  # the deployment, from 1, whose value is reported wrongly
Looks = dict[int, np.ndarray]  # budget → recommendation


def walk_name() -> str:
    """The name of the sequential default: `auto` itself as long as it is nothing else."""
    from driftopt import methods

    return "walk" if "walk" in methods.names() else "auto"


class Deployments:
    """What the world returns, deployment after deployment, and the share of the gap that each leaves."""

    def __init__(self, instance: Instance, seed: int, wrong: Wrong | None = None):
        self.shares: list[float] = []
        self._instance, self._rng, self._wrong = instance, np.random.default_rng([seed, 1]), wrong

    def __call__(self, x: np.ndarray) -> float:
        t = len(self.shares)
        self.shares.append(self._instance.share(x, t))
        value = self._instance.sample(x, self._rng, t)
        return self._wrong[1](value) if self._wrong and self._wrong[0] == t + 1 else value


def model(
    instance: Instance,
    seed: int,
    budgets: Sequence[int],
    *,
    factor: float | None = 1.0,
    wrong: Wrong | None = None,
    checked: bool = False,
    **settings: Any,
) -> tuple[Looks, dict[int, list[float]]]:
    """One study of the model, which knows no budget.

    Args:
        factor: the radius as a multiple of the instance's; None: none is given.
        checked: whether implausible results are flagged and left out, as in a study that nobody looks after.
        settings: further arguments of `Model`.
    """
    space, units = instance.space, None if factor is None else factor * instance.radius
    if units is None:
        space, units = units_of(space, None)
    search, deploy = Model(space, units=units, seed=seed, **settings), Deployments(instance, seed, wrong)
    decisions, values, numbers = np.empty((0, instance.dim)), np.empty(0), np.empty(0)
    looks: Looks = {}
    results = Results.of(decisions, values)
    for number in range(1, max(budgets) + 1):
        x = search.ask(results, number)
        value = deploy(x)
        new = Results.of(x[None], [value], number=np.array([float(number)]))
        if not (checked and search.outlier(results, new)):
            decisions, values = np.vstack([decisions, x]), np.append(values, value)
            numbers = np.append(numbers, float(number))
            results = Results.of(decisions, values, number=numbers)
        if number in budgets:
            looks[number] = search.recommend(results, number).x
    return looks, {budget: deploy.shares[:budget] for budget in budgets}


class StandardGains:
    """SPSA with Spall's gains: c_k = c/k^0.101, a_k = a/(A + k)^0.602, A a tenth of the iterations.

    c makes trials as long as all others are told; a makes the first step about half that length. Spall
    1998, "Implementation of the simultaneous perturbation algorithm".
    """

    def __init__(self, x0: np.ndarray, seed: int, budget: int):
        self.x, self._rng = np.array(x0), np.random.default_rng(seed)
        self._stability, self._k = 0.1 * budget / 2, 1
        self._each = 1 / np.sqrt(x0.size)
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
            self._gain = (self._stability + 1) ** 0.602 / 2 / max(float(np.linalg.norm(slope)), 1e-12)
        self.x = self.x - self._gain / (self._stability + self._k) ** 0.602 * slope
        self._values, self._k = [], self._k + 1


@dataclass(frozen=True)
class Rival:
    """How to build one, up to which budget it is run and how often, and whether it depends on the budget."""

    build: Callable[[float, int], Outside]  # (half the box, budget) → an optimiser in units of the radius
    most: int = 1000
    seeds: int = 20
    knows_budget: bool = False


RIVALS = {
    "CMA-ES (cma)": Rival(lambda width, budget: CMA(1.0)),
    "CMA-ES, adapted (cmaes)": Rival(lambda width, budget: AdaptedCMA(1.0)),
    "TPE (Optuna)": Rival(lambda width, budget: Optuna(width=width), most=300, seeds=10),
    "Gaussian process (scikit-optimize)": Rival(
        lambda width, budget: GaussianProcess(width=width), most=60, seeds=5
    ),
    "COBYQA (SciPy)": Rival(lambda width, budget: SciPy(1.0), most=120, seeds=10),
    "SPSA, standard gains": Rival(
        lambda width, budget: AskTell(StandardGains, lambda search: search.x, numbers={"budget": budget}),
        knows_budget=True,
    ),
    "Nelder–Mead (SciPy)": Rival(lambda width, budget: SciPy(1.0, "Nelder-Mead")),
}


def rival(
    name: str, instance: Instance, seed: int, budgets: Sequence[int]
) -> tuple[Looks, dict[int, list[float]]]:
    """One run of a rival for each budget, or for all where it does not depend on the budget."""
    chosen = RIVALS[name]
    paid = sorted(budget for budget in budgets if budget <= chosen.most)
    away = abs(instance.optimum() - instance.start) / instance.radius
    looks, paths = {}, {}
    for marks in [[budget] for budget in paid] if chosen.knows_budget else [paid] if paid else []:
        deploy = Deployments(instance, seed)
        found = drive(
            chosen.build(1.5 * float(away.max()), marks[-1]),
            lambda z, deploy=deploy: deploy(instance.deployed(instance.start + instance.radius * z)),
            sides(instance.bounds, instance.start, instance.radius),
            instance.dim,
            seed,
            marks,
        )
        for mark, z in zip(marks, found, strict=True):
            looks[mark] = instance.deployed(instance.start + instance.radius * z)
            paths[mark] = deploy.shares[:mark]
    return looks, paths


def sides(bounds: Any, start: np.ndarray, radius: np.ndarray) -> Any:
    """Bounds in units of the radius."""
    return None if bounds is None else tuple((side - start) / radius for side in bounds)


def drive(
    search: Outside,
    answer: Callable[[np.ndarray], float],
    box: Any,
    dim: int,
    seed: int,
    marks: Sequence[int],
) -> list[np.ndarray]:
    """The recommendations of a rival at each mark; the start where it has none that is finite."""
    world = World(
        lambda points: np.array([answer(point) for point in points]),
        np.zeros(dim),
        points=marks[-1],
        seed=seed,
        sides=box,
        marks=marks[:-1],
    )
    with suppress(Spent, Diverged):
        search.run(world)
    return [look if np.isfinite(look).all() else np.zeros(dim) for look in world.finish()]


def walk(instance: Instance, seed: int, budgets: Sequence[int]) -> tuple[Looks, dict[int, list[float]]]:
    """One run of the sequential method for each budget."""
    import driftopt

    looks, paths = {}, {}
    for budget in budgets:
        deploy = Deployments(instance, seed)
        radius = instance.radius
        result = driftopt.minimize(
            deploy,
            instance.space,
            budget=budget,
            radius=float(radius[0]) if (radius == radius[0]).all() else radius.tolist(),
            method=walk_name(),
            rng=seed,
        )
        looks[budget], paths[budget] = result.x, deploy.shares
    return looks, paths
