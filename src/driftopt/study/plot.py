"""A picture of a study over the calendar: values with control and its drift, and a panel a coordinate."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftopt.report.escaping import plot as as_written
from driftopt.report.picture import write_picture
from driftopt.study import words
from driftopt.study.facts import drift_band
from driftopt.study.records import StudySpec
from driftopt.study.trial import ANSWERS, Trial, at_start

_COLOURS = {"method": "#9aa5b1", "confirm": "#1b7f4b", "stationarity": "#7a4fa3"}
_CONTROL, _WRONG, _HELD, _ASKED, _BOUND = "#2266aa", "#c0392b", "#d98e00", "#9aa5b1", "#777777"
_GROUND, _INK = "#1c1f25", "#c9ccd1"  # of a dark page
_BRIGHT = {  # what is dark in the light picture
    _CONTROL: "#6fa8dc",
    _COLOURS["confirm"]: "#5fc793",
    _COLOURS["stationarity"]: "#b79ad6",
    _WRONG: "#f28b82",
}
_PANELS = 12
_ACROSS = 3


def plot(
    path: str | os.PathLike[str],
    name: str,
    spec: StudySpec,
    trials: Sequence[Trial],
    x: np.ndarray,
    budget: int | None,
) -> Path:
    """Write the picture; `x` is the present recommendation, `budget` all deployments that may be made."""
    return write_picture(draw(name, spec, trials, x, budget), path, dpi=120)


def draw(name: str, spec: StudySpec, trials: Sequence[Trial], x: np.ndarray, budget: int | None) -> Any:
    """The picture as matplotlib's Figure."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("the picture needs matplotlib: pip install 'driftopt[plot]'") from None
    shown = words.most_changed(spec, x, _PANELS)
    across = min(_ACROSS, len(shown))
    lines = -(-len(shown) // across)
    figure = Figure(figsize=(10, 4.2 + 1.9 * lines), layout="constrained")
    grid = figure.add_gridspec(lines + 1, across, height_ratios=[2.2, *[1.0] * lines])
    top = figure.add_subplot(grid[0, :])
    spent = words.of_budget(len(trials), budget)
    # On a line of its own: a name written from right to left would turn what follows.
    plan = f"{spec.method}, {spec.direction}, {spent}, dates in UTC"
    top.set_title(f"{as_written(words.short(name, 60))}\n{plan}", size=11)
    _values(top, trials)
    _legend(top, spec)
    _calendar(top)
    for k, i in enumerate(shown):
        panel = figure.add_subplot(grid[1 + k // across, k % across], sharex=top)
        _coordinate(panel, spec, trials, float(x[i]), i)
        _calendar(panel)
    if spec.dim > len(shown):
        rest = spec.dim - len(shown)
        figure.supxlabel(f"the {len(shown)} coordinates that moved most; {rest} more are not shown", size=8)
    return figure


def darken(figure: Any) -> None:
    """The picture for a dark page."""
    from matplotlib.colors import to_hex

    figure.set_facecolor(_GROUND)
    for axes in figure.axes:
        axes.set_facecolor(_GROUND)
        axes.tick_params(colors=_INK)
        for part in (*axes.spines.values(), axes.yaxis.label, axes.title, axes.xaxis.get_offset_text()):
            part.set_color(_INK)
        legend = axes.get_legend()
        handles = [] if legend is None else legend.legend_handles
        for text in () if legend is None else legend.get_texts():
            text.set_color(_INK)
        for line in (*axes.lines, *(one for one in handles if hasattr(one, "get_color"))):
            line.set_color(_BRIGHT.get(to_hex(line.get_color()), line.get_color()))
    if figure.get_supxlabel():
        figure.supxlabel(figure.get_supxlabel(), size=8, color=_INK)


def _dates(trials: Sequence[Trial]) -> list[Any]:
    return [words.moment(trial.asked_at) for trial in trials]


def _calendar(axes: Any) -> None:
    """Dates, as few as can be read."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=2, maxticks=7)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.2, lw=0.6)


def _values(axes: Any, trials: Sequence[Trial]) -> None:
    for kind, colour in _COLOURS.items():
        told = [
            t
            for t in trials
            if t.kind == kind and t.state == "complete" and t.value is not None and not at_start(t)
        ]
        if told:
            values = [t.value for t in told]
            errors = [t.sem or 0.0 for t in told]
            axes.errorbar(_dates(told), values, errors, fmt="o", ms=3.5, color=colour, label=kind)
    _control(axes, trials)
    _amended(axes, trials)
    limits = axes.get_ylim() if axes.has_data() else None
    _held(axes, trials, limits)
    failed = [t for t in trials if t.state in ("failed", "expired")]
    for day in _dates(failed):
        axes.axvline(day, color=_WRONG, lw=0.8, alpha=0.5)
    if failed:
        axes.plot([], [], color=_WRONG, lw=0.8, label="failed or expired")
    axes.set_ylabel("value told")


def _legend(axes: Any, spec: StudySpec) -> None:
    """For the values, and for the panels below."""
    axes.plot([], [], "o", ms=2.5, color=_ASKED, label="below: asked")
    axes.plot([], [], color=_CONTROL, lw=0.8, ls="--", label="below: start")
    axes.plot([], [], color=_COLOURS["confirm"], lw=1.4, label="below: recommended")
    if spec.bounds is not None:
        axes.plot([], [], color=_BOUND, lw=1, ls=":", label="below: bound")
    handles, labels = axes.get_legend_handles_labels()

    def order(i: int) -> tuple[bool, bool]:
        """Values first, what is drawn below last."""
        return labels[i].startswith("below:"), labels[i] not in _COLOURS

    listed = sorted(range(len(labels)), key=order)
    found = [handles[i] for i in listed], [labels[i] for i in listed]
    axes.legend(*found, loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)


def _control(axes: Any, trials: Sequence[Trial]) -> None:
    """Values at the start, the line through them, and two standard errors of the line to either side."""
    told = [t for t in trials if at_start(t) and t.state == "complete" and t.value is not None]
    if not told:
        return
    axes.plot(_dates(told), [t.value for t in told], "s", ms=4.5, color=_CONTROL, label="at the start")
    band = drift_band(trials)
    if band is None:
        return
    dates = [words.moment(at) for at in band.at]
    label = f"drift {band.slope:.3g} a day\n± 2 standard errors"
    axes.plot(dates, band.level, "--", color=_CONTROL, lw=1, label=label)
    axes.fill_between(dates, band.low, band.high, color=_CONTROL, alpha=0.13, lw=0)


def _amended(axes: Any, trials: Sequence[Trial]) -> None:
    """What was said at first, where it was taken back: a cross, with a line to what stands now."""
    amended = [t for t in trials if t.amended]
    for trial in amended:
        first = next(event.value for event in trial.history if event.kind in ANSWERS)
        if first is not None and trial.state != "held":
            day = _dates([trial])
            axes.plot(day, [first], "x", ms=6, color=_WRONG)
            if trial.value is not None:
                axes.plot([*day, *day], [first, trial.value], ":", lw=0.8, color=_WRONG)
    if amended:
        axes.plot([], [], "x", ms=6, color=_WRONG, ls="", label="corrected or voided")


def _held(axes: Any, trials: Sequence[Trial], limits: tuple[float, float] | None) -> None:
    """Answers that are held, at the edge where they are beyond it: they must not flatten all others."""
    held = [t for t in trials if t.state == "held" and t.value is not None]
    if not held:
        return
    values = np.array([t.value for t in held], dtype=np.float64)
    if limits is not None:
        axes.set_ylim(*limits)
        values = np.clip(values, *limits)
    axes.plot(_dates(held), values, "^", ms=8, color=_HELD, ls="", label="held", clip_on=False, zorder=5)


def _coordinate(axes: Any, spec: StudySpec, trials: Sequence[Trial], recommended: float, i: int) -> None:
    """One coordinate: what was asked, its bounds, the start and the recommendation."""
    axes.plot(_dates(trials), [float(t.x[i]) for t in trials], "o", ms=2.5, color=_ASKED)
    axes.axhline(spec.x0[i], color=_CONTROL, lw=0.8, ls="--")
    axes.axhline(recommended, color=_COLOURS["confirm"], lw=1.4)
    near = axes.get_ylim()
    wide = near[1] - near[0]
    bounds = (None, None) if spec.bounds is None else spec.bounds[i]
    for bound in bounds:
        # A bound far from all that was asked would make the rest a flat line: the title alone has it.
        if bound is not None and near[0] - wide <= bound <= near[1] + wide:
            axes.axhline(bound, color=_BOUND, lw=1, ls=":")
    places = words.decimals(spec, [*spec.x0[:i], recommended, *spec.x0[i + 1 :]])[i]
    start, here, _ = words.row(spec.x0[i], recommended, places)
    name = as_written(words.short(spec.names[i], 30))
    axes.set_title(f"{name}\n{start} → {here}{_between(bounds, places)}", fontsize=9)


def _between(bounds: Sequence[float | None], places: int) -> str:
    """
    >>> _between((1.0, 5.5), 2), _between((None, 3.0), 0), _between((None, None), 1)
    (' (1.00 to 5.50)', ' (up to 3)', '')
    """
    low, high = (None if bound is None else words.price(bound, places) for bound in bounds)
    if low is None and high is None:
        return ""
    return f" ({low} to {high})" if low and high else f" (from {low})" if low else f" (up to {high})"
