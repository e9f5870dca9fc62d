"""A study as one HTML file for people who have no terminal: the facts of `show`, and the picture inside."""

import base64
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from driftopt import checks
from driftopt.packages import require_report_packages
from driftopt.report.numbers import significant
from driftopt.report.page import Badge, Finding, Page, Picture, Section, render
from driftopt.report.table import Row, Table, cells
from driftopt.runtime.files import write_whole
from driftopt.study import words
from driftopt.study.facts import Summary
from driftopt.study.plot import darken, draw
from driftopt.study.recommendation import Recommendation
from driftopt.study.records import StudySpec
from driftopt.study.trial import Trial

_WORDS = (0, 1, 2, 3)


def write_page(
    path: str | os.PathLike[str],
    spec: StudySpec,
    summary: Summary,
    recommendation: Recommendation,
    trials: Sequence[Trial],
) -> Path:
    """Write the page to a file that ends in .html; nothing in it is fetched."""
    target = checks.path("path", path)
    if target.suffix != ".html":
        raise ValueError(f"path must end in .html; got {checks.brief(str(target))}")
    require_report_packages("the page")
    picture = _picture(spec, summary, recommendation, trials)
    write_whole(target, render(_page(spec, summary, recommendation, trials, picture)).encode("utf-8"))
    return target


def _picture(
    spec: StudySpec, summary: Summary, recommendation: Recommendation, trials: Sequence[Trial]
) -> Picture:
    figure = draw(summary.name, spec, trials, recommendation.x, summary.budget)
    light = _as_url(figure)
    darken(figure)
    told = "Values told, values at the start, and each coordinate, over the calendar"
    return Picture(light, _as_url(figure), told)


def _as_url(figure: Any) -> str:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=120, metadata={"Software": None})
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def _page(
    spec: StudySpec,
    summary: Summary,
    recommendation: Recommendation,
    trials: Sequence[Trial],
    picture: Picture,
) -> Page:
    badges = [Badge(words.of_budget(summary.spent, summary.budget))]
    badges += [Badge(f"{count} {state}", state == "held") for state, count in summary.states.items() if count]
    if summary.stopped is not None:
        badges.append(Badge(f"stopped: {summary.stopped}", warns=True))
    badges += [] if summary.halted is None else [Badge(f"halted: {summary.halted}", warns=True)]
    badges += [Badge(warning, warns=True) for warning in summary.warnings]
    tables = [_decision(spec, recommendation), *_metrics(recommendation)]
    decision = Section("decision", "Recommended", recommendation.known, (), "", 0, tables)
    drawn = Section("picture", "Over the calendar", _course(summary), (), "", 0, (), picture=picture)
    waits = Section(
        "open", "Who holds what, and what went wrong", "", (), "", 0, _open(spec, summary, trials)
    )
    return Page(
        title=summary.name,
        subtitle=f"{summary.method}, {summary.direction}, {spec.dim} coordinates",
        badges=badges,
        findings=[
            Finding(f"Now: {summary.next.what}", "said", "; ".join(summary.next.commands)),
        ],
        sections=[decision, drawn, *([waits] if waits.tables else [])],
        methods={},
        facts=_facts(spec, summary),
        facts_title="The study",
    )


def _course(summary: Summary) -> str:
    first, last, told = summary.first_answer, summary.last_answer, summary.values
    if first is None or last is None:
        return "No answer is in yet."
    text = f"Answers: {words.days(first, last)}."
    if told is not None:
        a, b, low, high = (significant(value, 4) for value in (told.first, told.last, told.low, told.high))
        text += f" {told.n} values told, the first {a}, the last {b}, between {low} and {high}."
    if summary.drift is not None and summary.drift.slope is not None:
        slope, error = significant(summary.drift.slope, 3), significant(summary.drift.slope_sem, 2)
        text += f" At the start they drift by {slope} ± {error} a day."
    return text


def _decision(spec: StudySpec, recommendation: Recommendation) -> Table:
    """Every coordinate, those that changed most first where they are many."""
    x = recommendation.x.tolist()
    places = words.decimals(spec, x)
    few = words.most_changed(spec, x, 12)
    order = [*few, *(i for i in range(spec.dim) if i not in few)]
    rows = [Row(spec.names[i], cells(words.row(spec.x0[i], x[i], places[i]))) for i in order]
    return Table("The decision", ("coordinate", "start", "recommended", "change"), rows)


def _metrics(recommendation: Recommendation) -> list[Table]:
    """What each metric with a limit is there."""
    rows = [Row(one.name, cells([one.words.removeprefix(f"{one.name}: ")])) for one in recommendation.metrics]
    table = Table("Metrics and their limits", ("metric", "at the recommendation"), rows, words=_WORDS)
    return [table] if rows else []


def _open(spec: StudySpec, summary: Summary, trials: Sequence[Trial]) -> list[Table]:
    out = [
        Row(f"{o.id}", cells([o.holder, o.lease, f"{o.kind}: {words.decision(spec, o.x)}"]))
        for o in summary.out
    ]
    held = [Row(f"{h.id}", cells([significant(h.value, 6), "accept or correct it"])) for h in summary.held]
    lost = [Row(f"{f.id}", cells([f.state, words.date(f.at), f.reason])) for f in summary.failures]
    told = [Row(f"{t.id}", cells([t.story])) for t in trials if t.story]
    beside = [Row(one.name, cells([words.effect(one.effect, one.known)])) for one in summary.covariates]
    tables = [
        Table("Deployments that are out", ("trial", "holder", "lease", "decision"), out, words=_WORDS),
        Table("Answers that are held, far from all others", ("trial", "value", ""), held, words=_WORDS),
        Table("The last that failed or expired", _LOST, lost, words=_WORDS),
        Table("What covariates explain", ("covariate", "effect"), beside, words=_WORDS),
        Table("Answers that were amended", ("trial", "what was said"), told, words=_WORDS),
    ]
    return [table for table in tables if table.rows]


_LOST = ("trial", "state", "date (UTC)", "reason")


def _facts(spec: StudySpec, summary: Summary) -> list[tuple[str, str]]:
    facts = [
        ("Method", summary.method),
        ("Direction", summary.direction),
        (
            "Deployments",
            f"{words.of_budget(summary.spent, summary.budget)}, {summary.reserve} for evaluation",
        ),
        ("Results", f"{summary.results}"),
    ]
    if summary.drift is not None:
        told = f"{summary.drift.n} value{'s' * (summary.drift.n != 1)}"
        facts.append(("At the start", f"{told}, mean {significant(summary.drift.mean, 4)}"))
    return [*facts, ("Seed", str(spec.seed))]
