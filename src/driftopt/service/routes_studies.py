"""Routes on studies as a whole: list, create, read, extend, stop, delete, export."""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from driftopt import checks
from driftopt.service import models
from driftopt.service.access import Admin, AdminOfAll, Reader, StudyName
from driftopt.service.errors import Refused
from driftopt.service.kept_studies import KeptStudies
from driftopt.stationarity import Stationarity
from driftopt.study import Study
from driftopt.study.records import as_json

router = APIRouter(prefix="/v1/studies", tags=["studies"])
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A word for this request: repeated with the same key, it is done once, even after a "
        "restart of the server.",
        max_length=200,
    ),
]
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


def kept(request: Request) -> KeptStudies:
    """The server's studies."""
    return request.app.state.service.studies


@router.get("", response_model=models.StudyList)
async def list_studies(request: Request, caller: Reader) -> Any:
    """The studies that the token may see."""
    found = await kept(request).listed()
    return {"studies": [one._asdict() for one in found if caller.sees(one.name)]}


@router.post("", status_code=201, response_model=models.StudyPlan)
async def create_study(request: Request, body: models.NewStudy, caller: AdminOfAll, key: Key = None) -> Any:
    """Create a study."""
    study = await kept(request).create(body.name, body.arguments(), key)
    return await kept(request).look(lambda: models.plan(study))


@router.post(":import", status_code=201, response_model=models.StudyPlan)
async def import_study(
    request: Request,
    body: models.Exported,
    caller: AdminOfAll,
    name: Annotated[str | None, Query(description="Another name for it.", max_length=200)] = None,
    key: Key = None,
) -> Any:
    """Create a study from the file of `export?format=json`: the same results and an identical state."""
    models.addressable(body.study if name is None else name)
    study = await kept(request).take_over(name, body.model_dump(), key)
    return await kept(request).look(lambda: models.plan(study))


@router.get("/{name}", response_model=models.StudyPlan)
async def read_study(request: Request, name: StudyName, caller: Reader) -> Any:
    """A study's plan and progress."""
    return await kept(request).read(name, models.plan)


@router.delete("/{name}", response_model=models.Deleted)
async def delete_study(
    request: Request,
    name: StudyName,
    caller: Admin,
    confirm: Annotated[str | None, Query(description="The study's name once more.", max_length=200)] = None,
    key: Key = None,
) -> Any:
    """Delete a study and its log permanently: `confirm` must repeat its name."""
    if confirm != name:
        raise Refused(422, "deleting is permanent: repeat the study's name as ?confirm=NAME", "ValueError")
    return {"name": name, "rows": await kept(request).delete(name, key)}


@router.post("/{name}:extend", response_model=models.StudyPlan)
async def extend_study(request: Request, name: StudyName, body: models.Extension, caller: Admin) -> Any:
    """Allow more deployments."""

    def work(study: Study) -> Any:
        study.extend(body.budget, body.reason, who=body.who or caller.name)
        return models.plan(study)

    return await kept(request).change(name, work)


def _add_route(verb: str, description: str) -> None:
    """Serve a method of `Study` that takes a reason."""

    async def route(
        request: Request, name: StudyName, caller: Admin, body: models.Reason | None = None
    ) -> Any:
        said = body or models.Reason()

        def work(study: Study) -> Any:
            getattr(study, verb)(said.reason, who=said.who or caller.name)
            return models.plan(study)

        return await kept(request).change(name, work)

    serve = router.post(
        f"/{{name}}:{verb}", response_model=models.StudyPlan, name=f"{verb}_study", description=description
    )
    serve(route)


_add_route("stop", "End a study before its budget, permanently.")
_add_route("resume", "Go on with a study that a hard limit has halted.")


@router.get("/{name}/summary")
async def summary(
    request: Request,
    name: StudyName,
    caller: Reader,
    place: Annotated[
        str | None,
        Query(min_length=1, max_length=2000, description="The server's address in `next.commands`."),
    ] = None,
) -> Any:
    """The study's state: values, drift, pending and failed deployments, and what to do now."""
    address = place or str(request.base_url).rstrip("/")  # not its database
    return await kept(request).read(name, lambda study: as_json(study.summary(address)))


@router.get("/{name}/recommendation", response_model=models.Recommendation)
async def recommendation(
    request: Request,
    name: StudyName,
    caller: Reader,
    context: Annotated[
        str | None, Query(max_length=2000, description="As JSON; that of the last trial, unless given.")
    ] = None,
) -> Any:
    """The decision to deploy, with what is known of its improvement."""
    here = None if context is None else checks.table("context", json.loads(context))
    return await kept(request).read(name, lambda study: study.recommend(context=here))


@router.get("/{name}/stationarity", response_model=Stationarity)
async def stationarity(
    request: Request,
    name: StudyName,
    caller: Reader,
    confidence: Annotated[float, Query(gt=0, lt=1)] = 0.95,
    low: Annotated[float | None, Query(description="No value can be less.")] = None,
    high: Annotated[float | None, Query(description="No value can be more.")] = None,
) -> Any:
    """How stationary the recommendation is, from the pairs reported with the purpose stationarity."""
    if (low is None) != (high is None):
        raise ValueError("low and high are given together, or neither is")
    bounds = None if low is None or high is None else (low, high)
    return await kept(request).read(name, lambda study: study.stationarity(confidence, bounds))


@router.get("/{name}/verification", response_model=models.Verified)
async def verification(request: Request, name: StudyName, caller: Reader) -> Any:
    """Read the whole log again, check every row, and replay it."""
    return {"rows": await kept(request).read(name, lambda study: study.verify())}


@router.get("/{name}/log")
async def log(request: Request, name: StudyName, caller: Reader) -> Any:
    """The whole log with a checksum of all rows."""
    return await kept(request).read(name, lambda study: as_json(study.do("log")))


@router.get(
    "/{name}/export",
    response_class=Response,
    responses={200: {"content": {media.split(";")[0]: {} for media in _MEDIA.values()}}},
)
async def export(
    request: Request,
    name: StudyName,
    caller: Reader,
    format: Literal["csv", "json", "parquet"] = "csv",
) -> Response:
    """Every trial as a file; as JSON with the whole log, from which `driftopt.study.load` makes the study."""

    def work(study: Study) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            return study.export(Path(folder) / f"trials.{format}").read_bytes()

    content = await kept(request).read(name, work)
    headers = {"Content-Disposition": f'attachment; filename="trials.{format}"'}
    return Response(content, media_type=_MEDIA[format], headers=headers)
