"""`driftopt study …`: live studies for people who live in cron and the shell.

Longer than 300 lines: a dozen short commands, and most of their lines are the help that a user reads.
"""

from pathlib import Path
from typing import Any, Literal

from cyclopts import App

from driftopt.cli import study_io as io
from driftopt.cli.arguments import Flag, Id, Json, Name, Number, Repeated, Url
from driftopt.cli.study_care import COMMANDS

app = App(
    name="study",
    help="""Ask and tell on a live system, over days, through a database.

    ```text
    driftopt study create shop.db prices --x0 9.9,4.5 --budget 60 --radius 0.3
    driftopt study ask shop.db prices           deploy what it prints
    driftopt study tell shop.db prices 1 12.5   a week later, what was measured
    driftopt study recommend shop.db prices
    ```

    Exit codes: 0 done; 2 a mistake in the command; 3 nothing to ask now, try again later; 4 the budget is
    spent; 5 a trial was told twice, differently; 6 an answer is implausible and is held; 7 a hard limit has
    halted the study; 1 anything else.
    """,
)


@app.command
def create(
    url: Url,
    name: Name,
    *,
    x0: Number = None,
    budget: int | None = None,
    radius: Number = None,
    names: str | None = None,
    method: str | None = None,
    param: Repeated = None,
    bounds: Number = None,
    constraints: str | None = None,
    grid: Number = None,
    direction: Literal["minimize", "maximize"] = "minimize",
    rng: int | None = None,
    parallel: int = 1,
    lease_days: float = 7.0,
    max_failures: int = 3,
    tolerance: float | None = None,
    max_change: float | None = None,
    control_every: int | None = None,
    reserve: int = 0,
    settle: int = 1,
    guard: float = 60.0,
    covariates: str | None = None,
    limits: str | None = None,
    relative_to_control: Flag = False,
    json: Flag = False,
) -> None:
    """Begin a study.

    ```text
    driftopt study create shop.db prices --x0 9.9,4.5 --budget 60 --radius 0.3
    driftopt study create shop.db fees --x0 0.1,0.2 --bounds 0:1 --budget 60
    driftopt study create shop.db shelf --x0 2.2,5.4 --radius 0.2,0.5 --grid 0.05,0.1 --budget 60
    driftopt study create --json shop.db prices < study.json
    ```

    Args:
        x0: the decision in force today: numbers, comma-separated.
        budget: how many deployments may be made in all.
        radius: about how far a trial decision should be from the present one, in the units of x. For auto a
            first guess; --param max_radius=… is the promise that none is farther. One for each coordinate,
            comma-separated, makes these the units of every distance.
        names: a name for each coordinate, comma-separated.
        method: a name from `driftopt methods`; auto unless given.
        param: a parameter of the method, key=value; may be given again.
        bounds: low:high for each coordinate, comma-separated; one pair holds for all.
        constraints: JSON, {"A": [[1, 1, 0]], "ub": [8]} or a list of such, lb and ub: what every decision
            keeps.
        grid: the step of each coordinate, comma-separated, such as 0.05,1,0.5@9.99 (9.99 and every half
            around it); empty for a continuous one; one step holds for all.
        direction: whether values are to become small or large.
        rng: a seed.
        parallel: directions in one iteration, up to 1,000, so that as many deployments can run together.
        lease_days: after so many days an unanswered deployment may be handed out again.
        max_failures: failures at one point after which the iteration is redrawn.
        tolerance: how far the deployed point may be from the asked one.
        max_change: the largest distance between two consecutive deployments.
        control_every: deploy the start first and again after every so many other deployments; 1: every second
            deployment is the start.
        reserve: deployments kept for confirmation and stationarity. To tell an improvement takes two pairs of
            start and recommendation, so 4, times --settle; one where values come with a --sem.
        settle: hold every decision for so many deployments and use the last answer.
        guard: hold an answer so many times as far outside of the range of the last 30 as an answer usually is
            from the one before it; 0: hold none.
        covariates: names, comma-separated, of what else is known of each deployment and the decision cannot
            move, such as footfall,rain: it is told with the value, and what it explains is taken out.
        limits: JSON, {"complaints": {"max": 5}}, with "min" or "hard": true as well: how large or small
            metrics told with each value may become.
        relative_to_control: values count as differences to control.
        json: read the arguments of Study.create from standard input as a JSON object, unless --x0 is given,
            and answer in JSON. No other option is taken beside such an object.
    """
    from driftopt.study import Study
    from driftopt.study.next_step import full_command

    given = locals()
    with io.exits(json):
        if x0 is None and json:
            io.check_none_lost(create, given, "--x0 and --budget")
            options: Any = io.read_stdin()
            if not isinstance(options, dict) or "x0" not in options or "budget" not in options:
                raise ValueError("the JSON object on standard input needs at least x0 and budget")
            io.check_options(options, Study.create)
        else:
            start = io.vector(x0, "--x0")
            if start is None or budget is None:
                raise ValueError("--x0 and --budget are needed")
            options = {
                "x0": start,
                "budget": budget,
                "radius": io.one_or_several(radius, "--radius"),
                "method": method,
                "params": io.params(param),
            }
            options |= {
                "names": io.names(names),
                "direction": direction,
                "rng": rng,
            }
            options |= {
                "bounds": io.bounds(bounds, len(start)),
                "constraints": io.constraints(constraints),
                "grid": io.grid(grid, len(start)),
                "parallel": parallel,
                "lease": lease_days * 86400,
            }
            options |= {"max_failures": max_failures, "tolerance": tolerance, "max_change": max_change}
            options |= {
                "control_every": control_every,
                "reserve": reserve,
                "settle": settle,
                "guard": guard or None,
                "covariates": io.names(covariates),
                "limits": io.limits(limits),
                "relative_to_control": relative_to_control,
            }
        with Study.create(url, name, **options) as study:
            done = {"study": name, "url": study.url, "budget": study.spec.budget, "seed": study.spec.seed}
            done |= {"method": study.spec.method, "params": study.spec.params}
            first = full_command(study.place, name, "ask")
            plan = f"{study.spec.budget} deployments, {study.spec.direction} by {study.spec.method}"
            io.say(json, done, lambda: f"study {name!r} created: {plan}. What to deploy first:\n  {first}")


@app.command
def ask(
    url: Url,
    name: Name,
    *,
    count: int = 1,
    purpose: Literal["method", "confirm", "stationarity"] = "method",
    holder: str | None = None,
    new: Flag = False,
    json: Json = False,
) -> None:
    """Take the next deployment; exit code 3 when there is none now, 4 when the budget is spent.

    Whoever has not answered the last one gets it again, so that a job may run twice.

    ```text
    driftopt study ask shop.db prices
    driftopt study ask shop.db prices --purpose confirm
    driftopt study ask shop.db prices --holder tea-shop --new
    ```

    Args:
        count: take up to so many at once; with --json the answer is then a list.
        purpose: to optimise, to confirm the recommendation, or to measure how stationary it is.
        holder: who deploys it; the user and the machine unless given.
        new: take another one, although the last is not answered.
    """
    from driftopt import checks
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        trials = study.ask_many(checks.one_count("--count", count), purpose, holder or io.this_user(), new)
        data = [io.trial_as_data(trial) for trial in trials]
        io.say(
            json,
            data if count > 1 else data[0],
            lambda: "\n".join(io.trial_as_text(trial, study.spec) for trial in trials),
        )


@app.command
def tell(
    url: Url,
    name: Name,
    id: Id | None = None,
    value: Number = None,
    *,
    sem: Number = None,
    x_deployed: Number = None,
    covariate: Repeated = None,
    metric: Repeated = None,
    n: Number = None,
    control: Number = None,
    who: str | None = None,
    json: Flag = False,
) -> None:
    """Answer a deployment; exit code 5 when it was told otherwise before, 6 when the answer is held. Quick.

    A value far from all others, as a lost decimal point makes it, is held: `accept` or `correct` it. Exit
    code 7 says that the answer is recorded, and that a hard limit was broken twice in a row.

    ```text
    driftopt study tell shop.db prices 1 12.5
    driftopt study tell shop.db prices 1 12.5 --sem 0.4 --x-deployed 9.99,4.49
    driftopt study tell shop.db prices 1 12.5 --covariate footfall=120 --covariate rain=0.5
    echo '{"id": 1, "value": 12.5}' | driftopt study tell shop.db prices --json
    ```

    Args:
        value: what was measured; nan says that it failed.
        sem: the value's standard error, if known.
        x_deployed: what was really deployed, where it differs: numbers, comma-separated.
        covariate: what else is known, name=number; may be given again.
        metric: what else was measured and has a limit, name=number; may be given again.
        n: how many customers, visits, … the value is a mean of, where its standard error is not known.
        control: what the start's decision gave at the same time, in a second store.
        who: who says so, for the log; nobody, unless given.
        json: read {"id", "value"} with "sem", "x_deployed", "covariates", "metrics", "n", "control",
            "who", or a list of such, from standard input, unless an id is given, and answer in JSON. No
            other option is taken beside it.
    """
    from driftopt.study import Study

    typed = locals()
    with io.exits(json):
        if id is None and json:
            io.check_none_lost(tell, typed, "the trial's id and its value")
            given = io.read_stdin()
            answers: list[Any] = given if isinstance(given, list) else [given]
            if not all(isinstance(one, dict) and {"id", "value"} <= set(one) for one in answers):
                raise ValueError('each answer on standard input must be an object with "id" and "value"')
        else:
            if id is None or value is None:
                raise ValueError("the trial's id and its value are needed")
            given, deployed = None, io.vector(x_deployed, "--x-deployed")
            told, error = io.number(value, "value"), io.number(sem, "--sem")
            answers = [{"id": id, "value": told, "sem": error, "x_deployed": deployed}]
            answers[0] |= io.beside(covariate, metric, n, control) | {"who": who}
        with Study.open(url, name) as study:
            told = [io.answer(one, study.spec.names) for one in answers]
            states = study.tell_many(told) if isinstance(given, list) else [study.tell(**told[0])]
            done = [{"id": one["id"], "state": state} for one, state in zip(told, states, strict=True)]
            data = done if isinstance(given, list) else done[0]
            held = [one["id"] for one in done if one["state"] == "held"]
            held += study.doubted  # the first answers are judged when a dozen are in
            io.say(json, data, lambda: io.outcome(study, done[0]["id"], done[0]["state"]))
            if held:
                io.say_held(study, held, json)
            if any(limit.get("hard") for limit in study.spec.limits.values()):
                study.check_halted()


@app.command
def fail(
    url: Url, name: Name, id: Id, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Say that a deployment gave no answer; its point will be asked again.

    Args:
        reason: why, in a few words, for the log.
        who: who says so; nobody, unless given.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        state = study.fail(id, reason, who=who)
        io.say(json, {"id": id, "state": state}, lambda: f"trial {id}: {state}")


@app.command
def show(url: Url, name: Name, *, json: Json = False) -> None:
    """Show how the study is going and what to do now: values, recommendation, who holds what, failures."""
    from rich.console import Console

    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        if json:
            data = {"summary": study.summary().as_dict, "recommendation": io.recommended(study)}
            io.say(json, data, str)
        else:
            Console().print(study.page())


@app.command
def recommend(url: Url, name: Name, *, json: Json = False) -> None:
    """Print the decision to deploy, with what is known of its improvement over the start."""
    from driftopt.study import Study, words

    with io.exits(json), Study.open(url, name) as study:
        found = io.recommended(study)
        width = max(map(len, found["x"]))
        shown = zip(found["x"].items(), words.as_typed(study.spec, found["x"].values()), strict=True)
        lines = [f"{key:<{width}}  {value}" for (key, _), value in shown]
        gain = found["improvement"]
        known = "" if gain is None else f": {gain['mean']:.6g} ± {gain['sem']:.2g} (standard error)"
        said = [found["note"] + known] + ([found["warning"]] if "warning" in found else [])
        said += [one.words for one in study.recommend().metrics]
        io.say(json, found, lambda: "\n".join([*lines, *(f"# {one}" for one in said)]))


@app.command
def stationarity(
    url: Url,
    name: Name,
    *,
    confidence: float = 0.95,
    value_range: str | None = None,
    json: Json = False,
) -> None:
    """Say how stationary the recommendation is, from deployments asked with --purpose stationarity.

    Args:
        confidence: the level of the bound.
        value_range: low:high, which no value can leave: 0:1 for a rate. The level then holds for rare events
            too.
    """
    from dataclasses import asdict

    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        report = study.stationarity(confidence, io.value_range(value_range))
        io.say(json, asdict(report) | {"sentence": report.sentence}, lambda: report.sentence)


@app.command
def export(url: Url, name: Name, path: Path, *, json: Json = False) -> None:
    """Write every trial to a .csv, .json or .parquet file.

    Args:
        path: the file; its ending says which kind.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        written = str(study.export(path))
        io.say(json, {"path": written}, lambda: written)


@app.command
def plot(url: Url, name: Name, path: Path, *, json: Json = False) -> None:
    """Draw values, control and each coordinate over the calendar into a .png, .pdf or .svg file.

    Args:
        path: the file; its ending says which kind.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        written = str(study.plot(path))
        io.say(json, {"path": written}, lambda: written)


@app.command
def page(url: Url, name: Name, path: Path, *, json: Json = False) -> None:
    """Write the study as one .html file: what `show` says, with the picture inside; it fetches nothing.

    Args:
        path: the file, ending in .html.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        written = str(study.write_page(path))
        io.say(json, {"path": written}, lambda: written)


for _name, _command in COMMANDS.items():
    app.command(_command, name=_name)
