"""Which deployment to hand out next: a decision on the ledger, made while holding the study's write lock."""

from dataclasses import dataclass

from driftopt.study.errors import BudgetSpent, Holding, NothingToAsk
from driftopt.study.ledger import Ledger, Round
from driftopt.study.spec import Spec


@dataclass(frozen=True)
class Give:
    """Hand out this slot of the open draw."""

    turn: Round
    slot: int


@dataclass(frozen=True)
class Control:
    """Deploy the start again."""


@dataclass(frozen=True)
class Draw:
    """Open an iteration (draw 0) or redraw it: its points must be computed first."""

    iteration: int
    draw: int


@dataclass(frozen=True)
class Expire:
    """Take this deployment back from its holder, then decide again."""

    id: int


Decision = Give | Control | Draw | Expire


def decide(spec: Spec, ledger: Ledger, now: float, control_allowed: bool) -> Decision:
    """The next deployment, or NothingToAsk, or BudgetSpent."""
    left = spec.budget - spec.reserve - ledger.spent
    turn = ledger.open
    if turn is None:
        pay(spec, left, spec.size, "the next iteration")
        if control_allowed and _control_due(spec, ledger) and left > spec.size:
            return Control()
        return Draw(ledger.closed, 0)
    free = turn.free()
    if any(len(turn.lost[slot]) >= spec.max_failures for slot in free):
        pay(spec, left, spec.size, "the redrawn iteration")
        return Draw(turn.iteration, turn.draw + 1)
    if free:
        pay(spec, left, len(free), "the open iteration")
        if control_allowed and _control_due(spec, ledger) and left > len(free):
            return Control()
        return Give(turn, free[0])
    overdue = _overdue(turn, now)
    if overdue is not None:
        pay(spec, left, 1, f"another try of trial {overdue.id}, whose lease ran out")
        return Expire(overdue.id)
    raise waiting(list(turn.out.values()), now)


def _control_due(spec: Spec, ledger: Ledger) -> bool:
    """At the start, and then after every `control_every` other deployments."""
    if spec.control_every is None:
        return False
    return ledger.since_control is None or ledger.since_control >= spec.control_every


def _overdue(turn: Round, now: float) -> Holding | None:
    late = [h for h in turn.out.values() if h.expires_at is not None and h.expires_at <= now]
    return min(late, key=lambda h: (h.expires_at, h.id), default=None)


def pay(spec: Spec, left: int, price: int, what: str) -> None:
    """An iteration that cannot be finished is not begun."""
    if left < price:
        kept = f", {spec.reserve} of them in reserve" if spec.reserve else ""
        raise BudgetSpent(
            f"{max(left, 0)} of {spec.budget} deployments are left{kept}: {what} needs {price}. "
            "Ask for the recommendation"
        )


def waiting(out: list[Holding], now: float) -> NothingToAsk:
    """Who holds what, and for how long."""
    lines = [f"trial {h.id} by {h.holder}, {_lease(h, now)}" for h in sorted(out, key=lambda h: h.id)]
    return NothingToAsk("every point of the iteration is out: " + "; ".join(lines), out)


def _lease(holding: Holding, now: float) -> str:
    if holding.expires_at is None:
        return "without a lease"
    return f"lease ends in {max(0.0, holding.expires_at - now):.0f} s"
