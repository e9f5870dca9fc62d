"""`driftopt study …`: live studies from cron and the shell."""

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
    driftopt study tell shop.db prices 1 12.5   a week later, report what you measured
    driftopt study recommend shop.db prices
    ```

    Exit codes: 0 done; 2 a mistake in the command; 3 nothing to ask now, try again later; 4 the budget is
    spent; 5 a trial has another result already; 6 a result is an outlier and is held; 7 a hard limit has
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
    max_loss: float | None = None,
    max_loss_total: float | None = None,
    control_every: int | None = None,
    reserve: int = 0,
    settle: int = 1,
    no_outliers: Flag = False,
    covariates: str | None = None,
    limits: str | None = None,
    relative_to_control: Flag = False,
    outputs: str | None = None,
    objective: str | None = None,
    contexts: str | None = None,
    json: Flag = False,
) -> None:
    """Create a study.

    ```text
    driftopt study create shop.db prices --x0 9.9,4.5 --budget 60 --radius 0.3
    driftopt study create shop.db fees --x0 0.1,0.2 --bounds 0:1 --budget 60
    driftopt study create shop.db shelf --x0 2.2,5.4 --radius 0.2,0.5 --grid 0.05,0.1 --budget 60
    driftopt study create --json shop.db prices < study.json
    ```

    Args:
        x0: the decision in force today: numbers, comma-separated.
        budget: the total number of deployments; by default the study goes on until it is stopped.
        radius: about how far a first trial may be from the present decision, in the units of x. One for each
            coordinate, comma-separated, makes these the units of every distance.
        names: a name for each coordinate, comma-separated.
        method: a name from `driftopt methods`; by default the model.
        param: a parameter of the method, key=value; repeatable.
        bounds: low:high for each coordinate, comma-separated; one pair applies to all.
        constraints: JSON, {"A": [[1, 1, 0]], "ub": [8]} with lb and ub, or a list of such objects; every
            decision satisfies them.
        grid: the step of each coordinate, comma-separated, such as 0.05,1,0.5@9.99 (9.99 and every half
            around it); empty for a continuous one; one step applies to all.
        direction: whether to make values small or large.
        rng: a seed.
        parallel: for a method by name, directions in one iteration, so that as many can run together.
        lease_days: days after which a deployment without a result no longer counts as pending.
        max_failures: failures at one point after which a method by name goes on without it.
        tolerance: the largest distance of the deployed point from the requested one.
        max_change: the largest distance between two consecutive deployments.
        max_loss: how much worse than the baseline a deployment may be, 0.1 for a tenth of its value.
        max_loss_total: how much the search may cost in all, in units of the value.
        control_every: deploy the baseline first and again after this many other deployments; with 1, every
            second deployment is the baseline.
        reserve: deployments reserved for confirmation and stationarity. An improvement needs two pairs of
            baseline and recommendation, so 4, times --settle; one pair if values come with a --sem.
        settle: hold every decision for this many deployments and use the last result.
        no_outliers: hold no result, however implausible it is.
        covariates: names, comma-separated, of side information that the decision cannot influence, such as
            footfall,rain. You report it with each value, and its effect is removed from the value.
        limits: JSON, {"complaints": {"max": 5}}, also with "min" or "hard": true: how large or small the
            metrics that you report with each value may become.
        relative_to_control: values count as differences from the control.
        outputs: names, comma-separated, of what the value follows from, such as tea,mug: the units sold.
        objective: how it follows: 'margin:cost=1,2;fixed=0', sum, or 'weighted:1,2'.
        contexts: categories of each context in which deployments are made, 'day=week,sat;country=de,fr'.
        json: print JSON; without --x0, also read the arguments of Study.create from standard input as a JSON
            object. Other options are then not allowed.
    """
    from driftopt.study import Study
    from driftopt.study.facts import full_command

    given = locals()
    with io.exits(json):
        if x0 is None and json:
            io.check_none_lost(create, given, "--x0")
            options: Any = io.read_stdin()
            if not isinstance(options, dict) or "x0" not in options:
                raise ValueError("the JSON object on standard input needs at least x0")
            io.check_options(options, Study.create)
        else:
            start = io.vector(x0, "--x0")
            if start is None:
                raise ValueError("--x0 is needed")
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
            options |= {"max_loss": max_loss, "max_loss_total": max_loss_total}
            options |= {"outputs": io.names(outputs), "objective": io.objective(objective)}
            options |= {"contexts": io.contexts(contexts)}
            options |= {
                "control_every": control_every,
                "reserve": reserve,
                "settle": settle,
                "outliers": not no_outliers,
                "covariates": io.names(covariates),
                "limits": io.limits(limits),
                "relative_to_control": relative_to_control,
            }
        with Study.create(url, name, **options) as study:
            done = {"study": name, "url": study.url, "budget": study.spec.budget, "seed": study.spec.seed}
            done |= {"method": study.spec.method, "params": study.spec.params}
            first = full_command(study.place, name, "ask")
            budgeted = "" if study.spec.budget is None else f"{study.spec.budget} deployments, "
            about = f"{budgeted}{study.spec.direction} by {study.spec.method}"
            io.say(json, done, lambda: f"study {name!r} created: {about}. The first deployment:\n  {first}")


@app.command
def ask(
    url: Url,
    name: Name,
    *,
    count: int = 1,
    purpose: Literal["method", "confirm", "stationarity"] = "method",
    holder: str | None = None,
    new: Flag = False,
    context: Repeated = None,
    json: Json = False,
) -> None:
    """Take the next deployment; exit code 3 when there is none now, 4 when the budget is spent.

    A worker whose last deployment has no result gets it again, so that a job may run twice.

    ```text
    driftopt study ask shop.db prices
    driftopt study ask shop.db prices --purpose confirm
    driftopt study ask shop.db prices --holder tea-shop --new
    ```

    Args:
        count: take up to this many; with --json the output is then a list.
        purpose: optimise, confirm the recommendation, or measure how stationary it is.
        holder: the worker's name; by default the user and the machine.
        new: take another one, although the last has no result.
        context: in which it will be deployed, name=category; repeatable.
    """
    from driftopt import checks
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        many, here = checks.one_count("--count", count), io.context(context)
        trials = study.ask_many(many, purpose, holder or io.this_user(), new, context=here)
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
    output: Repeated = None,
    who: str | None = None,
    json: Flag = False,
) -> None:
    """Report the result of a deployment; exit code 5 if it has another one, 6 if the result is held.

    An implausible value, for example with a lost decimal point, is held: `accept` or `correct` it.
    Exit code 7 means that the result is recorded and that a hard limit was broken twice in a row.

    ```text
    driftopt study tell shop.db prices 1 12.5
    driftopt study tell shop.db prices 1 12.5 --sem 0.4 --x-deployed 9.99,4.49
    driftopt study tell shop.db prices 1 12.5 --covariate footfall=120 --covariate rain=0.5
    echo '{"id": 1, "value": 12.5}' | driftopt study tell shop.db prices --json
    ```

    Args:
        value: the measured value; nan if the deployment failed.
        sem: the value's standard error, if known.
        x_deployed: the decision that was really deployed, if it differs: numbers, comma-separated.
        covariate: side information, name=number; repeatable.
        metric: another measured value with a limit, name=number; repeatable.
        n: the number of customers, visits, … behind the value, if its standard error is not known.
        control: the value of the baseline decision at the same time, in a second store.
        output: an observed output, name=number; repeatable. The value may then be left out.
        who: the reporter's name for the log; by default none.
        json: read {"id", "value"} with "sem", "x_deployed", "covariates", "metrics", "n", "control",
            "outputs", "who", or a list of such objects, from standard input, if no id is given, and print
            JSON. Other options are then not allowed.
    """
    from driftopt.study import Study

    typed = locals()
    with io.exits(json):
        if id is None and json:
            io.check_none_lost(tell, typed, "the trial's id and its value")
            given = io.read_stdin()
            results: list[Any] = given if isinstance(given, list) else [given]
            needed = ({"id", "value"}, {"id", "outputs"})
            if not all(
                isinstance(one, dict) and any(parts <= set(one) for parts in needed) for one in results
            ):
                raise ValueError('each result on standard input must be an object with "id" and "value"')
        else:
            if id is None or (value is None and not output):
                raise ValueError("the trial's id and its value are needed")
            given, deployed = None, io.vector(x_deployed, "--x-deployed")
            measured, error = io.number(value, "value"), io.number(sem, "--sem")
            results = [{"id": id, "value": measured, "sem": error, "x_deployed": deployed}]
            results[0] |= io.side_information(covariate, metric, n, control, output) | {"who": who}
        with Study.open(url, name) as study:
            results = [io.result(one, study.spec.names) for one in results]
            states = study.tell_many(results) if isinstance(given, list) else [study.tell(**results[0])]
            done = [{"id": one["id"], "state": state} for one, state in zip(results, states, strict=True)]
            data = done if isinstance(given, list) else done[0]
            held = [one["id"] for one in done if one["state"] == "held"]
            io.say(json, data, lambda: io.outcome(study, done[0]["id"], done[0]["state"]))
            if held:
                io.exit_held(study, held, json)
            if any(limit.get("hard") for limit in study.spec.limits.values()):
                study.check_halted()


@app.command
def fail(
    url: Url, name: Name, id: Id, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Report that a deployment failed; its point will be deployed again.

    Args:
        reason: a few words for the log.
        who: the reporter's name for the log; by default none.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        state = study.fail(id, reason, who=who)
        io.say(json, {"id": id, "state": state}, lambda: f"trial {id}: {state}")


@app.command
def show(url: Url, name: Name, *, json: Json = False) -> None:
    """Show the study and what to do now: values, recommendation, pending deployments, failures."""
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
    """Print the recommended decision with its measured improvement over the baseline."""
    from driftopt.study import Study, words

    with io.exits(json), Study.open(url, name) as study:
        found = io.recommended(study)
        width = max(map(len, found["x"]))
        shown = zip(found["x"].items(), words.as_typed(study.spec, found["x"].values()), strict=True)
        lines = [f"{key:<{width}}  {value}" for (key, _), value in shown]
        gain = found["improvement"]
        known = "" if gain is None else f": {gain['mean']:.6g} ± {gain['sem']:.2g} (standard error)"
        notes = [found["note"] + known] + ([found["warning"]] if "warning" in found else [])
        notes += [one.words for one in study.recommend().metrics]
        io.say(json, found, lambda: "\n".join([*lines, *(f"# {one}" for one in notes)]))


@app.command
def stationarity(
    url: Url,
    name: Name,
    *,
    confidence: float = 0.95,
    value_range: str | None = None,
    json: Json = False,
) -> None:
    """Print how stationary the recommendation is, from deployments with --purpose stationarity.

    Args:
        confidence: the level of the bound.
        value_range: low:high, the range of all possible values: 0:1 for a rate. The level then also holds for
            rare events.
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
        path: the file; its ending sets the format.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        written = str(study.export(path))
        io.say(json, {"path": written}, lambda: written)


@app.command
def plot(url: Url, name: Name, path: Path, *, json: Json = False) -> None:
    """Draw values, control and each coordinate over the calendar into a .png, .pdf or .svg file.

    Args:
        path: the file; its ending sets the format.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        written = str(study.plot(path))
        io.say(json, {"path": written}, lambda: written)


@app.command
def page(url: Url, name: Name, path: Path, *, json: Json = False) -> None:
    """Write the study as one self-contained .html file: the output of `show`, with the picture.

    Args:
        path: the file, ending in .html.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        written = str(study.write_page(path))
        io.say(json, {"path": written}, lambda: written)


for _name, _command in COMMANDS.items():
    app.command(_command, name=_name)
