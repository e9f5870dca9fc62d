"""A study's whole log as plain data for a JSON file, and back; a changed file is seen by its checksum."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from driftopt.study.log import Asked, Happened, Mark, Opened, Row, chained, checksum_of
from driftopt.study.spec import Spec

_KINDS: dict[str, Any] = {"opened": Opened, "asked": Asked, "happened": Happened}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def as_data(name: str, created_at: float, spec: Spec, rows: Iterable[Row]) -> dict[str, Any]:
    """Every row as a list that begins with its kind, and the checksum of all of them."""
    mark, lines = Mark(0, chained("", name, created_at, spec.as_json())), list[list[Any]]()
    for row in rows:
        mark = Mark(row.row, checksum_of(mark.checksum, row))
        lines.append([_NAMES[type(row)], *row])
    return {"created_at": created_at, "rows": lines, "checksum": mark.checksum}


def read(path: Path) -> tuple[str, float, Spec, list[Row]]:
    """Name, time of creation, specification and rows from a file that `export` wrote."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        log = whole["log"]
        name, created_at, spec = whole["study"], log["created_at"], Spec.from_json(json.dumps(whole["spec"]))
        rows: list[Row] = [_KINDS[kind](*fields) for kind, *fields in log["rows"]]
        unchanged = as_data(name, created_at, spec, rows)["checksum"] == log["checksum"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is no file that `export` wrote as .json ({error!r:.80})") from None
    if not unchanged:
        raise ValueError(f"{path} is not as `export` wrote it: export the study again")
    return name, created_at, spec, rows
