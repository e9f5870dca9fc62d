"""A comparison's tables, files and page."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from driftopt.comparison.comparison import Comparison, Contrast, Score
from driftopt.comparison.statistics import Interval
from driftopt.paper.figure import colour
from driftopt.paper.summary import curve_of, title
from driftopt.report.page import HtmlTable, Item, Page, Panel, Section, Series, render
from driftopt.runtime.files import make_folder, write_whole

HEADS = ["Method", "mean", "95% interval", "sd", "runs", "configurations", "selected"]
TEST_HEADS = ["Pair", "difference of means", "95% interval", "p (Welch)", "p (Holm)"]
READING = (
    "Bold: the smallest mean; * marks methods that the held-out runs cannot tell apart from it (Welch's "
    "test, corrected by Holm over all pairs of the instance, 5 % level). Intervals are bootstrap intervals "
    "of the mean."
)


def number(value: float) -> str:
    """Five significant digits with a real minus sign.

    >>> number(-31.415926), number(float("inf"))
    ('−31.416', '∞')
    """
    if not np.isfinite(value):
        return "∞" if value == np.inf else "–"
    return f"{value:.5g}".replace("-", "−")


def span(interval: Interval) -> str:
    """[low, high]."""
    return "–" if np.isnan(interval.low) else f"[{number(interval.low)}, {number(interval.high)}]"


def chance(p: float) -> str:
    """A p-value in words."""
    return "–" if np.isnan(p) else "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def instances(made: Comparison) -> list[str]:
    """The instances in order."""
    return list(dict.fromkeys(score.instance for score in made.scores))


def score_row(score: Score) -> list[str]:
    """One line of the table of scores."""
    chosen = ", ".join(f"{name} {value}" for name, value in score.parameters.items())
    mean = f"diverged ({score.diverged} of {score.runs})" if score.diverged else number(score.mean)
    if score.tied and not score.best:
        mean += " *"
    tail = [number(score.deviation), str(score.runs), str(score.configurations), chosen]
    return [title(score.method), mean, span(score.interval), *tail]


def contrast_row(c: Contrast) -> list[str]:
    """One line of the table of tests."""
    pair = f"{title(c.one)} minus {title(c.other)}"
    return [pair, number(c.difference), span(c.interval), chance(c.p), chance(c.p_holm)]


def markdown(made: Comparison) -> str:
    """Scores and tests as Markdown."""
    parts = ["# Comparison", "", f"Budget {made.budget:,} queries a run. {READING}", ""]
    for instance in instances(made):
        parts += [f"## {instance}", ""]
        if instance in made.best_known:
            parts += [f"Best known value: {number(made.best_known[instance])}", ""]
        parts += [_pipe(HEADS), _pipe(["---", *(["---:"] * 5), "---"])]
        for score in (s for s in made.scores if s.instance == instance):
            row = score_row(score)
            parts.append(_pipe([row[0], f"**{row[1]}**" if score.best else row[1], *row[2:]]))
        tests = [c for c in made.contrasts if c.instance == instance]
        if tests:
            parts += ["", _pipe(TEST_HEADS), _pipe(["---", *(["---:"] * 4)])]
            parts += [_pipe(contrast_row(c)) for c in tests]
        parts.append("")
    return "\n".join(parts)


def write(made: Comparison, folder: Path) -> None:
    """table.md, tests.csv, results.csv and .parquet, manifest.json, report.html."""
    import polars

    make_folder(folder)
    write_whole(folder / "table.md", markdown(made).encode())
    write_whole(folder / "tests.csv", tests_csv(made).encode())
    phases = (("development", made.tuned.development), ("held-out", made.tuned.held_out))
    frames = [
        runs.frame().select(polars.lit(phase).alias("phase"), polars.all())
        for phase, runs in phases
        if len(runs)
    ]
    table = polars.concat(frames, how="diagonal")
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    write_whole(folder / "results.parquet", buffer.getvalue())
    write_whole(folder / "results.csv", table.write_csv().encode())
    write_whole(folder / "manifest.json", (json.dumps(made.tuned.manifest, indent=1) + "\n").encode())
    write_whole(folder / "report.html", render(page(made)).encode())


def tests_csv(made: Comparison) -> str:
    """Every contrast with all digits."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["instance", "one", "other", "difference", "low", "high", "p_welch", "p_holm"])
    for c in made.contrasts:
        writer.writerow([c.instance, c.one, c.other, c.difference, *c.interval, c.p, c.p_holm])
    return buffer.getvalue()


def page(made: Comparison) -> Page:
    """The comparison as a page."""
    names = list(dict.fromkeys(score.method for score in made.scores))
    found: list[tuple[str, bool | None, str]] = []
    tables: list[HtmlTable] = []
    for instance in instances(made):
        scores = [s for s in made.scores if s.instance == instance]
        leader = next((s for s in scores if s.best), None)
        if leader is not None:
            tied = [title(s.method) for s in scores if s.tied and not s.best]
            rest = f"not told apart from it: {', '.join(tied)}" if tied else "told apart from all others"
            claim = f"{instance}: {title(leader.method)} has the smallest mean, {number(leader.mean)}"
            found.append((claim, None, f"95% interval {span(leader.interval)}; {rest}"))
        known = made.best_known.get(instance)
        caption = instance if known is None else f"{instance} (best known value {number(known)})"
        rows = [(r[0], (), _items(r[1:], s.best)) for s in scores for r in [score_row(s)]]
        tables.append(HtmlTable(caption, HEADS, rows, READING))
        tests = [contrast_row(c) for c in made.contrasts if c.instance == instance]
        if tests:
            tables.append(
                HtmlTable(f"{instance}: pairs", TEST_HEADS, [(r[0], (), _items(r[1:])) for r in tests])
            )
    runs = made.tuned.held_out
    panels = [_panel(made, instance, names) for instance in instances(made)] if _drawn(made) else []
    colours = {m: (title(m), colour(m, k)) for k, m in enumerate(names)}
    section = Section(
        "comparison",
        "Held-out runs",
        f"Each method had {made.budget:,} queries a run. Its configuration was chosen on development runs; "
        f"the figures are of {len(set(runs.columns['seed'].tolist()))} held-out runs with other random "
        "numbers.",
        panels,
        "objective",
        made.budget,
        tables,
    )
    manifest: dict[str, Any] = dict(made.tuned.manifest["held_out"])
    facts = [
        ("Queries", f"{sum(part['queries'] for part in made.tuned.manifest.values()):,}"),
        ("Checksums", ", ".join(f"{k} {v}" for k, v in manifest["data_checksums"].items())),
        ("Machine", f"{manifest['machine']}; devices: {', '.join(manifest['devices'])}"),
        ("Versions", ", ".join(f"{k} {v}" for k, v in manifest["versions"].items())),
    ]
    return Page(
        "A comparison of zeroth-order methods",
        "Tuned on development runs, judged on held-out runs, with intervals and tests.",
        [(f"budget {made.budget:,} queries", "")],
        found,
        [section],
        colours,
        facts,
    )


def _drawn(made: Comparison) -> bool:
    return all(curve is not None for curve in made.tuned.held_out.curves)


def _panel(made: Comparison, instance: str, names: list[str]) -> Panel:
    series: list[Series] = []
    for method in names:
        curve = curve_of(made.tuned.held_out.where(instance=instance, method=method), None)
        series.append(Series(method, curve.queries, curve.mean, curve.low, curve.high))
    values = np.concatenate([[*s.low, *s.high] for s in series])
    values = values[np.isfinite(values)]
    known = made.best_known.get(instance)
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    low = low if known is None else min(low, known)
    room = (high - low) or 1.0
    return Panel(instance, series, known, (low - 0.08 * room, high + 0.05 * room))


def _items(texts: list[str], bold_first: bool = False) -> list[Item]:
    return [Item(text, bold_first and k == 0) for k, text in enumerate(texts)]


def _pipe(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
