"""A study's trials as a file, for people who go on in other tools."""

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from driftopt import checks
from driftopt.report.escaping import spreadsheet
from driftopt.runtime.files import write_whole
from driftopt.study.records import StudySpec
from driftopt.study.trial import Trial

SUFFIXES = (".csv", ".json", ".parquet")
_PLAIN = ("id", "kind", "state", "iteration", "point", "sample", "holder")
_ANSWER = ("asked_at", "expires_at", "answered_at", "value", "sem", "reason", "story")


def rows(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """One flat row a trial; coordinates are columns x:name, and deployed:name where another was deployed.

    What was told beside a value is a column too, covariate:name, metric:name,
    output:name, context:name, control and n, where there is any.
    """
    table: list[dict[str, Any]] = []
    for trial in trials:
        row: dict[str, Any] = {name: getattr(trial, name) for name in _PLAIN}
        row |= {f"x:{name}": value for name, value in trial.as_dict.items()}
        row |= {name: getattr(trial, name) for name in _ANSWER}
        where = [None] * len(trial.names) if trial.x_deployed is None else trial.x_deployed.tolist()
        row |= {f"deployed:{name}": value for name, value in zip(trial.names, where, strict=True)}
        row |= {f"covariate:{name}": value for name, value in trial.covariates.items()}
        row |= {f"metric:{name}": value for name, value in trial.metrics.items()}
        row |= {f"output:{name}": value for name, value in trial.outputs.items()}
        row |= {f"context:{name}": value for name, value in trial.context.items()}
        row |= {"n": trial.n, "control": trial.control}
        table.append(row)
    return table


def export(
    path: str | os.PathLike[str],
    name: str,
    spec: StudySpec,
    trials: Sequence[Trial],
    log: Callable[[], Mapping[str, Any]],
) -> Path:
    """Write CSV, JSON or Parquet, by the path's suffix.

    JSON also holds the study's specification, all that happened to each trial, and the log itself.
    """
    target = checks.path("path", path)
    table = rows(trials)
    if target.suffix == ".csv":
        content = _csv(table, spec)
    elif target.suffix == ".json":
        told = [
            row | {"history": [e._asdict() for e in t.history]} for row, t in zip(table, trials, strict=True)
        ]
        whole = {"study": name, "spec": json.loads(spec.as_json()), "trials": told}
        whole["log"] = log()
        content = (json.dumps(whole, indent=1) + "\n").encode()
    elif target.suffix == ".parquet":
        content = _parquet(table, spec)
    else:
        raise ValueError(f"path must end in {', '.join(SUFFIXES)}; got {checks.brief(str(path))}")
    write_whole(target, content)
    return target


def _csv(table: list[dict[str, Any]], spec: StudySpec) -> bytes:
    """No cell may begin like a formula: whoever named a coordinate must not run code in a spreadsheet."""

    def safe(value: Any) -> Any:
        return spreadsheet(value) if isinstance(value, str) else value

    file = io.StringIO(newline="")
    writer = csv.writer(file)
    columns = _columns(spec, table)
    writer.writerow(map(safe, columns))
    writer.writerows([safe(row.get(column)) for column in columns] for row in table)
    return file.getvalue().encode()


def _columns(spec: StudySpec, table: list[dict[str, Any]]) -> list[str]:
    here = [f"x:{name}" for name in spec.names]
    there = [f"deployed:{name}" for name in spec.names]
    beside = [f"covariate:{name}" for name in spec.covariates]
    beside += [f"metric:{name}" for name in spec.limits]
    beside += [f"output:{name}" for name in spec.outputs]
    beside += [f"context:{name}" for name in spec.contexts]
    beside += ["control"] if spec.relative_to_control else []
    beside += ["n"] if any(row["n"] is not None for row in table) else []
    return [*_PLAIN, *here, *_ANSWER, *there, *beside]


def _parquet(table: list[dict[str, Any]], spec: StudySpec) -> bytes:
    try:
        import polars as pl
    except ImportError:
        raise ValueError("Parquet needs polars: pip install 'driftopt[report]', or export .csv") from None
    words = {"kind", "state", "holder", "reason", "story"}
    whole = {"id", "iteration", "point", "sample"}

    def kind(column: str) -> Any:
        if column in words or column.startswith("context:"):
            return pl.String
        return pl.Int64 if column in whole else pl.Float64

    file, columns = io.BytesIO(), _columns(spec, table)
    whole_rows = [{column: row.get(column) for column in columns} for row in table]
    pl.DataFrame(whole_rows, schema={column: kind(column) for column in columns}).write_parquet(file)
    return file.getvalue()
