"""Results from before a study: rows of a CSV file or of a table, checked against what the study has."""

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.space import Space
from driftopt.study.records import DAY, moment
from driftopt.study.trial import FOR_ANOTHER, Trial


def rows_of(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The rows of a CSV file with a heading: numbers as numbers, empty cells left out.

    Cells are separated by commas or semicolons; with semicolons, numbers may have decimal commas.
    """
    text = Path(path).read_text(encoding="utf-8-sig")
    apart = ";" if ";" in text.partition("\n")[0] else ","
    rows: list[dict[str, Any]] = []
    for line, row in enumerate(csv.DictReader(text.splitlines(), delimiter=apart), start=2):
        if None in row or None in row.values():
            raise ValueError(f"line {line} of {path} has another number of cells than its heading")
        cells = {name.strip(): cell.strip() for name, cell in row.items() if cell.strip()}
        rows.append({name: _number(cell, apart) if name != "date" else cell for name, cell in cells.items()})
    if not rows:
        raise ValueError(f"{path} has no rows")
    return rows


def _number(cell: str, apart: str) -> Any:
    try:
        return float(cell.replace(",", ".") if apart == ";" else cell)
    except ValueError:
        return cell  # a context, or a mistake that is noticed where the column's kind is known


def by_name(names: Sequence[str], x: np.ndarray) -> dict[str, float]:
    """A decision by name."""
    return dict(zip(names, x.tolist(), strict=True))


def history_of(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """The results that count as rows of history."""
    return [
        {
            "date": trial.asked_at if trial.at is None else trial.at,
            **(trial.as_dict if trial.x_deployed is None else by_name(trial.names, trial.x_deployed)),
            "value": trial.value,
            **trial.outputs,
            **trial.covariates,
            **trial.context,
        }
        for trial in trials
        if trial.state == "complete" and trial.kind not in FOR_ANOTHER and not trial.early
    ]


def past(rows: Sequence[Mapping[str, Any]], space: Space, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Results from before the study in JSON's types, with the day of each: 0 is the last."""
    contexts = {name: {one: one for one in known} for name, known in plan["contexts"].items()}
    known = {"date", "value", *space.names, *plan["outputs"], *plan["covariates"], *contexts}
    found: list[dict[str, Any]] = []
    for number, row in enumerate(rows, start=1):
        where = f"row {number} of history"
        if unknown := sorted(set(row) - known):
            raise ValueError(f"{where} has {', '.join(unknown)}; its columns are {', '.join(sorted(known))}")

        def numbers(
            names: Sequence[str], row: Mapping[str, Any] = row, where: str = where
        ) -> dict[str, float]:
            told = {name: row[name] for name in names if row.get(name) not in (None, "")}
            return {name: float(checks.finite(f"{where}: {name}", one)) for name, one in told.items()}

        x, value = numbers(space.names), numbers(["value"]).get("value")
        if lacking := [name for name in space.names if name not in x]:
            raise ValueError(f"{where} needs {', '.join(lacking)}: the decision of that day")
        outputs = numbers(plan["outputs"])
        if value is None and len(outputs) < max(1, len(plan["outputs"])):
            raise ValueError(f"{where} needs value" + (", or all outputs" if plan["outputs"] else ""))
        date = row.get("date")
        found.append(
            {
                "at": None if date is None else moment("date", date),
                "x": [x[name] for name in space.names],
                "value": value,
                "outputs": outputs,
                "covariates": numbers(plan["covariates"]),
                "context": {
                    name: checks.choice(f"{where}: {name}", row.get(name), tuple(every))
                    for name, every in contexts.items()
                },
            }
        )
    dates = [row["at"] for row in found]
    dated = bool(dates) and None not in dates
    last = max(dates) if dated else len(found) - 1
    for number, row in enumerate(found):
        row["day"] = (row["at"] - last) / DAY if dated else float(number - last)
    return found
