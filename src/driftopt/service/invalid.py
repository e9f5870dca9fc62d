"""What does not fit the models, in the sentences that Python says of the same argument."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from driftopt import checks
from driftopt.study.creation import MOST_PARALLEL

_WHOLE = ("int_type", "int_from_float", "int_parsing", "int_parsing_size")
# What a type of fault says was expected; faults of the choices of one field are joined by "or".
_EXPECTED = {
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(_WHOLE, "a whole number"),
    "finite_number": "finite",
    "string_type": "a text",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "list_type": "a list",
    "dict_type": "a table of named values",
    **dict.fromkeys(("model_type", "model_attributes_type", "dataclass_type"), "a JSON object"),
    "tuple_type": "a pair",
    "string_unicode": "Unicode",
}
# With their limit in the context.
_LIMITED = {
    "literal_error": "one of {expected}",
    "enum": "one of {expected}",
    "greater_than": "> {gt}",
    "greater_than_equal": ">= {ge}",
    "less_than": "< {lt}",
    "less_than_equal": "<= {le}",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} characters",
    "too_long": "at most {max_length} long",
    "too_short": "at least {min_length} long",
}
# How Python looks at an argument of that name.
_PYTHON: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("value", "sem", "n", "control"), checks.number),
    **dict.fromkeys(("lease", "tolerance", "max_change", "guard"), checks.one_positive),
    **dict.fromkeys(("id", "budget", "max_failures", "settle", "control_every"), checks.one_count),
    **dict.fromkeys(("name", "who", "holder", "method"), checks.text),
    **dict.fromkeys(("params", "metrics", "limits"), checks.table),
    **dict.fromkeys(("names", "answers"), checks.several),
    "parallel": partial(checks.one_count, most=MOST_PARALLEL),
    "radius": checks.positive,
    "rng": checks.seed,
    "reserve": checks.whole,
    "reason": partial(checks.text, longest=2000),
    "x0": checks.vector,
    "x_deployed": checks.vector,
    "new": checks.flag,
    "relative_to_control": checks.flag,
    "direction": partial(checks.choice, allowed=("minimize", "maximize")),
    "purpose": partial(checks.choice, allowed=("method", "confirm", "stationarity")),
}


def faults(found: Sequence[Mapping[str, Any]], body: Any) -> list[dict[str, str]]:
    """One sentence for each place that does not fit, in the order found.

    Args:
        found: pydantic's faults, of which one place has as many as it has choices.
        body: what was sent.
    """
    places: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for one in found:
        places.setdefault(_place(one, body), []).append(one)
    sentences: dict[str, str] = {}
    for place, of_place in list(places.items())[:20]:
        where = ".".join(str(part)[:80] for part in place)
        sentences.setdefault(_sentence(place, of_place, body), where)
    return [{"where": where, "what": what} for what, where in sentences.items()]


def _place(fault: Mapping[str, Any], body: Any) -> tuple[Any, ...]:
    """The steps into what was sent; the names of pydantic's choices, which lie between, are left out."""
    kind, *rest = fault["loc"]
    if kind != "body" or fault["type"] in ("missing", "extra_forbidden", "json_invalid"):
        return (kind,) if fault["type"] == "json_invalid" else (kind, *rest)
    steps, here = list[Any](), body
    for part in rest:
        known: Any = here if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if part in known:
            here: Any = here[part]
            steps.append(part)
    return (kind, *steps)


def _sentence(place: tuple[Any, ...], found: Sequence[Mapping[str, Any]], body: Any) -> str:
    """Of an answer among several, with its number, as `tell_many` says it."""
    kind, *steps = place
    if kind == "body" and len(steps) > 2 and steps[0] == "answers":
        number, count = steps[1] + 1, len(body["answers"])
        said = _of_argument(steps[2:], found, body["answers"][steps[1]])
        return f"answer {number} of {count}: {said}. None of the {count} answers was recorded"
    return _of_argument(steps, found, body if kind == "body" else None)


def _of_argument(steps: Sequence[Any], found: Sequence[Mapping[str, Any]], given: Any) -> str:
    types = [one["type"] for one in found]
    name = ".".join(str(step)[:80] for step in steps[:6]) or "the body"
    if types[0] == "missing":
        return f"{name} is needed"
    if types[0] == "extra_forbidden":
        return f"there is no {name} here; /docs shows what there is"
    if types[0] == "json_invalid":
        return "the body is not JSON that can be read"
    if steps and isinstance(given, dict) and (said := _python(str(steps[0]), given.get(steps[0]))):  # pyright: ignore[reportUnknownMemberType]
        return said
    wanted = [
        _EXPECTED.get(one["type"]) or _LIMITED.get(one["type"], "").format_map(one.get("ctx") or {})
        for one in found
    ]
    several = list(dict.fromkeys(words for words in wanted if words)) or ["something else"]
    return f"{name} must be {' or '.join(several)}, got {checks.brief(found[0].get('input'))}"


def _python(name: str, value: Any) -> str | None:
    """What Python says of an argument, where Python minds it."""
    check = _PYTHON.get(name)
    if check is None:
        return None
    try:
        check(name, list(value.values()) if name.startswith("x") and isinstance(value, dict) else value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    except ValueError as error:
        return str(error)
    return None
