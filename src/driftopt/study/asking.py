"""Which deployment to hand out next: decided on the state under the log's write lock, and appended there."""

import json
from collections.abc import Mapping
from typing import NoReturn

import numpy as np

from driftopt.runtime.process_name import this_process
from driftopt.space import units
from driftopt.study import words
from driftopt.study.errors import BudgetSpent, Halted, Holding, NothingToAsk
from driftopt.study.log import Request
from driftopt.study.records import Question, StudySpec
from driftopt.study.session import Session
from driftopt.study.state import Entry, State, answered
from driftopt.study.trial import FOR_ANOTHER, Place, Trial, Trials

_STREAM = 0x57A7  # sets the directions of stationarity apart from every other use of the study's seed
_WEEK = 7


def prepare(session: Session, question: Question) -> None:
    """Compute the next iteration of a sequential method before the log is locked."""
    if question.purpose == "method" and not session.spec.uses_model:
        if session.state.seen == session.log.begin or not session.state.whole:
            session.read(lambda: None)
        session.rule.prepare(session.state, session.clock())


def ask(session: Session, question: Question) -> Trials:
    """Take the next deployments: up to `count`, fewer when fewer can be pending together."""
    trials: list[Trial] = []
    for number in range(question.count):
        before = session.appended
        try:
            trials.append(_handed_out(session, question, number))
        except NothingToAsk:
            if not trials or session.appended != before:
                raise
            break
    return Trials(trials)


def _handed_out(session: Session, question: Question, number: int) -> Trial:
    """One of several trials: one that the holder has not answered, else a new one."""
    spec, state, now, log, request = session.spec, session.state, session.clock(), session.writer, None
    if question.key is not None:
        who = None if question.new else question.holder
        said = (question.purpose, who, question.new, question.context)
        request = Request.of(question.key, number, question.count, *said)
        if (done := log.done_for(request)) is not None:
            return state.trial(state.entry(done), now)
    context = session.context(question.context)
    if spec.contexts and question.context is None:
        raise ValueError(f"context is needed: a category for each of {', '.join(spec.contexts)}")
    if (halted := state.halted) is not None:
        raise refusal(spec, halted)
    first = 0 if question.purpose == "method" else state.searched  # no earlier recommendation is evaluated
    mine = [one for one in list(state.entries.values())[first:] if _unanswered(one, question, context)]
    mine = [one for one in mine if not (one.overdue(now) and session.rule.replaced(state, one))]
    until = None if spec.lease is None else now + spec.lease
    if not question.new and len(mine) > number:
        if mine[number].overdue(now):  # its holder is alive after all
            session.say(mine[number].asked.id, "renewed", value=until)
        return state.trial(mine[number], now)
    _check_open(state, question.purpose, now)

    place, x = _target(session, question.purpose, context, now)
    session.follow()
    if spec.max_change is not None and spec.space.distance(state.deployed, x) > spec.max_change * (1 + 1e-9):
        place, x = Place("way"), spec.space.toward(state.deployed, x, spec.max_change)
    elif state.periods(x, now) < spec.settle - 1:
        place = Place("settle")
    text = json.dumps(context) if spec.contexts else None
    id = log.ask(place, x, text, question.holder or this_process(), now, until)
    if request is not None:
        log.keep(request, id, now)
    session.follow()
    return state.trial(state.entry(id), now)


def _check_open(state: State, purpose: str, now: float) -> None:
    """Refuse where the study was stopped, or where a decision settles and its result is awaited."""
    if purpose == "method" and state.stopped is not None:
        raise BudgetSpent(f"the study was stopped ({state.stopped}): ask for the recommendation")
    if state.spec.settle > 1 and any(one.out(now) for one in state.entries.values()):
        _refuse_more(state, "a decision settles, and its result is awaited", now)


def _refuse_more(state: State, why: str, now: float) -> NoReturn:
    """Raise NothingToAsk, with the holder of each pending trial."""
    out = [one for one in state.entries.values() if one.out(now)]
    ends = [words.lease(one.expires_at, now) for one in out]
    lines = [f"trial {one.asked.id} by {one.asked.holder}, {end}" for one, end in zip(out, ends, strict=True)]
    raise NothingToAsk(
        f"{why}: " + "; ".join(lines),
        [Holding(one.asked.id, one.asked.holder, one.expires_at) for one in out],
    )


def _unanswered(one: Entry, question: Question, context: Mapping[str, str]) -> bool:
    kinds = ("method", "control") if question.purpose == "method" else (question.purpose,)
    same = one.asked.holder == question.holder and one.context == context
    return same and not one.happened and one.asked.kind in (*kinds, *FOR_ANOTHER)


def refusal(spec: StudySpec, halted: str) -> Halted:
    """The exception that a halted study raises for every question."""
    start = words.plainly(spec.names, spec.x0)
    return Halted(f"{halted}. Deploy the start again ({start}); `resume` goes on with the study")


def _target(
    session: Session, purpose: str, context: Mapping[str, str], now: float
) -> tuple[Place, np.ndarray]:
    """What is to be deployed, if nothing must come before it."""
    spec, state = session.spec, session.state
    if purpose != "method":
        _pay(state, 1, f"a deployment for {purpose}")
        return next_evaluation(session, purpose, context, now)
    price, what = session.rule.price(state, now)
    if not price:
        _refuse_more(state, "every point of the iteration is out", now)
    _pay(state, price, what, spec.reserve)
    if _control_due(state, price):
        return Place("control"), spec.start
    return session.rule.next(state, session.writer, context, now)


def _pay(state: State, price: int, what: str, kept: int = 0) -> None:
    """Raise BudgetSpent if the price is more than what is left of the budget, without the `kept` ones."""
    left = left_of(state, kept)
    if left is not None and left < price:
        reserve = f", and {kept} kept to evaluate the recommendation" if kept else ""
        raise BudgetSpent(
            f"{max(left, 0)} of {state.budget} deployments are left{reserve}: {what} needs {price}. Ask for "
            "the recommendation"
        )


def left_of(state: State, kept: int = 0) -> int | None:
    """The deployments left of the budget, without the `kept` ones; None: without end."""
    return None if state.budget is None else state.budget - state.spent - kept


def _control_due(state: State, count: int) -> bool:
    """At the start, and then after every `control_every` other deployments, if `count` more can be paid.

    Every other time one later, where controls would always fall on the same day of the week. Under
    `max_change`, only while the way there and back takes no more deployments than `control_every`.
    """
    spec, since = state.spec, state.since_control
    if spec.control_every is None:
        return False
    shift = len(state.of_kind("control")) % 2 if (spec.control_every + 1) % _WEEK == 0 else 0
    if since is not None and since < spec.control_every + shift:
        return False
    left, way = left_of(state, spec.reserve), 0
    if spec.max_change is not None:
        way = int(np.ceil(spec.space.distance(state.deployed, spec.start) / spec.max_change)) - 1
        if 2 * way > spec.control_every:
            return False
    return left is None or left >= spec.settle + 2 * max(way, 0) + count


# Deployments that evaluate the recommendation


def next_evaluation(
    session: Session, purpose: str, context: Mapping[str, str], now: float
) -> tuple[Place, np.ndarray]:
    """The first side of a pair that still needs a result, else a new pair.

    A pair that waits for its second side counts only while nothing else was deployed.
    """
    state, recommended = session.state, session.recommendation(context)[0]
    last = state.searched
    pairs: dict[int, dict[int, list[Entry]]] = {}
    for one in state.of_kind(purpose):
        pairs.setdefault(one.asked.point, {0: [], 1: []})[one.asked.sample].append(one)
    for pair, sides in pairs.items():
        tries = [*sides[0], *sides[1]]
        decisions = [evaluated(session.spec, purpose, pair, side, recommended) for side in (0, 1)]
        if tries[0].number < last or any(not np.array_equal(t.x, decisions[t.asked.sample]) for t in tries):
            continue
        for side in (0, 1):
            one = sides[side]
            if (
                not answered(one)
                and not any(t.out(now) for t in one)
                and len(one) < session.spec.max_failures
            ):
                return Place(purpose, 0, pair, side), decisions[side]
    new = max(pairs, default=-1) + 1
    return Place(purpose, 0, new, 0), evaluated(session.spec, purpose, new, 0, recommended)


def direction(spec: StudySpec, pair: int) -> np.ndarray:
    """The pair's direction, uniform on the sphere, a function of the study's seed."""
    u = np.random.default_rng([spec.seed, _STREAM, pair]).standard_normal(spec.dim)
    return u / np.linalg.norm(u)


def evaluated(spec: StudySpec, purpose: str, pair: int, side: int, recommended: np.ndarray) -> np.ndarray:
    """The decision on one side of a pair: start and recommendation, or two points about the latter."""
    if purpose == "confirm":
        return spec.space.start if side == 0 else recommended
    ahead = direction(spec, pair) * np.array(spec.units) / units.of(spec.space.steps)
    point = spec.space.lift(recommended)
    return spec.space.deploy(point + ahead if side == 0 else point - ahead, (spec.seed, _STREAM, pair))
