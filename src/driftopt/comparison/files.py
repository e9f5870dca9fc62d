"""The files of a comparison; each is written completely or not at all."""

import io
import json
from pathlib import Path

from driftopt.comparison.judging import Judged
from driftopt.comparison.page import page, panels
from driftopt.comparison.tables import markdown, tests_csv
from driftopt.packages import require_report_packages
from driftopt.report import figure
from driftopt.report.curves import assign
from driftopt.report.frames import csv_of
from driftopt.report.page import render
from driftopt.runtime.files import make_folder, write_whole


def write(judged: Judged, folder: Path) -> None:
    """Write the tables, the manifest, all results, the figure and report.html."""
    require_report_packages("the report")
    write_text(judged, folder)
    import polars

    phases = (("development", judged.tuned.development), ("held-out", judged.tuned.held_out))
    frames = [
        runs.frame().select(polars.lit(phase).alias("phase"), polars.all())
        for phase, runs in phases
        if len(runs)
    ]
    table = polars.concat(frames, how="diagonal")
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    write_whole(folder / "results.parquet", buffer.getvalue())
    write_whole(folder / "results.csv", csv_of(table).encode())
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
    """Write table.md, tests.csv and manifest.json, which need no further packages."""
    make_folder(folder)
    write_whole(folder / "table.md", markdown(judged).encode())
    write_whole(folder / "tests.csv", tests_csv(judged).encode())
    write_whole(folder / "manifest.json", (json.dumps(judged.tuned.manifest, indent=1) + "\n").encode())
