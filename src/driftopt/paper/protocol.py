"""The paper's experiments as data: instances, grids, budgets, seeds. `quick` is a smaller honest version.

| experiment | budget | grid, baselines | grid, ZO-O2NC | development + held-out runs |
|---|---|---|---|---|
| strategic | 30,000 | 3 η × 5 μ × 3 (m or N) = 45 | 4 δ × 5 m × 3 T × 3 η = 180 | 5 + 20 |
| pricing | 5,000 | 4 η × 5 μ × 3 (m or N) = 60 | 5 δ × 4 m × 3 T × 3 η = 180 | 3 + 10 |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from driftopt import checks, methods
from driftopt.data import Provenance
from driftopt.data.cache import DataError, present
from driftopt.data.credit import load_credit
from driftopt.data.prices import load_week
from driftopt.data.registry import WEEKS as WEEK_FILES
from driftopt.problem import Problem
from driftopt.sweep import Grid, grid

SPLITS = ("101", "102", "103", "104")
WEEKS = ("2022-08", "2022-12", "2022-21", "2022-25")
DATA = ("auto", "real", "stand-in")

# Far apart, so that no number of runs makes them meet.
FIRST_DEVELOPMENT_SEED = 1_000
FIRST_HELD_OUT_SEED = 1_000_000


@dataclass(frozen=True)
class Metric:
    """A column of the results that the tables report."""

    column: str
    title: str
    larger_is_better: bool = False


@dataclass(frozen=True)
class Experiment:
    """One of the paper's two experiments, ready to run."""

    name: str
    title: str
    instance_word: str
    instances: tuple[str, ...]
    problems: tuple[Problem, ...]
    provenance: Provenance
    budget: int
    evaluate_every: int
    grids: tuple[Grid, ...]
    development: range
    held_out: range
    metrics: tuple[Metric, ...]  # the first is the objective
    quick: bool

    @property
    def real(self) -> bool:
        """Whether the data is the real thing."""
        return not self.provenance.stand_in


def strategic(*, quick: bool = False, splits: Sequence[str] = SPLITS, data: str = "auto") -> Experiment:
    """Strategic classification on splits of the credit data, from x = 1."""
    from driftopt.problems import StrategicClassification

    for split in splits:
        checks.choice("split", split, SPLITS)
    if checks.choice("data", data, DATA) == "stand-in":
        problems = [StrategicClassification.stand_in(int(split)) for split in splits]
    else:
        table = load_credit(allow_fetch=True, allow_stand_in=data == "auto")
        problems = [StrategicClassification.from_credit(int(split), table=table) for split in splits]
    if quick:
        shared = {"step": [0.01, 0.1], "radius": [0.5, 1.0, 2.0]}
        o2nc = {"radius": [1.0, 2.0], "batch": [1, 5], "block": 10, "step": [1e-3, 1e-2]}
        batches, directions = [10], [10]
    else:
        shared = {"step": [0.01, 0.1, 1.0], "radius": [0.1, 0.5, 1.0, 2.0, 4.0]}
        o2nc = {
            "radius": [0.5, 1.0, 2.0, 5.0],
            "batch": [1, 5, 10, 20, 50],
            "block": [5, 10, 20],
            "step": [1e-4, 1e-3, 1e-2],
        }
        batches, directions = [1, 10, 100], [1, 10, 100]
    return Experiment(
        name="strategic",
        title="Strategic classification",
        instance_word="Split",
        instances=tuple(splits),
        problems=tuple(problems),
        provenance=Provenance(problems[0].provenance.source),
        budget=30_000,
        evaluate_every=500,
        grids=_grids(shared, batches, directions, o2nc, auto_radius=2.0),
        development=_seeds(FIRST_DEVELOPMENT_SEED, 2 if quick else 5),
        held_out=_seeds(FIRST_HELD_OUT_SEED, 5 if quick else 20),
        metrics=(
            Metric("train_loss", "Train loss"),
            Metric("test_accuracy", "Test accuracy", larger_is_better=True),
            Metric("test_loss", "Test loss"),
            Metric("test_auc", "Test AUC", larger_is_better=True),
        ),
        quick=quick,
    )


def pricing(*, quick: bool = False, weeks: Sequence[str] = WEEKS, data: str = "auto") -> Experiment:
    """Multi-product pricing on published weeks of prices, or on synthetic ones, from x = 0.5."""
    from driftopt.problems import Pricing

    for week in weeks:
        checks.choice("week", week, WEEKS)
    if checks.choice("data", data, DATA) == "stand-in" or not _have_weeks(weeks, required=data == "real"):
        problems = [Pricing.synthetic(int(week.replace("-", ""))) for week in weeks]
        instances = tuple(f"synthetic {week.replace('-', '')}" for week in weeks)
    else:
        problems = [Pricing.from_week(week) for week in weeks]
        instances = tuple(weeks)
    if quick:
        shared = {"step": [1e-5, 1e-4, 1e-3], "radius": [0.1, 0.5]}
        o2nc = {"radius": [0.1, 0.5], "batch": [1, 5], "block": 20, "step": [1e-3, 1e-2]}
        batches, directions = [1], [10]
    else:
        shared = {"step": [1e-5, 1e-4, 1e-3, 1e-2], "radius": [0.004, 0.02, 0.1, 0.5, 2.5]}
        o2nc = {
            "radius": [0.01, 0.05, 0.1, 0.5, 1.0],
            "batch": [1, 5, 10, 20],
            "block": [10, 20, 50],
            "step": [1e-4, 1e-3, 1e-2],
        }
        batches, directions = [1, 10, 100], [1, 10, 100]
    return Experiment(
        name="pricing",
        title="Multi-product pricing",
        instance_word="Week",
        instances=instances,
        problems=tuple(problems),
        provenance=Provenance(problems[0].provenance.source),
        budget=5_000,
        evaluate_every=100,
        grids=_grids(shared, batches, directions, o2nc, auto_radius=0.5),
        development=_seeds(FIRST_DEVELOPMENT_SEED, 2 if quick else 3),
        held_out=_seeds(FIRST_HELD_OUT_SEED, 5 if quick else 10),
        metrics=(Metric("objective", "Final objective"),),
        quick=quick,
    )


def _grids(
    shared: dict[str, Any],
    batches: list[int],
    directions: list[int],
    o2nc: dict[str, Any],
    auto_radius: float,
) -> tuple[Grid, ...]:
    made = [
        grid("zo-co", **shared, batch=batches),
        grid("zo-sph", **shared, directions=directions),
        grid("zo-ga", **shared, directions=directions),
        grid("zo-og", **shared, batch=batches),
        grid("zo-o2nc-2pt", **o2nc),
        grid("zo-o2nc-1pt", **o2nc),
    ]
    if "auto" in methods.names():
        made.append(grid("auto", radius=auto_radius))
    return tuple(made)


def _seeds(first: int, count: int) -> range:
    return range(first, first + count)


def _have_weeks(weeks: Sequence[str], *, required: bool) -> bool:
    """Whether all weeks are in the cache or could be fetched; a damaged file is an error, not an absence."""
    for week in weeks:
        try:
            load_week(week, allow_fetch=True)
        except DataError:
            if required or present(WEEK_FILES[week]):
                raise
            return False
    return True
