"""A study as HTML: one file for people who have no terminal, and the same sections in the served page.

Texts are escaped, pictures are SVG inside, colours are those of page.css by day and by night. Nothing is
fetched and nothing runs. Elements of the class "deeds" are empty: the served page puts its buttons there.
"""

import json
import math
import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from driftopt import checks
from driftopt.report.escaping import one_line
from driftopt.report.numbers import MINUS, significant
from driftopt.runtime.files import write_whole
from driftopt.study import words
from driftopt.study.facts import Course, Summary
from driftopt.study.money import Money
from driftopt.study.records import StudySpec
from driftopt.study.trial import Trial

STYLE = Path(__file__).with_name("page.css")
_KINDS = {"method": "search", "stationarity": "certificate", "way": "on the way", "settle": "settling"}
_HAPPENED = {
    "opened": "a new iteration begins",
    "asked": "was asked for",
    "complete": "has the value",
    "held": "has a value that is held:",
    "corrected": "was corrected to",
    "updated": "became",
    "voided": "was taken back",
    "doubted": "is held again",
    "accepted": "was accepted",
    "halted": "the study was halted",
    "resumed": "the study goes on",
    "extended": "the budget was extended",
    "stopped": "the study was stopped",
}
_FEW = 12  # coordinates that are shown first; a browser unfolds the rest
_LEFT, _WIDE = 10.0, 88.0  # per cent of a picture: its labels are left of the marks
_TALL, _SMALL = 320.0, 150.0  # pixels


def write_page(path: str | os.PathLike[str], study: Any) -> Path:
    """The file that the page was written to; its name ends in .html."""
    target = checks.path("path", path)
    if target.suffix != ".html":
        raise ValueError(f"path must end in .html; got {checks.brief(str(target))}")
    write_whole(target, render_page(study).encode("utf-8"))
    return target


def render_page(study: Any) -> str:
    """The whole document."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">\n"
        f'<link rel="icon" href="data:,">\n<title>{_safe(study.name)}</title>\n'
        f"<style>\n{STYLE.read_text('utf-8')}</style>\n</head>\n<body>\n<main>\n{render_sections(study)}"
        "<footer>Made by driftopt. This page is complete: it loads nothing from the network. Times are UTC."
        "</footer>\n</main>\n</body>\n</html>\n"
    )


def render_sections(study: Any, coordinates: int = 48, rows: int = 100) -> str:
    """The sections of a study: what to do and what is pending, the decision, pictures, deployments, the log.

    Args:
        study: of this process or of a server.
        coordinates: the number of coordinates that are drawn, those that changed most.
        rows: the number of deployments in the table, and of rows of the log, the newest.
    """
    summary, course = study.summary(), study.course(0, coordinates)
    values = f"<p>{_in_words(summary)}</p>{_calendar(course)}"
    return (
        f'{_head(summary)}<div class="columns">\n<div>\n'
        f"{_section('now', 'Now', _now(summary))}{_section('out', 'Pending', _pending(study.spec, summary))}"
        f"{_section('decision', 'Recommended', _decision(summary, course))}"
        f"{_section('money', 'Money', _money(summary.money)) if summary.money else ''}</div>\n<div>\n"
        f"{_section('values', 'Over the calendar', values)}"
        f"{_section('paths', 'Each coordinate', _coordinates(course))}</div>\n</div>\n"
        f"{_section('trials', 'Deployments', _deployments(study.spec, study.trials(), rows))}"
        f"{_log_and_plan(study, summary, rows)}"
    )


# Sections


def _head(summary: Summary) -> str:
    badges = [f"{summary.method}, {summary.direction}", _count(summary.dim, "coordinate")]
    alarms = [f"halted: {summary.halted}"] if summary.halted is not None else []
    alarms += [f"stopped: {summary.stopped or 'no reason given'}"] if summary.stopped is not None else []
    shown = [*((text, "badge") for text in badges), *((text, "badge warn") for text in alarms)]
    bar, kept = "", f", {summary.reserve} for evaluation" if summary.reserve else ""
    if (most := summary.budget) is not None:
        bar = f'<progress max="{max(most, 1)}" value="{min(summary.spent, most)}"></progress>'
    return (
        f'<h1>{_name(summary.name)}</h1>\n<div class="badges">'
        + "".join(f'<span class="{look}">{_safe(text)}</span>' for text, look in shown)
        + f'</div>\n<div class="budget">{bar}'
        f"<small>{words.of_budget(summary.spent, summary.budget)}{kept}</small></div>\n"
    )


def _now(summary: Summary) -> str:
    """What needs a person, and what to do."""
    needs: list[str] = []
    if n := len(summary.held):
        needs.append(f"{_count(n, 'result is', 'results are')} held: accept or correct")
    if late := sum(one.lease.endswith("overdue") for one in summary.out):
        needs.append(f"{_count(late, 'trial is', 'trials are')} overdue")
    if summary.halted is not None:
        needs.append(f"a limit was broken: {summary.halted}")
    held = [
        f'<li data-trial="{one.id}"><div><b>Trial {one.id}</b> has the value {_number(one.value)}, which is '
        'implausible. It does not count until somebody says whether it is true.</div><div class="deeds">'
        "</div></li>"
        for one in summary.held
    ]
    return (
        f'<div class="card now{" wants" * bool(needs)}">'
        + "".join(f'<p class="need">{_safe(text)}</p>' for text in needs)
        + "".join(f'<p class="caution" dir="auto">{_safe(text)}</p>' for text in summary.warnings)
        + f"<p>Now: {_safe(summary.next.what)}.</p>"
        + (f'<ul class="held">{"".join(held)}</ul>' if held else "")
        + '<div class="deeds"></div></div>'
    )


def _pending(spec: StudySpec, summary: Summary) -> str:
    """Who deploys what, and what failed."""
    out = [
        f'<li data-trial="{one.id}"><div><b>Trial {one.id}</b> with {_name(one.holder)}, '
        f"<span{_class('need' * one.lease.endswith('overdue'))}>{one.lease}</span> ({_kind(one.kind)}): "
        f'{_safe(words.decision(spec, one.x))}</div><div class="deeds"></div></li>'
        for one in summary.out
    ]
    lost = [[str(one.id), one.state, _moment(one.at), _safe(one.reason)] for one in summary.failures]
    pending = f'<ul class="card waiting">{"".join(out)}</ul>' if out else "<p>No deployment is pending.</p>"
    return pending + _table("The last that failed", ("trial", "state", "when", "reason"), lost, (1, 2, 3))


def _decision(summary: Summary, course: Course) -> str:
    """The recommendation, what is known of its worth, and what the search costs."""
    found = summary.recommendation
    rows = [
        [_name(one.name), *words.row(one.start, one.recommended, one.places)]
        for one in (course.coordinates[i] for i in course.order)
    ]
    limits = [[_name(one.name), _safe(one.words.removeprefix(f"{one.name}: "))] for one in found.metrics]
    effects = [[_name(one.name), words.effect(one.effect, one.known)] for one in summary.covariates]
    cost = ""
    if summary.money is None:
        cost = '<p class="soft">The cost of the search is known once the start was deployed too.</p>'
    if (one := course.cost) is not None:
        each, error = one.total / one.deployments, one.error and one.error / one.deployments
        worse = each > 0
        more = "less" if worse == (summary.direction == "maximize") else "more"
        cost = (
            f'<p id="cost">The search: <b>{_plus_minus(abs(each), error)} {more} a deployment than the start'
            f"</b>, a {'cost' if worse else 'gain'} of {_plus_minus(abs(one.total), one.error)} in all over "
            f"{_count(one.deployments, 'deployment')}, against {_count(one.controls, 'deployment')} of the "
            "start.</p>"
        )
    return (
        f"<p>{_safe(found.known[0].upper() + found.known[1:])}.</p>{cost}"
        + _table("The decision", ("coordinate", "start", "recommended", "change"), rows)
        + _table("Metrics and their limits", ("metric", "at the recommendation"), limits, (1,))
        + _table("What covariates explain", ("covariate", "effect"), effects, (1,))
        + f'<div class="deeds" data-x="{escape(json.dumps(found.as_dict))}"></div>'
    )


def _money(money: Money) -> str:
    """What the search has cost, gains and would bring, and what was gained over the baseline by each day."""
    lines = "".join(f"<p>{_safe(line[0].upper() + line[1:])}.</p>" for line in money.balance + money.advice)
    if len(money.cumulated) < 2:
        return lines
    low, high = (
        [a + sign * error for a, error in zip(money.cumulated, money.errors, strict=True)] for sign in (-1, 1)
    )
    picture = _Picture(money.at, [0.0, *low, *high], _SMALL, 3)
    picture.level(0.0, "start")
    picture.area(money.at, low, high, "band")
    picture.area(money.at, money.cumulated, money.cumulated, "recommended")
    label = "Gained over the baseline since the beginning, ± 1 standard error"
    months = [
        [each.month, f"{each.deployments}", _safe(words.money(-each.cost.mean, money.unit, each.cost.sem))]
        for each in money.months
    ]
    return (
        f'{lines}<div class="card chart"><p class="legend">{label}</p>{picture.html(label)}</div>'
        f"{_table('By month', ('month', 'deployments', 'gained'), months, (1,))}"
    )


def _coordinates(course: Course) -> str:
    """A picture of each coordinate."""
    panels = "".join(
        f'<figure class="card panel"><figcaption><h3>{_name(one.name)}</h3>'
        f"<span>{words.price(one.start, one.places)} → {words.price(one.recommended, one.places)}</span>"
        f"<small>{_limits(one)}</small></figcaption>{_path(one, path.asked, course.deployments)}</figure>"
        for path in course.paths
        for one in [course.coordinates[path.coordinate]]
    )
    rest, more = len(course.coordinates) - len(course.paths), ""
    if rest > 0:
        more = f"{len(course.paths)} that changed most; {rest} more are not drawn. "
        more = f'<p data-more="coordinates">{more}</p>'
    legend = "Dots: asked. Dashed: the start. Thick: recommended. Dotted: bounds. Faint lines: the grid."
    return f'<p class="note">{legend}</p><div class="panels">{panels}</div>{more}'


def _deployments(spec: StudySpec, trials: Sequence[Trial], rows: int) -> str:
    """The newest deployments, with their results."""
    newest = [
        [
            f"{one.id}",
            _moment(one.asked_at),
            _kind(one.kind),
            f'<span class="state {one.state}">{one.state}</span>',
            "–" if one.value is None else _plus_minus(one.value, one.sem),
            _name(one.holder),
            _safe(words.decision(spec, one.x.tolist())),
            f'<span class="story" dir="auto">{_safe(one.story or one.reason or "")}</span>'
            '<div class="deeds"></div>',
        ]
        for one in reversed(trials[-rows:])
    ]
    heads = ("trial", "asked", "for", "state", "value", "holder", "decision", "notes")
    table = _table("Every deployment, the newest first", heads, newest, (1, 2, 3, 5, 6, 7), marked=True)
    older = f"{len(trials) - rows} older ones are not shown. "
    return (table or "<p>Nothing was asked yet.</p>") + (
        f'<p data-more="rows">{older}</p>' if len(trials) > rows else ""
    )


def _log_and_plan(study: Any, summary: Summary, rows: int) -> str:
    """The newest rows of the log, and what was decided at the beginning."""
    status, spec = study.status(), study.spec
    changes = study.watch(max(0, status.rows - rows)).new()
    log = "".join(f"<li>{_moment(one.at)} {_change(one)}</li>" for one in reversed(changes))
    every = "deployment" if spec.control_every == 1 else f"{spec.control_every} deployments"
    facts = [
        ("Begun", _moment(status.created_at)),
        ("Lease", "no end" if spec.lease is None else words.span(spec.lease)),
        ("Control", "none" if spec.control_every is None else f"after every {every}"),
        ("Results", str(summary.results)),
        ("Seed", str(spec.seed)),
        ("Rows of the log", str(status.rows)),
    ]
    listed = "".join(f"<dt>{what}</dt><dd>{value}</dd>" for what, value in facts)
    folded = (
        f'<details data-fold="log"><summary>The newest {len(changes)} of {status.rows} rows</summary>'
        f'<ol class="log">{log}</ol></details>'
    )
    plan = f'<dl class="card facts">{listed}</dl><div class="deeds"></div>'
    return _section("log", "The log", folded) + _section("manage", "The plan", plan)


# Words and tables


def _safe(text: str) -> str:
    return escape(one_line(text))


def _name(text: str) -> str:
    """A name that people chose: if it is written from right to left, it must not turn what is next to it."""
    return f'<bdi class="named" dir="auto">{_safe(text)}</bdi>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _kind(name: str) -> str:
    return _KINDS.get(name, name)


def _number(value: float | None, digits: int = 6) -> str:
    """A number with this many digits that count, as people write it: 2,300 rather than 2.3e+03."""
    if value is None or not 1e-4 <= abs(value) < 1e9:
        return significant(value, digits)
    return f"{float(f'{value:.{digits}g}'):,.12f}".rstrip("0").rstrip(".").replace("-", MINUS)


def _plus_minus(value: float, error: float | None) -> str:
    """A value with two digits of its error, and no digit beyond those."""
    if not error or not math.isfinite(error):
        return _number(value, 4)
    return f"{_number(round(value, 1 - math.floor(math.log10(error))) + 0.0)} ± {_number(error, 2)}"


def _moment(at: float) -> str:
    """A time in UTC, which the served page turns into the reader's own."""
    moment = words.moment(at)
    return f'<time datetime="{moment:%Y-%m-%dT%H:%M:%SZ}">{moment:%Y-%m-%d %H:%M}</time>'


def _section(id: str, title: str, content: str) -> str:
    head = f'<h2 id="{id}-title">{title}</h2>'
    return f'<section id="{id}" aria-labelledby="{id}-title">\n{head}\n{content}\n</section>\n'


def _table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    wordy: Iterable[int] = (),
    *,
    marked: bool = False,
) -> str:
    """A table of cells that are HTML; a long one shows its first rows. `marked` rows carry their trial."""
    if not rows:
        return ""
    kinds = ["words" if k in {0, *wordy} else "" for k in range(len(heads))]
    head = "".join(
        f'<th scope="col"{_class(kind)}>{text}</th>' for text, kind in zip(heads, kinds, strict=True)
    )

    def line(row: Sequence[str]) -> str:
        cells = "".join(
            f"<td{_class(kind)}>{text}</td>" for text, kind in zip(row[1:], kinds[1:], strict=True)
        )
        mark = f' data-trial="{row[0]}"' if marked else ""
        return f'<tr{mark}><th scope="row">{row[0]}</th>{cells}</tr>\n'

    most = len(rows) if marked or len(rows) <= _FEW + 3 else _FEW
    first, rest = "".join(map(line, rows[:most])), "".join(map(line, rows[most:]))
    folded = f"<summary>Show all {len(rows)}</summary><table><tbody>{rest}</tbody></table>"
    folded = f'<details data-fold="{caption}">{folded}</details>' if rest else ""
    return (
        f'<div class="card"><div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table>'
        f"<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{first}</tbody></table>{folded}</div></div>\n"
    )


def _change(change: Any) -> str:
    """A row of the log in words."""
    trial = "" if change.trial_id is None else f"trial {change.trial_id} "
    value = "" if change.value is None else f" {_number(change.value)}"
    who = "".join(f" by {_name(name)}" for name in (change.holder, change.who) if name)
    why = f': <bdi dir="auto">{_safe(change.reason)}</bdi>' if change.reason else ""
    what = _HAPPENED.get(change.kind, change.kind)
    return f'<span class="{change.kind}">{trial}{what}{value}{who}{why}</span>'


def _in_words(summary: Summary) -> str:
    """The values over the calendar in words."""
    first, last, values = summary.first_answer, summary.last_answer, summary.values
    if first is None or last is None:
        return "No result is in yet."
    text = f"Results from {_moment(first)} to {_moment(last)}."
    if values is not None:
        a, b, low, high = (
            significant(one, 4) for one in (values.first, values.last, values.low, values.high)
        )
        text += f" {_count(values.n, 'value')} of the search, the first {a}, the last {b}, "
        text += f"between {low} and {high}."
    if summary.drift is not None and summary.drift.slope is not None:
        text += (
            f" At the start they drift by {_plus_minus(summary.drift.slope, summary.drift.slope_sem)} a day."
        )
    return text


def _limits(one: Any) -> str:
    """The bounds and the grid of a coordinate in words."""
    parts = [("at least", one.low), ("at most", one.high), ("in steps of", one.step)]
    return ", ".join(f"{what} {_number(value)}" for what, value in parts if value is not None)


# Pictures


class _Picture:
    """An SVG picture over the calendar. Marks are placed in per cent across, so that it fits every width."""

    def __init__(self, at: Sequence[float], values: Sequence[float], tall: float, ticks: int):
        low, high = min(values), max(values)
        room = (high - low or abs(high) or 1.0) * 0.08
        self.low, self.high, self.tall = low - room, high + room, tall
        self.first, self.last = (min(at), max(at)) if at else (0.0, 0.0)
        self._ticks = ticks
        self._parts: list[str] = []
        size = 10 ** math.floor(math.log10((self.high - self.low) / ticks or 1.0))
        self.step = next(size * k for k in (1, 2, 5, 10) if size * k * ticks >= self.high - self.low)

    def across(self, at: float) -> float:
        """The place of a time, in per cent."""
        wide = self.last - self.first
        return _LEFT + 2 + (_WIDE - 4) * ((at - self.first) / wide if wide else 0.5)

    def down(self, value: float) -> float:
        """The place of a value, in pixels; beyond the picture at its edge."""
        share = (self.high - min(max(value, self.low), self.high)) / (self.high - self.low)
        return 6 + share * (self.tall - 30)

    def mark(self, at: float, value: float, kind: str, title: str) -> None:
        """A mark with words for who points at it."""
        x, y = f"{self.across(at):.2f}%", self.down(value)
        shape = {
            "control": '<rect x="-4" y="-4" width="8" height="8"/>',
            "held": '<path d="M0-7 6 5H-6z"/>',
            "undone": '<path d="M-4-4 4 4M-4 4 4-4"/>',
        }.get(kind, '<circle r="3.5"/>')
        self._parts.append(
            f'<svg x="{x}" y="{y:.1f}" class="{kind}" overflow="visible" data-value="{value!r}">'
            f"<title>{title}</title>{shape}</svg>"
        )

    def level(self, value: float, kind: str) -> None:
        """A line across the picture."""
        y = f"{self.down(value):.1f}"
        self._parts.append(f'<line class="{kind}" x1="{_LEFT}%" x2="100%" y1="{y}" y2="{y}"/>')

    def upright(self, at: float, low: float, high: float, kind: str) -> None:
        """An upright line between two values."""
        x = f"{self.across(at):.2f}%"
        self._parts.append(
            f'<line class="{kind}" x1="{x}" x2="{x}" y1="{self.down(low):.1f}" y2="{self.down(high):.1f}"/>'
        )

    def area(self, at: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str) -> None:
        """An area between two lines; a line where they are the same."""
        there = [f"{self.across(a):.2f},{self.down(b):.1f}" for a, b in zip(at, low, strict=True)]
        back = [f"{self.across(a):.2f},{self.down(b):.1f}" for a, b in zip(at, high, strict=True)][::-1]
        self._parts.append(
            f'<svg viewBox="0 0 100 {self.tall:g}" preserveAspectRatio="none" width="100%" '
            f'height="{self.tall:g}">'
            f'<polygon class="{kind}" points="{" ".join(there + back)}"/></svg>'
        )

    def html(self, label: str) -> str:
        """The picture with its scales."""
        scales: list[str] = []
        places = max(0, -math.floor(math.log10(self.step))) if self.step < 1 else 0
        value = math.ceil(self.low / self.step) * self.step
        while value <= self.high:
            y = self.down(value)
            text = words.price(value, min(places, 9))
            scales.append(f'<line class="scale" x1="{_LEFT}%" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
            scales.append(f'<text x="{_LEFT - 1}%" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
            value += self.step
        days = (self.last - self.first) / words.DAY
        many = min(self._ticks, 4, max(1, int(days) + 1)) if self.last > self.first else 1
        for k in range(many):
            at = self.first + (self.last - self.first) * (k / (many - 1) if many > 1 else 0.5)
            text = f"{words.moment(at):%d %b %y}" if days > 300 else f"{words.moment(at):%d %b}"
            anchor = "middle" if 0 < k < many - 1 or many == 1 else "start" if k == 0 else "end"
            scales.append(
                f'<text x="{self.across(at):.1f}%" y="{self.tall - 6:g}" text-anchor="{anchor}">{text}</text>'
            )
        return (
            f'<svg class="drawing" role="img" aria-label="{_safe(label)}" height="{self.tall:g}">'
            f"{''.join(scales)}{''.join(self._parts)}</svg>"
        )


def _calendar(course: Any) -> str:
    """Values over the calendar: each kind, the start with its drift, what was taken back, what is held."""
    given = [one for one in course.deployments if one.value is not None]
    complete = [one for one in given if one.state == "complete"]
    if not complete:
        return ""
    band = course.band
    seen = [one.value for one in complete] + ([*band.low, *band.high] if band else [])
    picture = _Picture([one.at for one in course.deployments], seen, _TALL, 5)
    kinds: dict[str, str] = {}
    if band:
        picture.area(band.at, band.low, band.high, "band")
        picture.area(band.at, band.level, band.level, "drift")
        kinds |= {"band": "drift of the start, ± 2 standard errors"}
    for one in course.deployments:
        if one.state in ("failed", "expired"):
            picture.upright(one.at, picture.low, picture.high, "lost")
            kinds["lost"] = "failed or expired"
    for one in given:
        kind = "held" if one.state == "held" else "control" if one.start else one.kind
        if one.state not in ("complete", "held"):
            continue
        if one.sem and kind != "held":
            picture.upright(one.at, one.value - one.sem, one.value + one.sem, "error")
        day = f"{words.moment(one.at):%d %b %Y}"
        picture.mark(
            one.at,
            one.value,
            kind,
            f"trial {one.id}: {_number(one.value)}, {day}{', held' * (kind == 'held')}",
        )
        kinds[kind] = "the start" if kind == "control" else _kind(kind)
    for one in course.deployments:
        if one.first is not None and one.state != "held":
            picture.mark(one.at, one.first, "undone", f"trial {one.id}: first {_number(one.first)}")
            kinds["undone"] = "corrected or taken back"
    legend = "".join(f'<span class="key {kind}">{text}</span>' for kind, text in kinds.items())
    return (
        f'<div class="card chart"><p class="legend">{legend}</p>'
        f"{picture.html('Values over the calendar, as the sentence above says')}</div>"
    )


def _path(one: Any, asked: Sequence[float], deployments: Sequence[Any]) -> str:
    """One coordinate: what was asked, the start, the recommendation, its bounds and its grid."""
    seen = [*asked, one.start, one.recommended]
    wide = max(seen) - min(seen) or abs(one.start) or 1.0
    bounds = [b for b in (one.low, one.high) if b is not None and min(seen) - wide <= b <= max(seen) + wide]
    picture = _Picture([d.at for d in deployments], [*seen, *bounds], _SMALL, 3)
    if one.step and (picture.high - picture.low) / one.step <= 40:  # a finer grid would be a grey sheet
        first = math.ceil((picture.low - one.start) / one.step)
        last = math.floor((picture.high - one.start) / one.step)
        for k in range(first, last + 1):
            picture.level(one.start + k * one.step, "grid")
    for bound in bounds:
        picture.level(bound, "bound")
    picture.level(one.start, "start")
    picture.level(one.recommended, "recommended")
    for deployment, value in zip(deployments, asked, strict=True):
        title = f"trial {deployment.id}, {_kind(deployment.kind)}: {words.price(value, one.places)}"
        picture.mark(deployment.at, value, "asked", title)
    limits = _limits(one)
    return picture.html(
        f"{one.name}: from {words.price(one.start, one.places)} to {words.price(one.recommended, one.places)}"
        + (f"; {limits}" if limits else "")
    )
