"""The files of a reproduction; each is written completely or not at all."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftopt.paper.page import page
from driftopt.paper.protocol import Experiment
from driftopt.paper.summary import FRONT, PaperSummary, styles, title
from driftopt.paper.tables import latex, markdown, selections_csv
from driftopt.report import figure
from driftopt.report.frames import csv_of
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
    write_results(folder, results)
    for name, picture in pictures.items():
        write_whole(folder / name, picture)
    for summary in summaries:
        name = summary.experiment.name
        write_whole(folder / f"table_{name}.md", markdown(summary).encode())
        write_whole(folder / f"table_{name}.tex", latex(summary).encode())
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
        styles(summary.methods),
        {method: title(method) for method in summary.methods},
        quantity=summary.objective.title.lower(),
        budget=e.budget,
        remark=" · ".join(remarks),
        front=FRONT,
    )
    return {f"figure_{e.name}.{kind}": picture for kind, picture in drawn.items()}


def write_results(folder: Path, results: Results) -> None:
    """Write results (Parquet and CSV), one row a run, and curves, one row an evaluation of a held-out run."""
    import polars

    frames: list[Any] = []
    curves: list[Any] = []
    for experiment, tuned in results:
        named = polars.lit(experiment.name).alias("experiment")
        for phase, runs in (("development", tuned.development), ("held-out", tuned.held_out)):
            frames.append(runs.frame().select(named, polars.lit(phase).alias("phase"), polars.all()))
        for row, curve in enumerate(tuned.held_out.curves):
            if curve is not None:
                labels = {
                    name: tuned.held_out.columns[name][row].item() for name in ("method", "instance", "seed")
                }
                parts = {"queries": curve[0], "objective": np.asarray(curve[1], float)}
                values = [named, *(polars.lit(value).alias(name) for name, value in labels.items())]
                curves.append(polars.DataFrame(parts).select(*values, polars.all()))
    table = polars.concat(frames, how="diagonal")
    for name, frame in (("results", table), ("curves", polars.concat(curves))):
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        write_whole(folder / f"{name}.parquet", buffer.getvalue())
    write_whole(folder / "results.csv", csv_of(table).encode())
