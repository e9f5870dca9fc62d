"""Shared by the study commands: exit codes, and values in and out as text or JSON."""

import getpass
import inspect
import json
import re
import socket
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

EXIT_WAIT, EXIT_SPENT, EXIT_CONFLICT, EXIT_HELD, EXIT_HALTED = 3, 4, 5, 6, 7
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)
# Deployments whose results do not count.
_DO_NOT_COUNT = {
    "settle": "people get used to it, and its result does not count yet",
    "way": "a step of the ramp, and its result does not count",
}


@contextmanager
def exits(as_json: bool) -> Generator[None]:
    """A block whose errors become exit codes, so that a shell script can distinguish them.

    With `as_json`, every error is one JSON object on standard error: {"error", "kind", "code"}.
    """
    from driftopt.runtime.jax_settings import keep_compiled
    from driftopt.study.errors import BudgetSpent, Conflict, Halted, NothingToAsk, StudyError

    keep_compiled()
    try:
        yield
    except (StudyError, ValueError, FileNotFoundError, PermissionError) as error:
        refusals = [(Halted, EXIT_HALTED), (BudgetSpent, EXIT_SPENT), (NothingToAsk, EXIT_WAIT)]
        codes = [*refusals, (Conflict, EXIT_CONFLICT), ((ValueError, OSError), 2)]
        code = next((code for kind, code in codes if isinstance(error, kind)), 1)
        if as_json:
            data = {"error": str(error), "kind": type(error).__name__, "code": code}
            print(json.dumps(data), file=sys.stderr)
        elif isinstance(error, StudyError):
            print(f"driftopt: {error}", file=sys.stderr)
        else:
            raise  # a mistake in the command, which `main` prints for all commands
        sys.exit(code)


def say(as_json: bool, data: Any, text: Callable[[], Any]) -> None:
    """Print the data as JSON, or the text."""
    if as_json:
        print(json.dumps(data))
    else:
        print(text())


def exit_held(study: Any, ids: Sequence[Any], as_json: bool) -> NoReturn:
    """Print which results are flagged and what to type, and end with the exit code for that."""
    from driftopt.study.facts import full_command

    one, many = str(ids[0]), len(ids) > 1
    what, it = (
        ("they are held and do not count", "one is") if many else ("it is held and does not count", "it is")
    )
    error = f"trial {', '.join(map(str, ids))}: implausible, given all other results, so {what}"
    calls = [("trials --state held",)] * many + [("accept", one), ("correct", one, "VALUE")]
    commands = [full_command(study.place, study.name, *call) for call in calls]
    data = {"error": error, "kind": "Held", "code": EXIT_HELD, "commands": commands}
    lines = [f"driftopt: {error}. If {it} true, accept, else correct:", *(f"  {line}" for line in commands)]
    print(json.dumps(data) if as_json else "\n".join(lines), file=sys.stderr)
    sys.exit(EXIT_HELD)


def this_user() -> str:
    """The user and the machine: the same tomorrow, unlike a process."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):  # a container's user may have no name
        return socket.gethostname()


def vector(text: str | None, option: str) -> list[float] | None:
    """The numbers of a comma-separated option."""
    return None if text is None else [_number(part, option, text) for part in _parts(text)]


def names(text: str | None) -> list[str] | None:
    """The names of a comma-separated option."""
    return None if text is None else _parts(text)


def _parts(text: str) -> list[str]:
    """The parts between commas, without blanks around them.

    >>> _parts("footfall, rain")
    ['footfall', 'rain']
    """
    return [part.strip() for part in text.split(",")]


def _number(part: str, option: str, text: str) -> float:
    """A number that is part of an option's text."""
    part = part.strip()
    if not _NUMBER.fullmatch(part):
        where = "" if part == text else f" in {text!r}"
        raise ValueError(f"{option}: {part!r}{where} is not a number{_as_typed(part)}")
    return float(part)


def number(text: str | None, option: str) -> float | None:
    """One number as people write it, which excludes Python's 1_000.5."""
    if text is not None and not _NUMBER.fullmatch(text):
        raise ValueError(f"{option} must be a number, got {text!r}{_as_typed(text)}")
    return None if text is None else float(text)


def _as_typed(text: str) -> str:
    """Advice how to type the number in a text; empty if there is none.

    >>> _as_typed("21,4"), _as_typed("21.4 EUR"), _as_typed("much")
    ('; type 21.4, with a point', '; type 21.4, without a unit', '')
    >>> _as_typed("12,000.5")
    '; type digits with a point and nothing else'
    """
    if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", text, re.ASCII):
        return f"; type {text.strip().replace(',', '.')}, with a point"
    if found := re.fullmatch(r"[^\d.,+-]*([+-]?\d+(?:\.\d+)?)[^\d.,]*", text, re.ASCII):
        return f"; type {found[1]}, without a unit"
    return "; type digits with a point and nothing else" if any(map(str.isdigit, text)) else ""


def bounds(text: str | None, dim: int) -> list[tuple[float | None, float | None]] | None:
    """Pairs as in 0:1,0:2; an empty side is open, and a single pair applies to every coordinate."""
    if text is None:
        return None
    pairs: list[tuple[float | None, float | None]] = []
    for part in _parts(text):
        low, separator, high = part.partition(":")
        if not separator:
            raise ValueError(f"--bounds must be low:high pairs, comma-separated; got {text!r}")
        sides = [_number(side, "--bounds", text) if side.strip() else None for side in (low, high)]
        pairs.append((sides[0], sides[1]))
    return pairs * dim if len(pairs) == 1 else pairs


def one_or_several(text: str | None, option: str) -> float | list[float] | None:
    """One number, or several separated by commas."""
    numbers = vector(text, option)
    return numbers[0] if numbers is not None and len(numbers) == 1 else numbers


def grid(text: str | None, dim: int) -> list[Any] | None:
    """Steps as in 0.05,1,0.5@9.99; an empty one is a continuous coordinate, a single one applies to all."""
    if text is None:
        return None
    steps: list[Any] = []
    for part in _parts(text):
        step, separator, through = part.partition("@")
        if not part:
            steps.append(None)
        elif separator:
            steps.append((_number(step, "--grid", text), _number(through, "--grid", text)))
        else:
            steps.append(_number(step, "--grid", text))
    return steps * dim if len(steps) == 1 else steps


def limits(text: str | None) -> Any:
    """The limits in a JSON table such as {"complaints": {"max": 5}}."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(
            f'--limits must be JSON, such as {{"complaints": {{"max": 5}}}}; got {(text or "")[:80]!r}'
        ) from None


def constraints(text: str | None) -> Any:
    """The constraints in JSON: a table {"A", "lb", "ub"} or a list of them."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(
            f'--constraints must be JSON, such as {{"A": [[1, 1]], "ub": [8]}}; got {(text or "")[:80]!r}'
        ) from None


def value_range(text: str | None) -> tuple[float, float] | None:
    """The range of all possible values, as in 0:1."""
    if text is None:
        return None
    low, separator, high = text.partition(":")
    if not (low and separator and high):
        raise ValueError(f"--value-range must be low:high, got {text!r}")
    return _number(low, "--value-range", text), _number(high, "--value-range", text)


def named(given: list[str] | None, option: str) -> dict[str, float] | None:
    """Numbers by name, as in --covariate footfall=120 --covariate rain=0.5; None if there are none."""
    table: dict[str, float] = {}
    for item in given or []:
        before, separator, text = item.rpartition("=")
        name = before.strip()
        if not separator or not name:
            raise ValueError(f"{option} must be name=number, got {item!r}")
        if name in table:
            raise ValueError(f"{option}: {name!r} is given twice")
        table[name] = _number(text, option, item)
    return table or None


def side_information(
    covariate: list[str] | None,
    metric: list[str] | None,
    n: str | None,
    control: str | None,
    output: list[str] | None,
) -> dict[str, Any]:
    """The side information of a result, by the names of `Study.tell`; None for what is missing."""
    return {
        "covariates": named(covariate, "--covariate"),
        "metrics": named(metric, "--metric"),
        "n": number(n, "--n"),
        "control": number(control, "--control"),
        "outputs": named(output, "--output"),
    }


def objective(text: str | None) -> Any:
    """The rule by which the value follows from the outputs.

    >>> objective("margin:cost=1,2;fixed=5"), objective("sum"), objective("weighted:1,2")
    ({'margin': {'cost': [1.0, 2.0], 'fixed': 5.0}}, 'sum', {'weighted': [1.0, 2.0]})
    """
    if text is None:
        return None
    kind, _, rest = text.partition(":")
    if kind == "margin":
        parts = {part.partition("=")[0]: part.partition("=")[2] for part in rest.split(";")}
        found = {name: vector(numbers, "--objective") or [] for name, numbers in parts.items()}
        return {kind: {name: one if name == "cost" else one[0] for name, one in found.items()}}
    return {kind: vector(rest, "--objective")} if rest else text


def contexts(text: str | None) -> dict[str, list[str]] | None:
    """The categories of each context.

    >>> contexts("day=week,sat;country=de,fr")
    {'day': ['week', 'sat'], 'country': ['de', 'fr']}
    """
    parts = [part.partition("=") for part in text.split(";")] if text else []
    return {name.strip(): _parts(known) for name, _, known in parts} or None


def context(given: list[str] | None) -> dict[str, str] | None:
    """The category of each context, as in --context day=sat."""
    parts = [one.partition("=") for one in given or []]
    return {name: category for name, _, category in parts} or None


def params(given: list[str] | None) -> dict[str, Any]:
    """A method's parameters from key=value items."""
    params: dict[str, Any] = {}
    for item in given or []:
        key, separator, value = item.partition("=")
        if not separator:
            raise ValueError(f"--param must be key=value, got {item!r}")
        try:
            params[key] = json.loads(value)
        except json.JSONDecodeError:
            params[key] = value
    return params


def read_stdin() -> Any:
    """The JSON on standard input."""
    try:
        return json.load(sys.stdin)
    except RecursionError:
        raise ValueError("--json expects JSON on standard input, and not nested that deeply") from None
    except ValueError as error:
        raise ValueError(f"--json expects JSON on standard input: {error}") from None


def check_none_lost(command: Callable[..., Any], given: Mapping[str, Any], instead: str) -> None:
    """Refuse options together with JSON on standard input, because nothing else is read then."""
    usual = inspect.signature(command).parameters.values()
    typed = [one.name for one in usual if one.default not in (one.empty, given[one.name])]
    if lost := [f"--{name.replace('_', '-')}" for name in typed if name != "json"]:
        raise ValueError(
            f"{', '.join(lost)}: not read with JSON on standard input. Put it into the JSON, or give "
            f"{instead} and everything else as options"
        )


def check_options(options: dict[str, Any], create: Callable[..., Any]) -> None:
    """Refuse options that `create` does not take from the shell."""
    known = [
        key
        for key in inspect.signature(create).parameters
        if key not in ("url", "name", "clock", "key", "token")
    ]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"a study has no {', '.join(unknown)}; it takes {', '.join(known)}")


def trial_as_data(trial: Any) -> dict[str, Any]:
    """A trial as JSON data."""
    fields = (
        "id",
        "kind",
        "keep",
        "state",
        "iteration",
        "point",
        "sample",
        "holder",
        "asked_at",
        "expires_at",
    )
    return {"x": trial.as_dict} | {name: getattr(trial, name) for name in fields}


def side_information_as_data(trial: Any) -> dict[str, Any]:
    """The side information recorded with a trial's value."""
    data = {"covariates": dict(trial.covariates), "metrics": dict(trial.metrics)}
    data |= {"n": trial.n, "control": trial.control, "outputs": dict(trial.outputs)}
    return {name: value for name, value in data.items() if value not in (None, {})}


def trial_as_text(trial: Any, spec: Any) -> str:
    """A trial as a heading and a line for each coordinate."""
    from driftopt.study import words

    width = max(map(len, trial.names))
    shown = zip(trial.names, words.as_typed(spec, trial.x.tolist()), strict=True)
    lines = [f"  {name:<{width}}  {value}" for name, value in shown]
    notes = ["keep what is deployed"] if trial.keep else []
    notes += [_DO_NOT_COUNT[trial.kind]] if trial.kind in _DO_NOT_COUNT else []
    head = f"trial {trial.id} ({trial.kind})" + (f": {'; '.join(notes)}" if notes else "")
    return "\n".join([head, *lines])


def result(one: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The arguments of `Study.tell` from JSON; x_deployed may be an object by name, and null means NaN."""
    from driftopt.study.records import Result, fields_of

    known = [part.name for part in fields_of(Result)]
    unknown = sorted(set(one) - set(known))
    if unknown:
        raise ValueError(f"a result has no {', '.join(unknown)}; it has {', '.join(known)}")
    value = one.get("value")
    if value is None and not one.get("outputs"):
        value = float("nan")
    deployed = one.get("x_deployed")
    if isinstance(deployed, dict):
        if set(deployed) != set(names):
            raise ValueError(f"x_deployed must name each of {', '.join(names)}")
        deployed = [deployed[key] for key in names]
    return one | {"value": value, "x_deployed": deployed}


def recommended(study: Any) -> dict[str, Any]:
    """The recommendation as JSON data."""
    from dataclasses import asdict

    found = study.recommend()
    gain = None if found.improvement is None else asdict(found.improvement)
    return {
        "x": found.as_dict,
        "results": found.results,
        "spent": found.spent,
        "improvement": gain,
        "gain": None if found.gain is None else asdict(found.gain),
        "note": found.note,
        **({} if found.warning is None else {"warning": found.warning}),
        **({"metrics": [asdict(one) for one in found.metrics]} if found.metrics else {}),
    }


def outcome(study: Any, id: Any, state: str) -> str:
    """The state of a trial, with the reason if its result is not used."""
    why = f": {study.trial(id).history[-1].reason}" if state == "failed" else ""
    return f"trial {id}: {state}{why}"


def trial_as_line(trial: Any, spec: Any) -> str:
    """A trial as one line: number, state, value, decision, and changes."""
    from driftopt.study import words

    value = "" if trial.value is None else f" {words.number(trial.value)}"
    decision = words.decision(spec, trial.x.tolist())
    why = trial.story or trial.reason or (trial.history[-1].reason if trial.history else None)
    line = f"{trial.id}  {trial.kind}  {trial.state}{value}  {decision}  {trial.holder}"
    return f"{line}  [{why}]" if why else line
