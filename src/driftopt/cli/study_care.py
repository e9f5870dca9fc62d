"""`driftopt study …` for maintenance: correct results, check, list, move and end studies."""

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from driftopt.cli import study_io as io
from driftopt.cli.arguments import Flag, Id, Json, Name, Number, Repeated, Url


def correct(
    url: Url,
    name: Name,
    id: Id,
    value: Number,
    reason: str = "",
    *,
    sem: Number = None,
    who: str | None = None,
    covariate: Repeated = None,
    metric: Repeated = None,
    n: Number = None,
    control: Number = None,
    output: Repeated = None,
    json: Json = False,
) -> None:
    """Replace a wrong result of a trial; the old one stays in its history.

    A corrected value always counts. If it is an outlier, the command says so.

    ```text
    driftopt study correct shop.db prices 7 21.4 "lost decimal point"
    ```

    Args:
        value: the value that was really measured.
        reason: a few words for the log.
        sem: the value's standard error; by default the recorded one stays; nan removes it.
        who: the reporter's name for the log; by default the user and the machine.
        covariate: name=number, repeatable, replaces the recorded ones; by default they stay.
        metric: name=number, repeatable, replaces the recorded ones; by default they stay.
        n: the number of samples behind the value; by default the recorded one stays; nan removes it.
        control: the value of the control; by default the recorded one stays; nan removes it.
        output: name=number, repeatable, replaces the recorded ones; by default they stay.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        more = io.side_information(covariate, metric, n, control, output)
        corrected, error = io.number(value, "value"), io.number(sem, "--sem")
        state = study.correct(id, corrected, reason, sem=error, who=who or io.this_user(), **more)
        data = {"id": id, "state": state, "value": corrected}
        io.say(json, data, lambda: f"{io.outcome(study, id, state)}, now {corrected!r}")


def void(
    url: Url, name: Name, id: Id, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Take back a trial's result; it stays in the history.

    Args:
        reason: a few words for the log.
        who: the reporter's name for the log; by default the user and the machine.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        state = study.void(id, reason, who=who or io.this_user())
        io.say(json, {"id": id, "state": state}, lambda: f"trial {id}: {state}")


def accept(
    url: Url, name: Name, id: Id, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Let a flagged result count, because it is true.

    ```text
    driftopt study accept shop.db prices 7 "the day of the fair"
    ```

    Args:
        reason: a few words for the log.
        who: the reporter's name for the log; by default the user and the machine.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        state = study.accept(id, reason, who=who or io.this_user())
        io.say(json, {"id": id, "state": state}, lambda: io.outcome(study, id, state))


def hold(
    url: Url, name: Name, id: Id, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Flag a result that may be wrong, so that it does not count; `accept` reverses this.

    Args:
        reason: a few words for the log.
        who: the reporter's name for the log; by default the user and the machine.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        state = study.hold(id, reason, who=who or io.this_user())
        io.say(json, {"id": id, "state": state}, lambda: f"trial {id}: {state}")


def verify(url: Url, name: Name, *, json: Json = False) -> None:
    """Check every row of the study's log and replay it; exit code 1 if something is wrong."""
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        rows = study.verify()
        io.say(json, {"rows": rows, "sound": True}, lambda: f"{rows} rows, all as they were written")


def extend(
    url: Url, name: Name, budget: int, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Allow more deployments; the study continues to the new budget.

    Args:
        budget: the new total number of deployments, more than before.
        reason: a few words for the log.
        who: the reporter's name for the log; by default the user and the machine.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        study.extend(budget, reason, who=who or io.this_user())
        io.say(
            json, {"study": name, "budget": budget}, lambda: f"study {name!r}: {budget} deployments in all"
        )


def stop(url: Url, name: Name, reason: str = "", *, who: str | None = None, json: Json = False) -> None:
    """End a study before its budget; afterwards only deployments to confirm the recommendation are possible.

    Args:
        reason: a few words for the log.
        who: the reporter's name for the log; by default the user and the machine.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        study.stop(reason, who=who or io.this_user())
        io.say(json, {"study": name, "stopped": True}, lambda: f"study {name!r} is stopped")


def resume(url: Url, name: Name, reason: str = "", *, who: str | None = None, json: Json = False) -> None:
    """Continue a study that a hard limit has halted; a stopped study cannot continue.

    Args:
        reason: a few words for the log, why it may continue.
        who: the reporter's name for the log; by default the user and the machine.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        study.resume(reason, who=who or io.this_user())
        now = "goes on" if study.status().stopped is None else "is stopped, but may be confirmed again"
        io.say(json, {"study": name, "halted": False}, lambda: f"study {name!r} {now}")


def list_studies(url: Url, *, json: Json = False) -> None:
    """List the studies in a database."""
    from driftopt.study import catalogue, words

    with io.exits(json):
        listed = catalogue.studies(url)

        def line(one: catalogue.Listed) -> str:
            plan = f"{words.of_budget(one.spent, one.budget)}, {one.method}, {one.direction}"
            ended = ", stopped" if one.stopped else ""
            return f"{one.name}  {plan}, since {words.date(one.created_at)} (UTC){ended}"

        io.say(json, [one._asdict() for one in listed], lambda: "\n".join(map(line, listed)) or "no studies")


def trials(
    url: Url,
    name: Name,
    *,
    state: str | None = None,
    kind: Literal["method", "control", "confirm", "stationarity", "way", "settle"] | None = None,
    holder: str | None = None,
    json: Json = False,
) -> None:
    """List the deployments so far in order, with their values and changes.

    ```text
    driftopt study trials shop.db prices --state pending
    ```

    Args:
        state: only deployments that are pending, complete, failed, expired, voided or held.
        kind: only deployments of one kind.
        holder: only deployments of one worker.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        some = study.trials(state, kind, holder)
        data = [io.trial_as_data(t) | {"value": t.value, "sem": t.sem, "reason": t.reason} for t in some]
        data = [row | {"story": t.story} for row, t in zip(data, some, strict=True)]
        data = [row | io.side_information_as_data(t) for row, t in zip(data, some, strict=True)]
        io.say(json, data, lambda: "\n".join(io.trial_as_line(t, study.spec) for t in some) or "no trials")


def delete(url: Url, name: Name, *, yes: Flag = False, json: Json = False) -> None:
    """Delete a study and its whole log permanently; export it first.

    Args:
        yes: confirm the deletion.
    """
    from driftopt.study import catalogue

    with io.exits(json):
        if not yes:
            raise ValueError(f"--yes is needed to delete study {name!r} and all its results; export it first")
        rows = catalogue.delete(url, name)
        io.say(json, {"study": name, "rows": rows}, lambda: f"study {name!r} and its {rows} rows are deleted")


def import_study(
    url: Url,
    path: Annotated[Path, Parameter(help="A .json file from `export`.")],
    *,
    name: Annotated[str | None, Parameter(help="Another name for it.")] = None,
    json: Json = False,
) -> None:
    """Import a study from a file that `export` wrote, with identical results and state."""
    from driftopt.study import catalogue

    with io.exits(json), catalogue.load(url, path, name) as study:
        done: dict[str, Any] = {"study": study.name, "url": study.url, "trials": len(study.trials())}
        io.say(json, done, lambda: f"study {study.name!r} imported: {done['trials']} deployments")


COMMANDS: dict[str, Any] = {
    "correct": correct,
    "void": void,
    "accept": accept,
    "hold": hold,
    "verify": verify,
    "extend": extend,
    "stop": stop,
    "resume": resume,
    "list": list_studies,
    "trials": trials,
    "delete": delete,
    "import": import_study,
}
