"""A study's course as the page draws it: deployments, control with its band, coordinates and the cost."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftopt import averages
from driftopt.space.grid import DecisionGrid
from driftopt.study import Study, Trial, words
from driftopt.study.drift_band import DriftBand, drift_band
from driftopt.study.spec import Spec
from driftopt.study.trial import ANSWERS, at_start

MOST = 2000  # deployments in one course, the newest


@dataclass(frozen=True)
class CourseDeployment:
    """One deployment of the course."""

    id: int
    at: float  # when it was asked for
    kind: str
    state: str
    value: float | None
    sem: float | None
    start: bool  # whether the start was deployed
    first: float | None  # the first result, if it was changed later


@dataclass(frozen=True)
class SearchCost:
    """How much worse the search was than the start, in the study's direction: negative is a gain.

    The start would have given n times the mean of the control, so that the error is n times that mean's.
    """

    deployments: int
    controls: int
    total: float
    error: float | None


@dataclass(frozen=True)
class CourseCoordinate:
    """One coordinate of the decision."""

    name: str
    start: float
    recommended: float
    places: int  # decimals with which it is read
    low: float | None
    high: float | None
    step: float | None  # of the grid


@dataclass(frozen=True)
class Path:
    """The values of one coordinate, in the order of the deployments."""

    coordinate: int
    asked: list[float]


@dataclass(frozen=True)
class Course:
    """Everything that the page draws of a study."""

    deployments: list[CourseDeployment]
    left_out: int  # older deployments that are not among them
    band: DriftBand | None
    cost: SearchCost | None
    coordinates: list[CourseCoordinate]
    order: list[int]  # the coordinates, those that changed most first where they are many
    paths: list[Path]


def course(study: Study, skip: int, count: int) -> Course:
    """The course of a study, with the paths of `count` coordinates after the first `skip` of the order."""
    trials, x, spec = study.trials(), study.recommend().x, study.spec
    few = words.most_changed(spec, x, 12)
    order = [*few, *(i for i in range(spec.dim) if i not in few)]
    drawn = trials[-MOST:]
    deployments: list[CourseDeployment] = []
    for t in drawn:
        first = None
        if t.amended:
            first = next((event.value for event in t.history if event.kind in ANSWERS), None)
        before = first if first != t.value else None
        deployments.append(
            CourseDeployment(t.id, t.asked_at, t.kind, t.state, t.value, t.sem, at_start(t), before)
        )
    return Course(
        deployments,
        len(trials) - len(drawn),
        drift_band(trials),
        search_cost(spec, trials),
        _coordinates(spec, x),
        order,
        [Path(i, [float(trial.x[i]) for trial in drawn]) for i in order[skip : skip + count]],
    )


def search_cost(spec: Spec, trials: Sequence[Trial]) -> SearchCost | None:
    """The cost of the method's own deployments; None without results of them or of control."""
    told = [t for t in trials if t.state == "complete" and t.value is not None]
    own = np.array([t.value for t in told if t.kind == "method"], dtype=np.float64)
    control = np.array([t.value for t in told if at_start(t)], dtype=np.float64)
    if not own.size or not control.size:
        return None
    sign = 1.0 if spec.direction == "minimize" else -1.0
    with np.errstate(over="ignore"):
        less = sign * own.size * averages.within_range(averages.mean(own) - averages.mean(control))
        total = float(averages.within_range(less))
        error = None
        if control.size > 1:
            error = float(averages.within_range(own.size * averages.standard_error(control)))
    return SearchCost(int(own.size), int(control.size), total, error)


def _coordinates(spec: Spec, x: np.ndarray) -> list[CourseCoordinate]:
    places = words.decimals(spec, x)
    grid = next((step for step in spec.space.steps if isinstance(step, DecisionGrid)), None)
    found: list[CourseCoordinate] = []
    for i, name in enumerate(spec.names):
        low, high = (None, None) if spec.bounds is None else spec.bounds[i]
        step = float(grid.steps[i]) if grid is not None and grid.steps[i] > 0 else None
        found.append(CourseCoordinate(name, spec.x0[i], float(x[i]), places[i], low, high, step))
    return found
