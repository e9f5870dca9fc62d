"""`driftopt reproduce`: both experiments from data to report, in a folder that survives interruption."""

import csv
import io
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from driftopt import sweep
from driftopt.paper import figure, protocol, report, tables
from driftopt.paper.best_known import best_known
from driftopt.paper.findings import Finding, findings
from driftopt.paper.protocol import Experiment
from driftopt.paper.summary import Summary, summarise
from driftopt.runtime.files import make_folder, write_whole
from driftopt.sweep import Tuned
from driftopt.sweep.kept_parts import Store, writing

EXPERIMENTS = ("strategic", "pricing")
AT_ONCE = 2  # parts: while one runs, another compiles


@dataclass(frozen=True)
class Reproduction:
    """What was found, and the folder that holds it."""

    folder: Path
    summaries: tuple[Summary, ...]
    findings: dict[str, list[Finding]]
    manifest: dict[str, Any]


def reproduce(
    out: str | Path,
    *,
    quick: bool = False,
    only: str | None = None,
    splits: Sequence[str] = protocol.SPLITS,
    weeks: Sequence[str] = protocol.WEEKS,
    data: str = "auto",
    executor: Executor | None = None,
    progress: bool = True,
    say: Callable[[str], None] = lambda _: None,
    command: str = "driftopt.paper.reproduction.reproduce",
) -> Reproduction:
    """Run the paper's protocol and write tables, figures and the report into `out`.

    Started again on the same folder it goes on from the finished parts. `quick` runs fewer seeds and
    configurations and says so in every output. `data` is "auto" (real where it is there or can be fetched),
    "real" (or fail) or "stand-in".
    """
    began = time.monotonic()
    folder = Path(out)
    make_folder(folder)
    experiments: list[Experiment] = []
    if only in (None, "strategic"):
        experiments.append(protocol.strategic(quick=quick, splits=splits, data=data))
    if only in (None, "pricing"):
        experiments.append(protocol.pricing(quick=quick, weeks=weeks, data=data))
    if not experiments:
        raise ValueError(f"only must be one of {', '.join(EXPERIMENTS)}; got {only!r}")
    _refuse_other_run(folder, quick)

    results: list[tuple[Experiment, Tuned]] = []
    summaries: list[Summary] = []
    for experiment in experiments:
        say(f"{experiment.title}: {tables.size_of(experiment)}; data: {experiment.provenance.source}")
        with ThreadPoolExecutor(AT_ONCE) as threads:
            tuned = run(experiment, folder, executor=executor or threads, progress=progress)
        store = Store(folder)
        results.append((experiment, tuned))
        summaries.append(summarise(experiment, tuned, best_known(experiment, store)))
    manifest: dict[str, Any] = {
        "command": command,
        "protocol": "quick" if quick else "full",
        "data": {e.name: e.provenance.source for e in experiments},
        "best_known": {s.experiment.name: dict(s.best_known) for s in summaries},
        "experiments": {e.name: dict(t.manifest) for e, t in results},
        "duration_s": round(time.monotonic() - began, 1),
    }
    found = {s.experiment.name: findings(s) for s in summaries}
    made = Reproduction(folder, tuple(summaries), found, manifest)
    with writing(folder):
        write(made, results)
    return made


def run(
    experiment: Experiment,
    folder: str | Path | None,
    *,
    executor: Executor | None = None,
    progress: bool = True,
) -> Tuned:
    """The sweep of one experiment."""
    return sweep.tune(
        experiment.grids,
        experiment.problems,
        names=experiment.instances,
        budget=experiment.budget,
        development=experiment.development,
        held_out=experiment.held_out,
        evaluate_every=experiment.evaluate_every,
        metrics=bool(experiment.problems[0].metric_names),
        folder=folder,
        executor=executor,
        progress=progress,
        title=experiment.title,
        together=experiment.quick,
    )


def write(made: Reproduction, results: Sequence[tuple[Experiment, Tuned]]) -> None:
    """Every output file; each is written whole or not at all."""
    folder = made.folder
    write_results(folder, results)
    for summary in made.summaries:
        name = summary.experiment.name
        write_whole(folder / f"table_{name}.md", tables.markdown(summary).encode())
        write_whole(folder / f"table_{name}.tex", tables.latex(summary).encode())
        figure.draw(summary, folder)
    write_whole(folder / "selected.csv", selected_csv(made.summaries).encode())
    write_whole(folder / "manifest.json", (json.dumps(made.manifest, indent=1) + "\n").encode())
    write_whole(folder / "report.html", report.render(made).encode())


def write_results(folder: Path, results: Sequence[tuple[Experiment, Tuned]]) -> None:
    """results.parquet and .csv, one row a run; curves.parquet, one row an evaluation of a held-out run."""
    import polars

    frames: list[Any] = []
    curves: list[Any] = []
    for experiment, tuned in results:
        for phase, runs in (("development", tuned.development), ("held-out", tuned.held_out)):
            first = [polars.lit(experiment.name).alias("experiment"), polars.lit(phase).alias("phase")]
            frames.append(runs.frame().select(*first, polars.all()))
        names = ("method", "instance", "seed")
        for row, curve in enumerate(tuned.held_out.curves):
            if curve is not None:
                labels = {name: tuned.held_out.columns[name][row].item() for name in names}
                parts = {"queries": curve[0], "objective": np.asarray(curve[1], float)}
                values = [polars.lit(experiment.name).alias("experiment")]
                values += [polars.lit(value).alias(name) for name, value in labels.items()]
                curves.append(polars.DataFrame(parts).select(*values, polars.all()))
    table = polars.concat(frames, how="diagonal")
    for name, frame in (("results", table), ("curves", polars.concat(curves))):
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        write_whole(folder / f"{name}.parquet", buffer.getvalue())
    write_whole(folder / "results.csv", table.write_csv().encode())


def selected_csv(summaries: Sequence[Summary]) -> str:
    """The selected configurations, one row a method and instance."""
    rows = [(s.experiment.name, choice) for s in summaries for choice in s.selected]
    names = list(dict.fromkeys(name for _, choice in rows for name in choice.parameters))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    head = ["experiment", "instance", "method", *names]
    writer.writerow([*head, "development_mean", "configurations", "infeasible"])
    for experiment, choice in rows:
        numbers = [choice.parameters.get(name, "") for name in names]
        mean = "" if np.isnan(choice.development_mean) else f"{choice.development_mean:.6f}"
        tail = [mean, choice.configurations, choice.infeasible]
        writer.writerow([experiment, choice.instance, choice.method, *numbers, *tail])
    return buffer.getvalue()


def _refuse_other_run(folder: Path, quick: bool) -> None:
    """A folder holds one protocol: quick tables must not replace full ones unnoticed."""
    path = folder / "manifest.json"
    try:
        held = json.loads(path.read_text())["protocol"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # nothing, or half of something, that can be written again
    asked = "quick" if quick else "full"
    if held != asked:
        raise ValueError(
            f"{folder} holds the results of a {held} run; choose another folder for a {asked} one (--out)"
        )
