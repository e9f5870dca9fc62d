"""What is known of a study now: the record from which every page, terminal and notebook is made."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from driftopt import averages
from driftopt.answers.control import ControlReport, RelativeToControl, report
from driftopt.answers.covariates import Covariates
from driftopt.answers.effects import Effect, found, noise_left, of_trials
from driftopt.space.grid import DecisionGrid
from driftopt.study import display, words
from driftopt.study.change_point import ChangePoint, change
from driftopt.study.errors import Holding
from driftopt.study.next_step import NextStep, next_step
from driftopt.study.recommendation import Gain, improvement
from driftopt.study.records import StudySpec, Window
from driftopt.study.session import Session
from driftopt.study.trial import ANSWERS, STATES, Trial, at_start

DAY = words.DAY
_BARS = 48  # means in which the values are told
_FAILURES = 5  # the last ones, which are told with their reasons
_ANSWERED = ("complete", "held", "voided")
_HUGE = 1e100  # squares of larger numbers may overflow


@dataclass(frozen=True)
class Drift:
    """How the world moves while the decision stands still: values at the start over time."""

    n: int
    mean: float
    slope: float | None  # per day
    slope_sem: float | None


@dataclass(frozen=True)
class Out(Holding):
    """One deployment that is out, with what is deployed and how long it may take, in words."""

    kind: str
    x: tuple[float, ...]
    lease: str


@dataclass(frozen=True)
class Lost:
    """A deployment that failed or expired, and why."""

    id: int
    state: str
    reason: str
    at: float


@dataclass(frozen=True)
class Doubtful:
    """An answer that is held: it is far from all others."""

    id: int
    value: float | None
    sem: float | None
    reason: str | None


@dataclass(frozen=True)
class Values:
    """What the method was told, oldest first; of many values, the means of stretches."""

    n: int
    first: float
    last: float
    low: float
    high: float
    trend: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Summary:
    """Where the study stands."""

    name: str  # by which it is opened
    method: str  # by its name
    direction: str  # "minimize" or "maximize"
    dim: int  # numbers in a decision
    budget: int | None  # deployments, as last extended; None: without end
    spent: int  # deployments that count against the budget
    reserve: int  # deployments kept for confirming the recommendation
    results: int  # how many stand
    states: dict[str, int]  # how many trials are pending, complete, failed, …
    kinds: dict[str, int]  # how many trials there are of each kind: method, control, confirm, …
    out: tuple[Out, ...]  # deployments without an answer yet: id, holder, x, and how long they may take
    drift: Drift | None  # how values at the start change with time: n, mean, slope per day, slope_sem
    # What the method was told: n, first, last, low, high, and trend, the means of stretches.
    values: Values | None
    first_answer: float | None  # seconds since the epoch
    last_answer: float | None  # seconds since the epoch
    held: tuple[Doubtful, ...]  # results that are implausible and do not count: id, value, sem, reason
    failures: tuple[Lost, ...]  # the last that failed or expired: id, state, reason, at
    next: NextStep  # what to do now: what, in a sentence, and commands
    stopped: str | None = None  # why the study was ended before its budget
    halted: str | None = None  # why nothing is asked until someone resumes
    covariates: tuple[Effect, ...] = ()  # what is known of each: name, known, effect, p_value
    noise_left: float | None = None  # after covariates: the share of the noise within iterations that is left
    control: ControlReport | None = None  # what taking control out has done
    # Of the world, as control shows it: began, noticed, higher, before, after.
    change: ChangePoint | None = None
    warnings: tuple[str, ...] = ()  # what to look at, in sentences
    gain: Gain | None = None  # of the recommendation over the start, as the model has it: mean, sem

    @property
    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, words and lists, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        states = ", ".join(f"{count} {state}" for state, count in self.states.items() if count)
        return (
            f"<Summary of {self.name!r}: {self.method}, {self.direction}, "
            f"{words.of_budget(self.spent, self.budget)} ({states or 'none asked yet'}), "
            f"{self.results} results>"
        )

    def _repr_html_(self) -> str:
        lines = [
            ("method", f"{self.method}, {self.direction}"),
            ("deployments", words.of_budget(self.spent, self.budget)),
            ("results", str(self.results)),
            *((state, str(count)) for state, count in self.states.items() if count),
        ]
        return display.html(f"Study {self.name}", lines)


MOST = 2000  # deployments in one course, the newest
_PLACES = 50  # at which the band is known


@dataclass(frozen=True)
class DriftBand:
    """The line, and two standard errors to either side, at times in seconds since the epoch."""

    at: list[float]
    level: list[float]
    low: list[float]
    high: list[float]
    slope: float  # a day


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


def drift(trials: Sequence[Trial]) -> Drift | None:
    """Least squares of the start's values on time: y = a + b t, with the standard error of b.

    b = Σ(t − t̄)(y − ȳ) / Σ(t − t̄)²,   se² = Σ residual² / ((n − 2) Σ(t − t̄)²)

    Huge values are measured in units of the largest, so that no sum or square overflows.
    """
    told = [t for t in trials if t.state == "complete" and t.value is not None and at_start(t)]
    if not told:
        return None
    days = np.array([t.asked_at for t in told]) / DAY
    told_values = np.array([t.value for t in told], dtype=np.float64)
    mean = float(averages.mean(told_values))
    centred = days - days.mean()
    width = float(centred @ centred)
    if len(told) < 3 or width == 0:
        return Drift(len(told), mean, None, None)
    largest = float(np.abs(told_values).max())
    unit = largest if largest > _HUGE else 1.0
    values = told_values / unit
    with np.errstate(over="ignore"):
        slope = centred @ (values - values.mean()) / width
        residual = values - values.mean() - slope * centred
        error = np.sqrt(residual @ residual / ((len(told) - 2) * width))
        return Drift(len(told), mean, *(float(averages.within_range(unit * b)) for b in (slope, error)))


def values(trials: Sequence[Trial]) -> Values | None:
    """The values told for the method's own points that stand, in the order asked."""
    told = [t.value for t in trials if t.kind == "method" and t.state == "complete" and t.value is not None]
    if not told:
        return None
    return Values(len(told), told[0], told[-1], min(told), max(told), tuple(words.fold(told, _BARS)))


def summarize(name: str, session: Session, url: str) -> Summary:
    """From the study's present state; `url` is what commands are to be given."""
    spec, state, now = session.spec, session.state, session.clock()
    trials = state.trials(now)
    x, gain = session.recommendation(session.context(None))
    counted = Counter(trial.state for trial in trials)
    answered = [t.answered_at for t in trials if t.answered_at is not None and t.state in _ANSWERED]
    return Summary(
        name=name,
        method=spec.method,
        direction=spec.direction,
        dim=spec.dim,
        budget=state.budget,
        spent=state.spent,
        reserve=spec.reserve,
        results=len(state.standing),
        states={state: counted.get(state, 0) for state in STATES},
        kinds=dict(Counter(trial.kind for trial in trials)),
        out=tuple(_out(trial, now) for trial in trials if trial.state in ("pending", "expired")),
        drift=drift(trials),
        values=values(trials),
        first_answer=min(answered, default=None),
        last_answer=max(answered, default=None),
        held=tuple(Doubtful(t.id, t.value, t.sem, t.reason) for t in trials if t.state == "held"),
        failures=tuple(_lost(t) for t in trials if t.state == "failed")[-_FAILURES:],
        next=next_step(url, name, spec, state, x, trials, now),
        stopped=state.stopped,
        gain=None if gain is None else Gain(*map(float, gain)),
        **_side(session, x, trials),
    )


def _side(session: Session, x: np.ndarray, trials: Sequence[Trial]) -> dict[str, Any]:
    """What is known in addition to values, and what to be wary of there."""
    spec, state = session.spec, session.state
    told = [t for t in trials if t.state == "complete"]
    deployed = [t.value for t in told if t.kind == "control" and t.value is not None]
    # A second store has a level of its own: what was told as control is a series by itself.
    changed = change(deployed) or change([t.control for t in told if t.control is not None])
    said: dict[str, Any] = {"halted": state.halted, "change": changed}
    warnings = [] if changed is None else [changed.words]
    gain = improvement(spec, x, trials) if state.standing else None
    warnings += [] if gain is None or gain.warning is None else [gain.warning]
    if spec.uses_model and spec.covariates:
        from driftopt.study.model_rule import effects

        said["covariates"] = effects(state)
        warnings += [one.warning for one in said["covariates"] if one.moves_with_the_decision]
    if not spec.uses_model and (spec.covariates or spec.relative_to_control):
        memory = session.sequential.memory(state, session.clock())
        if spec.covariates:
            learnt = tuple(found(spec.answers, memory, of_trials(spec.covariates, trials)).values())
            said |= {
                "covariates": learnt,
                "noise_left": noise_left(spec.answers.memory_of(memory, Covariates)),
            }
            warnings += [one.warning for one in learnt if one.moves_with_the_decision]
        if spec.relative_to_control:
            said["control"] = report(spec.answers.memory_of(memory, RelativeToControl))
    return said | {"warnings": tuple(warnings)}


def _out(trial: Trial, now: float) -> Out:
    x, left = tuple(trial.x.tolist()), words.lease(trial.expires_at, now)
    return Out(trial.id, trial.holder, trial.expires_at, trial.kind, x, left)


def _lost(trial: Trial) -> Lost:
    last = trial.history[-1]
    return Lost(trial.id, trial.state, trial.reason or last.reason or "", last.at)


def course(session: Session, window: Window) -> Course:
    """The study's course, with the paths of some coordinates."""
    spec, trials = session.spec, session.state.trials(session.clock())
    x, _ = session.recommendation(session.context(None))
    few = words.most_changed(spec, x, 12)
    order = [*few, *(i for i in range(spec.dim) if i not in few)]
    drawn = trials[-MOST:]
    deployments: list[CourseDeployment] = []
    for t in drawn:
        first = next((event.value for event in t.history if event.kind in ANSWERS), None)
        before = first if t.amended and first != t.value else None
        plain = (t.id, t.asked_at, t.kind, t.state, t.value, t.sem)
        deployments.append(CourseDeployment(*plain, at_start(t), before))
    return Course(
        deployments,
        len(trials) - len(drawn),
        drift_band(trials),
        search_cost(spec, trials),
        _coordinates(spec, x),
        order,
        [Path(i, [float(t.x[i]) for t in drawn]) for i in order[window.skip : window.skip + window.count]],
    )


def search_cost(spec: StudySpec, trials: Sequence[Trial]) -> SearchCost | None:
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


def _coordinates(spec: StudySpec, x: np.ndarray) -> list[CourseCoordinate]:
    places = words.decimals(spec, x)
    grid = next((step for step in spec.space.steps if isinstance(step, DecisionGrid)), None)
    found: list[CourseCoordinate] = []
    for i, name in enumerate(spec.names):
        low, high = (None, None) if spec.bounds is None else spec.bounds[i]
        step = float(grid.steps[i]) if grid is not None and grid.steps[i] > 0 else None
        found.append(CourseCoordinate(name, spec.x0[i], float(x[i]), places[i], low, high, step))
    return found


def drift_band(trials: Sequence[Trial]) -> DriftBand | None:
    """The band of `drift`; None where fewer than three values are told, or where it leaves all numbers.

    At the time t its half width is 2 √(s²/n + se_b² (t − t̄)²), with s² = se_b² Σ(t − t̄)², the residuals'
    variance.
    """
    found = drift(trials)
    if found is None or found.slope is None or found.slope_sem is None:
        return None
    days = (
        np.array(
            [t.asked_at for t in trials if at_start(t) and t.state == "complete" and t.value is not None]
        )
        / DAY
    )
    centred = days - days.mean()
    along = np.linspace(centred.min(), centred.max(), _PLACES)
    with np.errstate(over="ignore", invalid="ignore"):
        level = found.mean + found.slope * along
        error = 2 * abs(found.slope_sem) * np.sqrt(centred @ centred / len(days) + along**2)
        low, high = level - error, level + error
    if not np.isfinite([level, low, high]).all():
        return None
    at = (along + days.mean()) * DAY
    return DriftBand(at.tolist(), level.tolist(), low.tolist(), high.tolist(), found.slope)
