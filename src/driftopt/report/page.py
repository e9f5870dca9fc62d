"""A self-contained HTML page from plain data: findings, curves, tables, facts. Nothing is fetched.

`reproduce` and `compare` fill the same page. Curves are drawn in the reader's browser from numbers inside the
page; everything else is plain HTML.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Item:
    """One table cell: the number, and smaller lines under it as (text, css class)."""

    text: str
    bold: bool = False
    under: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class HtmlTable:
    """A caption, column heads, and rows of (label, smaller lines under it, items)."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str], Sequence[Item]]]
    note: str = ""


@dataclass(frozen=True)
class Series:
    """A method's curve in one panel."""

    method: str
    queries: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Panel:
    """One instance: its curves and the best known value, where there is one."""

    title: str
    series: Sequence[Series]
    best: float | None
    limits: tuple[float, float]


@dataclass(frozen=True)
class Strip:
    """Offsets of one metric, in the paper's standard deviations: a row of dots for each method."""

    title: str
    rows: Sequence[tuple[str, str, Sequence[tuple[str, float]]]]  # (label, colour, [(instance, offset)])


@dataclass(frozen=True)
class Section:
    """One experiment."""

    name: str
    title: str
    intro: str
    panels: Sequence[Panel]
    quantity: str
    budget: int
    tables: Sequence[HtmlTable]
    strips: Sequence[Strip] = ()
    strips_intro: str = ""


@dataclass(frozen=True)
class Page:
    """Everything the page shows."""

    title: str
    subtitle: str
    badges: Sequence[tuple[str, str]]  # (text, css class)
    findings: Sequence[tuple[str, bool | None, str]]  # (claim, holds, detail)
    sections: Sequence[Section]
    methods: Mapping[str, tuple[str, str]]  # method → (title, colour)
    facts: Sequence[tuple[str, str]]
    notes: Sequence[str] = ()
    selections: HtmlTable | None = None
    extra: Sequence[HtmlTable] = field(default_factory=list[HtmlTable])


def render(page: Page) -> str:
    """The page as one string of HTML."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    charts = {section.name: _chart(section, page.methods) for section in page.sections if section.panels}
    # "<" is written as an escape so that no text can end the script element.
    data = json.dumps(charts, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {name: Markup((TEMPLATES / name).read_text("utf-8")) for name in ("report.css", "report.js")}
    return environment.get_template("report.html.jinja").render(
        page=page,
        charts=Markup(data),
        style=parts["report.css"],
        script=parts["report.js"],
        strip_x=strip_x,
    )


STRIP_RANGE = 3.0


def strip_x(offset: float) -> float:
    """Where an offset stands in a strip, in per cent; beyond ±3 at the edge.

    >>> strip_x(0), strip_x(-9), strip_x(1.5)
    (50.0, 2.0, 74.0)
    """
    held = max(-STRIP_RANGE, min(STRIP_RANGE, offset))
    return round(50 + 48 * held / STRIP_RANGE, 1)


def _chart(section: Section, methods: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    return {
        "quantity": section.quantity,
        "budget": section.budget,
        "methods": [{"id": m, "title": title, "colour": colour} for m, (title, colour) in methods.items()],
        "panels": [
            {
                "title": panel.title,
                "best": panel.best,
                "limits": list(panel.limits),
                "series": [
                    {
                        "method": s.method,
                        "x": [int(v) for v in s.queries],
                        "mean": _plain(s.mean),
                        "low": _plain(s.low),
                        "high": _plain(s.high),
                    }
                    for s in panel.series
                ],
            }
            for panel in section.panels
        ],
    }


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in values.tolist()]
