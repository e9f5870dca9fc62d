"""Routes on the server: health, metrics, its description, the page with its files, and a study's course."""

import asyncio
import gzip
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.staticfiles import StaticFiles

import driftopt
from driftopt.packages import package
from driftopt.service import models
from driftopt.service.access import Reader, ReaderOfAll, StudyName
from driftopt.service.routes_studies import kept
from driftopt.study.facts import Course

router = APIRouter(tags=["server"])
page_router = APIRouter(prefix="/v1", tags=["page"])
PAGE = Path(str(files("driftopt.service"))) / "page"
DESCRIPTION = Path(str(files("driftopt.service"))) / "docs_page"
_READY_WITHIN = 5.0  # seconds
_KEPT = "public, max-age=86400"  # a day: the library's address changes with its version


@router.get("/healthz", response_model=models.Health)
async def healthz() -> Any:
    """The server runs. Needs no token."""
    return {"status": "ok"}


@router.get("/readyz", response_model=models.Health)
async def readyz(request: Request) -> Any:
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


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request, caller: ReaderOfAll) -> Response:
    """Counts of requests, in Prometheus's text format."""
    return Response(generate_latest(request.app.state.service.registry), media_type=CONTENT_TYPE_LATEST)


class Caller(BaseModel):
    """The token of a request."""

    name: str
    role: Literal["read", "operate", "admin"]
    study: str | None
    version: str  # of driftopt
    charts: str  # the address of the library that draws


@page_router.get("/caller", response_model=Caller)
async def caller(caller: Reader) -> Any:
    """The token's name, role and study, and the server's version of driftopt."""
    about = {"name": caller.name, "role": caller.role, "study": caller.study}
    return about | {"version": driftopt.__version__, "charts": _library()[0]}


@page_router.get("/studies/{name}/course", response_model=Course)
async def study_course(
    request: Request,
    name: StudyName,
    caller: Reader,
    skip: Annotated[int, Query(ge=0, le=10_000, description="Coordinates of `order` to pass over.")] = 0,
    count: Annotated[int, Query(ge=0, le=100, description="Coordinates whose paths are wanted.")] = 12,
) -> Any:
    """Deployments over the calendar, control with its drift, coordinates, and the cost of the search."""
    return await kept(request).read(name, lambda study: study.course(skip, count))


@cache
def _library() -> tuple[str, bytes]:
    """The address of plotly's own script, and the script, compressed."""
    plotly = package("plotly", "serve", "driftopt serve")
    script = Path(str(plotly.__file__)).parent / "package_data" / "plotly.min.js"
    return f"/charts/plotly-{plotly.__version__}.js", gzip.compress(script.read_bytes(), 6)


def serve_files(app: FastAPI) -> None:
    """Serve the page, the description and their libraries, from this machine alone."""

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def start() -> Response:
        return HTMLResponse((PAGE / "index.html").read_text(encoding="utf-8"))

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse((DESCRIPTION / "docs.html").read_text(encoding="utf-8"))

    @app.get("/charts/{file}", include_in_schema=False)
    def charts(file: str) -> Response:
        address, script = _library()
        if address != f"/charts/{file}":
            return Response(status_code=404)
        headers = {"Content-Encoding": "gzip", "Cache-Control": _KEPT, "Vary": "Accept-Encoding"}
        return Response(script, media_type="text/javascript", headers=headers)

    package("fastapi_swagger", "serve", "driftopt serve")
    viewer = files("fastapi_swagger") / "resources"
    app.mount("/page", _Files(directory=str(PAGE)), name="page")
    app.mount("/docs/viewer", StaticFiles(directory=str(viewer)), name="viewer")
    app.mount("/docs/files", StaticFiles(directory=str(DESCRIPTION)), name="description")


class _Files(StaticFiles):
    """Files that a browser asks for again every time, and receives only if they changed."""

    def file_response(self, *args: Any, **more: Any) -> Response:
        """One file."""
        found = super().file_response(*args, **more)
        found.headers["Cache-Control"] = "no-cache"
        return found
