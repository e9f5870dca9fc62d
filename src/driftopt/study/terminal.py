"""`study show`: one page for a terminal of 80 columns."""

import datetime
from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from driftopt.study.errors import Holding
from driftopt.study.recommendation import Recommendation
from driftopt.study.spec import Spec
from driftopt.study.summary import Drift, Summary

_MOST = 8  # deployments out that are listed one by one
_BAR = 30


def page(spec: Spec, summary: Summary, recommendation: Recommendation, now: float) -> Any:
    """A rich renderable."""
    parts: list[Any] = [
        _progress(summary),
        Text(),
        _decision(spec, recommendation),
        Text(),
        _honesty(recommendation),
    ]
    if summary.drift is not None:
        parts += [_drift(summary.drift)]
    if summary.out:
        parts += [Text(), _out(summary.out, now)]
    # Text, not str: rich would read a name like "tea [eur]" as markup.
    title = Text(f"{summary.name} · {summary.method} · {summary.direction}")
    return Panel(Group(*parts), title=title, title_align="left", width=78)


def _progress(summary: Summary) -> Text:
    filled = round(_BAR * summary.spent / summary.budget)
    bar = "█" * filled + "░" * (_BAR - filled)
    text = Text(f"deployments {bar} {summary.spent} of {summary.budget}")
    kept = min(summary.reserve, summary.budget - summary.spent)
    if kept:
        text.append(f", {kept} in reserve")
    states = ", ".join(f"{count} {state}" for state, count in summary.states.items() if count)
    text.append(f"\n            {states or 'none asked yet'}")
    if summary.stopped is not None:
        text.append(f"\nstopped     {summary.stopped}")
    text.append(f"\niterations  {summary.iterations} complete")
    if summary.answered or summary.out:
        text.append(f", {summary.answered} of {summary.size} answers in for the next")
    return text


def _decision(spec: Spec, recommendation: Recommendation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, justify in (
        ("decision", "left"),
        ("start", "right"),
        ("recommended", "right"),
        ("change", "right"),
    ):
        table.add_column(heading, justify=justify, no_wrap=True)  # pyright: ignore[reportArgumentType]
    table.columns[0].max_width = 30
    for name, start, x in zip(spec.names, spec.x0, recommendation.x.tolist(), strict=True):
        table.add_row(Text(name), f"{start:.6g}", f"{x:.6g}", f"{x - start:+.4g}")
    return table


def _honesty(recommendation: Recommendation) -> Text:
    gain = recommendation.improvement
    if gain is None:
        return Text(recommendation.note)
    return Text(
        f"improvement {gain.mean:.4g} ± {gain.sem:.2g} (standard error), from {gain.recommended.n} values at "
        f"the recommendation and {gain.start.n} at the start ({gain.basis})"
    )


def _drift(drift: Drift) -> Text:
    text = f"world       {drift.n} values at the start, mean {drift.mean:.4g}"
    if drift.slope is not None:
        text += f"; drift {drift.slope:.3g} ± {drift.slope_sem:.2g} a day"
    return Text(text)


def _out(out: Sequence[Holding], now: float) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("out", "holder", "lease"):
        table.add_column(heading, no_wrap=True)
    table.columns[1].max_width = 40
    for holding in out[:_MOST]:
        table.add_row(str(holding.id), Text(holding.holder), _lease(holding.expires_at, now))
    if len(out) > _MOST:
        table.add_row("…", f"and {len(out) - _MOST} more", "")
    return table


def _lease(expires_at: float | None, now: float) -> str:
    if expires_at is None:
        return "no end"
    until = datetime.datetime.fromtimestamp(expires_at, tz=datetime.UTC)
    return ("over since " if expires_at <= now else "until ") + until.strftime("%Y-%m-%d %H:%M UTC")
