"""`study show`: how it is going and what to do now, on one page for a terminal of 80 columns."""

import unicodedata
from collections.abc import Iterator
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from driftopt.report.escaping import one_line
from driftopt.report.numbers import significant
from driftopt.study import words
from driftopt.study.facts import Summary
from driftopt.study.records import StudySpec

_MOST = 3  # deployments that are pending, and results held, that are listed one by one
_COORDINATES = 12
_IN_LINE = 4  # coordinates of a deployment that is pending
_BAR = 30
_LEFT_TO_RIGHT = "\u200e"  # as wide as nothing


def page(spec: StudySpec, summary: Summary, now: float) -> Any:
    """A rich renderable."""
    parts: list[Any] = [_grid(_progress(summary, now)), Text(), _decision(spec, summary), Text()]
    parts.append(_grid(_open(spec, summary, now)))
    title = _name(f"{summary.name} · {summary.method} · {summary.direction}")
    panel = Panel(Group(*parts), title=title, title_align="left", width=78)
    # Outside of the frame, so that a command can be copied.
    commands = "".join(f"\n  {one_line(command)}" for command in summary.next.commands)
    return Group(panel, Text.assemble((f"Now: {summary.next.what}", "bold"), commands, overflow="fold"))


def _grid(rows: Iterator[tuple[str, str | Text]]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=11, no_wrap=True)
    table.add_column()
    for label, text in rows:
        table.add_row(label, Text(one_line(text)) if isinstance(text, str) else text)
    return table


def _name(text: str, *, whole: bool = False) -> Text:
    """Foreign words on one line, or `whole`: Text, not str, since rich would read "tea [eur]" as markup.

    What is written from right to left is followed by a mark, so that numbers after it stay where they are.
    """
    turned = any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in text)
    overflow = "fold" if whole else "ellipsis"
    return Text(one_line(text) + _LEFT_TO_RIGHT * turned, no_wrap=not whole, overflow=overflow)


def _progress(summary: Summary, now: float) -> Iterator[tuple[str, str | Text]]:
    """What was done and what came of it."""
    if summary.budget is None:
        yield "deployments", str(summary.spent)
    else:
        filled = min(_BAR, round(_BAR * summary.spent / summary.budget))
        kept = min(summary.reserve, summary.budget - summary.spent)
        reserve = f", {kept} in reserve" if kept > 0 else ""
        bar = "█" * filled + "░" * (_BAR - filled)
        yield "deployments", f"{bar} {summary.spent} of {summary.budget}{reserve}"
    yield "", ", ".join(f"{n} {state}" for state, n in summary.states.items() if n) or "none asked yet"
    if summary.halted is not None:
        yield "halted", summary.halted
    if summary.stopped is not None:
        yield "stopped", _name(summary.stopped or "without a reason")
    if summary.first_answer is not None and summary.last_answer is not None:
        days = words.days(summary.first_answer, summary.last_answer)
        yield "answers", f"{days}; the last {words.ago(summary.last_answer, now)}"
    if (told := summary.values) is not None:
        yield "values", words.sparkline(told.trend)
        first, last, low, high = (significant(v, 4) for v in (told.first, told.last, told.low, told.high))
        course = f"{first} … {last}, between {low} and {high}" if told.n > 1 else first
        yield "", f"{told.n} told: {course}"
    for one in summary.covariates[:_MOST]:
        yield "covariate", _name(f"{one.name}: {words.effect(one.effect, one.known)}")
    yield from _more(len(summary.covariates))
    for warning in summary.warnings:
        yield "warning", warning
    if (drift := summary.drift) is not None:
        text = f"{drift.n} at the start, mean {significant(drift.mean, 4)}"
        if drift.slope is not None:
            text += f"; drift {significant(drift.slope, 3)} ± {significant(drift.slope_sem, 2)} a day"
        yield "control", text


def _decision(spec: StudySpec, summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("decision", no_wrap=True, max_width=30)
    for heading in ("start", "recommended", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    x = summary.recommendation.x.tolist()
    chosen, places = words.most_changed(spec, x, _COORDINATES), words.decimals(spec, x)
    for i in chosen:
        table.add_row(_name(spec.names[i]), *words.row(spec.x0[i], x[i], places[i]))
    if spec.dim > len(chosen):
        table.add_row(f"… and {spec.dim - len(chosen)} more", "", "", "")
    return table


def _open(spec: StudySpec, summary: Summary, now: float) -> Iterator[tuple[str, str | Text]]:
    """What is known of the recommendation, and what waits for someone."""
    gain = summary.recommendation.improvement
    if gain is None:
        yield "improvement", summary.recommendation.note.removeprefix("improvement over the start is ")
    else:
        error = f"{significant(gain.mean, 4)} ± {significant(gain.sem, 2)} (standard error)"
        here, start = gain.recommended.n, gain.start.n
        words_of = f"from {here} values at the recommendation and {start} at the start ({gain.basis})"
        yield "improvement", f"{error}, {words_of}"
    yield from _money(summary)
    for one in summary.recommendation.metrics:
        yield "metric", _name(one.words, whole=True)  # its limit comes last
    for one in summary.out[:_MOST]:
        yield f"out {one.id}", _name(f"{one.lease}, {one.kind}, with {one.holder}")
        yield "", words.decision(spec, one.x, _IN_LINE)
    yield from _more(len(summary.out))
    for one in summary.held[:_MOST]:
        value = "no value" if one.value is None else significant(one.value, 6)
        yield f"held {one.id}", f"{value}, implausible: `accept` or `correct` it"
    yield from _more(len(summary.held))
    for one in summary.failures[-_MOST:]:
        why = f": {one.reason}" if one.reason else ""
        yield f"{one.state} {one.id}"[:11], _name(f"{words.ago(one.at, now)}{why}")


def _money(summary: Summary) -> Iterator[tuple[str, str | Text]]:
    """What the search has cost, gains and would bring, as the model has it."""
    if (money := summary.money) is None:
        return
    cost, gain = money.balance
    yield "money", cost
    yield "", gain
    if len(money.cumulated) > 1:
        yield "", f"{words.sparkline(words.fold(money.cumulated, 48))} gained, summed up"
    for month in money.months[-3:] if len(money.months) > 1 else ():
        amount = words.money(-month.cost.mean, money.unit, month.cost.sem)
        yield "", f"{month.month}: {amount} in {month.deployments} deployments"
    for line in money.advice:
        yield "advice", line


def _more(count: int) -> Iterator[tuple[str, str | Text]]:
    if count > _MOST:
        yield "", f"… and {count - _MOST} more"
