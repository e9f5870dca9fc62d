"""A study's whole log as plain data for a JSON file, and back; a changed file is seen by its checksum."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftopt import checks
from driftopt.answers import Answer
from driftopt.plugins import OWN
from driftopt.report.escaping import one_line
from driftopt.space import Space
from driftopt.space.space import STEPS
from driftopt.study.creation import checked_objective
from driftopt.study.errors import StudyError
from driftopt.study.log import (
    Asked,
    Happened,
    Mark,
    Opened,
    Row,
    chained,
    checksum_of,
    stored,
    vector_as_json,
    vector_from_json,
)
from driftopt.study.records import LONGEST_TEXT, Result, StudySpec, check_size, decode, fields_of
from driftopt.study.trial import AMENDMENTS, ANSWERS, EVALUATIONS, KINDS

_KINDS: dict[str, Any] = {"opened": Opened, "asked": Asked, "happened": Happened}
_WRONG = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_NAMES = {kind: name for name, kind in _KINDS.items()}


def as_data(name: str, created_at: float, spec: StudySpec, rows: Iterable[Row]) -> dict[str, Any]:
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
    spec: StudySpec
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
    """The study in the data of such a file, every part checked; `what` names it in a refusal."""
    try:
        log = whole["log"]
        name = str(checks.text("the study's name", whole["study"]))
        created_at, spec = log["created_at"], StudySpec.from_json(json.dumps(whole["spec"]))
        rows: list[Row] = [_KINDS[kind](*fields) for kind, *fields in log["rows"]]
        unchanged = as_data(name, created_at, spec, rows)["checksum"] == log["checksum"]
    except _WRONG as error:
        raise _foreign(what, error) from None
    if not unchanged:
        raise ValueError(f"{what} is not as `export` wrote it: export the study again")
    try:
        _check_time("created_at", created_at)
        _check_spec(spec)
        _check_rows(spec, rows)
    except (*_WRONG, ArithmeticError, StudyError) as error:
        raise ValueError(f"{what} holds what no study can hold: {_shown(error)}") from None
    return LogFile(name, created_at, spec, rows)


def _shown(error: Exception) -> str:
    """An error on one line without control characters: parts of the file are in it."""
    return one_line(str(error))[:400]


def _check_time(name: str, at: Any) -> None:
    if type(at) is not float or not math.isfinite(at):
        raise ValueError(f"{name} must be a finite number of seconds, got {checks.brief(at)}")


def _check_spec(spec: StudySpec) -> None:
    """Every field as `Study.create` would have written it."""
    if unknown := sorted(set(checks.table("steps", spec.steps)) - {step.name for step in STEPS}):
        raise ValueError(f"steps has {', '.join(unknown)}, which is no rule for decisions")
    space = Space.build(spec.x0, names=spec.names, bounds=spec.bounds, **spec.steps)
    found: dict[str, Any] = {"x0": space.start.tolist(), "names": list(space.names)}
    for part in fields_of(StudySpec):
        value = getattr(spec, part.name)
        if part.name not in found and not (value is None and part.optional):
            found[part.name] = part.check(part.name, value)
    if len(spec.units) != space.dim or len(spec.begun or spec.x0) != space.dim:
        raise ValueError(f"units and begun must have length {space.dim}")
    if spec.provider == OWN and not spec.uses_model:
        from driftopt import methods

        built: Any = methods.get(spec.method, **spec.params)
        if (built.points(space.dim), int(built.batch)) != (spec.points, spec.repeats):
            raise ValueError(f"points and repeats are not those of {spec.method}")
    check_size(spec.points, spec.repeats)
    own = isinstance((spec.objective or {}).get("function"), str) and len(spec.objective or {}) == 1
    if not own:
        found["objective"] = checked_objective(spec.objective, spec.outputs, space.dim)
    if spec.budget is None and not spec.uses_model:
        raise ValueError(f"{spec.method} has no budget")
    if replace(spec, **found).as_json() != spec.as_json():
        raise ValueError("its specification is not written as driftopt writes it")


def _check_rows(spec: StudySpec, rows: Sequence[Row]) -> None:
    """Every field of every row as the door would have let it in, and rows that follow from each other."""
    trials: dict[int, tuple[Asked, list[str]]] = {}  # and the kinds of what happened to each
    last: Opened | None = None
    budget = spec.budget
    for number, row in enumerate(rows, start=1):
        try:
            if type(row.row) is not int or row.row != number:
                raise ValueError(f"its number is {checks.brief(row.row)}")
            for name, value in row._asdict().items():
                if name in _EACH and not (value is None and name in _MAY_BE_NONE):
                    _EACH[name](name, value)
            match row:
                case Opened():
                    _check_opened(spec, row, last)
                    last = row
                case Asked():
                    _check_asked(spec, row, last)
                    if row.id in trials:
                        raise ValueError(f"trial {row.id} was handed out before")
                    trials[row.id] = row, []
                case Happened() if row.trial_id is None:
                    budget = _check_of_study(row, budget)
                case Happened():
                    asked, kinds = trials[row.trial_id or 0]
                    _check_happened(spec, row, asked, kinds)
                    if row.kind != "renewed":
                        kinds.append(row.kind)
        except (*_WRONG, OverflowError) as error:
            raise ValueError(
                f"row {number}: {error!r:.80}" if isinstance(error, LookupError) else f"row {number}: {error}"
            ) from None
    if budget is not None and len(trials) > budget:
        raise ValueError(f"{len(trials)} deployments were handed out, and the budget is {budget}")


def _check_opened(spec: StudySpec, row: Opened, last: Opened | None) -> None:
    if spec.uses_model or row.iteration != (0 if last is None else last.iteration + 1):
        raise ValueError(f"iteration {row.iteration} does not come next")
    if (row.count, row.repeats) != (spec.points, spec.repeats):
        raise ValueError("its points are not as many as the specification says")
    _check_vector("points", row.points, (spec.points, spec.dim))


def _check_asked(spec: StudySpec, row: Asked, last: Opened | None) -> None:
    checks.choice("kind", row.kind, KINDS)
    if row.kind == "method" and not spec.uses_model:
        if last is None or row.iteration != last.iteration:
            raise ValueError(f"iteration {row.iteration} is not open")
        if row.point >= spec.points or row.sample >= spec.repeats:
            raise ValueError(f"point {row.point}, sample {row.sample} is none of the iteration's")
    elif row.kind not in EVALUATIONS and any((row.iteration, row.point, row.sample)):
        raise ValueError(f"{row.kind} has no iteration, point or sample")
    elif row.iteration or row.sample > 1:
        raise ValueError(f"iteration must be 0 and sample 0 or 1, got {row.iteration} and {row.sample}")
    _check_vector("x", row.x, (spec.dim,))
    context = {} if row.context is None else checks.table("context", json.loads(row.context))
    named = all(context.get(name) in known for name, known in spec.contexts.items())
    if list(context) != list(spec.contexts) or not named or (context and json.dumps(context) != row.context):
        raise ValueError(f"context is none of the study's: {checks.brief(row.context)}")


def _check_of_study(row: Happened, budget: int | None) -> int | None:
    """Returns the budget from there on."""
    checks.choice("kind", row.kind, ("extended", "stopped", "resumed"))
    if any(part is not None for part in (row.sem, row.x_deployed, row.beside)):
        raise ValueError(f"{row.kind} is said of the study, and has no answer")
    if row.kind != "extended":
        if row.value is not None:
            raise ValueError(f"{row.kind} has no value")
        return budget
    more = checks.one_count("value", row.value)
    if budget is None or more <= budget:
        raise ValueError(f"the study is extended to {more}, and has {budget} already")
    return more


def _check_happened(spec: StudySpec, row: Happened, asked: Asked, before: Sequence[str]) -> None:
    if row.kind == "renewed":
        if before or row.value is None or any((row.sem, row.x_deployed, row.beside)):
            raise ValueError("a lease is renewed before there is a result, and says when it ends")
        return
    checks.choice("kind", row.kind, (*ANSWERS, *AMENDMENTS))
    if (row.kind in ANSWERS) == any(kind in ANSWERS for kind in before):
        raise ValueError(f"trial {asked.id} cannot be {row.kind} after {', '.join(before) or 'nothing'}")
    if row.sem is not None and row.sem < 0:
        raise ValueError(f"sem must be >= 0, got {row.sem}")
    if row.x_deployed is not None:
        _check_vector("x_deployed", row.x_deployed, (spec.dim,))
    said: dict[str, Any] = {} if row.beside is None else checks.table("beside", json.loads(row.beside))
    if decode(Result, said | {"id": 1}).beside(spec).as_json() != row.beside:
        raise ValueError(f"what came with the answer is written otherwise: {checks.brief(row.beside)}")
    if row.value is None and "outputs" not in said and row.kind not in ("failed", "voided"):
        raise ValueError(f"{row.kind} needs a value")
    if row.value is not None and row.kind in ("complete", "corrected", "accepted", "updated"):
        deployed = None if row.x_deployed is None else vector_from_json(row.x_deployed)
        against = spec.answers.judge(Answer(row.value, row.sem, vector_from_json(asked.x), deployed))
        if against is not None:
            raise ValueError(f"trial {asked.id} cannot be {row.kind}: {against.reason}")


def _real(name: str, value: Any) -> None:
    """A finite float as databases give it back: no whole number, and no −0."""
    if type(value) is not float or not math.isfinite(value) or repr(value) != repr(stored(value)):
        raise ValueError(f"{name} must be a finite number with a decimal point, got {checks.brief(value)}")


def _whole(name: str, value: Any) -> None:
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError(f"{name} must be a whole number >= 0 and below 2^31, got {checks.brief(value)}")


def _id(name: str, value: Any) -> None:
    if type(value) is not int or not 0 < value < 2**63:
        raise ValueError(f"{name} must be a whole number from 1 on, got {checks.brief(value)}")


def _check_vector(name: str, text: Any, shape: tuple[int, ...]) -> None:
    """Finite numbers of that shape, in the one way in which driftopt writes them."""
    checks.text(name, text, 2**31)
    array = vector_from_json(text)
    if array.shape != shape or not np.isfinite(array).all() or vector_as_json(array) != text:
        raise ValueError(
            f"{name} must be {' by '.join(map(str, shape))} finite numbers, got {checks.brief(text)}"
        )


_EACH: dict[str, Callable[[str, Any], Any]] = {  # fields of rows that are checked by themselves
    **dict.fromkeys(("iteration", "point", "sample", "count", "repeats"), _whole),
    **dict.fromkeys(("id", "trial_id"), _id),
    **dict.fromkeys(("opened_at", "asked_at", "expires_at", "at"), _check_time),
    **dict.fromkeys(("value", "sem"), _real),
    **dict.fromkeys(("holder", "who", "kind"), checks.text),
    "reason": partial(checks.text, longest=LONGEST_TEXT),
}
_MAY_BE_NONE = ("trial_id", "expires_at", "value", "sem", "reason", "who")


def _foreign(what: str, error: Exception) -> ValueError:
    why = one_line(f"{error!r:.80}")
    if isinstance(error, UnicodeDecodeError):
        why = "it is no text"
    elif isinstance(error, json.JSONDecodeError):
        why = f"it is no JSON: {error}"
    elif isinstance(error, KeyError):
        why = f"it has no {_shown(error)}"
    return ValueError(f"{what} is no file that `export` wrote as .json ({why})")
