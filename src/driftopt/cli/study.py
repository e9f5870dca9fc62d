"""`driftopt study …`: live studies from cron and the shell; a command for each verb, from its record."""

import inspect
import json as encoder
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from driftopt.cli import study_io as io
from driftopt.cli.arguments import Flag, Json, Name, Url
from driftopt.study import Study, catalogue, words
from driftopt.study.facts import full_command
from driftopt.study.records import REQUIRED, Part, StudyOptions, as_json, decode, fields_of, request_from_json
from driftopt.study.trial import TrialState
from driftopt.study.verbs import VERBS, Verb

app = App(name="study")
# In the order of use; verbs that are not named here follow.
_ORDER = (
    *("forecast", "create", "new", "ask", "tell", "show", "recommend", "fail", "correct", "void", "accept"),
    *("hold", "trials", "trial", "why", "outlook", "page", "plot", "export", "stationarity", "extend"),
    *(
        "stop",
        "resume",
        "list",
        "verify",
        "import",
        "delete",
        "changes",
        "status",
        "summary",
        "course",
        "log",
    ),
)
_EXAMPLES = {
    "create": """create shop.db prices --x0 9.9,4.5 --budget 60 --radius 0.3
        create shop.db fees --x0 0.1,0.2 --bounds 0:1 --direction maximize
        create shop.db shelf --x0 2.2,5.4 --radius 0.2,0.5 --grid 0.05,0.1
        create --json shop.db prices < study.json""",
    "ask": """ask shop.db prices
        ask shop.db prices --purpose confirm
        ask shop.db prices --holder tea-shop --new""",
    "tell": """tell shop.db prices 1 12.5
        tell shop.db prices 1 12.5 --sem 0.4 --x-deployed 9.99,4.49
        tell shop.db prices 1 12.5 --covariate footfall=120 --covariate rain=0.5
        tell shop.db prices --json < results.json""",
    "fail": 'fail shop.db prices 1 "the shelf was empty"',
    "correct": 'correct shop.db prices 7 21.4 "lost decimal point"',
    "void": 'void shop.db prices 7 "the wrong week"',
    "accept": 'accept shop.db prices 7 "the day of the fair"',
    "hold": 'hold shop.db prices 7 "the till was down"',
    "extend": 'extend shop.db prices 80 "two more months"',
    "stop": 'stop shop.db prices "the shop closes"',
    "resume": 'resume shop.db prices "the till is mended"',
    "trials": "trials shop.db prices --state pending",
    "trial": "trial shop.db prices 7",
    "stationarity": "stationarity shop.db prices --low 0 --high 1",
    "page": "page shop.db prices prices.html",
    "plot": "plot shop.db prices prices.png",
    "export": "export shop.db prices prices.csv",
    "list": "list shop.db",
    "why": "why shop.db prices",
    "remind": "remind shop.db prices --to https://shop.example/hook --secret-file hook.txt",
    "outlook": "outlook shop.db prices --deployments 60",
    "new": "new shop.db prices-2 --from prices",
    "forecast": """forecast past.csv --coordinates 6 --value profit --unit €
        forecast --level 2000 --noise 500 --coordinates 6""",
    "import": "import shop.db prices.json --name prices-2",
    "delete": "delete shop.db prices --yes",
}
_MORE = {
    "create": "With --json and without --x0, the arguments of `Study.create` come from standard input as a "
    "JSON object; other options are then not allowed.",
    "ask": "Exit code 3 when there is none now, 4 when the budget is spent. A worker whose last deployment "
    "has no result gets it again, so that a job may run twice.",
    "tell": "Exit code 5 if the trial has another result, 6 if the result is held: an implausible value, for "
    "example with a lost decimal point, waits until you `accept` or `correct` it. Exit code 7 means that the "
    "result is recorded and that a hard limit was broken twice in a row. With --json and without an id, "
    'results come from standard input: {"id", "value"} with other fields, or a list of such objects.',
    "correct": "A corrected value always counts. If it is an outlier, the command says so.",
    "verify": "Exit code 1 if something is wrong.",
}
# The command to type next, for a person.
_NEXT = {
    **dict.fromkeys(("tell", "fail", "accept", "resume", "extend"), "ask"),
    **dict.fromkeys(("correct", "void", "hold", "trials", "stop"), "show"),
    "recommend": "page prices.html",
}
_POSITIONAL = ("id", "value", "budget", "reason")
_SIGNED = ("correct", "void", "accept", "hold", "extend", "stop", "resume")  # under the user's name


def _register(name: str, run: Callable[..., Any], help: str, parameters: Sequence[inspect.Parameter]) -> None:
    """Make a command known: its help, an example, and its place in the order of use."""
    command: Any = run
    command.__signature__ = inspect.Signature(parameters)
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    example = inspect.cleandoc(_EXAMPLES.get(name, f"{name} shop.db prices"))
    example = "\n".join(f"driftopt study {line}" for line in example.splitlines())
    more = f"{_MORE[name]}\n\n" if name in _MORE else ""
    command.__doc__ = f"{help}\n\n{more}```text\n{example}\n```"
    place = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    app.command(command, name=name, sort_key=place)


def _parameter(name: str, kind: Any, default: Any = REQUIRED, *, option: bool = False) -> inspect.Parameter:
    where = inspect.Parameter.KEYWORD_ONLY if option else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = inspect.Parameter.empty if default is REQUIRED else default
    return inspect.Parameter(name, where, default=default, annotation=kind)


def _of_part(part: Part, *, positional: bool, optional: bool) -> inspect.Parameter:
    """The argument for a field of a record; `optional` where it may come from standard input."""
    kind, default = io.typed(part), part.default
    if default is REQUIRED and optional:
        kind, default = Annotated[part.type | None, Parameter(help=part.help)], None
    elif isinstance(default, float):  # numbers are read as text
        default = None
    return _parameter(part.name, kind, default, option=not positional)


# Verbs


def _verb_command(verb: Verb) -> None:
    """Make the command of a verb."""
    parts = {part.name: part for part in fields_of(verb.record) if part.name != "key"}
    first = [name for name in _POSITIONAL if name in parts]
    options = [name for name in parts if name not in first]
    parameters = [_parameter("url", Url), _parameter("name", Name)]
    for name in (*first, *options):
        optional = verb.name == "tell" and verb.changes
        parameters.append(_of_part(parts[name], positional=name in first, optional=optional))
    parameters.append(_parameter("json", Json, False, option=True))
    signature = inspect.Signature(parameters)

    def run(*given: Any, **named: Any) -> None:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        typed = dict(bound.arguments)
        url, name, json = (typed.pop(part) for part in ("url", "name", "json"))
        with io.exits(json):
            if verb.name == "tell" and json and typed["id"] is None:
                io.check_none_lost(parameters, typed, "the trial's id and its value")
                with Study.open(url, name) as study:
                    _tell_from_stdin(study)
                return
            fields = {part: io.read(parts[part], text) for part, text in typed.items() if text is not None}
            if verb.name == "tell" and not ("id" in fields and {"value", "outputs"} & set(fields)):
                raise ValueError("the trial's id and its value are needed")
            if verb.name == "correct" and not {"value", "outputs"} & set(fields):
                raise ValueError("the value is needed")
            if verb.name in _SIGNED:
                fields.setdefault("who", io.this_user())
            if "holder" in parts and verb.changes:
                fields.setdefault("holder", io.this_user())
            with Study.open(url, name) as study:
                _print(study, verb.name, fields, study.do(verb.name, fields), json)

    _register(verb.name, run, verb.help, parameters)


def _print(study: Study, verb: str, fields: dict[str, Any], answer: Any, json: bool) -> None:
    """Print what a verb answered, and end with the exit code for it."""
    if json:
        data = _data(answer)
        if verb in ("ask", "trials"):
            data = data["trials"] if verb == "trials" or fields.get("count", 1) > 1 else data["trials"][0]
        print(encoder.dumps(data))
    else:
        print(_text(study, verb, fields, answer))
        if sys.stdout.isatty():
            print(_hint(study, verb, fields, answer), end="")
    if verb == "tell" and answer.state == "held":
        io.exit_held(study, [answer.id], json)
    for doubt in getattr(answer, "doubts", ()):
        slip = f"it counts, because you say so. If it is a slip, correct trial {answer.id} again"
        print(f"driftopt: {doubt}; {slip}", file=sys.stderr)
    if verb == "tell" and any(limit.get("hard") for limit in study.spec.limits.values()):
        study.check_halted()


def _data(answer: Any) -> Any:
    """An answer as JSON; without doubts where there are none."""
    data = as_json(answer)
    return {name: one for name, one in data.items() if name != "doubts" or one}


def _text(study: Study, verb: str, fields: dict[str, Any], answer: Any) -> str:
    """What a verb answered, for a person."""
    spec = study.spec
    if verb == "ask":
        return "\n".join(io.trial_as_text(one, spec) for one in answer.trials)
    if verb == "trials":
        return "\n".join(io.trial_as_line(one, spec) for one in answer.trials) or "no trials"
    if verb == "trial":
        return io.trial_as_line(answer, spec)
    if verb == "recommend":
        lines = io.decision_as_lines(answer.names, words.as_typed(spec, answer.x.tolist()))
        gain = answer.improvement
        known = "" if gain is None else f": {gain.mean:.6g} ± {gain.sem:.2g} (standard error)"
        notes = [f"{answer.note}{known}"] + ([answer.warning] if answer.warning else [])
        return "\n".join([*lines, *(f"# {one}" for one in [*notes, *(one.words for one in answer.metrics)])])
    if verb in ("stationarity", "outlook"):
        return answer.sentence
    if verb == "why":
        return "\n".join(answer.lines)
    if verb == "verify":
        return f"{answer.rows} rows, all as they were written"
    if verb == "extend":
        return f"study {study.name!r}: {answer.budget} deployments in all"
    if verb == "stop":
        return f"study {study.name!r} is stopped"
    if verb == "resume":
        now = "goes on" if answer.stopped is None else "is stopped, but may be confirmed again"
        return f"study {study.name!r} {now}"
    if isinstance(answer, TrialState):
        now = f", now {fields['value']!r}" if verb == "correct" and "value" in fields else ""
        failed = verb in ("tell", "correct", "accept") and answer.state == "failed"
        why = f": {study.trial(answer.id).history[-1].reason}" if failed else ""
        return f"trial {answer.id}: {answer.state}{why}{now}"
    return encoder.dumps(as_json(answer), indent=2, ensure_ascii=False)


def _hint(study: Study, verb: str, fields: dict[str, Any], answer: Any) -> str:
    """For a person at a terminal: the value next to what came before, and the command to type next."""
    lines: list[str] = []
    if verb == "tell" and "value" in fields:
        before = [t.value for t in study.trials("complete") if t.id != answer.id and t.value is not None]
        usual = f"; so far {words.number(min(before))} to {words.number(max(before))}" if before else ""
        lines.append(f"you reported {words.number(fields['value'])}{usual}")
    then = f"tell {answer.trials[0].id} VALUE" if verb == "ask" else _NEXT.get(verb)
    if then is not None:
        first, *rest = then.split(" ")
        lines.append(f"next: {full_command(study.place, study.name, first, *rest)}")
    return "".join(f"{line}\n" for line in lines)


def _tell_from_stdin(study: Study) -> None:
    """Report the results on standard input, all or none."""
    given = io.read_stdin()
    several = isinstance(given, list)
    needed = ({"id", "value"}, {"id", "outputs"})
    results: list[Any] = given if several else [given]
    if not all(isinstance(one, dict) and any(parts <= set(one) for parts in needed) for one in results):
        raise ValueError('each result on standard input must be an object with "id" and "value"')
    kind = "tell_many" if several else "tell"
    done = study.do(kind, request_from_json(VERBS[kind].record, {"answers": given} if several else given))
    states = list(done.states) if several else [done]
    print(encoder.dumps([_data(one) for one in states] if several else _data(done)))
    if held := [one.id for one in states if one.state == "held"]:
        io.exit_held(study, held, True)
    if any(limit.get("hard") for limit in study.spec.limits.values()):
        study.check_halted()


# Studies as a whole


def _create_command() -> None:
    """Make the command `create` from the arguments of `Study.create`."""
    parts = {part.name: part for part in fields_of(StudyOptions)}
    parameters = [_parameter("url", Url), _parameter("name", Name)]
    parameters += [io.option(part) for part in parts.values()]
    parameters.append(_parameter("json", Json, False, option=True))
    signature = inspect.Signature(parameters)

    def run(*given: Any, **named: Any) -> None:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        typed = dict(bound.arguments)
        url, name, json = (typed.pop(part) for part in ("url", "name", "json"))
        with io.exits(json):
            if typed["x0"] is None and json:
                io.check_none_lost(parameters, typed, "--x0")
                options = io.read_stdin()
                if not isinstance(options, dict) or "x0" not in options:
                    raise ValueError("the JSON object on standard input needs at least x0")
                decode(StudyOptions, options)  # and nothing else
            else:
                options = io.study_options(parts, typed)
            with Study.create(url, name, **options) as study:
                spec = study.spec
                done = {"study": name, "url": study.url, "budget": spec.budget, "seed": spec.seed}
                done |= {"method": spec.method, "params": spec.params}
                budgeted = "" if spec.budget is None else f"{spec.budget} deployments, "
                first = full_command(study.place, name, "ask")
                few = spec.budget is not None and spec.budget < 2 * spec.dim
                hopeless = f"; {spec.budget} deployments are few for {spec.dim} coordinates" if few else ""
                about = f"{budgeted}{spec.direction} by {spec.method}{hopeless}"
                text = f"study {name!r} created: {about}. The first deployment:\n  {first}"
                print(encoder.dumps(done) if json else text)

    _register("create", run, "Create a study.", parameters)


def _new(
    url: Url,
    name: Annotated[str, Parameter(help="The new study's name.")],
    *,
    old: Annotated[str, Parameter(name="--from", help="The study that it goes on from.")],
    budget: Annotated[int | None, Parameter(help="Its budget; by default the same.")] = None,
    json: Json = False,
) -> None:
    """Create a study from the recommendation of another one, whose results are its history."""
    with io.exits(json), Study.open(url, old) as before:
        more = {} if budget is None else {"budget": budget}
        with before.begin_again(url, name, **more) as study:
            first = full_command(study.place, name, "ask")
            known = f"{len(study.spec.history)} results of {old!r} are its history"
            said = f"study {name!r} created: {known}. The first deployment:\n  {first}"
            print(encoder.dumps({"study": name, "url": study.url}) if json else said)


def _forecast(
    past: Annotated[
        Path | None, Parameter(help="A CSV file with a column of past values, and `date`.")
    ] = None,
    /,
    *,
    coordinates: Annotated[int, Parameter(help="How many numbers a decision has.")],
    value: Annotated[str, Parameter(help="The name of the column with the values.")] = "value",
    level: Annotated[float | None, Parameter(help="The value of a day, without a file.")] = None,
    noise: Annotated[float | None, Parameter(help="The standard deviation of a day, without a file.")] = None,
    change: Annotated[
        float | None, Parameter(help="How much better the best may be: a share of the value.")
    ] = None,
    days: Annotated[str, Parameter(help="When to look, comma-separated.")] = "30,60,120",
    unit: Annotated[str, Parameter(help="Of the value.")] = "",
    json: Json = False,
) -> None:
    """Forecast what a search would reach and cost, before it begins, by simulating searches like it."""
    from rich.progress import Progress

    from driftopt.study.forecast import forecast

    with io.exits(json):
        ends = [int(io.whole(part, "--days")) for part in days.split(",")]
        with Progress(transient=True, disable=json or not sys.stderr.isatty()) as bar:
            task = bar.add_task("simulating", total=1.0)
            found = forecast(
                past,
                coordinates=coordinates,
                value=value,
                level=level,
                noise=noise,
                change=change,
                days=ends,
                unit=unit,
                progress=lambda share: bar.update(task, completed=share),
            )
        print(encoder.dumps(as_json(found)) if json else "\n".join(found.lines))


def _remind(
    url: Url,
    name: Name,
    *,
    to: Annotated[str, Parameter(help="The receiver, https://….")],
    secret_file: Annotated[Path, Parameter(help="The key of the signature.")],
    kept: Annotated[Path, Parameter(help="Keeps what was received.")] = Path("reminders.json"),
    hours: Annotated[float, Parameter(help="How long a trial may be without a result.")] = 24.0,
    json: Json = False,
) -> None:
    """Post to a webhook what waits for someone: trials without a result, held results, a halt, warnings."""
    from driftopt.study.reminders import remind

    with io.exits(json), Study.open(url, name) as study:
        sent = remind(study, to, secret_file.read_text().strip(), kept, hours)
        print(encoder.dumps(sent) if json else "\n".join(sent) or "nothing new waits for anyone")


def _show(url: Url, name: Name, *, json: Json = False) -> None:
    """Show the study and what to do now: values, recommendation, pending deployments, failures."""
    from rich.console import Console

    with io.exits(json), Study.open(url, name) as study:
        if json:
            found = as_json(study.summary())
            print(encoder.dumps({"summary": found, "recommendation": found["recommendation"]}))
        else:
            Console().print(study.page())


def _to_file(write: str, what: str) -> Callable[..., None]:
    """A command that writes a file."""

    def run(
        url: Url,
        name: Name,
        path: Annotated[Path, Parameter(help="The file; its ending sets the format.")],
        *,
        json: Json = False,
    ) -> None:
        with io.exits(json), Study.open(url, name) as study:
            written = str(getattr(study, write)(path))
            print(encoder.dumps({"path": written}) if json else written)

    run.__doc__ = what
    return run


def _list(url: Url, *, json: Json = False) -> None:
    """List the studies in a database."""
    with io.exits(json):
        listed = catalogue.studies(url)
        lines = [
            f"{one.name}  {words.of_budget(one.spent, one.budget)}, {one.method}, {one.direction}, since "
            f"{words.date(one.created_at)} (UTC){', stopped' if one.stopped else ''}"
            for one in listed
        ]
        print(encoder.dumps([one._asdict() for one in listed]) if json else "\n".join(lines) or "no studies")


def _delete(
    url: Url,
    name: Name,
    *,
    yes: Annotated[Flag, Parameter(help="Confirm the deletion.")] = False,
    json: Json = False,
) -> None:
    """Delete a study and its whole log permanently; export it first."""
    with io.exits(json):
        if not yes:
            raise ValueError(f"--yes is needed to delete study {name!r} and all its results; export it first")
        rows = catalogue.delete(url, name)
        said = f"study {name!r} and its {rows} rows are deleted"
        print(encoder.dumps({"study": name, "rows": rows}) if json else said)


def _import(
    url: Url,
    path: Annotated[Path, Parameter(help="A .json file from `export`.")],
    *,
    name: Annotated[str | None, Parameter(help="Another name for it.")] = None,
    json: Json = False,
) -> None:
    """Import a study from a file that `export` wrote, with identical results and state."""
    with io.exits(json), catalogue.load(url, path, name) as study:
        done: dict[str, Any] = {"study": study.name, "url": study.url, "trials": len(study.trials())}
        said = f"study {study.name!r} imported: {done['trials']} deployments"
        print(encoder.dumps(done) if json else said)


_create_command()
for _verb in VERBS.values():
    if _verb.name != "tell_many":  # `tell` takes a list from standard input
        _verb_command(_verb)
for _name, _run in {
    "new": _new,
    "remind": _remind,
    "forecast": _forecast,
    "show": _show,
    "list": _list,
    "delete": _delete,
    "import": _import,
    "export": _to_file("export", "Write every trial to a .csv, .json or .parquet file."),
    "plot": _to_file("plot", "Draw values, control and each coordinate into a .png, .pdf or .svg file."),
    "page": _to_file("write_page", "Write the study as one self-contained .html file, with pictures."),
}.items():
    _register(_name, _run, inspect.getdoc(_run) or "", list(inspect.signature(_run).parameters.values()))
