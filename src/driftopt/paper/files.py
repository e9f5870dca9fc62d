"""The files of a reproduction; each is written completely or not at all."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from driftopt.paper.page import page
from driftopt.paper.protocol import Experiment
from driftopt.paper.summary import FRONT, PaperSummary, title
from driftopt.paper.tables import latex, markdown, selections_csv
from driftopt.report import figure
from driftopt.report.curves import assign
from driftopt.report.frames import csv_of, parquet_of
from driftopt.report.page import Finding, render
from driftopt.runtime.files import write_whole
from driftopt.sweep import Tuned

Results = Sequence[tuple[Experiment, Tuned]]


def write(
    folder: Path,
    results: Results,
    summaries: Sequence[PaperSummary],
    pictures: Mapping[str, bytes],
    findings: Mapping[str, Sequence[Finding]],
    manifest: Mapping[str, Any],
) -> None:
    """Write every output file."""
    write_results(folder, results, summaries)
    for name, picture in pictures.items():
        write_whole(folder / name, picture)
    for summary in summaries:
        name = summary.experiment.name
        write_whole(folder / f"table_{name}.md", markdown(summary).encode())
        write_whole(folder / f"table_{name}.tex", latex(summary).encode())
        write_whole(folder / f"paper_table_{name}.tex", latex(summary, plain=True).encode())
    write_whole(folder / "selected.csv", selections_csv(summaries).encode())
    write_whole(folder / "manifest.json", (json.dumps(manifest, indent=1) + "\n").encode())
    write_whole(folder / "report.html", render(page(summaries, findings, manifest)).encode())


def draw(summary: PaperSummary) -> dict[str, bytes]:
    """The contents of figure_<experiment>.png and .pdf, by name."""
    e = summary.experiment
    remarks = [e.kind] if e.quick or e.changes else []
    remarks += [f"data: {e.provenance.source}"] if not e.real or remarks else []
    drawn = figure.draw(
        summary.panels(),
        assign(summary.methods),
        {method: title(method) for method in summary.methods},
        quantity=summary.quantity,
        budget=e.budget,
        remark=" · ".join(remarks),
        front=FRONT,
    )
    return {f"figure_{e.name}.{kind}": picture for kind, picture in drawn.items()}


def write_results(folder: Path, results: Results, summaries: Sequence[PaperSummary]) -> None:
    """Write results (Parquet and CSV), one row a run, and curves, one row a point of a held-out run's curve.

    The Parquet file has the final decisions, too.
    """
    import polars

    table, curves = list[Any](), list[Any]()
    for (experiment, tuned), summary in zip(results, summaries, strict=True):
        named = polars.lit(experiment.name).alias("experiment")
        table.append(tuned.frame().select(named, polars.all()))
        curve = tuned.curve_frame(experiment.grid, summary.starts)
        curves.append(curve.select(named, polars.all()))
    runs = polars.concat(table, how="diagonal").select(polars.exclude("x"), "x")
    write_whole(folder / "results.parquet", parquet_of(runs))
    write_whole(folder / "curves.parquet", parquet_of(polars.concat(curves)))
    write_whole(folder / "results.csv", csv_of(runs.drop("x")).encode())
