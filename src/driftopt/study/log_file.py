"""A study's whole log as plain data for a JSON file, and back; a changed file is seen by its checksum."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from driftopt.study.log import Asked, Happened, Mark, Opened, Row, chained, checksum_of
from driftopt.study.spec import Spec

_KINDS: dict[str, Any] = {"opened": Opened, "asked": Asked, "happened": Happened}
_WRONG = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_NAMES = {kind: name for name, kind in _KINDS.items()}


def as_data(name: str, created_at: float, spec: Spec, rows: Iterable[Row]) -> dict[str, Any]:
    """Every row as a list that begins with its kind, and the checksum of all of them."""
    mark, lines = Mark(0, chained("", name, created_at, spec.as_json())), list[list[Any]]()
    for row in rows:
        mark = Mark(row.row, checksum_of(mark.checksum, row))
        lines.append([_NAMES[type(row)], *row])
    return {"created_at": created_at, "rows": lines, "checksum": mark.checksum}


class LogFile(NamedTuple):
    """A study that is taken over."""

    name: str
    created_at: float
    spec: Spec
    rows: list[Row]


def read(path: Path) -> LogFile:
    """The study in a file that `export` wrote."""
    return from_data(str(path), parts(path))


def parts(path: Path) -> dict[str, Any]:
    """What of a file is needed to take the study over: its name, specification and log."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}; `export` writes one that ends in .json")
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        return {part: whole[part] for part in ("study", "spec", "log")}
    except _WRONG as error:
        raise _foreign(str(path), error) from None


def from_data(what: str, whole: Mapping[str, Any]) -> LogFile:
    """The study in the data of such a file; `what` names it in a refusal."""
    try:
        log = whole["log"]
        name, created_at, spec = whole["study"], log["created_at"], Spec.from_json(json.dumps(whole["spec"]))
        rows: list[Row] = [_KINDS[kind](*fields) for kind, *fields in log["rows"]]
        unchanged = as_data(name, created_at, spec, rows)["checksum"] == log["checksum"]
    except _WRONG as error:
        raise _foreign(what, error) from None
    if not unchanged:
        raise ValueError(f"{what} is not as `export` wrote it: export the study again")
    return LogFile(name, created_at, spec, rows)


def _foreign(what: str, error: Exception) -> ValueError:
    why = f"{error!r:.80}"
    if isinstance(error, UnicodeDecodeError):
        why = "it is no text"
    elif isinstance(error, json.JSONDecodeError):
        why = f"it is no JSON: {error}"
    elif isinstance(error, KeyError):
        why = f"it has no {error}"
    return ValueError(f"{what} is no file that `export` wrote as .json ({why})")
