"""Which deployment to hand out next: decided on the log under its write lock, and appended there.

Longer than 300 lines: one decision, whose cases are best read beside each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftopt.study import approach, display, evaluation, words
from driftopt.study.errors import BudgetSpent, Halted, Holding, NothingToAsk, StudyError
from driftopt.study.log import Request, Writer, as_trial
from driftopt.study.progress import OpenIteration
from driftopt.study.session import Session
from driftopt.study.spec import Spec
from driftopt.study.trial import Place, Trial, state_of


@dataclass(frozen=True)
class Needed:
    """What the method must compute first: the decisions of a new draw, or the recommendation."""

    restarts: int  # of the replay, as answers were amended
    steps: int  # after so many steps of the method's state
    iteration: int
    draw: int | None  # None: the recommendation


@dataclass(frozen=True)
class Computed:
    needed: Needed
    points: np.ndarray


def ask(
    session: Session, purpose: str, holder: str, held: int | None = None, request: Request | None = None
) -> Trial:
    """The next deployment for a purpose; or, counted from 0, number `held` of those that the holder has not
    answered, if there are so many; or what was handed out before for the same request.

    Decides under the lock and computes outside it, so that others may go on meanwhile; whoever holds the
    lock next looks again.
    """
    computed: Computed | None = None
    while True:

        def work(log: Writer, computed: Computed | None = computed) -> Trial | Needed | None:
            session.catch_up(log)
            if request is not None and (done := log.done_for(request)) is not None:
                return _trial(session, log, done)
            outcome = _next(session, log, purpose, holder, held, computed)
            if request is not None and isinstance(outcome, Trial):
                log.keep(request, outcome.id, session.clock())
            return outcome

        outcome = session.write(work, again=request is not None)
        if isinstance(outcome, Trial):
            return outcome
        computed = None if outcome is None else _compute(session, outcome)


class Question(NamedTuple):
    """What `ask` is asked, by one of several at once."""

    purpose: str
    holder: str
    held: int | None = None
    request: Request | None = None


def ask_together(session: Session, questions: Sequence[Question]) -> list[Trial | Exception | None]:
    """For each question in turn its deployment or its refusal, all in one transaction.

    From the first on for which the method must compute something: None. These are to be asked anew.
    """

    def work(log: Writer) -> list[Trial | Exception | None]:
        outcomes = list[Trial | Exception | None]()
        for question in questions:
            rows = log.appended
            try:
                outcome = _in_turn(session, log, question)
            except (StudyError, ValueError) as error:
                if log.appended != rows:
                    raise
                outcome = error
            if outcome is None:
                break
            outcomes.append(outcome)
        return outcomes + [None] * (len(questions) - len(outcomes))

    return session.write(work, again=all(question.request is not None for question in questions))


def _in_turn(session: Session, log: Writer, question: Question) -> Trial | None:
    """The deployment for one of several questions; None where something must be computed first."""
    purpose, holder, held, request = question
    outcome: Trial | Needed | None = None
    while outcome is None:  # a lease was ended: look again
        session.catch_up(log)
        if request is not None and (done := log.done_for(request)) is not None:
            return _trial(session, log, done)
        outcome = _next(session, log, purpose, holder, held, None)
    if not isinstance(outcome, Trial):
        return None
    if request is not None:
        log.keep(request, outcome.id, session.clock())
    return outcome


def _next(
    session: Session, log: Writer, purpose: str, holder: str, held: int | None, computed: Computed | None
) -> Trial | Needed | None:
    """What the holder has not answered, else a new deployment; None: a lease was ended now, so look again."""
    if (halted := session.progress.halted) is not None:
        raise refusal(session.spec, halted)
    out = [] if held is None else session.progress.unanswered(holder, purpose)[held:]
    if out:
        kept = out[0].id in session.progress.deployed.kept
        return as_trial(out[0], [], tuple(session.spec.names), kept)
    if purpose == "method" and session.progress.stopped is not None:
        raise BudgetSpent(f"the study was stopped ({session.progress.stopped}): ask for the recommendation")
    if _end_of_period(session, log):
        return None
    if purpose == "method":
        return _ask_method(session, log, holder, computed)
    return _ask_evaluation(session, log, purpose, holder, computed)


def refusal(spec: Spec, halted: str) -> Halted:
    """What a study that is halted says to whoever asks."""
    start = display.decision(spec.names, spec.x0)
    return Halted(f"{halted}. Deploy the start again ({start}); `resume` goes on with the study")


def _trial(session: Session, log: Writer, id: int) -> Trial:
    """A trial that was handed out before, as it is now."""
    known, kept = log.trial(id), id in session.progress.deployed.kept
    return as_trial(known.asked, known.happened, tuple(session.spec.names), kept)


def _needed(session: Session, iteration: int, draw: int | None) -> Needed:
    return Needed(session.progress.restarts, len(session.progress.steps), iteration, draw)


def _compute(session: Session, needed: Needed) -> Computed:
    state = session.state()
    points = state.recommendation() if needed.draw is None else state.decisions(needed.draw)
    return Computed(needed, points)


def _hand_out(session: Session, log: Writer, place: Place, x: np.ndarray, holder: str) -> Trial:
    """Hand x out, or what must be deployed before it."""
    now, lease = session.clock(), session.spec.lease
    place, x = approach.first(session.spec, session.progress, place, x)
    keep = session.progress.deployed.keeps(x, holder)
    asked = log.ask(place, x, holder, now, None if lease is None else now + lease)
    return as_trial(asked, [], tuple(session.spec.names), keep)


def _end_of_period(session: Session, log: Writer) -> bool:
    """Where decisions settle, one is out at a time: True where its lease was ended now, so look again."""
    if session.spec.settle == 1 or not session.progress.pending:
        return False
    now, out = session.clock(), session.progress.pending
    if late := [row for row in out if row.expires_at is not None and row.expires_at <= now]:
        log.say(late[0].id, "expired", now, reason="the lease ran out")
        return True
    holdings = [Holding(row.id, row.holder, row.expires_at) for row in out]
    lines = [f"trial {h.id} by {h.holder}, {_lease(h, now)}" for h in holdings]
    raise NothingToAsk("a decision settles, and its answer is awaited: " + "; ".join(lines), holdings)


# The method's own deployments, and control between them


def _ask_method(
    session: Session, log: Writer, holder: str, computed: Computed | None
) -> Trial | Needed | None:
    """A slot of the open iteration; else a new draw; None: a lease was ended, so look again."""
    spec, progress = session.spec, session.progress
    open = progress.open
    if open is None:
        return _open(session, log, holder, computed, _needed(session, progress.closed, 0))
    free = open.free()
    if any(len(open.lost[slot]) >= spec.max_failures for slot in free):
        return _open(session, log, holder, computed, _needed(session, open.iteration, open.draw + 1))
    if free:
        places = [open.place(slot) for slot in free]
        points = session.points(log, open.iteration, open.draw)
        _pay_iteration(session, [points[place.point] for place in places], "the open iteration")
        if _control_due(session, len(free)):
            return _control(session, log, holder)
        return _hand_out(session, log, places[0], points[places[0].point], holder)
    return _end_lease(session, log, open)


def _open(
    session: Session, log: Writer, holder: str, computed: Computed | None, needed: Needed
) -> Trial | Needed:
    """Open an iteration, or draw it anew."""
    spec, draw = session.spec, needed.draw or 0
    what = "the redrawn iteration" if draw else "the next iteration"
    pay(session, spec.size * spec.settle, what, spec.reserve)
    if not draw and _control_due(session, spec.size):
        return _control(session, log, holder)
    if computed is None or computed.needed != needed:
        return needed
    _pay_iteration(session, [*computed.points] * spec.repeats, what)
    now = session.clock()
    if draw:
        _supersede(log, Place("method", needed.iteration, draw - 1, 0, 0), now)
    log.open(needed.iteration, draw, computed.points, spec.repeats, now)
    place = Place("method", needed.iteration, draw, 0, 0)
    return _hand_out(session, log, place, computed.points[0], holder)


def _supersede(log: Writer, place: Place, now: float) -> None:
    """The iteration is redrawn: what was asked or told in this draw is not used."""
    for id, kinds in log.tries(place, whole_draw=True).items():
        if state_of(kinds) in ("pending", "complete"):
            log.say(id, "superseded", now, reason="the iteration was redrawn")


def _end_lease(session: Session, log: Writer, open: OpenIteration) -> None:
    """Everything is out. Take back what is overdue longest, or say who holds what."""
    now = session.clock()
    late = [h for h in open.out.values() if h.expires_at is not None and h.expires_at <= now]
    if not late:
        out = sorted(open.out.values(), key=lambda h: h.id)
        lines = [f"trial {h.id} by {h.holder}, {_lease(h, now)}" for h in out]
        raise NothingToAsk("every point of the iteration is out: " + "; ".join(lines), out)
    overdue = min(late, key=lambda h: (h.expires_at, h.id))
    what = f"another try of trial {overdue.id}, whose lease ran out"
    pay(session, 1, what, session.spec.reserve)
    log.say(overdue.id, "expired", now, reason="the lease ran out")


def _lease(holding: Holding, now: float) -> str:
    return "without a lease" if holding.expires_at is None else words.lease(holding.expires_at, now)


def pay(session: Session, price: int, what: str, kept: int = 0) -> None:
    """Refuse what costs more than is left beside those that are `kept`."""
    left = session.progress.budget - session.progress.spent - kept
    if left < price:
        beside = f", and {kept} kept to evaluate the recommendation" if kept else ""
        raise BudgetSpent(
            f"{max(left, 0)} of {session.progress.budget} deployments are left{beside}: {what} needs "
            f"{price}. Ask for the recommendation"
        )


def _pay_iteration(session: Session, points: list[np.ndarray], what: str) -> None:
    """An iteration that cannot be finished is not begun, nor a deployment of it made that breaks the promise
    of `approach.py`, even if all others fail.
    """
    spec, progress = session.spec, session.progress
    opened = progress.closed + 1
    kept = max(approach.kept(spec, point, opened, progress.budget) for point in points)
    pay(session, approach.price(spec, progress, *points), what, kept)
    if spec.max_change is not None:
        _, x = approach.first(spec, progress, Place("method", 0, 0, 0, 0), points[0])
        pay(session, 1, what, approach.kept(spec, x, opened, progress.budget))


def _control_due(session: Session, count: int) -> bool:
    """At the start, and then after every `control_every` other deployments, if `count` more can be paid.

    Under `max_change`, only between iterations, and while the way there and back takes no more deployments
    than `control_every`.
    """
    spec, progress = session.spec, session.progress
    if spec.control_every is None:
        return False
    if progress.since_control is not None and progress.since_control < spec.control_every:
        return False
    there = approach.price(spec, progress, spec.start)
    # On the way there the promise of `approach.py` holds as before: each step spends one and is one nearer.
    kept = approach.kept(spec, spec.start, progress.closed, progress.budget)
    left = progress.budget - progress.spent - kept
    if spec.max_change is None:
        return left >= there + count * spec.settle
    back = there - 1
    if progress.open is not None or there + back > spec.control_every + spec.settle:
        return False
    return left >= there + back + count * spec.settle


def _control(session: Session, log: Writer, holder: str) -> Trial:
    """Deploy the start again."""
    place = Place("control", session.progress.closed, 0, session.progress.spent, 0)
    return _hand_out(session, log, place, session.spec.space.start, holder)


# Deployments that evaluate the recommendation


def _ask_evaluation(
    session: Session, log: Writer, purpose: str, holder: str, computed: Computed | None
) -> Trial | Needed:
    """For the present recommendation; if the study moves on meanwhile, for the next one."""
    spec, progress = session.spec, session.progress
    needed = _needed(session, progress.closed, None)
    if computed is None or computed.needed != needed:
        return needed
    now, center = session.clock(), computed.points
    same, first = progress.evaluations(purpose)
    place, overdue = evaluation.next_place(same, purpose, progress.closed, spec.max_failures, now, first)
    x = evaluation.decision(spec, place, center)
    price = approach.price(spec, progress, x)
    pay(session, price, f"a deployment for {purpose}")
    if overdue is not None:
        log.say(overdue, "expired", now, reason="the lease ran out")
    return _hand_out(session, log, place, x, holder)
