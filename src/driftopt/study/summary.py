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
from driftopt.study.recommendation import Gain, improvement
from driftopt.study.session import Session
from driftopt.study.trial import STATES, Trial, at_start

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
