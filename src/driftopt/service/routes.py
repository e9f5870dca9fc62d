"""The routes: one for each verb of a study, a few for studies as a whole, and those of the server."""

import asyncio
import json
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Header, Query, Request, Security
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.staticfiles import StaticFiles

import driftopt
from driftopt import checks
from driftopt.packages import package
from driftopt.service import access
from driftopt.service.access import Admin, AdminOfAll, Reader, ReaderOfAll, StudyName
from driftopt.service.errors import Refused
from driftopt.service.kept_studies import KeptStudies
from driftopt.study import Study
from driftopt.study.records import Part, Results, StudyOptions, as_json, decode, fields_of, request_from_json
from driftopt.study.verbs import VERBS, Verb
from driftopt.study.web_page import STYLE, render_sections

router = APIRouter(prefix="/v1/studies", tags=["studies"])
server = APIRouter(tags=["server"])
PAGE = Path(str(files("driftopt.service"))) / "page"
_READY_WITHIN = 5.0  # seconds
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A word for this request: repeated with the same key, it is done once, even after a "
        "restart of the server.",
        max_length=200,
    ),
]


def kept(request: Request) -> KeptStudies:
    """The server's studies."""
    return request.app.state.service.studies


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON table in a request's body; an empty body is an empty table."""
    content = await request.body()
    try:
        data = json.loads(content) if content else {}
    except (ValueError, RecursionError):
        raise Refused(422, "the body is not JSON that can be read", "ValueError") from None
    return checks.table("the body", data)


# Verbs


def verbs() -> APIRouter:
    """A route for each verb."""
    found = APIRouter(prefix="/v1/studies/{name}", tags=["verbs"])
    for verb in VERBS.values():
        if verb.path:  # the plan below has the fields of the status
            found.add_api_route(
                verb.path,
                _route(verb),
                methods=["POST" if verb.changes else "GET"],
                name=verb.name,
                summary=verb.help,
                description="",
                dependencies=[Security(access.caller, scopes=[verb.role])],
                response_model=None,
            )
    return found


def _route(verb: Verb) -> Any:
    """What a request for the verb does."""
    parts = {part.name: part for part in fields_of(verb.record)}
    elsewhere = {name for name in parts if f"{{{name}}}" in verb.path} | {"key"} & set(parts)

    async def run(request: Request, name: StudyName) -> JSONResponse:
        if verb.changes:
            given = await body_of(request)
            if wrong := sorted(elsewhere & set(given)):
                raise ValueError(f"{', '.join(wrong)}: not in the body, but in the address or in a header")
        else:
            sent = request.query_params
            given = {one: _read(part, sent[one]) for one, part in parts.items() if one in sent}
        for one in elsewhere - {"key"}:
            given[one] = _read(parts[one], request.path_params[one])
        key = request.headers.get("idempotency-key")
        if "key" in parts and key is not None:
            given["key"] = key
        me = request.state.caller.name
        several = given.get("answers") if verb.record is Results else [given] if "who" in parts else []
        for one in several if isinstance(several, list) else []:
            if isinstance(one, dict) and one.get("who") is None:
                one["who"] = me
        if "holder" in parts and verb.changes and given.get("holder") is None:
            given |= {"holder": me, "new": True}
        if verb.name == "summary":  # commands call the server, not its database
            given.setdefault("place", str(request.base_url).rstrip("/"))
        record = request_from_json(verb.record, given)
        return JSONResponse(as_json(await kept(request).do(name, verb, record)))

    return run


def _read(part: Part, text: str) -> Any:
    """A field from an address: a number, a truth value, a table as JSON, or words."""
    kinds = str(part.type)
    try:
        if "int" in kinds:
            return int(text) if text.isascii() and text.lstrip("-").isdigit() else text
        if "float" in kinds and "Mapping" not in kinds:
            return float(text)
        if "bool" in kinds:
            return {"true": True, "false": False}.get(text, text)
        return json.loads(text) if "Mapping" in kinds else text
    except (ValueError, RecursionError):
        return text  # the field's check refuses it


# Studies as a whole


def plan(study: Study) -> dict[str, Any]:
    """The JSON of a study's plan and progress."""
    return study.status()._asdict() | {"spec": json.loads(study.spec.as_json())}


def addressable(name: str) -> str:
    """The name; ValueError if browsers remove it from an address."""
    if name in (".", ".."):
        raise ValueError(f"name {name!r} cannot be part of an address: choose another one")
    return name


@router.get("", response_model=None)
async def list_studies(request: Request, caller: Reader) -> dict[str, Any]:
    """The studies that the token may see, oldest first."""
    found = await kept(request).listed()
    return {"studies": [one._asdict() for one in found if caller.sees(one.name)]}


@router.post("", status_code=201, response_model=None)
async def create_study(request: Request, caller: AdminOfAll, key: Key = None) -> dict[str, Any]:
    """Create a study: its name, and the arguments of `Study.create`."""
    given = await body_of(request)
    name = addressable(checks.text("name", given.pop("name", None)))
    decode(StudyOptions, given)  # and nothing else
    study = await kept(request).create(name, given, key)
    return await kept(request).look(lambda: plan(study))


@router.post(":import", status_code=201, response_model=None)
async def import_study(
    request: Request,
    caller: AdminOfAll,
    name: Annotated[str | None, Query(description="Another name for it.", max_length=200)] = None,
    key: Key = None,
) -> dict[str, Any]:
    """Create a study from the file of `export?format=json`: the same results and an identical state."""
    given = await body_of(request)
    addressable(str(given.get("study")) if name is None else name)
    study = await kept(request).take_over(name, given, key)
    return await kept(request).look(lambda: plan(study))


@router.get("/{name}", response_model=None)
async def read_study(request: Request, name: StudyName, caller: Reader) -> dict[str, Any]:
    """A study's plan, with every default written out, and its progress."""
    return await kept(request).read(name, plan)


@router.delete("/{name}", response_model=None)
async def delete_study(
    request: Request,
    name: StudyName,
    caller: Admin,
    confirm: Annotated[str | None, Query(description="The study's name once more.", max_length=200)] = None,
    key: Key = None,
) -> dict[str, Any]:
    """Delete a study and its log permanently: `confirm` must repeat its name."""
    if confirm != name:
        raise Refused(422, "deleting is permanent: repeat the study's name as ?confirm=NAME", "ValueError")
    return {"name": name, "rows": await kept(request).delete(name, key)}


@router.get(
    "/{name}/export",
    response_class=Response,
    responses={200: {"content": {media.split(";")[0]: {} for media in _MEDIA.values()}}},
)
async def export(
    request: Request, name: StudyName, caller: Reader, format: Literal["csv", "json", "parquet"] = "csv"
) -> Response:
    """Every trial as a file; as JSON with the whole log, from which `driftopt.study.load` makes the study."""

    def work(study: Study) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            return study.export(Path(folder) / f"trials.{format}").read_bytes()

    content = await kept(request).read(name, work)
    headers = {"Content-Disposition": f'attachment; filename="trials.{format}"'}
    return Response(content, media_type=_MEDIA[format], headers=headers)


@router.get("/{name}/page", response_class=HTMLResponse)
async def page(
    request: Request,
    name: StudyName,
    caller: Reader,
    coordinates: Annotated[int, Query(ge=0, le=1000, description="Coordinates that are drawn.")] = 12,
    rows: Annotated[int, Query(ge=1, le=100_000, description="Deployments in the table.")] = 25,
) -> HTMLResponse:
    """The sections of the study's page, as HTML."""
    return HTMLResponse(await kept(request).read(name, lambda one: render_sections(one, coordinates, rows)))


# The server


@server.get("/v1/caller", response_model=None)
async def caller(caller: Reader) -> dict[str, Any]:
    """The token's name, role and study, and the server's version of driftopt."""
    about = {"name": caller.name, "role": caller.role, "study": caller.study}
    return about | {"version": driftopt.__version__}


@server.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request, caller: ReaderOfAll) -> Response:
    """Counts of requests, in Prometheus's text format."""
    return Response(generate_latest(request.app.state.service.registry), media_type=CONTENT_TYPE_LATEST)


@server.get("/healthz", response_model=None)
async def healthz() -> dict[str, str]:
    """The server runs. Needs no token."""
    return {"status": "ok"}


@server.get("/readyz", response_model=None)
async def readyz(request: Request) -> dict[str, str]:
    """The database answers: requests can be served. 503 if it does not, or while the server stops."""
    service = request.app.state.service
    if service.stopping.is_set():
        raise TimeoutError("the server stops")
    try:
        async with asyncio.timeout(_READY_WITHIN):
            await service.studies.ready()
    except Exception:
        raise TimeoutError("the database does not answer; the server's log says more") from None
    return {"status": "ok"}


def serve_files(app: FastAPI) -> None:
    """Serve the page and the description of the interface, from this machine alone."""
    package("fastapi_swagger", "serve", "driftopt serve")
    fresh = {"Cache-Control": "no-cache"}  # asked for again every time, and received only if it changed
    for address, file in {"/": "index.html", "/docs": "docs.html"}.items():
        app.add_api_route(address, _sent(PAGE / file), response_class=HTMLResponse, include_in_schema=False)
    for file in [STYLE, *PAGE.glob("*.*")]:
        app.add_api_route(f"/page/{file.name}", _sent(file, fresh), include_in_schema=False)
    viewer = files("fastapi_swagger") / "resources"
    app.mount("/docs/viewer", StaticFiles(directory=str(viewer)), name="viewer")


def _sent(file: Path, headers: Any = None) -> Any:
    async def send() -> FileResponse:
        return FileResponse(file, headers=headers)

    return send
