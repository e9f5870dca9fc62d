"""`driftopt study …` for those who look after studies: put answers right, check, list, move and end them."""

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
    json: Json = False,
) -> None:
    """Replace a trial's answer that turned out wrong; what was said stays in its history.

    It counts however far it is from the others; where it is far, a sentence says so.

    ```text
    driftopt study correct shop.db prices 7 21.4 "lost decimal point"
    ```

    Args:
        value: what was truly measured.
        reason: why, in a few words, for the log.
        sem: the value's standard error; left out, the one told stays; nan: there is none.
        who: who says so; the user and the machine unless given.
        covariate: in the place of those told, name=number; may be given again. Left out, those stay.
        metric: in the place of those told, name=number; may be given again. Left out, those stay.
        n: how many the value is a mean of; left out, what was told stays; nan: it is not known.
        control: what control gave; left out, what was told stays; nan: it is not known.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        more = io.beside(covariate, metric, n, control)
        told, error = io.number(value, "value"), io.number(sem, "--sem")
        state = study.correct(id, told, reason, sem=error, who=who or io.this_user(), **more)
        now = "" if state == "superseded" else f", now {told!r}"
        data = {"id": id, "state": state, "value": told}
        io.say(json, data, lambda: io.outcome(study, id, state) + now)


def void(
    url: Url, name: Name, id: Id, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Take a trial's answer back; what was said stays in its history.

    Args:
        reason: why, in a few words, for the log.
        who: who says so; the user and the machine unless given.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        state = study.void(id, reason, who=who or io.this_user())
        io.say(json, {"id": id, "state": state}, lambda: f"trial {id}: {state}")


def accept(
    url: Url, name: Name, id: Id, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Let an answer count that is held, because it is true.

    If its point was asked and answered again meanwhile, that answer stands, and this one is superseded.

    ```text
    driftopt study accept shop.db prices 7 "the day of the fair"
    ```

    Args:
        reason: why, in a few words, for the log.
        who: who says so; the user and the machine unless given.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        state = study.accept(id, reason, who=who or io.this_user())
        io.say(json, {"id": id, "state": state}, lambda: io.outcome(study, id, state))


def hold(
    url: Url, name: Name, id: Id, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Hold an answer that counts, because it may not be true; `accept` takes this back.

    Args:
        reason: why, in a few words, for the log.
        who: who says so; the user and the machine unless given.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        state = study.hold(id, reason, who=who or io.this_user())
        io.say(json, {"id": id, "state": state}, lambda: f"trial {id}: {state}")


def verify(url: Url, name: Name, *, json: Json = False) -> None:
    """Check every row of the study's log, and replay it; exit code 1 where something is wrong."""
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        rows = study.verify()
        io.say(json, {"rows": rows, "sound": True}, lambda: f"{rows} rows, all as they were written")


def extend(
    url: Url, name: Name, budget: int, reason: str = "", *, who: str | None = None, json: Json = False
) -> None:
    """Allow more deployments: what was done stays, and the plan goes on to the new end.

    Args:
        budget: how many deployments may be made in all, more than before.
        reason: why, in a few words, for the log.
        who: who says so; the user and the machine unless given.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        study.extend(budget, reason, who=who or io.this_user())
        io.say(
            json, {"study": name, "budget": budget}, lambda: f"study {name!r}: {budget} deployments in all"
        )


def stop(url: Url, name: Name, reason: str = "", *, who: str | None = None, json: Json = False) -> None:
    """End a study before its budget: no more is asked for it, but to confirm the recommendation.

    Args:
        reason: why, in a few words, for the log.
        who: who says so; the user and the machine unless given.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        study.stop(reason, who=who or io.this_user())
        io.say(json, {"study": name, "stopped": True}, lambda: f"study {name!r} is stopped")


def resume(url: Url, name: Name, reason: str = "", *, who: str | None = None, json: Json = False) -> None:
    """Go on with a study that a hard limit has halted; one that was stopped does not go on.

    Args:
        reason: why it may go on, in a few words, for the log.
        who: who says so; the user and the machine unless given.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        study.resume(reason, who=who or io.this_user())
        now = "goes on" if study.status().stopped is None else "is stopped, but may be confirmed again"
        io.say(json, {"study": name, "halted": False}, lambda: f"study {name!r} {now}")


def list_studies(url: Url, *, json: Json = False) -> None:
    """List the studies that a database holds."""
    from driftopt.study import catalogue, words

    with io.exits(json):
        found = catalogue.studies(url)

        def line(one: catalogue.Listed) -> str:
            plan = f"{one.spent} of {one.budget} deployments, {one.method}, {one.direction}"
            ended = ", stopped" if one.stopped else ""
            return f"{one.name}  {plan}, since {words.date(one.created_at)} (UTC){ended}"

        io.say(json, [one._asdict() for one in found], lambda: "\n".join(map(line, found)) or "no studies")


def trials(
    url: Url,
    name: Name,
    *,
    state: str | None = None,
    kind: Literal["method", "control", "confirm", "stationarity", "way", "settle"] | None = None,
    holder: str | None = None,
    json: Json = False,
) -> None:
    """List the deployments so far, in the order asked, with their values and what was amended.

    ```text
    driftopt study trials shop.db prices --state pending
    ```

    Args:
        state: only those that are pending, complete, failed, expired, superseded, voided or held.
        kind: only those of one kind.
        holder: only those of one holder.
    """
    from driftopt.study import Study

    with io.exits(json), Study.open(url, name) as study:
        found = study.trials(state, kind, holder)
        data = [io.trial_as_data(t) | {"value": t.value, "sem": t.sem, "reason": t.reason} for t in found]
        data = [row | {"story": t.story} for row, t in zip(data, found, strict=True)]
        data = [row | io.beside_as_data(t) for row, t in zip(data, found, strict=True)]
        io.say(json, data, lambda: "\n".join(io.trial_as_line(t, study.spec) for t in found) or "no trials")


def delete(url: Url, name: Name, *, yes: Flag = False, json: Json = False) -> None:
    """Delete a study and its whole log, for ever; export it first.

    Args:
        yes: really do so.
    """
    from driftopt.study import catalogue

    with io.exits(json):
        if not yes:
            raise ValueError(f"--yes is needed to delete study {name!r} and all its answers; export it first")
        rows = catalogue.delete(url, name)
        io.say(json, {"study": name, "rows": rows}, lambda: f"study {name!r} and its {rows} rows are deleted")


def import_study(
    url: Url,
    path: Annotated[Path, Parameter(help="A .json file that `export` wrote.")],
    *,
    name: Annotated[str | None, Parameter(help="Another name for it.")] = None,
    json: Json = False,
) -> None:
    """Take up a study from a file that `export` wrote: the same answers, the same state, to the bit."""
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
