"""Where a study stands, in numbers: no JAX, and nothing is changed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from driftopt import averages
from driftopt.answers.control import ControlReport, RelativeToControl, report
from driftopt.answers.covariates import Covariates
from driftopt.answers.effects import Effect, found, noise_left, of_trials
from driftopt.study import display, words
from driftopt.study.change_point import ChangePoint, change
from driftopt.study.errors import Holding
from driftopt.study.next_step import NextStep, next_step
from driftopt.study.progress import Progress
from driftopt.study.recommendation import improvement
from driftopt.study.spec import Spec
from driftopt.study.trial import STATES, Place, Trial

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
    waits: bool  # whether its answer may still count: no other trial answered its point


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
    budget: int  # deployments, as last extended
    spent: int  # deployments that count against the budget
    reserve: int  # deployments kept for confirming the recommendation
    iterations: int  # how many are complete
    answered: int  # deployments of the open iteration that have an answer
    size: int  # deployments in one iteration
    states: dict[str, int]  # how many trials are pending, complete, failed, …
    kinds: dict[str, int]  # how many trials there are of each kind: method, control, confirm, …
    out: tuple[Out, ...]  # deployments without an answer yet: id, holder, x, and how long they may take
    drift: Drift | None  # how values at the start change with time: n, mean, slope per day, slope_sem
    # What the method was told: n, first, last, low, high, and trend, the means of stretches.
    values: Values | None
    first_answer: float | None  # seconds since the epoch
    last_answer: float | None  # seconds since the epoch
    held: tuple[Doubtful, ...]  # answers that are far from all others and do not count: id, value, sem, waits
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

    @property
    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, words and lists, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        states = ", ".join(f"{count} {state}" for state, count in self.states.items() if count)
        return (
            f"<Summary of {self.name!r}: {self.method}, {self.direction}, {self.spent} of {self.budget} "
            f"deployments ({states or 'none asked yet'}), {self.iterations} iterations complete>"
        )

    def _repr_html_(self) -> str:
        lines = [
            ("method", f"{self.method}, {self.direction}"),
            ("deployments", f"{self.spent} of {self.budget}"),
            ("iterations", f"{self.iterations} complete"),
            *((state, str(count)) for state, count in self.states.items() if count),
        ]
        return display.html(f"Study {self.name}", lines)


def drift(trials: Sequence[Trial]) -> Drift | None:
    """Least squares of the start's values on time: y = a + b t, with the standard error of b.

    b = Σ(t − t̄)(y − ȳ) / Σ(t − t̄)²,   se² = Σ residual² / ((n − 2) Σ(t − t̄)²)

    Huge values are measured in units of the largest, so that no sum or square overflows.
    """
    told = [t for t in trials if t.state == "complete" and at_start(t)]
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


def at_start(trial: Trial) -> bool:
    return trial.kind == "control" or (trial.kind == "confirm" and trial.sample == 0)


def values(trials: Sequence[Trial]) -> Values | None:
    """The values told for the method's own points that stand, in the order asked."""
    told = [t.value for t in trials if t.kind == "method" and t.state == "complete" and t.value is not None]
    if not told:
        return None
    return Values(len(told), told[0], told[-1], min(told), max(told), tuple(words.fold(told, _BARS)))


def summarize(
    name: str, spec: Spec, progress: Progress, trials: Sequence[Trial], url: str, now: float
) -> Summary:
    """From the study's trials and its progress; `url` is what commands are to be given."""
    counted = Counter(trial.state for trial in trials)
    open = progress.open
    held = _doubtful(trials)
    answered = [t.answered_at for t in trials if t.answered_at is not None and t.state in _ANSWERED]
    return Summary(
        name=name,
        method=spec.method,
        direction=spec.direction,
        dim=spec.dim,
        budget=progress.budget,
        spent=progress.spent,
        reserve=spec.reserve,
        iterations=progress.closed,
        answered=0 if open is None else spec.size - open.missing,
        size=spec.size,
        states={state: counted.get(state, 0) for state in STATES},
        kinds=dict(Counter(trial.kind for trial in trials)),
        out=tuple(_out(trial, now) for trial in trials if trial.state == "pending"),
        drift=drift(trials),
        values=values(trials),
        first_answer=min(answered, default=None),
        last_answer=max(answered, default=None),
        held=held,
        failures=tuple(_lost(t) for t in trials if t.state in ("failed", "expired"))[-_FAILURES:],
        next=next_step(url, name, spec, progress, [one.id for one in held if one.waits], trials, now),
        stopped=progress.stopped,
        **_side(spec, progress, trials),
    )


def _side(spec: Spec, progress: Progress, trials: Sequence[Trial]) -> dict[str, Any]:
    """What is known beside values, and what to be wary of there."""
    told = [t for t in trials if t.state == "complete"]
    deployed = [t.value for t in told if t.kind == "control" and t.value is not None]
    # A second store has a level of its own: what was told beside is a series by itself.
    changed = change(deployed) or change([t.control for t in told if t.control is not None])
    said: dict[str, Any] = {"halted": progress.halted, "change": changed}
    warnings = [] if changed is None else [changed.words]
    gain = improvement(spec, progress.closed, progress.confirming) if progress.closed else None
    warnings += [] if gain is None or gain.warning is None else [gain.warning]
    if spec.covariates:
        effects = tuple(found(spec.answers, progress.memory, of_trials(spec.covariates, trials)).values())
        learnt = spec.answers.memory_of(progress.memory, Covariates)
        said |= {"covariates": effects, "noise_left": noise_left(learnt)}
        warnings += [one.warning for one in effects if one.moves_with_the_decision]
    if spec.relative_to_control:
        said["control"] = report(spec.answers.memory_of(progress.memory, RelativeToControl))
    return said | {"warnings": tuple(warnings)}


def _out(trial: Trial, now: float) -> Out:
    x, left = tuple(trial.x.tolist()), words.lease(trial.expires_at, now)
    return Out(trial.id, trial.holder, trial.expires_at, trial.kind, x, left)


def _lost(trial: Trial) -> Lost:
    last = trial.history[-1]
    return Lost(trial.id, trial.state, trial.reason or last.reason or "", last.at)


def _doubtful(trials: Sequence[Trial]) -> tuple[Doubtful, ...]:
    answered = {_place(t) for t in trials if t.state == "complete"}
    drawn = {(t.iteration, t.draw) for t in trials if t.kind == "method"}

    def waits(trial: Trial) -> bool:
        redrawn = trial.kind == "method" and (trial.iteration, trial.draw + 1) in drawn
        return _place(trial) not in answered and not redrawn

    return tuple(Doubtful(t.id, t.value, t.sem, waits(t)) for t in trials if t.state == "held")


def _place(trial: Trial) -> Place:
    return Place(trial.kind, trial.iteration, trial.draw, trial.point, trial.sample)
