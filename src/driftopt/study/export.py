"""A study's trials as a file, for people who go on in other tools."""

import csv
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from driftopt.study.spec import Spec
from driftopt.study.trial import Trial

SUFFIXES = (".csv", ".json", ".parquet")
_PLAIN = ("id", "kind", "state", "iteration", "draw", "point", "sample", "holder")
_ANSWER = ("asked_at", "expires_at", "answered_at", "value", "sem", "reason")


def rows(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """One flat row a trial; coordinates are columns x:name, and deployed:name where another was deployed."""
    table: list[dict[str, Any]] = []
    for trial in trials:
        row: dict[str, Any] = {name: getattr(trial, name) for name in _PLAIN}
        row |= {f"x:{name}": value for name, value in trial.as_dict.items()}
        row |= {name: getattr(trial, name) for name in _ANSWER}
        where = [None] * len(trial.names) if trial.x_deployed is None else trial.x_deployed.tolist()
        row |= {f"deployed:{name}": value for name, value in zip(trial.names, where, strict=True)}
        table.append(row)
    return table


def export(path: str | os.PathLike[str], name: str, spec: Spec, trials: Sequence[Trial]) -> Path:
    """Write CSV, JSON or Parquet, by the path's suffix. JSON also holds the study's specification."""
    target = Path(path)
    table = rows(trials)
    if target.suffix == ".csv":
        with target.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=_columns(spec))
            writer.writeheader()
            writer.writerows(table)
    elif target.suffix == ".json":
        whole = {"study": name, "spec": json.loads(spec.as_json()), "trials": table}
        target.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    elif target.suffix == ".parquet":
        _parquet(target, table, spec)
    else:
        raise ValueError(f"export writes {', '.join(SUFFIXES)}, by the file's suffix; got {str(path)!r}")
    return target


def _columns(spec: Spec) -> list[str]:
    here = [f"x:{name}" for name in spec.names]
    there = [f"deployed:{name}" for name in spec.names]
    return [*_PLAIN, *here, *_ANSWER, *there]


def _parquet(target: Path, table: list[dict[str, Any]], spec: Spec) -> None:
    try:
        import polars as pl
    except ImportError as error:
        raise ValueError("Parquet needs polars: pip install 'driftopt[report]', or export .csv") from error
    words = {"kind", "state", "holder", "reason"}
    whole = {"id", "iteration", "draw", "point", "sample"}

    def kind(column: str) -> Any:
        return pl.String if column in words else pl.Int64 if column in whole else pl.Float64

    pl.DataFrame(table, schema={column: kind(column) for column in _columns(spec)}).write_parquet(target)
