"""Values of the study commands: options as people type them, trials as people read them, exit codes."""

import getpass
import inspect
import json
import re
import socket
import sys
import textwrap
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal, NoReturn, get_args, get_origin

from cyclopts import Parameter

from driftopt.cli.arguments import Flag
from driftopt.study import Study, words
from driftopt.study.errors import BudgetSpent, Conflict, Halted, NothingToAsk, StudyError
from driftopt.study.facts import full_command
from driftopt.study.past import rows_of
from driftopt.study.records import Part
from driftopt.study.trial import Trial

_HELD = 6
_CODES = ((Halted, 7), (BudgetSpent, 4), (NothingToAsk, 3), (Conflict, 5), ((ValueError, OSError), 2))
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

    keep_compiled()
    try:
        yield
    except (StudyError, ValueError, FileNotFoundError, PermissionError) as error:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), 1)
        if as_json:
            data = {"error": str(error), "kind": type(error).__name__, "code": code}
            print(json.dumps(data), file=sys.stderr)
        elif isinstance(error, StudyError):
            print(f"driftopt: {error}", file=sys.stderr)
        else:
            raise  # a mistake in the command, which `main` prints for all commands
        sys.exit(code)


def exit_held(study: Study, ids: Sequence[int], as_json: bool) -> NoReturn:
    """Print which results are held and what to type, and end with the exit code for that."""
    many = len(ids) > 1
    what = "they are held and do not count" if many else "it is held and does not count"
    it = "one is" if many else "it is"
    error = f"trial {', '.join(map(str, ids))}: implausible, given all other results, so {what}"
    calls = [("trials --state held",)] * many + [("accept", str(ids[0])), ("correct", str(ids[0]), "VALUE")]
    commands = [full_command(study.place, study.name, *call) for call in calls]
    data = {"error": error, "kind": "Held", "code": _HELD, "commands": commands}
    lines = [f"driftopt: {error}. If {it} true, accept, else correct:", *(f"  {line}" for line in commands)]
    print(json.dumps(data) if as_json else "\n".join(lines), file=sys.stderr)
    sys.exit(_HELD)


def this_user() -> str:
    """The user and the machine: the same tomorrow, unlike a process."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):  # a container's user may have no name
        return socket.gethostname()


# Options from the fields of records


def _is_table(part: Part) -> bool:
    return "Mapping" in str(part.type)


def _sentence(part: Part) -> str:
    return part.help[:1].upper() + part.help[1:]


def typed(part: Part) -> Any:
    """The type with which the parser reads a field; numbers and tables are read here, as text."""
    if _is_table(part):  # one at a time: --covariate rain=1
        name = f"--{part.name.removesuffix('s')}"
        return Annotated[list[str] | None, Parameter(name=name, negative=(), help=_sentence(part))]
    several = get_args(part.type)
    if part.type is bool:
        return Annotated[Flag, Parameter(help=_sentence(part))]
    if get_origin(part.type) is Literal or any(get_origin(one) is Literal for one in several):
        return Annotated[part.type, Parameter(help=_sentence(part))]
    if int in (part.type, *several) or str in (part.type, *several):
        return Annotated[part.type, Parameter(help=_sentence(part))]
    return Annotated[str | None, Parameter(allow_leading_hyphen=True, help=_sentence(part))]


def read(part: Part, given: Any) -> Any:
    """A field of a record from what was typed."""
    option = part.name if part.name == "value" else f"--{part.name.removesuffix('s').replace('_', '-')}"
    if _is_table(part):
        return _context(given) if "str, str" in str(part.type) else _named(given, option)
    if not isinstance(given, str) or "str" in str(part.type) or "Literal" in str(part.type):
        return given
    return _number(given, option, given) if part.numeric else _vector(given, option)


# How the arguments of `Study.create` are typed: the form, and the words for it in the help.
_FORMS: dict[str, tuple[Callable[[str, str], Any], str]] = {}


def option(part: Part) -> inspect.Parameter:
    """The option for an argument of `Study.create`."""
    kind, name, default = typed(part), f"--{part.name.replace('_', '-')}", part.default
    help = _sentence(part)
    if part.name == "lease":
        kind = Annotated[float, Parameter(name="--lease-days", help="Days after which a deployment expires.")]
        default = 7.0
    elif part.name == "outliers":
        help = "Hold no result, however implausible it is."
        kind, default = Annotated[Flag, Parameter(name="--no-outliers", help=help)], False
    elif part.name == "params":
        kind = Annotated[list[str] | None, Parameter(name="--param", negative=(), help=f"{help} key=value.")]
    elif part.name in _FORMS:
        help = f"{help} {_FORMS[part.name][1]}"
        kind = Annotated[str | None, Parameter(name=name, allow_leading_hyphen=True, help=help)]
        default = None
    elif part.name == "rng":
        kind = Annotated[int | None, Parameter(help="A seed.")]
    return inspect.Parameter(part.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def study_options(parts: Mapping[str, Part], typed: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Study.create` from what was typed."""
    if typed["x0"] is None:
        raise ValueError("--x0 is needed")
    known = _names(typed["names"]) if typed["names"] else None
    _refuse_decimal_commas(typed["x0"], known)
    options: dict[str, Any] = {}
    for name, given in typed.items():
        if given is not None:
            option = f"--{name.replace('_', '-')}"
            if name in _FORMS:
                options[name] = _FORMS[name][0](given, option)
            else:
                number = parts[name].numeric and isinstance(given, str)
                options[name] = _number(given, option, given) if number else given
    for name in ("bounds", "grid"):  # one for all coordinates
        if len(options.get(name, ())) == 1:
            options[name] = options[name] * len(options["x0"])
    options |= {"lease": typed["lease"] * 86400, "outliers": not typed["outliers"]}
    return options | ({"params": _params(typed["params"])} if typed["params"] else {})


def _refuse_decimal_commas(text: str, known: list[str] | None) -> None:
    """Refuse 4,50,8,50, which may be two prices or four: nothing is guessed."""
    parts = _parts(text)
    pairs = [(parts[i], parts[i + 1]) for i in range(0, len(parts) - 1, 2)]
    odd = len(parts) % 2 or not all(one.isdigit() and two.isdigit() and len(two) == 2 for one, two in pairs)
    if " " in text or odd or (known is not None and len(known) == len(parts)):
        return
    few, many = ",".join(f"{one}.{two}" for one, two in pairs), ", ".join(parts)
    raise ValueError(
        f"--x0 {text} may be {len(pairs)} or {len(parts)} numbers: type {few}, or {many!r} with blanks"
    )


# Options as people type them


def _parts(text: str) -> list[str]:
    """The parts between commas, without blanks around them.

    >>> _parts("footfall, rain")
    ['footfall', 'rain']
    """
    return [part.strip() for part in text.split(",")]


def _names(text: str, _: str = "") -> list[str]:
    return _parts(text)


def _number(part: str, option: str, text: str) -> float:
    """One number as people write it, which excludes Python's 1_000.5; alone, or in a longer text."""
    if part == text:
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"{option} must be a number, got {text!r}{_as_typed(text)}")
    elif not _NUMBER.fullmatch(part.strip()):
        raise ValueError(f"{option}: {part.strip()!r} in {text!r} is not a number{_as_typed(part)}")
    return float(part)


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


def whole(text: str, option: str) -> float:
    """One number of a list."""
    return _number(text, option, f"{text} ")


def _vector(text: str, option: str) -> list[float]:
    """The numbers of a comma-separated option."""
    parts = text.split(",")
    return [_number(part, option, text if len(parts) > 1 else part) for part in parts]


def _one_or_several(text: str, option: str) -> float | list[float]:
    numbers = _vector(text, option)
    return numbers[0] if len(numbers) == 1 else numbers


def _bounds(text: str, option: str) -> list[tuple[float | None, float | None]]:
    """Pairs as in 0:1,0:2; an empty side is open."""
    pairs: list[tuple[float | None, float | None]] = []
    for part in _parts(text):
        low, separator, high = part.partition(":")
        if not separator:
            raise ValueError(f"{option} must be low:high pairs, comma-separated; got {text!r}")
        sides = [_number(side, option, text) if side.strip() else None for side in (low, high)]
        pairs.append((sides[0], sides[1]))
    return pairs


def _grid(text: str, option: str) -> list[Any]:
    """Steps as in 0.05,1,0.5@9.99; an empty one is a continuous coordinate."""
    steps: list[Any] = []
    for part in _parts(text):
        step, separator, through = part.partition("@")
        one = _number(step, option, text) if part else None
        steps.append((one, _number(through, option, text)) if separator else one)
    return steps


def _json(text: str, option: str) -> Any:
    examples = {"--limits": '{"complaints": {"max": 5}}', "--constraints": '{"A": [[1, 1]], "ub": [8]}'}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{option} must be JSON, such as {examples[option]}; got {text[:80]!r}") from None


def _objective(text: str, option: str) -> Any:
    """The rule by which the value follows from the outputs.

    >>> _objective("margin:cost=1,2;fixed=5", "--objective"), _objective("sum", "--objective")
    ({'margin': {'cost': [1.0, 2.0], 'fixed': 5.0}}, 'sum')
    """
    kind, _, rest = text.partition(":")
    if kind == "margin":
        parts = {part.partition("=")[0]: part.partition("=")[2] for part in rest.split(";")}
        found = {name: _vector(numbers, option) for name, numbers in parts.items()}
        return {kind: {name: one if name == "cost" else one[0] for name, one in found.items()}}
    return {kind: _vector(rest, option)} if rest else text


def _contexts(text: str, _: str) -> dict[str, list[str]]:
    """The categories of each context.

    >>> _contexts("day=week,sat;country=de,fr", "--contexts")
    {'day': ['week', 'sat'], 'country': ['de', 'fr']}
    """
    parts = [part.partition("=") for part in text.split(";")]
    return {name.strip(): _parts(known) for name, _, known in parts}


_FORMS.update(
    x0=(_vector, "Numbers, comma-separated."),
    radius=(_one_or_several, "Numbers, comma-separated, or one for all."),
    names=(_names, "Comma-separated."),
    bounds=(_bounds, "As low:high, comma-separated; one pair applies to all."),
    constraints=(_json, 'As JSON, {"A": [[1, 1, 0]], "ub": [8]}.'),
    grid=(
        _grid,
        "Comma-separated, such as 0.05,1,0.5@9.99 (9.99 and every half around it); empty: continuous.",
    ),
    covariates=(_names, "Comma-separated."),
    limits=(_json, "As JSON."),
    outputs=(_names, "Comma-separated."),
    objective=(_objective, "As 'margin:cost=1,2;fixed=0', sum, or 'weighted:1,2'."),
    contexts=(_contexts, "As 'day=week,sat;country=de,fr'."),
    season=(_names, "Comma-separated."),
    history=(lambda path, _: rows_of(path), "The path of a CSV file."),
)


def _named(given: Sequence[str], option: str) -> dict[str, float]:
    """Numbers by name, as in --covariate footfall=120 --covariate rain=0.5."""
    table: dict[str, float] = {}
    for item in given:
        before, separator, text = item.rpartition("=")
        name = before.strip()
        if not separator or not name:
            raise ValueError(f"{option} must be name=number, got {item!r}")
        if name in table:
            raise ValueError(f"{option}: {name!r} is given twice")
        table[name] = _number(text.strip(), option, item)
    return table


def _context(given: Sequence[str]) -> dict[str, str]:
    return {name: category for name, _, category in (one.partition("=") for one in given)}


def _params(given: Sequence[str]) -> dict[str, Any]:
    """A method's parameters from key=value items."""
    params: dict[str, Any] = {}
    for item in given:
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


def check_none_lost(parameters: Iterable[inspect.Parameter], given: Mapping[str, Any], instead: str) -> None:
    """Refuse options together with JSON on standard input, because nothing else is read then."""
    lost: list[str] = []
    for one in parameters:
        if one.default is not one.empty and given.get(one.name, one.default) != one.default:
            (found,) = [part for part in get_args(one.annotation) if isinstance(part, Parameter)][-1:]
            lost.append(next(iter(found.name or ()), f"--{one.name.replace('_', '-')}"))
    if lost:
        raise ValueError(
            f"{', '.join(lost)}: not read with JSON on standard input. Put it into the JSON, or give "
            f"{instead} and everything else as options"
        )


# Trials as people read them


def decision_as_lines(names: Sequence[str], shown: Sequence[str]) -> list[str]:
    """A line for each coordinate."""
    width = max(map(len, names))
    return [f"{name:<{width}}  {value}" for name, value in zip(names, shown, strict=True)]


def trial_as_text(trial: Trial, spec: Any) -> str:
    """A trial as a heading and a line for each coordinate."""
    notes = ["keep what is deployed"] if trial.keep else []
    notes += [_DO_NOT_COUNT[trial.kind]] if trial.kind in _DO_NOT_COUNT else []
    head = f"trial {trial.id} ({trial.kind})" + (f": {'; '.join(notes)}" if notes else "")
    lines = decision_as_lines(trial.names, words.as_typed(spec, trial.x.tolist()))
    return "\n".join([head, *(f"  {line}" for line in lines)])


def trial_as_line(trial: Trial, spec: Any) -> str:
    """A trial in a few lines of at most 80 columns: number, kind, state, value, holder; decision; changes."""
    value = "" if trial.value is None else f" {words.number(trial.value)}"
    why = trial.story or trial.reason or (trial.history[-1].reason if trial.history else None)
    head = f"{trial.id}  {trial.kind}  {trial.state}{value}  {words.short(trial.holder, 30)}"
    below = [words.decision(spec, trial.x.tolist(), 4), *([f"[{why}]"] if why else [])]
    return "\n".join([head, *(textwrap.indent(textwrap.fill(line, 77), "   ") for line in below)])
