"""What to do now, in a sentence and the commands for it."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from driftopt.study import approach
from driftopt.study.progress import Progress
from driftopt.study.recommendation import improvement, still_to_ask
from driftopt.study.spec import Spec
from driftopt.study.trial import Trial


def full_command(place: str, name: str, verb: str, *words: str) -> str:
    """A command of the shell on a study, as it can be typed; options belong to the verb.

    >>> full_command("shop.db", "tea & oil", "trials --state held")
    "driftopt study trials --state held shop.db 'tea & oil'"
    """
    # A name that begins with a dash would be read as an option.
    given = ["--", place, name, *words] if name.startswith("-") else [place, name, *words]
    return f"driftopt study {verb} {' '.join(map(shlex.quote, given))}"


@dataclass(frozen=True)
class NextStep:
    """What to do now."""

    what: str
    commands: tuple[str, ...]


def next_step(
    url: str,
    name: str,
    spec: Spec,
    progress: Progress,
    held: Sequence[int],
    trials: Sequence[Trial],
    now: float,
) -> NextStep:
    """The most urgent first: answers that are held, a halt, answers owed, the next question, the result.

    Under `max_change` a way is counted as one to the method's last deployment: the next is near it, but `ask`
    knows where, and has the last word.
    """

    def command(verb: str, *words: str) -> str:
        return full_command(url, name, verb, *words)

    if held:
        rest = f" ({len(held) - 1} more are held)" if len(held) > 1 else ""
        what = f"accept the answer of trial {held[0]} if it is true, else correct it{rest}"
        id = str(held[0])
        return NextStep(what, (command("accept", id), command("correct", id, "VALUE")))
    if progress.halted is not None:
        what = "deploy the start again: a hard limit was broken twice in a row. When that is mended, resume"
        return NextStep(what, (command("resume"),))
    out = [trial for trial in trials if trial.state == "pending"]
    if out:
        first = out[0]
        over = first.expires_at is not None and first.expires_at <= now
        what = f"tell what trial {first.id} gave" + (", which is overdue" if over else "")
        more = _can_ask(spec, progress, trials)
        what += ", or ask for another meanwhile" if more else ", or say that it failed"
        other = command("ask --new") if more else command("fail", str(first.id), "REASON")
        return NextStep(what, (command("tell", str(first.id), "VALUE"), other))
    if _can_ask(spec, progress, trials):
        return NextStep("ask for the next deployment", (command("ask"),))
    return _end(spec, progress, _pair(spec, progress, trials), command)


def _last(spec: Spec, trials: Sequence[Trial]) -> np.ndarray:
    """Where the method stands, but for a step."""
    return next((trial.x for trial in reversed(trials) if trial.kind == "method"), spec.start)


def _pair(spec: Spec, progress: Progress, trials: Sequence[Trial]) -> int:
    """What it costs to deploy the start and then the recommendation, ways and settling included."""
    between = approach.ways(spec, spec.start, _last(spec, trials), progress.budget)
    return approach.price(spec, progress, spec.start) + between + spec.settle


def _end(spec: Spec, progress: Progress, price: int, command: Callable[..., str]) -> NextStep:
    left = progress.budget - progress.spent
    count = f"{left} deployment{'s' * (left != 1)}"
    if progress.stopped is not None:
        why = f"the study is stopped, {count} left"
    else:
        why = "the budget is spent" + (f" but for {count}" if left > 0 else "")
    missing = still_to_ask(progress.evaluations("confirm")[0])
    if left >= price and missing > 0:
        few = ", and tell each value with its sem: too few are left to go without"
        what = f"{why}: measure what the recommendation is worth{few if left < missing * spec.settle else ''}"
        return NextStep(what, (command("ask --purpose confirm"), command("recommend")))
    gain = improvement(spec, progress.closed, progress.confirming) if progress.closed else None
    if gain is not None and gain.warning is not None:
        return NextStep(f"{why}: keep the start, which was measured to be better", (command("recommend"),))
    return NextStep(f"{why}: ask for the recommendation", (command("recommend"),))


def _can_ask(spec: Spec, progress: Progress, trials: Sequence[Trial]) -> bool:
    """Whether `ask` has something to hand out, and can pay for the iteration that it belongs to."""
    if progress.stopped is not None or progress.halted is not None:
        return False
    last = _last(spec, trials)
    kept = approach.kept(spec, last, progress.closed + 1, progress.budget)
    left = progress.budget - progress.spent - kept - approach.way(spec, progress, last)
    open = progress.open
    if open is None:
        return left >= spec.size * spec.settle and (spec.settle == 1 or not progress.pending)
    free = open.free()
    if spec.settle > 1 and progress.pending:
        return False
    if any(len(open.lost[slot]) >= spec.max_failures for slot in free):  # all of it is drawn anew
        return left >= spec.size * spec.settle
    # Periods for which the decision of the next slot was held already are paid.
    begun = trials[-1].x if trials and trials[-1].kind == "settle" else None
    paid = 0 if begun is None else min(progress.deployed.held(begun), spec.settle - 1)
    return bool(free) and left >= len(free) * spec.settle - paid
