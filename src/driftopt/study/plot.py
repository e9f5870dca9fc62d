"""A picture of a study over the calendar: values with control and its drift, and a panel a coordinate."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftopt.report.escaping import plot as as_written
from driftopt.study import words
from driftopt.study.facts import Course, CourseCoordinate, CourseDeployment, Summary

_COLOURS = {"method": "#9aa5b1", "confirm": "#1b7f4b", "stationarity": "#7a4fa3"}
_CONTROL, _WRONG, _HELD, _ASKED, _BOUND = "#2266aa", "#c0392b", "#d98e00", "#9aa5b1", "#777777"
PANELS = 12
_ACROSS = 3


def draw(summary: Summary, course: Course) -> Any:
    """The picture as matplotlib's Figure."""
    try:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("the picture needs matplotlib: pip install 'driftopt[plot]'") from None
    across = min(_ACROSS, len(course.paths))
    lines = -(-len(course.paths) // across)
    figure = Figure(figsize=(10, 4.2 + 1.9 * lines), layout="constrained")
    grid = figure.add_gridspec(lines + 1, across, height_ratios=[2.2, *[1.0] * lines])
    top = figure.add_subplot(grid[0, :])
    spent = words.of_budget(summary.spent, summary.budget)
    # On a line of its own: a name written from right to left would turn what follows.
    plan = f"{summary.method}, {summary.direction}, {spent}, dates in UTC"
    top.set_title(f"{as_written(words.short(summary.name, 60))}\n{plan}", size=11)
    _values(top, course)
    _legend(top, any(one.low is not None or one.high is not None for one in course.coordinates))
    dates: Any = [words.moment(one.at) for one in course.deployments]
    for k, path in enumerate(course.paths):
        panel = figure.add_subplot(grid[1 + k // across, k % across], sharex=top)
        panel.plot(dates, path.asked, "o", ms=2.5, color=_ASKED)
        _coordinate(panel, course.coordinates[path.coordinate])
    for axes in figure.axes:  # dates, as few as can be read
        locator = AutoDateLocator(minticks=2, maxticks=7)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.2, lw=0.6)
    if rest := len(course.coordinates) - len(course.paths):
        more = f"the {len(course.paths)} coordinates that moved most; {rest} more are not shown"
        figure.supxlabel(more, size=8)
    return figure


def _values(axes: Any, course: Course) -> None:
    """Values by kind, with control and its drift; what was corrected, held or failed."""

    def dates(some: Sequence[CourseDeployment]) -> list[Any]:
        return [words.moment(one.at) for one in some]

    known = [one for one in course.deployments if one.value is not None]
    complete = [one for one in known if one.state == "complete"]
    for kind, colour in _COLOURS.items():
        if told := [one for one in complete if one.kind == kind and not one.start]:
            errors = [one.sem or 0.0 for one in told]
            values = [one.value for one in told]
            axes.errorbar(dates(told), values, errors, fmt="o", ms=3.5, color=colour, label=kind)
    if told := [one for one in complete if one.start]:
        values = [one.value for one in told]
        axes.plot(dates(told), values, "s", ms=4.5, color=_CONTROL, label="at the start")
    if (band := course.band) is not None:
        at: Any = [words.moment(moment) for moment in band.at]
        label = f"drift {band.slope:.3g} a day\n± 2 standard errors"
        axes.plot(at, band.level, "--", color=_CONTROL, lw=1, label=label)
        axes.fill_between(at, band.low, band.high, color=_CONTROL, alpha=0.13, lw=0)
    if amended := [one for one in course.deployments if one.first is not None and one.state != "held"]:
        cross = {"ls": "", "ms": 6, "color": _WRONG, "label": "corrected or voided"}
        axes.plot(dates(amended), [one.first for one in amended], "x", **cross)
        for one in amended:
            if one.value is not None:
                axes.plot(dates([one, one]), [one.first, one.value], ":", lw=0.8, color=_WRONG)
    limits = axes.get_ylim() if axes.has_data() else None
    if held := [one for one in known if one.state == "held"]:  # at the edge: not to flatten all others
        values = np.array([one.value for one in held], dtype=np.float64)
        if limits is not None:
            axes.set_ylim(*limits)
            values = np.clip(values, *limits)
        axes.plot(dates(held), values, "^", ms=8, color=_HELD, ls="", label="held", clip_on=False, zorder=5)
    lost = [one for one in course.deployments if one.state in ("failed", "expired")]
    for k, day in enumerate(dates(lost)):
        label = "failed or expired" if k == 0 else None
        axes.axvline(day, color=_WRONG, lw=0.8, alpha=0.5, label=label)
    axes.set_ylabel("value reported")


def _legend(axes: Any, bounded: bool) -> None:
    """For the values first, and then for the panels below."""
    axes.plot([], [], "o", ms=2.5, color=_ASKED, label="below: asked")
    axes.plot([], [], color=_CONTROL, lw=0.8, ls="--", label="below: start")
    axes.plot([], [], color=_COLOURS["confirm"], lw=1.4, label="below: recommended")
    if bounded:
        axes.plot([], [], color=_BOUND, lw=1, ls=":", label="below: bound")
    handles, labels = axes.get_legend_handles_labels()
    listed = sorted(range(len(labels)), key=lambda i: (labels[i][:6] == "below:", labels[i] not in _COLOURS))
    found = [handles[i] for i in listed], [labels[i] for i in listed]
    axes.legend(*found, loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)


def _coordinate(axes: Any, one: CourseCoordinate) -> None:
    """The start, the recommendation and the bounds of a coordinate."""
    axes.axhline(one.start, color=_CONTROL, lw=0.8, ls="--")
    axes.axhline(one.recommended, color=_COLOURS["confirm"], lw=1.4)
    low, high = axes.get_ylim()
    for bound in (one.low, one.high):
        # A bound far from all that was asked would make the rest a flat line: the title alone has it.
        if bound is not None and 2 * low - high <= bound <= 2 * high - low:
            axes.axhline(bound, color=_BOUND, lw=1, ls=":")
    start, here, _ = words.row(one.start, one.recommended, one.places)
    least, most = (None if bound is None else words.price(bound, one.places) for bound in (one.low, one.high))
    within = f" ({least} to {most})" if least and most else f" (from {least})" if least else ""
    within = f" (up to {most})" if most and not least else within
    axes.set_title(f"{as_written(words.short(one.name, 30))}\n{start} → {here}{within}", fontsize=9)
