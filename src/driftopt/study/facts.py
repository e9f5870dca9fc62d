"""What is known of a study now: the record from which every page, terminal and notebook is made."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftopt import averages
from driftopt.answers.effects import Effect
from driftopt.space.grid import DecisionGrid
from driftopt.study import words
from driftopt.study.asking import left_of
from driftopt.study.drift import ChangePoint, Drift, DriftBand, change, drift, drift_band
from driftopt.study.errors import Holding
from driftopt.study.money import Money, money
from driftopt.study.recommendation import Recommendation, confirming, recommend, still_to_ask
from driftopt.study.records import StudySpec, Window, as_json
from driftopt.study.session import Session
from driftopt.study.trial import ANSWERS, STATES, Trial, at_start

DAY = words.DAY
_BARS = 48  # means in which the values are told
_FAILURES = 5  # the last ones, which are told with their reasons


@dataclass(frozen=True)
class NextStep:
    """What to do now."""

    what: str
    commands: tuple[str, ...]


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
    """What is known of a study now."""

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
    # The decision to deploy, with its expected and its measured gain.
    recommendation: Recommendation
    stopped: str | None = None  # why the study was ended before its budget
    halted: str | None = None  # why nothing is asked until someone resumes
    covariates: tuple[Effect, ...] = ()  # what is known of each: name, known, effect, p_value
    # Of the world, as control shows it: began, noticed, higher, before, after.
    change: ChangePoint | None = None
    warnings: tuple[str, ...] = ()  # what to look at, in sentences
    money: Money | None = None  # what it has cost, gains and would bring; None without results or the model

    @property
    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, words and lists, for JSON."""
        return as_json(self)

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
        return words.html(f"Study {self.name}", lines)


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


def summarize(session: Session, place: str) -> Summary:
    """The facts of the study's present state; `place` is what commands are to be given."""
    spec, state, now = session.spec, session.state, session.clock()
    trials = state.trials(now)
    x, gain = session.recommendation(session.context(None))
    advised = recommend(spec, x, len(state.standing), state.spent, left_of(state), trials, gain)
    of_states, of_kinds = (Counter(getattr(t, what) for t in trials) for what in ("state", "kind"))
    told = [t for t in trials if t.state == "complete" and t.value is not None]
    own = [t.value for t in told if t.kind == "method" and t.value is not None]
    answered = [t.answered_at for t in trials if t.answered_at and t.state in ("complete", "held", "voided")]
    # A second store has a level of its own: what was reported as control is a series by itself.
    changed = change([t.value for t in told if t.kind == "control" and t.value is not None])
    changed = changed or change([t.control for t in told if t.control is not None])
    learnt = session.rule.effects(state, now) if spec.covariates else ()
    owed = money(session, trials)
    warnings = [*([] if changed is None else [changed.words]), advised.warning]
    warnings += [one.warning for one in learnt if one.moves_with_the_decision]
    warnings += [] if owed is None else owed.warnings
    failures = [t for t in trials if t.state == "failed"][-_FAILURES:]
    return Summary(
        name=session.name,
        method=spec.method,
        direction=spec.direction,
        dim=spec.dim,
        budget=state.budget,
        spent=state.spent,
        reserve=spec.reserve,
        results=len(state.standing),
        states={state: of_states.get(state, 0) for state in STATES},
        kinds=dict(of_kinds),
        out=tuple(
            Out(t.id, t.holder, t.expires_at, t.kind, tuple(t.x.tolist()), words.lease(t.expires_at, now))
            for t in trials
            if t.state in ("pending", "expired")
        ),
        drift=drift(trials),
        values=Values(len(own), own[0], own[-1], min(own), max(own), tuple(words.fold(own, _BARS)))
        if own
        else None,
        first_answer=min(answered, default=None),
        last_answer=max(answered, default=None),
        held=tuple(Doubtful(t.id, t.value, t.sem, t.reason) for t in trials if t.state == "held"),
        failures=tuple(Lost(t.id, t.state, t.reason or "", t.history[-1].at) for t in failures),
        next=next_step(session, place, advised, trials, now),
        recommendation=advised,
        stopped=state.stopped,
        halted=state.halted,
        covariates=learnt,
        change=changed,
        warnings=tuple(warning for warning in warnings if warning is not None),
        money=owed,
    )


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
    grid = next((step for step in spec.space.steps if isinstance(step, DecisionGrid)), None)
    coordinates: list[CourseCoordinate] = []
    for i, (name, places) in enumerate(zip(spec.names, words.decimals(spec, x), strict=True)):
        low, high = (None, None) if spec.bounds is None else spec.bounds[i]
        step = float(grid.steps[i]) if grid is not None and grid.steps[i] > 0 else None
        coordinates.append(CourseCoordinate(name, spec.x0[i], float(x[i]), places, low, high, step))
    return Course(
        deployments,
        len(trials) - len(drawn),
        drift_band(trials),
        search_cost(spec, trials),
        coordinates,
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
    with np.errstate(over="ignore"):
        less = spec.sign * own.size * averages.within_range(averages.mean(own) - averages.mean(control))
        total = float(averages.within_range(less))
        error = None
        if control.size > 1:
            error = float(averages.within_range(own.size * averages.standard_error(control)))
    return SearchCost(int(own.size), int(control.size), total, error)


# What to do now


def full_command(place: str, name: str, verb: str, *words: str) -> str:
    """A command of the shell on a study, as it can be typed; options belong to the verb.

    >>> full_command("shop.db", "tea & oil", "trials --state held")
    "driftopt study trials --state held shop.db 'tea & oil'"
    """
    # A name that begins with a dash would be read as an option.
    given = ["--", place, name, *words] if name.startswith("-") else [place, name, *words]
    return f"driftopt study {verb} {' '.join(map(shlex.quote, given))}"


def next_step(
    session: Session, place: str, advised: Recommendation, trials: Sequence[Trial], now: float
) -> NextStep:
    """The most urgent: results that are held, a halt, results owed, the next question, the recommendation."""
    spec, state = session.spec, session.state

    def command(verb: str, *words: str) -> str:
        return full_command(place, session.name, verb, *words)

    held = [trial.id for trial in trials if trial.state == "held"]
    if held:
        rest = f" ({len(held) - 1} more are held)" if len(held) > 1 else ""
        what = f"accept the result of trial {held[0]} if it is true, else correct it{rest}"
        id = str(held[0])
        return NextStep(what, (command("accept", id), command("correct", id, "VALUE")))
    if state.halted is not None:
        what = "deploy the start again: a hard limit was broken twice in a row. When that is mended, resume"
        return NextStep(what, (command("resume"),))
    more, last = _can_ask(session, now), trials[-1].asked_at if trials else 0.0
    awaited = [trial for trial in trials if trial.state in ("pending", "expired")]
    awaited = [trial for trial in awaited if trial.expires_at is None or trial.expires_at > last]
    if awaited:
        first = awaited[0]
        what = f"tell what trial {first.id} gave" + (", which is overdue" if first.state == "expired" else "")
        what += ", or ask for another meanwhile" if more else ", or say that it failed"
        other = command("ask --new") if more else command("fail", str(first.id), "REASON")
        return NextStep(what, (command("tell", str(first.id), "VALUE"), other))
    if more:
        return NextStep("ask for the next deployment", (command("ask"),))
    left = left_of(state)
    count = "more deployments" if left is None else f"{left} deployment{'s' * (left != 1)}"
    if state.stopped is not None:
        why = "the study is stopped" + ("" if left is None else f", {count} left")
    else:
        why = "the budget is spent" + (f" except for {count}" if left else "")
    missing = still_to_ask(confirming(advised.x, trials))
    if missing and (left is None or left >= 2 * spec.settle):
        few = left is not None and left < missing * spec.settle
        rest = ", and tell each value with its sem: too few are left to go without" if few else ""
        what = f"{why}: measure what the recommendation is worth{rest}"
        return NextStep(what, (command("ask --purpose confirm"), command("recommend")))
    if advised.warning is not None:
        return NextStep(f"{why}: keep the start, which was measured to be better", (command("recommend"),))
    return NextStep(f"{why}: ask for the recommendation", (command("recommend"),))


def _can_ask(session: Session, now: float) -> bool:
    """Whether `ask` has something to hand out, and can pay for the iteration that it belongs to."""
    spec, state = session.spec, session.state
    out = [entry for entry in state.entries.values() if entry.out(now)]
    left = left_of(state, spec.reserve)
    if state.stopped is not None or state.halted is not None or (spec.settle > 1 and out):
        return False
    price, _ = session.rule.price(state, now)
    return price > 0 and (left is None or left >= price)
