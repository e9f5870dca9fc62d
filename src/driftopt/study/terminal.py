"""`study show`: how it is going and what to do now, on one page for a terminal of 80 columns."""

import unicodedata
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from driftopt.report.escaping import one_line
from driftopt.report.numbers import significant
from driftopt.study import words
from driftopt.study.facts import Summary
from driftopt.study.recommendation import Recommendation
from driftopt.study.records import StudySpec

_MOST = 3  # deployments out, and answers held, that are listed one by one
_COORDINATES = 12
_IN_LINE = 4  # coordinates of a deployment that is out
_BAR = 30
_LEFT_TO_RIGHT = "\u200e"  # as wide as nothing


def page(spec: StudySpec, summary: Summary, recommendation: Recommendation, now: float) -> Any:
    """A rich renderable."""
    facts = Table.grid(padding=(0, 1))
    facts.add_column(width=11, no_wrap=True)
    facts.add_column()
    _progress(facts, summary, now)
    _values(facts, summary)
    parts: list[Any] = [facts, Text(), _decision(spec, recommendation), Text()]
    more = Table.grid(padding=(0, 1))
    more.add_column(width=11, no_wrap=True)
    more.add_column()
    more.add_row("improvement", _honesty(recommendation))
    for one in recommendation.metrics:
        more.add_row("metric", _name(one.words, whole=True))  # its limit comes last
    _open(more, spec, summary, now)
    title = _name(f"{summary.name} · {summary.method} · {summary.direction}")
    panel = Panel(Group(*parts, more), title=title, title_align="left", width=78)
    # Outside of the frame, so that a command can be copied.
    commands = "".join(f"\n  {one_line(command)}" for command in summary.next.commands)
    return Group(panel, Text.assemble((f"Now: {summary.next.what}", "bold"), commands, overflow="fold"))


def _name(text: str, *, whole: bool = False) -> Text:
    """Foreign words on one line, or `whole`: Text, not str, since rich would read "tea [eur]" as markup.

    What is written from right to left is followed by a mark, so that numbers after it stay where they are.
    """
    turned = any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in text)
    overflow = "fold" if whole else "ellipsis"
    return Text(one_line(text) + _LEFT_TO_RIGHT * turned, no_wrap=not whole, overflow=overflow)


def _progress(facts: Table, summary: Summary, now: float) -> None:
    if summary.budget is None:
        facts.add_row("deployments", str(summary.spent))
    else:
        filled = min(_BAR, round(_BAR * summary.spent / summary.budget))
        bar = "█" * filled + "░" * (_BAR - filled)
        kept = min(summary.reserve, summary.budget - summary.spent)
        reserve = f", {kept} in reserve" if kept > 0 else ""
        facts.add_row("deployments", f"{bar} {summary.spent} of {summary.budget}{reserve}")
    states = ", ".join(f"{count} {state}" for state, count in summary.states.items() if count)
    facts.add_row("", states or "none asked yet")
    if summary.halted is not None:
        facts.add_row("halted", Text(one_line(summary.halted)))
    if summary.stopped is not None:
        facts.add_row("stopped", _name(summary.stopped or "without a reason"))
    first, last = summary.first_answer, summary.last_answer
    if first is not None and last is not None:
        facts.add_row("answers", f"{words.days(first, last)}; the last {words.ago(last, now)}")


def _values(facts: Table, summary: Summary) -> None:
    told = summary.values
    if told is not None:
        facts.add_row("values", Text(words.sparkline(told.trend)))
        end = [significant(value, 4) for value in (told.first, told.last, told.low, told.high)]
        course = f"{end[0]} … {end[1]}, between {end[2]} and {end[3]}" if told.n > 1 else end[0]
        facts.add_row("", f"{told.n} told: {course}")
    _side(facts, summary)
    drift = summary.drift
    if drift is not None:
        text = f"{drift.n} at the start, mean {significant(drift.mean, 4)}"
        if drift.slope is not None:
            slope, error = significant(drift.slope, 3), significant(drift.slope_sem, 2)
            text += f"; drift {slope} ± {error} a day"
        facts.add_row("control", text)


def _side(facts: Table, summary: Summary) -> None:
    """What covariates explain, and what to be wary of."""
    for one in summary.covariates[:_MOST]:
        facts.add_row("covariate", _name(f"{one.name}: {words.effect(one.effect, one.known)}"))
    _more(facts, len(summary.covariates))
    for warning in summary.warnings:
        facts.add_row("warning", Text(one_line(warning)))


def _decision(spec: StudySpec, recommendation: Recommendation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("decision", no_wrap=True, max_width=30)
    for heading in ("start", "recommended", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    x = recommendation.x.tolist()
    chosen, places = words.most_changed(spec, x, _COORDINATES), words.decimals(spec, x)
    for i in chosen:
        start, here, change = words.row(spec.x0[i], x[i], places[i])
        table.add_row(_name(spec.names[i]), start, here, change)
    if spec.dim > len(chosen):
        table.add_row(f"… and {spec.dim - len(chosen)} more", "", "", "")
    return table


def _honesty(recommendation: Recommendation) -> Text:
    gain = recommendation.improvement
    if gain is None:
        return Text(recommendation.note.removeprefix("improvement over the start is "))
    return Text(
        f"{significant(gain.mean, 4)} ± {significant(gain.sem, 2)} (standard error), from "
        f"{gain.recommended.n} values at the recommendation and {gain.start.n} at the start ({gain.basis})"
    )


def _open(facts: Table, spec: StudySpec, summary: Summary, now: float) -> None:
    """What waits for someone: deployments out, answers held, and what failed of late."""
    for one in summary.out[:_MOST]:
        facts.add_row(f"out {one.id}", _name(f"{one.lease}, {one.kind}, with {one.holder}"))
        facts.add_row("", Text(one_line(words.decision(spec, one.x, _IN_LINE))))
    _more(facts, len(summary.out))
    for one in summary.held[:_MOST]:
        value = "no value" if one.value is None else significant(one.value, 6)
        facts.add_row(f"held {one.id}", f"{value}, implausible: `accept` or `correct` it")
    _more(facts, len(summary.held))
    for one in summary.failures[-_MOST:]:
        why = f": {one.reason}" if one.reason else ""
        facts.add_row(f"{one.state} {one.id}"[:11], _name(f"{words.ago(one.at, now)}{why}"))


def _more(facts: Table, count: int) -> None:
    if count > _MOST:
        facts.add_row("", f"… and {count - _MOST} more")
