"""Routes on the server itself: whether it is alive and ready, what it did, its description, the start."""

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from driftopt.packages import package
from driftopt.service import models
from driftopt.service.access import Reader, whole_database
from driftopt.service.routes_page import PAGE

router = APIRouter(tags=["server"])
DESCRIPTION = Path(str(files("driftopt.service"))) / "docs_page"
_READY_WITHIN = 5.0  # seconds


@router.get("/healthz", response_model=models.Health)
async def healthz() -> Any:
    """The server lives. Needs no token, and says no more."""
    return {"status": "ok"}


@router.get("/readyz", response_model=models.Health)
async def readyz(request: Request) -> Any:
    """The database answers: requests can be served. 503 where it does not, or while the server stops."""
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
async def metrics(request: Request, caller: Reader) -> PlainTextResponse:
    """What the server did, as Prometheus reads it."""
    whole_database(caller)
    service = request.app.state.service
    gauges = {
        "driftopt_open_streams": ("Open streams of events.", float(service.streams.open)),
        "driftopt_open_studies": ("Studies that the server has open.", float(len(service.studies))),
    }
    text = service.metrics.text(gauges)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/docs", response_class=HTMLResponse, include_in_schema=False)
async def docs() -> Response:
    """The description of the interface, to read and to try."""
    return HTMLResponse((DESCRIPTION / "docs.html").read_text(encoding="utf-8"))


@router.get("/", response_class=HTMLResponse, include_in_schema=False)
async def start() -> Response:
    """The page."""
    return HTMLResponse((PAGE / "index.html").read_text(encoding="utf-8"))


def serve_files(app: FastAPI) -> None:
    """The description's files, from this machine alone."""
    package("fastapi_swagger", "serve", "driftopt serve")
    viewer = files("fastapi_swagger") / "resources"
    app.mount("/docs/viewer", StaticFiles(directory=str(viewer)), name="viewer")
    app.mount("/docs/files", StaticFiles(directory=str(DESCRIPTION)), name="description")
