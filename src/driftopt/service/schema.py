"""The description of the interface, which /docs shows: schemas of the records, examples, refusals.

Every request and every answer is a record of `driftopt.study`; its fields, their help and their defaults are
listed there alone. The examples of answers are those of a small study, which is run for them.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from inspect import getdoc
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from driftopt.study import Study
from driftopt.study.errors import Holding
from driftopt.study.records import REQUIRED, Part, StudyOptions, as_json, fields_of
from driftopt.study.verbs import VERBS, Verb

BASE = "/v1/studies/{name}"
_NO_NUMBER = ["NaN", "Infinity", "-Infinity"]
_NAMES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_REQUESTS = {
    "Question": {"holder": "till 3"},
    "Result": {"value": 12.5, "sem": 0.4},
    "Results": {"answers": [{"id": 1, "value": 12.5}, {"id": 2, "value": 11.0}]},
    "Correction": {"value": 1.25, "reason": "the decimal point was lost"},
    "Amendment": {"reason": "the shelf was empty"},
    "Extension": {"budget": 80, "reason": "two more months"},
    "Reason": {"reason": "the season is over"},
    "StudyOptions": {
        "name": "prices",
        "x0": {"tea": 2.5, "oil": 9.9},
        "budget": 60,
        "radius": 0.3,
        "bounds": [[2.0, 3.2], [8.5, 12.0]],
        "grid": 0.05,
        "direction": "maximize",
        "control_every": 5,
        "reserve": 8,
    },
}
_REFUSAL = {
    "title": "Refusal",
    "description": "A refusal in the form of RFC 9457, with the same sentence as Python's exception.",
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What was given, what was expected, and what to do."},
        "kind": {"type": "string", "description": "The name of the exception that Python raises."},
        "holdings": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/Holding"},
            "description": "The pending deployments, if nothing can be asked.",
        },
    },
    "required": ["type", "title", "status", "detail", "kind"],
    "examples": [
        {
            "type": "about:blank",
            "title": "Conflict",
            "status": 409,
            "detail": "trial 3 was already told 12.5; it cannot also be 13.0. Nothing was changed; "
            "`correct` replaces a result",
            "kind": "Conflict",
        }
    ],
}


def describe(description: dict[str, Any]) -> dict[str, Any]:
    """FastAPI's description of the routes, with what the verbs take and answer."""
    components: dict[str, Any] = description["components"].setdefault("schemas", {})
    components["Refusal"] = _REFUSAL
    _schema(Holding, components)
    answers, paths = examples(), description["paths"]
    for verb in VERBS.values():
        if verb.path:
            _describe_verb(verb, paths, components, answers)
    status = _schema(VERBS["status"].answer_type, components)["$ref"].rpartition("/")[2]
    spec = {"type": "object", "description": "What was decided at its creation, with every default."}
    components["StudyPlan"] = components[status] | {
        "title": "StudyPlan",
        "description": "A study's plan and its progress.",
        "properties": components[status]["properties"] | {"spec": spec},
        "examples": [answers["plan"]],
    }
    create = paths["/v1/studies"]["post"]
    create["requestBody"] = _body(StudyOptions, components, name={"type": "string"})
    for operation, code in (
        (create, "201"),
        (paths["/v1/studies:import"]["post"], "201"),
        (paths[BASE]["get"], "200"),
    ):
        plan = {"schema": {"$ref": "#/components/schemas/StudyPlan"}}
        operation["responses"][code]["content"] = {"application/json": plan}
    return description


def _describe_verb(
    verb: Verb, paths: dict[str, Any], components: dict[str, Any], answers: Mapping[str, Any]
) -> None:
    """What a verb takes and answers."""
    operation = paths[BASE + verb.path]["post" if verb.changes else "get"]
    parts = [part for part in fields_of(verb.record) if f"{{{part.name}}}" not in verb.path]
    operation["parameters"] = operation.get("parameters", []) + [
        {"name": part.name, "in": "path", "required": True, "schema": _of_part(part, components)}
        for part in fields_of(verb.record)
        if part not in parts
    ]
    if any(part.name == "key" for part in parts):
        of_create = paths["/v1/studies"]["post"]["parameters"]
        operation["parameters"] += [one for one in of_create if one["name"] == "Idempotency-Key"]
    if verb.changes:
        elsewhere = {part.name for part in fields_of(verb.record)} - {part.name for part in parts} | {"key"}
        operation["requestBody"] = _body(verb.record, components, leave_out=elsewhere)
    else:
        operation["parameters"] += [
            {
                "name": part.name,
                "in": "query",
                "description": part.help,
                "schema": _of_query(part, components),
            }
            for part in parts
        ]
    content: dict[str, Any] = {"schema": _schema(verb.answer_type, components)}
    if verb.name in answers:
        content["example"] = answers[verb.name]
    operation["responses"]["200"]["content"] = {"application/json": content}


def schema_of(record: Any, components: dict[str, Any], leave_out: Any = (), **more: Any) -> dict[str, Any]:
    """The schema of a request: the fields of a record."""
    parts = [part for part in fields_of(record) if part.name not in leave_out]
    needed = [*more, *(part.name for part in parts if part.default is REQUIRED)]
    schema: dict[str, Any] = {
        "title": record.__name__,
        "type": "object",
        "properties": more | {part.name: _of_part(part, components) for part in parts},
        "additionalProperties": False,
    }
    if needed:
        schema["required"] = needed
    return schema


def _body(record: Any, components: dict[str, Any], leave_out: Any = (), **more: Any) -> dict[str, Any]:
    """A request's body."""
    schema = schema_of(record, components, leave_out, **more)
    content: dict[str, Any] = {"schema": schema}
    if record.__name__ in _REQUESTS:
        content["example"] = _REQUESTS[record.__name__]
    return {"required": "required" in schema, "content": {"application/json": content}}


def _of_part(part: Part, components: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field of a request."""
    found = {} if part.type is Any else _schema(part.type, components, request=True)
    if part.numeric:
        found = {"anyOf": [*found.get("anyOf", [found]), {"enum": _NO_NUMBER}]}
    if part.help:
        found = {**found, "description": part.help}
    if part.default is not REQUIRED and part.default is not None:
        found = {**found, "default": as_json(part.default)}
    return found


def _of_query(part: Part, components: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field in a query: words, where a table is JSON as text."""
    found = _of_part(part, components)
    several = [one for one in found.get("anyOf", [found]) if one.get("type") != "null"]
    return {"type": "string"} if any(one.get("type") == "object" for one in several) else {"anyOf": several}


def _schema(kind: Any, components: dict[str, Any], *, request: bool = False) -> dict[str, Any]:
    """The schema of a type as `as_json` writes it; records become components."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return {"anyOf": [_schema(one, components, request=request) for one in inner]}
    if kind in _NAMES:
        return {"type": _NAMES[kind]}
    if origin is Literal:
        return {"type": "string", "enum": list(inner)}
    if kind is np.ndarray:
        return {"type": "array", "items": {"type": "number"}}
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return _record(kind, components, request=request)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        value = _schema(inner[1], components, request=request)
        or_null = {"anyOf": [value, {"type": "null"}]}
        return {"type": "object", "additionalProperties": or_null if request else value}
    if isinstance(origin, type):  # a list, a sequence or a tuple
        item = inner[0] if len(set(inner) - {...}) == 1 else Any
        return {"type": "array", "items": _schema(item, components, request=request)}
    return {}


def _record(kind: Any, components: dict[str, Any], *, request: bool) -> dict[str, Any]:
    """A reference to a record's schema."""
    name = kind.__name__
    if name not in components:
        components[name] = {}  # records may hold themselves
        hints = {one: hint for one, hint in get_type_hints(kind).items() if one != "ALSO"}
        if request:
            found = schema_of(kind, components)
        else:
            properties = {one: _schema(hint, components) for one, hint in hints.items()}
            if {"x", "names"} <= set(properties):  # a decision is by name
                del properties["names"]
                properties["x"] = {"type": "object", "additionalProperties": {"type": "number"}}
            properties |= {one: {"type": "string"} for one in getattr(kind, "ALSO", ())}
            found = {"title": name, "type": "object", "properties": properties, "required": list(properties)}
        components[name].update(found, description=(getdoc(kind) or "").partition("\n")[0])
    return {"$ref": f"#/components/schemas/{name}"}


@cache
def examples() -> dict[str, Any]:
    """The answers of verbs by example, in a shop that learns the prices of tea and oil."""
    now = [1790000000.0]
    options: Any = {"x0": {"tea": 2.5, "oil": 9.9}, "budget": 40, "radius": 0.3, "reserve": 8, "rng": 7}
    with Study.create("sqlite://", "prices", direction="maximize", clock=lambda: now[0], **options) as study:
        found: dict[str, Any] = {}
        for value in (98.0, 101.5, 99.0):
            now[0] += 86400.0
            found["ask"] = study.do("ask", holder="till 3")
            (trial,) = found["ask"].trials
            found["tell"] = study.do("tell", id=trial.id, value=value, sem=0.5)
        study.correct(2, 99.5, "counted twice", who="Ana")
        for verb in VERBS.values():
            fields = {part.name for part in fields_of(verb.record)}
            needed = {part.name for part in fields_of(verb.record) if part.default is REQUIRED} - {"id"}
            if not (verb.changes or needed or verb.name in ("stationarity", "log")):
                place = {"place": "https://shop.example"} if "place" in fields else {}
                found[verb.name] = study.do(verb.name, **({"id": 2} if "id" in fields else place))
        plan = {**study.status()._asdict(), "spec": {"x0": [2.5, 9.9], "names": ["tea", "oil"], "budget": 40}}
        return {name: as_json(answer) for name, answer in (found | {"plan": plan}).items()}
