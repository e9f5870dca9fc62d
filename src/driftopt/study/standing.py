"""Which answer stands at a place, and what can be done about another: for those who tell and who amend."""

from collections.abc import Mapping
from typing import NamedTuple

from driftopt.study.log import Happened, KnownTrial, Writer
from driftopt.study.session import Session
from driftopt.study.trial import AMENDMENTS, ANSWERS, state_of


def last_said(known: KnownTrial) -> Happened | None:
    """The answer, or what it was last amended to; that it was voided takes nothing from what was said."""
    told = [row for row in known.happened if row.kind in (*ANSWERS, *AMENDMENTS) and row.kind != "voided"]
    return told[-1] if told else None


def others(log: Writer, known: KnownTrial) -> dict[int, list[str]]:
    """What happened to the other trials at its place."""
    tries = log.tries(known.asked.place) if known.tried_again else {}
    return {id: kinds for id, kinds in tries.items() if id != known.asked.id}


class Instead(NamedTuple):
    """Why a trial's answer cannot count, whatever it is amended to."""

    why: str
    id: int | None  # the trial whose answer is used; None where its iteration was drawn anew


def instead(session: Session, log: Writer, known: KnownTrial) -> Instead | None:
    """What came in the place of a trial's answer, so that it cannot count; None where it can."""
    beside = others(log, known)
    used = [id for id, kinds in beside.items() if state_of(kinds) == "complete"]
    if used:
        return Instead(f"trial {used[0]} was asked in its place, and that answer stands", used[0])
    if used := _stood(session, log, known, beside):
        return Instead(
            f"trial {used[0]} was asked in its place, and the study went on with that answer", used[0]
        )
    return Instead("its iteration was drawn anew without it", None) if known.redrawn else None


def advice(session: Session, log: Writer, known: KnownTrial, failed: bool, elsewhere: bool = False) -> str:
    """What works where a trial was told before, differently, or is now said to have `failed`.

    `elsewhere`: whether it is now said to have been deployed at another point than before.
    """
    state = state_of([row.kind for row in known.happened])
    if state == "superseded" or (state in ("failed", "voided") and instead(session, log, known) is not None):
        return f"trial {known.asked.id} is not used either way{unused(session, log, known)}"
    if elsewhere and state in ("complete", "held"):
        return "where it was deployed cannot be corrected; if it was elsewhere, `void` takes the answer back"
    return "`void` takes an answer back" if failed else "`correct` replaces an answer"


def unused(session: Session, log: Writer, known: KnownTrial) -> str:
    """Why a trial's answer is not used, and which one can be put right in its place."""
    other = instead(session, log, known)
    if other is None:
        return ""
    mend = "" if other.id is None else f"; if that one is wrong, `correct` trial {other.id}"
    return f", since {other.why}{mend}"


def _stood(session: Session, log: Writer, known: KnownTrial, beside: Mapping[int, list[str]]) -> list[int]:
    """The other trial whose answer stood when the iteration was over, if it was another's.

    Since then it may have been taken back; but the study has gone on with it, and it alone can be put right.
    """
    if not beside or not session.is_over(log, known.asked):
        return []
    last = {id: _last_counted(log.trial(id)) for id in beside}
    return [id for id, row in last.items() if row > _last_counted(known)]


def _last_counted(known: KnownTrial) -> int:
    """The row since which its answer counts, or counted; 0 where it never did."""
    counted = (row.row for row in known.happened if row.kind in ("complete", "corrected", "accepted"))
    return max(counted, default=0)
