"""Routes on trials: ask, report and correct results, list."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request

from driftopt.service import models
from driftopt.service.access import Operator, Reader, StudyName
from driftopt.service.routes_studies import Key, kept
from driftopt.study import Study
from driftopt.study.trial import KINDS, STATES

router = APIRouter(prefix="/v1/studies/{name}", tags=["trials"])
Id = Annotated[int, Path(description="The trial's number.", ge=1, lt=2**31, examples=[1])]
_State = Annotated[str | None, Query(json_schema_extra={"enum": list(STATES)})]
_Kind = Annotated[str | None, Query(json_schema_extra={"enum": list(KINDS)})]


@router.post("/trials:ask", response_model=models.Trials)
async def ask(
    request: Request,
    name: StudyName,
    caller: Operator,
    body: models.Question | None = None,
    key: Key = None,
) -> Any:
    """The next deployment. 423: nothing can be asked now, Retry-After says when; 410: the budget is spent."""
    said = body or models.Question()
    holder, new = said.holder or caller.name, said.new or said.holder is None

    question: dict[str, Any] = {"purpose": said.purpose, "holder": holder, "new": new, "key": key}
    question["context"] = said.context
    if said.count == 1:
        return {"trials": [await kept(request).ask(name, question)]}
    found = await kept(request).change(name, lambda study: study.ask_many(said.count, **question))
    return {"trials": found}


@router.post("/trials:tell", response_model=models.ToldTrials)
async def tell_many(request: Request, name: StudyName, caller: Operator, body: models.AnswerBatch) -> Any:
    """Report the results of several trials, all or none."""

    def work(study: Study) -> Any:
        names = tuple(study.spec.names)
        given = [answer.arguments(names, caller.name) for answer in body.answers]
        states = study.tell_many(given)
        return {
            "states": [
                {"id": one.id, "state": state} for one, state in zip(body.answers, states, strict=True)
            ]
        }

    return await kept(request).change(name, work)


@router.post("/trials/{id}:tell", response_model=models.TrialState)
async def tell(request: Request, name: StudyName, id: Id, caller: Operator, body: models.Answer) -> Any:
    """Report the result of a trial. The same again changes nothing; another result is a conflict."""
    study = (await kept(request).kept(name)).study
    answer = {"id": id} | body.arguments(tuple(study.spec.names), caller.name)
    return {"id": id, "state": await kept(request).tell(name, answer)}


@router.post("/trials/{id}:correct", response_model=models.TrialState)
async def correct(
    request: Request, name: StudyName, id: Id, caller: Operator, body: models.Correction
) -> Any:
    """Replace a trial's result; earlier ones stay in its history."""
    given: dict[str, Any] = body.arguments() | {"who": body.who or caller.name}
    return {"id": id, "state": await kept(request).change(name, lambda study: study.correct(id, **given))}


def _add_route(verb: str, description: str) -> None:
    """Serve a method of `Study` that takes a trial and a reason."""

    async def route(
        request: Request, name: StudyName, id: Id, caller: Operator, body: models.Reason | None = None
    ) -> Any:
        said = body or models.Reason()
        given = {"reason": said.reason, "who": said.who or caller.name}
        state = await kept(request).change(name, lambda study: getattr(study, verb)(id, **given))
        return {"id": id, "state": state}

    serve = router.post(
        f"/trials/{{id}}:{verb}", response_model=models.TrialState, name=verb, description=description
    )
    serve(route)


_add_route("fail", "The deployment gave no result; its point will be asked again.")
_add_route("void", "Take a trial's result back.")
_add_route("accept", "Let a result count that is held, because it is true.")
_add_route("hold", "Hold a result that counts, because it may not be true; `:accept` undoes this.")


@router.get("/trials", response_model=models.Trials)
async def trials(
    request: Request,
    name: StudyName,
    caller: Reader,
    state: _State = None,
    kind: _Kind = None,
    holder: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    order: Literal["oldest", "newest"] = "oldest",
    after: Annotated[
        int | None, Query(ge=0, lt=2**31, description="The last trial of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Any:
    """Deployments in the order asked, or the newest first, a page at a time."""

    def work(study: Study) -> Any:
        found = study.trials(state, kind, holder)
        if order == "newest":
            found = [trial for trial in reversed(found) if after is None or trial.id < after]
        else:
            found = [trial for trial in found if after is None or trial.id > after]
        page = found[:limit]
        more = page[-1].id if len(found) > limit else None
        return {"trials": page, "next": more}

    return await kept(request).read(name, work)


@router.get("/trials/{id}", response_model=models.Trial)
async def trial(request: Request, name: StudyName, id: Id, caller: Reader) -> Any:
    """One deployment with its result."""
    return await kept(request).read(name, lambda study: study.trial(id))
