"""The files of a comparison, report.html among them; each is written completely or not at all."""

import json
from pathlib import Path
from typing import Any

from driftopt.comparison.judging import Judged
from driftopt.comparison.tables import latex, markdown, span, tables, tests_csv
from driftopt.packages import require_report_packages
from driftopt.report import figure
from driftopt.report.curves import Panel, assign, average, limits
from driftopt.report.frames import csv_of, parquet_of
from driftopt.report.numbers import counted, listed, significant
from driftopt.report.page import Badge, Finding, Page, Section, render
from driftopt.runtime.files import make_folder, write_whole
from driftopt.sweep.progress import reused_parts


def write(judged: Judged, folder: Path) -> None:
    """Write the tables, the manifest, all results, the figure and report.html."""
    require_report_packages("the report")
    write_text(judged, folder)
    table = judged.tuned.frame()
    write_whole(folder / "results.parquet", parquet_of(table))
    write_whole(folder / "results.csv", csv_of(table.drop("x")).encode())
    if judged.starts:
        curve_table = judged.tuned.curve_frame(judged.grid, judged.starts)
        write_whole(folder / "curves.parquet", parquet_of(curve_table))
    if curves := panels(judged):
        pictures = figure.draw(
            curves,
            assign(judged.methods),
            {method: method for method in judged.methods},
            quantity="objective",
            budget=judged.budget,
        )
        for kind, content in pictures.items():
            write_whole(folder / f"figure.{kind}", content)
    write_whole(folder / "report.html", render(page(judged)).encode())


def write_text(judged: Judged, folder: Path) -> None:
    """Write table.md, table.tex, tests.csv and manifest.json, which need no further packages."""
    make_folder(folder)
    write_whole(folder / "table.md", markdown(judged).encode())
    write_whole(folder / "table.tex", latex(judged).encode())
    write_whole(folder / "tests.csv", tests_csv(judged).encode())
    write_whole(folder / "manifest.json", (json.dumps(judged.tuned.manifest, indent=1) + "\n").encode())


def page(judged: Judged) -> Page:
    """The comparison as a page."""
    looks, tuned = assign(judged.methods), any(score.configurations > 1 for score in judged.scores)
    sweeps: list[Any] = list(judged.tuned.manifest.values())
    held_out = sweeps[-1]
    count = counted(len(set(judged.tuned.held_out.columns["seed"].tolist())), "held-out run")
    chosen = (
        "Where there were several configurations, one was chosen on development runs with other random "
        "numbers. "
    )
    section = Section(
        "comparison",
        "Held-out runs",
        f"Each method had {judged.budget:,} queries a run. {chosen * tuned}The figures are of {count}.",
        panels(judged),
        "objective",
        judged.budget,
        tables(judged),
    )
    return Page(
        "A comparison of zeroth-order methods",
        f"{'Tuned on development runs, judged' if tuned else 'Judged'} on held-out runs, with "
        "intervals and tests.",
        [Badge(f"budget {judged.budget:,} queries")],
        findings(judged),
        [section],
        {method: (method, looks[method]) for method in judged.methods},
        [
            ("Queries", f"{sum(s['queries'] for s in sweeps):,}"),
            ("Parts", reused_parts(sweeps)),
            ("Checksums", ", ".join(f"{k} {v}" for k, v in held_out["data_checksums"].items())),
            ("Machine", f"{held_out['machine']}; devices: {', '.join(held_out['devices'])}"),
            ("Versions", ", ".join(f"{k} {v}" for k, v in held_out["versions"].items())),
        ],
    )


def findings(judged: Judged) -> list[Finding]:
    """The method with the smallest mean on each instance, and the methods tied with it."""
    found: list[Finding] = []
    for instance in judged.instances:
        scores, _ = judged.on(instance)
        leader = next((score for score in scores if score.best), None)
        if leader is None:
            found.append(
                Finding(f"{instance}: every method diverged in some run", "said", "no mean is finite")
            )
            continue
        tied = [score.method for score in scores if score.tied and not score.best]
        rest = f"tied with it: {listed(tied)}" if tied else "significantly different from all others"
        claim = f"{instance}: {leader.method} has the smallest mean, {significant(leader.mean)}"
        alone = len(scores) == 1
        detail = f"95% interval {span(leader.interval)}" + ("" if alone else f"; {rest}")
        found.append(Finding(claim, "said", detail))
    return found


def panels(judged: Judged) -> list[Panel]:
    """The curves of each instance; none where the problem has no exact objective."""
    out: list[Panel] = []
    for instance, start in judged.starts.items():
        some = {m: judged.tuned.held_out.where(instance=instance, method=m) for m in judged.methods}
        curves = {m: average(runs.curves, judged.grid, start) for m, runs in some.items()}
        known = judged.best_known.get(instance)
        out.append(Panel(instance, curves, known, limits(curves, known)))
    return out
