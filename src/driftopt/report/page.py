"""A self-contained HTML page from plain data: findings, curves, tables, facts. Nothing is fetched.

`reproduce`, `compare` and studies fill this page. Curves are drawn in the browser by 250 lines of our own
(templates/charts.js) from numbers inside the page. Charting libraries that ship in wheels were measured with
the curves of one experiment: a page of 190 kB becomes 0.9 MB (Vega), 1.4 MB (Bokeh) or 4.9 MB (plotly), and
each would still need code of ours to hide a method in all panels together, to show gaps to the best known
value, and to follow the reader's dark mode.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from driftopt.report import formats
from driftopt.report.curves import Panel, Style
from driftopt.report.table import Table

TEMPLATES = Path(__file__).parent / "templates"

# The result of checking a claim; "said" marks a plain statement that is not checked.
Verdict = Literal["yes", "no", "undecided", "said"]


@dataclass(frozen=True)
class Finding:
    """A claim, its verdict, and the numbers behind it."""

    claim: str
    verdict: Verdict
    detail: str
    group: str = ""  # the heading above it, if there are several


@dataclass(frozen=True)
class Badge:
    """A few words under the title; a warning stands out."""

    text: str
    warns: bool = False


@dataclass(frozen=True)
class Strip:
    """Offsets of one metric from the paper's figures, in standard errors: dots (name, offset) by method."""

    title: str
    rows: Sequence[tuple[str, Style, Sequence[tuple[str, float]]]]


@dataclass(frozen=True)
class Picture:
    """A picture inside the page: data URLs for light and dark pages, and a description."""

    data: str
    dark: str
    words: str


@dataclass(frozen=True)
class Section:
    """One experiment: its description, curves, tables, and differences from the paper."""

    name: str
    title: str
    intro: str
    panels: Sequence[Panel]
    quantity: str
    budget: int
    tables: Sequence[Table]
    strips: Sequence[Strip] = ()
    strips_intro: str = ""
    picture: Picture | None = None


@dataclass(frozen=True)
class Page:
    """Everything the page shows."""

    title: str
    subtitle: str
    badges: Sequence[Badge]
    findings: Sequence[Finding]
    sections: Sequence[Section]
    methods: Mapping[str, tuple[str, Style]]  # method → its title and the style of its curves
    facts: Sequence[tuple[str, str]]
    facts_title: str = "What was run"
    notes: Sequence[str] = ()
    selections: Table | None = None


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
    charts = {section.name: chart_data(section, page.methods) for section in page.sections if section.panels}
    # "<" is written as an escape so that no text can end the script element.
    data = json.dumps(charts, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return environment.get_template("page.html.jinja").render(
        page=page,
        charts=Markup(data),
        style=Markup((TEMPLATES / "page.css").read_text("utf-8")),
        script=Markup((TEMPLATES / "charts.js").read_text("utf-8")),
        table=lambda table: Markup(formats.html(table)),
        strip_x=strip_x,
        strip_band=STRIP_BAND,
    )


STRIP_RANGE, STRIP_BAND = 9.0, 3.0  # standard errors


def strip_x(offset: float) -> float:
    """The position of an offset in a strip, in per cent; beyond ±9 at the edge.

    >>> strip_x(0), strip_x(-12), strip_x(4.5)
    (50.0, 2.0, 74.0)
    """
    clipped = max(-STRIP_RANGE, min(STRIP_RANGE, offset))
    return round(50 + 48 * clipped / STRIP_RANGE, 1)


def chart_data(section: Section, methods: Mapping[str, tuple[str, Style]]) -> dict[str, Any]:
    """A section's curves as data for the page's script."""
    drawn = {method for panel in section.panels for method in panel.curves}
    return {
        "quantity": section.quantity,
        "budget": section.budget,
        "methods": [
            {"id": method, "title": title, "colour": style.colour, "dash": style.dash}
            for method, (title, style) in methods.items()
            if method in drawn
        ],
        "panels": [
            {
                "title": panel.title,
                "best": panel.best,
                "limits": list(panel.limits),
                "series": [
                    {
                        "method": method,
                        "x": [int(v) for v in curve.queries],
                        "mean": _plain(curve.mean),
                        "low": _plain(curve.low),
                        "high": _plain(curve.high),
                    }
                    for method, curve in panel.curves.items()
                ],
            }
            for panel in section.panels
        ],
    }


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in values.tolist()]
