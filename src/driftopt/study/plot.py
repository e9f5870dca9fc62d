"""A picture of a study: values, decisions and control over time."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftopt.report.escaping import plot as as_written
from driftopt.report.picture import write_picture
from driftopt.study.spec import Spec
from driftopt.study.summary import DAY, at_start, drift
from driftopt.study.trial import ANSWERS, Trial

_COLOURS = {"method": "#9aa5b1", "confirm": "#1b7f4b", "stationarity": "#7a4fa3"}
_MOST_LINES = 12


def plot(
    path: str | os.PathLike[str],
    name: str,
    spec: Spec,
    trials: Sequence[Trial],
    x: np.ndarray,
    budget: int,
) -> Path:
    """Write the picture; `x` is the present recommendation, `budget` all deployments that may be made."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("the picture needs matplotlib: pip install 'driftopt[plot]'") from None
    figure = Figure(figsize=(9, 9), layout="constrained")
    top, middle, bottom = figure.subplots(3, 1, sharex=True)
    origin = trials[0].asked_at if trials else 0.0
    _values(top, trials, origin)
    top.set_title(
        f"{as_written(name)}: {spec.method}, {spec.direction}, {len(trials)} of {budget} deployments"
    )
    _decisions(middle, spec, trials, origin, x)
    _control(bottom, trials, origin)
    bottom.set_xlabel("days since the first deployment")
    return write_picture(figure, path, dpi=120)


def _days(trials: Sequence[Trial], origin: float) -> np.ndarray:
    return np.array([trial.asked_at - origin for trial in trials]) / DAY


def _values(axes: Any, trials: Sequence[Trial], origin: float) -> None:
    for kind, colour in _COLOURS.items():
        told = [t for t in trials if t.kind == kind and t.state == "complete" and not at_start(t)]
        if told:
            values = [t.value for t in told]
            errors = [t.sem or 0.0 for t in told]
            axes.errorbar(_days(told, origin), values, errors, fmt="o", ms=3, color=colour, label=kind)
    failed = [t for t in trials if t.state in ("failed", "expired")]
    for day in _days(failed, origin):
        axes.axvline(day, color="#c0392b", lw=0.8, alpha=0.5)
    if failed:
        axes.plot([], [], color="#c0392b", lw=0.8, label="failed or expired")
    _amended(axes, trials, origin)
    axes.set_ylabel("value told")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="best", fontsize="small")


def _amended(axes: Any, trials: Sequence[Trial], origin: float) -> None:
    """What was said at first, where it was taken back: a cross, with a line to what stands now."""
    amended = [t for t in trials if t.amended]
    for trial in amended:
        first = next(event.value for event in trial.history if event.kind in ANSWERS)
        if first is not None:
            day = _days([trial], origin)
            axes.plot(day, [first], "x", ms=6, color="#c0392b")
            if trial.value is not None:
                axes.plot([*day, *day], [first, trial.value], ":", lw=0.8, color="#c0392b")
    if amended:
        axes.plot([], [], "x", ms=6, color="#c0392b", label="corrected, voided or held")


def _decisions(axes: Any, spec: Spec, trials: Sequence[Trial], origin: float, x: np.ndarray) -> None:
    """The centre of every iteration, coordinate by coordinate, and the recommendation at the end."""
    rounds: dict[tuple[int, int], list[Trial]] = {}
    for trial in trials:
        if trial.kind == "method":
            rounds.setdefault((trial.iteration, trial.draw), []).append(trial)
    if rounds:
        days = np.array([_days(group, origin).mean() for group in rounds.values()])
        # Each point once, however often it was asked again.
        distinct = [{t.point: t.x for t in group}.values() for group in rounds.values()]
        centres = np.array([np.mean(list(points), axis=0) for points in distinct])
        # Where there are too many coordinates for a picture, those that moved most.
        shown = np.sort(np.argsort(-np.abs(x - spec.space.start), kind="stable")[:_MOST_LINES])
        for i in shown:
            (line,) = axes.plot(days, centres[:, i], lw=1, label=as_written(spec.names[i]))
            axes.plot(days[-1], x[i], "D", ms=5, color=line.get_color())
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    axes.set_ylabel("decision; ◆ recommended")


def _control(axes: Any, trials: Sequence[Trial], origin: float) -> None:
    told = [t for t in trials if at_start(t) and t.state == "complete"]
    axes.set_ylabel("value at the start")
    if not told:
        axes.text(0.5, 0.5, "no control deployments", ha="center", va="center", transform=axes.transAxes)
        return
    days = _days(told, origin)
    axes.plot(days, [t.value for t in told], "o", ms=4, color="#2266aa", label="control")
    found = drift(trials)
    if found is not None and found.slope is not None:
        level = found.mean + found.slope * (days - days.mean())
        label = f"drift {found.slope:.3g} ± {found.slope_sem:.2g} a day"
        axes.plot(days, level, "--", color="#2266aa", lw=1, label=label)
    axes.legend(loc="best", fontsize="small")
