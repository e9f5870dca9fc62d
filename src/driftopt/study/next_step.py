"""What to do now, in a sentence and the commands for it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftopt.study.asking import left_of
from driftopt.study.iterations import free, open_one
from driftopt.study.recommendation import confirming, improvement, still_to_ask
from driftopt.study.records import StudySpec
from driftopt.study.state import State
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
    url: str, name: str, spec: StudySpec, state: State, x: np.ndarray, trials: Sequence[Trial], now: float
) -> NextStep:
    """The most urgent: results that are held, a halt, results owed, the next question, the recommendation.

    Args:
        url: what commands call the database.
        name: the study's name.
        spec: the study's plan.
        state: what its log says.
        x: its recommendation.
        trials: all of them.
        now: seconds since the epoch.
    """

    def command(verb: str, *words: str) -> str:
        return full_command(url, name, verb, *words)

    held = [trial.id for trial in trials if trial.state == "held"]
    if held:
        rest = f" ({len(held) - 1} more are held)" if len(held) > 1 else ""
        what = f"accept the result of trial {held[0]} if it is true, else correct it{rest}"
        id = str(held[0])
        return NextStep(what, (command("accept", id), command("correct", id, "VALUE")))
    if state.halted is not None:
        what = "deploy the start again: a hard limit was broken twice in a row. When that is mended, resume"
        return NextStep(what, (command("resume"),))
    more, last = _can_ask(spec, state, now), trials[-1].asked_at if trials else 0.0
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
    missing = still_to_ask(confirming(x, trials))
    if missing and (left is None or left >= 2 * spec.settle):
        few = left is not None and left < missing * spec.settle
        rest = ", and tell each value with its sem: too few are left to go without" if few else ""
        what = f"{why}: measure what the recommendation is worth{rest}"
        return NextStep(what, (command("ask --purpose confirm"), command("recommend")))
    gain = improvement(spec, x, trials) if state.standing else None
    if gain is not None and gain.warning is not None:
        return NextStep(f"{why}: keep the start, which was measured to be better", (command("recommend"),))
    return NextStep(f"{why}: ask for the recommendation", (command("recommend"),))


def _can_ask(spec: StudySpec, state: State, now: float) -> bool:
    """Whether `ask` has something to hand out, and can pay for the iteration that it belongs to."""
    out = [entry for entry in state.entries.values() if entry.out(now)]
    left = left_of(state, spec.reserve)
    if state.stopped is not None or state.halted is not None or (spec.settle > 1 and out):
        return False
    if spec.uses_model:
        return left is None or left >= 1
    opened = open_one(state, now)
    if opened is None:
        return left is None or left >= spec.size * spec.settle
    return free(state, opened, now) is not None and (left is None or left >= 1)
